package dispatch_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/internal/memhttp"
)

// serve mounts the handler in a real server, under a prefix and behind a mux, and returns its
// address.
func serve(t *testing.T, h http.Handler) string {
	t.Helper()
	mux := http.NewServeMux()
	mux.Handle("POST /agents/refund/dispatch", h)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

// talk writes raw bytes and reads one answer.
func talk(t *testing.T, address string, parts ...string) (status int, body string) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	return talkOn(t, conn, parts...)
}

func talkOn(t *testing.T, conn net.Conn, parts ...string) (status int, body string) {
	t.Helper()
	defer func() { _ = conn.Close() }()
	for _, part := range parts {
		if _, err := io.WriteString(conn, part); err != nil {
			t.Fatal(err)
		}
	}
	_ = conn.SetReadDeadline(time.Now().Add(5 * time.Minute))
	reader := bufio.NewReader(conn)
	for {
		response, err := http.ReadResponse(reader, nil)
		if err != nil {
			t.Fatal(err)
		}
		if response.StatusCode == 100 {
			continue
		}
		answer, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return response.StatusCode, string(answer)
	}
}

func TestOnTheWire(t *testing.T) {
	h := newHandler(t, answering("done"))
	address := serve(t, h)
	head := func(extra ...string) string {
		return "POST /agents/refund/dispatch HTTP/1.1\r\nHost: agent.example\r\nContent-Type: application/json\r\n" +
			"X-Pipelines-Run-Token: " + runToken + "\r\nX-Pipelines-Odyssey-Proxy-URL: https://api.example.com/runs/abc\r\n" + strings.Join(extra, "\r\n") + "\r\n\r\n"
	}
	auth := "Authorization: Bearer " + agentToken
	length := fmt.Sprintf("Content-Length: %d", len(seedBody))
	for _, tt := range []struct {
		name   string
		parts  []string
		status int
		body   string // a part of it
	}{
		{"the documented example", []string{head(auth, length), seedBody}, 200, `{"final_response":"done"}`},
		{"ping", []string{head(auth, "Content-Length: 17"), `{ "ping": true }` + "\n"}, 200, `{"ok":true}`},
		{"ping without auth", []string{head("Content-Length: 13"), `{"ping":true}`}, 401, ``},
		{"401 before the body is sent", []string{head(length)}, 401, ``},
		{"413 before the body is sent", []string{head(auth, "Content-Length: 99999999")}, 413, `request_too_large`},
		{"another content type", []string{strings.Replace(head(auth, length), "application/json", "text/plain; charset=x", 1), seedBody}, 200, `done`},
		{"expect", []string{head(auth, length, "Expect: 100-continue"), seedBody}, 200, `done`},
		{"chunked", []string{head(auth, "Transfer-Encoding: chunked"), fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(seedBody), seedBody)}, 200, `done`},
		{"wrong path", []string{strings.Replace(head(auth, length), "/agents/refund", "", 1), seedBody}, 404, ``},
	} {
		t.Run(tt.name, func(t *testing.T) {
			status, body := talk(t, address, tt.parts...)
			if status != tt.status || !strings.Contains(body, tt.body) {
				t.Errorf("got %d %s, want %d %s", status, body, tt.status, tt.body)
			}
		})
	}
	for name, parts := range map[string][]string{
		"slow body":           {head(auth, length), seedBody[:10]},
		"chunked without end": {head(auth, "Transfer-Encoding: chunked"), "5\r\n{\"a\":\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				conn, err := memhttp.Serve(t, newHandler(t, answering("done"), func(o *dispatch.Options) { o.BodyTimeout = 20 * time.Second })).Dial(t.Context(), "", "")
				if err != nil {
					t.Fatal(err)
				}
				status, body := talkOn(t, conn, parts...)
				if took := time.Since(start); status != 400 || !strings.Contains(body, "did not arrive within 20s") || took != 20*time.Second {
					t.Errorf("got %d %s after %s", status, body, took)
				}
			})
		})
	}
}

// A read deadline for the body must not be taken for a platform that hangs up.
func TestRunsOutliveTheBodyTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHandler(t, func(ctx context.Context, _ *dispatch.Run) (*dispatch.Response, error) {
			select {
			case <-ctx.Done():
				return nil, ctx.Err()
			case <-time.After(3 * time.Minute):
				return &dispatch.Response{FinalResponse: "done"}, nil
			}
		}, func(o *dispatch.Options) { o.BodyTimeout = time.Minute })
		transport := &http.Transport{DialContext: memhttp.Serve(t, h).Dial}
		defer transport.CloseIdleConnections()
		r, err := http.NewRequest("POST", "http://localhost/agents/refund/dispatch", strings.NewReader(seedBody))
		if err != nil {
			t.Fatal(err)
		}
		r.Header = seedHeaders()
		response, err := transport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = response.Body.Close() }()
		if body, _ := io.ReadAll(response.Body); response.StatusCode != 200 {
			t.Errorf("%d %s", response.StatusCode, body)
		}
	})
}

func TestAHangUpReachesTheAgent(t *testing.T) {
	began, ended := make(chan bool), make(chan error, 1)
	h := newHandler(t, func(ctx context.Context, _ *dispatch.Run) (*dispatch.Response, error) {
		close(began)
		select {
		case <-ctx.Done():
		case <-time.After(5 * time.Minute):
		}
		ended <- ctx.Err()
		return nil, ctx.Err()
	})
	ctx, cancel := context.WithCancel(context.Background())
	r, err := http.NewRequestWithContext(ctx, "POST", "http://"+serve(t, h)+"/agents/refund/dispatch", strings.NewReader(seedBody))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = seedHeaders()
	go func() { <-began; cancel() }()
	if response, err := http.DefaultClient.Do(r); err == nil {
		_ = response.Body.Close()
		t.Error("an answer after hanging up")
	}
	if err := <-ended; err != context.Canceled {
		t.Errorf("the agent's context: %v", err)
	}
}

// TestConformance sends the cases of testdata/conformance.json, which serve other implementations
// as well.
func TestConformance(t *testing.T) {
	data, err := os.ReadFile("testdata/conformance.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Cases []struct {
			Name      string
			Request   []string
			Body      string
			Status    int
			Headers   map[string]string
			Answer    *string
			AnswerHas string `json:"answer_has"`
		}
	}
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	h := newHandler(t, func(_ context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		return &dispatch.Response{FinalResponse: run.Instruction}, nil
	}, func(o *dispatch.Options) { o.Tokens = []string{"agent-token"} })
	server := httptest.NewServer(h)
	defer server.Close()
	for _, tt := range file.Cases {
		t.Run(tt.Name, func(t *testing.T) {
			head := append(tt.Request, fmt.Sprintf("Content-Length: %d", len(tt.Body)), "Connection: close", "", "")
			conn, err := net.Dial("tcp", server.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close() }()
			if _, err := io.WriteString(conn, strings.Join(head, "\r\n")+tt.Body); err != nil {
				t.Fatal(err)
			}
			response, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			answer, err := io.ReadAll(response.Body)
			if err != nil {
				t.Fatal(err)
			}
			if response.StatusCode != tt.Status || !strings.Contains(string(answer), tt.AnswerHas) || tt.Answer != nil && string(answer) != *tt.Answer {
				t.Errorf("got %d %s", response.StatusCode, answer)
			}
			for name, want := range tt.Headers {
				if got := response.Header.Get(name); got != want {
					t.Errorf("%s: %q, want %q", name, got, want)
				}
			}
		})
	}
	if len(file.Cases) == 0 {
		t.Error("no cases")
	}
}

func TestUnderOtherServers(t *testing.T) {
	dispatchTo := func(client *http.Client, url string) {
		t.Helper()
		for _, body := range []string{`{"ping":true}`, seedBody} {
			r, err := http.NewRequest("POST", url, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			r.Header = seedHeaders()
			response, err := client.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			if answer, _ := io.ReadAll(response.Body); response.StatusCode != 200 {
				t.Errorf("%d %s", response.StatusCode, answer)
			}
			_ = response.Body.Close()
		}
	}
	h := newHandler(t, answering("done"))
	timeout := httptest.NewServer(http.TimeoutHandler(h, 10*time.Second, "too late"))
	defer timeout.Close()
	dispatchTo(timeout.Client(), timeout.URL)

	h2c := httptest.NewUnstartedServer(http.StripPrefix("/agents/refund", h))
	h2c.Config.Protocols = new(http.Protocols)
	h2c.Config.Protocols.SetUnencryptedHTTP2(true)
	h2c.Start()
	defer h2c.Close()
	transport := &http.Transport{Protocols: new(http.Protocols)}
	transport.Protocols.SetUnencryptedHTTP2(true)
	defer transport.CloseIdleConnections()
	dispatchTo(&http.Client{Transport: transport}, h2c.URL+"/agents/refund/dispatch")
}
