package pages

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/internal/memhttp"
)

// The code of docs/deployment.md.

// runTimeout is run_timeout_s of the registration, and Options.RunTimeout.
const runTimeout = 5 * time.Minute

// notice is how long the load balancer needs to see that /readyz fails, and to send no more requests.
const notice = 15 * time.Second

// serve serves the agent until ctx ends. Then it lets the runs in progress finish.
func serve(ctx context.Context, listener net.Listener, agent *dispatch.Handler) error {
	mux := http.NewServeMux()
	mux.Handle("/dispatch", agent)
	mux.HandleFunc("GET /healthz", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if ctx.Err() != nil {
			http.Error(w, "shutting down", http.StatusServiceUnavailable)
		}
	})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done(): // SIGTERM
	}
	time.Sleep(notice)
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), runTimeout)
	defer cancel()
	return errors.Join(agent.Drain(end), server.Shutdown(end))
}

const (
	dispatchBody = `{"task_id":42,"run_id":17,"agent_id":8,"input":{"task_id":42,"user_instruction":"Wait.","input":{}},` +
		`"odyssey_proxy_url":"https://api.example.com/api/odyssey-proxy/runs/abc","run_token_jti":"jti"}`
	pingBody = `{"ping":true}`
)

// A run that is in progress at SIGTERM ends with its response. Dispatches are accepted until the
// load balancer has noticed, and rejected with 503 and Retry-After from then on. Pings are answered
// to the end.
func TestServe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		started := make(chan struct{}, 10)
		var done atomic.Int32
		agent, err := dispatch.New(func(ctx context.Context, _ *dispatch.Run) (*dispatch.Response, error) {
			started <- struct{}{}
			select {
			case <-time.After(time.Minute):
			case <-ctx.Done():
			}
			done.Add(1)
			return &dispatch.Response{FinalResponse: "done"}, nil
		}, &dispatch.Options{Tokens: []string{"token"}, RunTimeout: runTimeout})
		if err != nil {
			t.Fatal(err)
		}
		listener := memhttp.Listen()
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- serve(ctx, listener, agent) }()
		transport := &http.Transport{DialContext: listener.Dial}
		defer transport.CloseIdleConnections()
		do := func(method, path, body string) (int, string) {
			r, err := http.NewRequestWithContext(t.Context(), method, "http://agent"+path, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Authorization", "Bearer token")
			r.Header.Set("X-Pipelines-Run-Token", "run-token")
			response, err := transport.RoundTrip(r)
			if err != nil {
				t.Errorf("%s: %v", path, err)
				return 0, ""
			}
			defer func() { _ = response.Body.Close() }()
			text, err := io.ReadAll(response.Body)
			if err != nil {
				t.Errorf("%s: %v", path, err)
			}
			return response.StatusCode, response.Header.Get("Retry-After") + string(text)
		}
		run := func() <-chan int {
			status := make(chan int, 1)
			go func() {
				code, text := do(http.MethodPost, "/dispatch", dispatchBody)
				if !strings.Contains(text, `"done"`) {
					t.Errorf("the run is answered %d %s", code, text)
				}
				status <- code
			}()
			<-started
			return status
		}
		check := func(when, path, body string, want int) {
			t.Helper()
			method := http.MethodGet
			if body != "" {
				method = http.MethodPost
			}
			if code, text := do(method, path, body); code != want {
				t.Errorf("%s: %s is answered %d %s, want %d", when, path, code, text, want)
			}
		}

		first := run()
		check("before", "/healthz", "", 200)
		check("before", "/readyz", "", 200)
		stop()
		synctest.Wait()
		check("at once", "/healthz", "", 200)
		check("at once", "/readyz", "", 503)
		check("at once", "/dispatch", pingBody, 200)
		second := run()
		time.Sleep(notice)
		synctest.Wait()
		if code, text := do(http.MethodPost, "/dispatch", dispatchBody); code != 503 || !strings.Contains(text, `"busy"`) || text[0] == '{' {
			t.Errorf("a dispatch while draining is answered %d %s", code, text)
		}
		check("draining", "/dispatch", pingBody, 200)
		if a, b := <-first, <-second; a != 200 || b != 200 {
			t.Errorf("the runs are answered %d and %d", a, b)
		}
		if err := <-ended; err != nil || done.Load() != 2 {
			t.Errorf("%d runs, %v", done.Load(), err)
		}
	})
}
