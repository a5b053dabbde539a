package webhook_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/internal/memhttp"
	"github.com/toolwire/toolwire/manifest/webhook"
)

func TestDeadline(t *testing.T) {
	for _, tt := range []struct {
		name  string
		tool  func(context.Context) (string, error)
		after time.Duration
		want  string // a part of the answer
	}{
		{"in time", func(context.Context) (string, error) { time.Sleep(time.Second); return "done", nil }, time.Second,
			`"done"`},
		{"respects its context", func(ctx context.Context) (string, error) {
			<-ctx.Done()
			return "", ctx.Err()
		}, 10 * time.Second, `"error":"timeout"`},
		{"returns what it has", func(ctx context.Context) (string, error) {
			<-ctx.Done()
			return "half", nil
		}, 10 * time.Second, `"half"`},
		{"says why", func(ctx context.Context) (string, error) {
			<-ctx.Done()
			return "", webhook.Errorf("too many rows; ask for a day")
		},
			10 * time.Second, `ask for a day`},
		{"ignores its context", func(context.Context) (string, error) { time.Sleep(time.Hour); return "late", nil },
			10*time.Second + 500*time.Millisecond, `may or may not have had an effect`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHandler(t, &webhook.Options{Timeout: 10 * time.Second},
					webhook.Define("slow", "", func(ctx context.Context, _ struct{}) (string, error) { return tt.tool(ctx) }))
				start := time.Now()
				status, body, _ := serve(h, request(`{"arguments":{}}`))
				if took := time.Since(start); status != 200 || !strings.Contains(body, tt.want) || took != tt.after {
					t.Errorf("after %s: %d %s; want %s after %s", took, status, body, tt.want, tt.after)
				}
				time.Sleep(2 * time.Hour) // until the abandoned tool returns
			})
		})
	}
}

func TestClosedConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var codes []toolwire.Code
		var seen error
		h := newHandler(t, &webhook.Options{OnCall: func(_ context.Context, r webhook.CallEnd) {
			codes = append(codes, toolwire.CodeOf(r.Err))
		}},
			webhook.Define("slow", "", func(ctx context.Context, _ struct{}) (string, error) {
				<-ctx.Done()
				seen = ctx.Err()
				return "", seen
			}))
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		serve(h, request(`{"arguments":{}}`).WithContext(ctx))
		if len(codes) != 1 || codes[0] != toolwire.CodeClientGone || !errors.Is(seen, context.Canceled) {
			t.Errorf("codes %v, the tool saw %v", codes, seen)
		}
	})
}

// A tool does not run for a caller that has gone before.
func TestClosedConnectionBeforeTheCall(t *testing.T) {
	ran := false
	var end webhook.CallEnd
	h := newHandler(t, &webhook.Options{OnCall: func(_ context.Context, e webhook.CallEnd) { end = e }},
		webhook.Define("act", "", func(context.Context, struct{}) (string, error) { ran = true; return "", nil }))
	gone := errors.New("gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(gone)
	serve(h, request(`{"arguments":{}}`).WithContext(ctx))
	if ran || toolwire.CodeOf(end.Err) != toolwire.CodeClientGone || !errors.Is(end.Err, gone) || !errors.Is(end.Err, context.Canceled) {
		t.Errorf("ran %t, %v", ran, end.Err)
	}
}

func TestGoexitIsContained(t *testing.T) {
	h := newHandler(t, nil, webhook.Define("exit", "", func(context.Context, struct{}) (string, error) {
		runtime.Goexit()
		return "", nil
	}))
	if status, body, _ := serve(h, request(`{"arguments":{}}`)); status != 500 || !strings.Contains(body, `"internal"`) {
		t.Errorf("%d %s", status, body)
	}
}

// unwritable runs a function when it is encoded.
type unwritable func()

func (u unwritable) MarshalJSON() ([]byte, error) { u(); return []byte("null"), nil }

func TestResultsThatPanicAreContained(t *testing.T) {
	for name, write := range map[string]func(){"panic": func() { panic("the reason") }, "Goexit": runtime.Goexit} {
		var log bytes.Buffer
		var records []webhook.CallEnd
		opts := &webhook.Options{
			Logger: slog.New(slog.NewTextHandler(&log, nil)),
			OnCall: func(_ context.Context, r webhook.CallEnd) { records = append(records, r) },
		}
		h := newHandler(t, opts, webhook.Define("write", "", func(context.Context, struct{}) (any, error) {
			return unwritable(write), nil
		}))
		done := make(chan struct{})
		go func() { // runtime.Goexit would end the test
			defer close(done)
			defer func() {
				if p := recover(); p != nil {
					t.Errorf("%s: the panic is not contained: %v", name, p)
				}
			}()
			if status, body, _ := serve(h, request(`{"arguments":{}}`)); status != 500 || !strings.Contains(body, `"internal"`) {
				t.Errorf("%s: %d %s", name, status, body)
			}
		}()
		<-done
		if len(records) != 1 || toolwire.CodeOf(records[0].Err) != "internal" {
			t.Errorf("%s: records %+v", name, records)
		}
		if name == "panic" && !strings.Contains(log.String(), "the reason") {
			t.Errorf("the log has no reason: %s", log.String())
		}
	}
}

func TestHooksThatPanicAreContained(t *testing.T) {
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, nil))
	h := newHandler(t, &webhook.Options{Logger: logger, OnCall: func(context.Context, webhook.CallEnd) {
		panic("the reason")
	}}, schedule())
	if status, body, _ := serve(h, request(goodBody)); status != 200 || body != `{"slots":["monday <2pm>"]}` {
		t.Errorf("OnCall: %d %s", status, body)
	}
	for _, part := range []string{"OnCall panicked", "the reason", "timing_test.go", "tool called"} {
		if !strings.Contains(log.String(), part) {
			t.Errorf("OnCall: %q is missing in:\n%s", part, log.String())
		}
	}

	log.Reset()
	ran := false
	h = newHandler(t, &webhook.Options{Logger: logger, Secrets: []string{toolSecret},
		SecretFunc: func() []string { panic("private") }},
		webhook.Define("run", "", func(context.Context, struct{}) (string, error) { ran = true; return "", nil }))
	if status, body, _ := serve(h, request(`{"arguments":{}}`)); status != 401 || strings.Contains(body, "private") || ran {
		t.Errorf("SecretFunc: %d %s, the tool ran: %t", status, body, ran)
	}
	for _, part := range []string{"SecretFunc panicked", "timing_test.go", "unauthorized"} {
		if !strings.Contains(log.String(), part) {
			t.Errorf("SecretFunc: %q is missing in:\n%s", part, log.String())
		}
	}
	if strings.Contains(log.String(), "private") { // the value may be a secret
		t.Errorf("the log has the value of the panic:\n%s", log.String())
	}
}

// serveAside serves on another goroutine. If runtime.Goexit ends that goroutine, the status is 0.
func serveAside(h http.Handler, r *http.Request) (status int, body string) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		status, body, _ = serve(h, r)
	}()
	<-done
	return status, body
}

func TestHooksThatExitAreContained(t *testing.T) {
	h := newHandler(t, &webhook.Options{OnCall: func(context.Context, webhook.CallEnd) { runtime.Goexit() }}, schedule())
	if status, body := serveAside(h, request(goodBody)); status != 200 || body != `{"slots":["monday <2pm>"]}` {
		t.Errorf("OnCall: %d %s", status, body)
	}
	detail := webhook.Detail(func(context.Context) (string, error) { runtime.Goexit(); return "", nil }, nil)
	if status, body := serveAside(detail, httptest.NewRequest("GET", "/", nil)); status != 500 ||
		!strings.Contains(body, `"internal"`) {
		t.Errorf("Detail: %d %s", status, body)
	}
}

// A function that ignores its context delays a response for a bounded time.
func TestFunctionsThatDoNotReturn(t *testing.T) {
	for name, tt := range map[string]struct {
		handler func(t *testing.T, log *slog.Logger) http.Handler
		request *http.Request
		status  int
		after   time.Duration
		logged  string
	}{
		"OnCall": {
			func(t *testing.T, log *slog.Logger) http.Handler {
				return newHandler(t, &webhook.Options{Logger: log, OnCall: func(context.Context, webhook.CallEnd) {
					time.Sleep(time.Hour)
				}}, schedule())
			},
			request(goodBody), 200, 500 * time.Millisecond, "OnCall did not return in time",
		},
		"Detail": {
			func(_ *testing.T, log *slog.Logger) http.Handler {
				return webhook.Detail(func(context.Context) (string, error) { time.Sleep(time.Hour); return "", nil }, log)
			},
			httptest.NewRequest("GET", "/", nil), 500, 10*time.Second + 500*time.Millisecond,
			`"tool detail failed" error="the tool took too long"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				h := tt.handler(t, slog.New(slog.NewTextHandler(&log, nil)))
				start := time.Now()
				status, body, _ := serve(h, tt.request)
				if took := time.Since(start); status != tt.status || took != tt.after ||
					!strings.Contains(log.String(), tt.logged) {
					t.Errorf("after %s: %d %s; want %d after %s; log:\n%s", took, status, body, tt.status, tt.after, log.String())
				}
				time.Sleep(2 * time.Hour) // until the abandoned function returns
			})
		})
	}
}

func TestLog(t *testing.T) {
	var log bytes.Buffer
	h := newHandler(t, &webhook.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}, schedule(),
		webhook.Define("panicking", "", func(context.Context, struct{}) (string, error) { panic("the reason") }),
		webhook.Define("failing", "", func(context.Context, struct{}) (string, error) { return "", errors.New("the cause") }))
	serve(h, request(strings.Replace(goodBody, "the user asked", "private-thought", 1)))
	serve(h, request(`{"tool":"check_schedule","arguments":{"day":"private-value"}}`))
	serve(h, request(`{"tool":"panicking","arguments":{}}`))
	serve(h, request(`{"tool":"failing","arguments":{}}`))
	serve(h, request(`private-body`, header("X-Agent-Secret", "private-secret")))
	serve(h, request(`private-body`))
	for _, part := range []string{`msg="tool called" tool=check_schedule agent_id=` + agentUUID, "/day must be one of",
		"the reason", "timing_test.go",
		"the cause", "unauthorized", "invalid_json", "level=ERROR"} {
		if !strings.Contains(log.String(), part) {
			t.Errorf("%q is missing in:\n%s", part, log.String())
		}
	}
	if strings.Contains(log.String(), "private") || strings.Contains(log.String(), toolSecret) {
		t.Errorf("the log has private values:\n%s", log.String())
	}
}

// A log in JSON has the causes of errors too.
func TestLogAsJSON(t *testing.T) {
	var log bytes.Buffer
	h := newHandler(t, &webhook.Options{Logger: slog.New(slog.NewJSONHandler(&log, nil))}, schedule(),
		webhook.Define("failing", "", func(context.Context, struct{}) (string, error) { return "", errors.New("the cause") }),
		webhook.Define("nil", "", func(context.Context, struct{}) (string, error) { return "", (*net.ParseError)(nil) }))
	for call, want := range map[string]string{
		`{"tool":"failing","arguments":{}}`: `"error":"webhook: tool \"failing\": tool_failed: the cause"`,
		`{"tool":"nil","arguments":{}}`:     `"error":"`, // its Error method panics
		`{"tool":"nobody","arguments":{}}`:  `"error":"webhook: unknown_tool: `,
	} {
		log.Reset()
		if status, _, _ := serve(h, request(call)); status >= 500 || !strings.Contains(log.String(), want) {
			t.Errorf("%s: status %d, %q is missing in %s", call, status, want, log.String())
		}
		if strings.Contains(call, "failing") && !strings.Contains(log.String(), "the cause") {
			t.Errorf("the log has no cause: %s", log.String())
		}
	}
}

func TestDetailLogs(t *testing.T) {
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, nil))
	serve(webhook.Detail(func(context.Context) (string, error) { return "", errors.New("the cause") }, logger),
		httptest.NewRequest("GET", "/", nil))
	serve(webhook.Detail(func(context.Context) (string, error) { panic("the reason") }, logger),
		httptest.NewRequest("GET", "/", nil))
	for _, part := range []string{"the cause", "the reason", "timing_test.go"} {
		if !strings.Contains(log.String(), part) {
			t.Errorf("%q is missing in:\n%s", part, log.String())
		}
	}
}

// The read deadline of the body must not look like a closed connection.
func TestToolsOutliveTheBodyTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := webhook.Define("slow", "", func(ctx context.Context, _ struct{}) (string, error) {
			select {
			case <-ctx.Done():
				return "", ctx.Err()
			case <-time.After(20 * time.Second):
				return "done", nil
			}
		})
		server := memhttp.Serve(t, newHandler(t, &webhook.Options{BodyTimeout: 10 * time.Second}, slow))
		transport := &http.Transport{DialContext: server.Dial}
		defer transport.CloseIdleConnections()
		r, err := http.NewRequest("POST", "http://localhost/", strings.NewReader(`{"arguments":{}}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header = request("").Header
		response, err := transport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = response.Body.Close() }()
		if body, _ := io.ReadAll(response.Body); string(body) != `"done"` {
			t.Errorf("%d %s", response.StatusCode, body)
		}
	})
}

func TestSlowBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn, err := memhttp.Serve(t, newHandler(t, &webhook.Options{BodyTimeout: 10 * time.Second},
			schedule())).Dial(t.Context(), "", "")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		start := time.Now()
		fmt.Fprintf(conn,
			"POST / HTTP/1.1\r\nHost: x\r\nX-Agent-Secret: %s\r\nX-Agent-Identity: %s\r\nContent-Length: 100\r\n\r\n{",
			toolSecret, agentUUID)
		response, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = response.Body.Close() }()
		body, _ := io.ReadAll(response.Body)
		if took := time.Since(start); response.StatusCode != 400 ||
			!strings.Contains(string(body), "did not arrive within 10s") || took != 10*time.Second {
			t.Errorf("%d %s after %s", response.StatusCode, body, took)
		}
	})
}

// At most MaxParallel tools run at the same time, those that have been given up included.
func TestFurtherCallsWaitForAPlace(t *testing.T) {
	for _, tt := range []struct {
		name   string
		runs   time.Duration // the tool of the first call, which ignores its context
		caller time.Duration // how long the caller of the second one waits
		status int
		body   string
	}{
		{"a place becomes free", 900 * time.Millisecond, time.Hour, 200, `"done"`},
		{"no place becomes free", time.Hour, time.Hour, 503,
			`{"error":"busy","message":"the tool did not run, because too many calls are in progress; call it again later"}`},
		{"the caller leaves", time.Hour, time.Millisecond, 500, `{"error":"client_gone","message":"the call was canceled"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ran := 0
				h := newHandler(t, &webhook.Options{MaxParallel: 1, Timeout: time.Second},
					webhook.Define("run", "", func(context.Context, struct{}) (string, error) {
						if ran++; ran == 1 {
							time.Sleep(tt.runs)
						}
						return "done", nil
					}))
				go serve(h, request(`{"arguments":{}}`))
				synctest.Wait()
				ctx, cancel := context.WithTimeout(t.Context(), tt.caller)
				defer cancel()
				status, body, header := serve(h, request(`{"arguments":{}}`).WithContext(ctx))
				if status != tt.status || body != tt.body || (header.Get("Retry-After") == "1") != (status == 503) || (ran == 2) != (status == 200) {
					t.Errorf("%d %s, Retry-After %q, %d runs", status, body, header.Get("Retry-After"), ran)
				}
				time.Sleep(2 * time.Hour) // until the first tool has returned
			})
		})
	}
}
