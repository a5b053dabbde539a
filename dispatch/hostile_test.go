package dispatch_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/internal/httpserve/hostiletest"
)

// hostileSubject is a handler that counts its runs.
func hostileSubject(t testing.TB) hostiletest.Subject {
	var runs atomic.Int64
	h := newHandler(t, func(context.Context, *dispatch.Run) (*dispatch.Response, error) {
		runs.Add(1)
		return &dispatch.Response{FinalResponse: "done"}, nil
	}, func(o *dispatch.Options) { o.MaxBodyBytes = 1000 })
	return hostiletest.Subject{
		Handler: h, Path: "/dispatch", Credential: "Authorization: Bearer " + agentToken,
		Header: []string{
			"Content-Type: application/json", "X-Pipelines-Run-Token: " + runToken,
			"X-Pipelines-Odyssey-Proxy-Url: https://api.example.com/runs/abc",
		},
		Body: `{"task_id":1,"input":{"user_instruction":"x"}}`, MaxBody: 1000,
		Ran: func() int { return int(runs.Load()) },
	}
}

func TestHostileRequests(t *testing.T) {
	hostiletest.Run(t, hostileSubject, append(hostiletest.Bearers, hostiletest.Rows...))
	hostiletest.RunHTTP2(t, hostileSubject, hostiletest.HTTP2Rows)
}

// A refused peer that withholds its body is answered, and loses its connection.
func TestARefusedPeerLosesItsConnectionInTime(t *testing.T) {
	for name, tt := range map[string]struct {
		sent   string
		status int
	}{
		"401":         {"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 13\r\n\r\n", 401},
		"401 chunked": {"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n", 401},
		"405":         {"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 13\r\n\r\n", 405},
		"413":         {"POST / HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + agentToken + "\r\nContent-Length: 1001\r\n\r\n", 413},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { hostiletest.Withhold(t, hostileSubject(t).Handler, tt.sent, tt.status) })
		})
	}
}

// So does a peer that is refused for the place or the room that it needs, after 64 KiB of its body.
func TestAPeerThatIsNotAdmittedLosesItsConnectionInTime(t *testing.T) {
	const head = "POST / HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + agentToken + "\r\n"
	for _, tt := range []struct{ name, head, problem string }{
		{"no place", "Content-Length: 150000\r\n\r\n", "Options.MaxRuns"},
		{"no room", "Transfer-Encoding: chunked\r\n\r\n20000\r\n", "Options.MaxBytesInFlight"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				release := make(chan bool)
				h := newHandler(t, func(context.Context, *dispatch.Run) (*dispatch.Response, error) {
					<-release
					return nil, nil
				}, func(o *dispatch.Options) { // one run is in progress, whose body leaves room for 64 KiB of another
					o.MaxBytesInFlight = 200_000
					if tt.name == "no place" {
						o.MaxRuns = 1
					}
				})
				go post(h, sizedBody(120_000), nil)
				synctest.Wait()
				if body := hostiletest.Withhold(t, h, head+tt.head+white[:64<<10+1], 503); !strings.Contains(body, tt.problem) {
					t.Errorf("the answer is %s", body)
				}
				close(release)
			})
		})
	}
}

// A refusal is logged with the address of the peer and the reason, and without what the peer
// presented.
func TestRefusalsAreLogged(t *testing.T) {
	var log bytes.Buffer
	h := newHandler(t, answering("x"), func(o *dispatch.Options) { o.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	for _, tt := range []struct {
		name   string
		change func(*http.Request)
		want   string
	}{
		{"no token", func(r *http.Request) { r.Header.Del("Authorization") }, "unauthorized: the header Authorization is missing"},
		{"wrong token", func(r *http.Request) { r.Header.Set("Authorization", "Bearer hunter2") }, "unauthorized: the secret in the header Authorization is not accepted"},
		{"no scheme", func(r *http.Request) { r.Header.Set("Authorization", "hunter2") }, "unauthorized: the header Authorization does not begin with"},
		{"two tokens", func(r *http.Request) { r.Header.Add("Authorization", "Bearer hunter2") }, "unauthorized: the header Authorization is given 2 times"},
		{"GET", func(r *http.Request) { r.Method = "GET" }, "method_not_allowed: use POST"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			log.Reset()
			w := post(h, seedBody, func(r *http.Request) { r.RemoteAddr = "192.0.2.7:4711"; tt.change(r) })
			for _, part := range []string{"level=WARN", `msg="dispatch refused"`, tt.want, "remote=192.0.2.7:4711"} {
				if !strings.Contains(log.String(), part) {
					t.Errorf("%q is missing in %s", part, log.String())
				}
			}
			if told := log.String() + w.Body.String(); strings.Contains(told, "hunter2") {
				t.Errorf("what was presented is told: %s", told)
			}
		})
	}
}

// A run on one stream goes on while another stream of the connection is refused.
func TestRefusalsLeaveOtherStreamsAlone(t *testing.T) {
	began, release := make(chan bool), make(chan bool)
	h := newHandler(t, func(context.Context, *dispatch.Run) (*dispatch.Response, error) {
		began <- true
		<-release
		return &dispatch.Response{FinalResponse: "done"}, nil
	}, func(o *dispatch.Options) { o.MaxBodyBytes = 1000 })
	conn := hostiletest.NewServer(t, h).DialHTTP2(t)
	head := []string{
		":method", "POST", ":scheme", "http", ":path", "/", ":authority", "x", "x-pipelines-run-token", runToken,
		"x-pipelines-odyssey-proxy-url", "https://api.example.com/runs/abc", "authorization", "Bearer " + agentToken,
	}
	conn.Headers(1, false, head...)
	conn.Data(1, true, `{}`)
	<-began
	for i, refused := range []struct {
		fields []string
		status int
	}{
		{append(head[:len(head)-1:len(head)-1], "Bearer wrong", "content-length", "100"), 401},
		{append([]string{":method", "PATCH"}, head[2:]...), 405},
		{append(head[:len(head):len(head)], "content-length", "1001"), 413},
	} {
		stream := 2*i + 3
		conn.Headers(stream, false, refused.fields...)
		if got := conn.Wait(stream); got != refused.status {
			t.Errorf("stream %d is answered %d, want %d", stream, got, refused.status)
		}
		if !conn.Ping() || conn.GoingAway {
			t.Fatalf("a %d ends the connection of a run in flight", refused.status)
		}
	}
	close(release)
	if got := conn.Wait(1); got != 200 {
		t.Errorf("the run in flight is answered %d", got)
	}
}
