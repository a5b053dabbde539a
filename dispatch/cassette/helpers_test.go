package cassette_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/cassette"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

// orders is a shop with a backend that is busy at first.
var orders = proxytest.World{
	InitialState: `{"order":{"4521":{"status":"shipped","total":79.50},"4522":{"status":"open","total":12}}}`,
	Behaviors: map[string]proxytest.Behavior{
		"get_order":    proxytest.Get("order", "order_id", nil),
		"get_customer": proxytest.Canned(`{"name":"Ada","session_token":"s3cr3t-session-0001"}`),
		"refund_order": proxytest.Update("order", "order_id", &proxytest.WriteOptions{Set: `{"status":"refunded"}`}),
	},
	FailureRules: []proxytest.FailureRule{
		{Tool: "get_customer", Nth: []int{1}, Status: 503, ErrorClass: "lock_contention"},
	},
}

// refund is an agent that looks at two orders and their customer at once, and refunds what was
// shipped.
func refund(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
	_, _ = run.Proxy.Trace(ctx, proxy.EventThinking, map[string]string{"text": "Which of them was shipped?"})
	var wait sync.WaitGroup
	results, errs := make([]json.RawMessage, 3), make([]error, 3)
	look := func(i int, tool string, args any) {
		wait.Go(func() { results[i], errs[i] = proxy.Call[json.RawMessage](ctx, run.Proxy, tool, args) })
	}
	look(0, "get_order", map[string]string{"order_id": "4521"})
	look(1, "get_order", map[string]string{"order_id": "4522"})
	look(2, "get_customer", map[string]any{"ids": []int{4521, 4522}, "api_key": "k-very-secret-0001"})
	wait.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	var refunded []string
	for i, id := range []string{"4521", "4522"} {
		if strings.Contains(string(results[i]), `"shipped"`) {
			if _, err := run.Proxy.As("supervisor/refunds").Do(ctx, "refund_order",
				map[string]string{"order_id": id}); err != nil {
				return nil, err
			}
			refunded = append(refunded, id)
		}
	}
	return &dispatch.Response{FinalResponse: fmt.Sprintf("Refunded: %s.", strings.Join(refunded, ", "))}, nil
}

// newCassette is cassette.New for tests that look at deviations.
func newCassette(t *testing.T, path string, opts *cassette.Options) *cassette.Cassette {
	t.Helper()
	c, err := cassette.New(path, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() }) // Windows does not remove a folder with an open file
	return c
}

// recording is a cassette that records on the tape path.
func recording(t *testing.T) (c *cassette.Cassette, path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "run.jsonl")
	return newCassette(t, path, &cassette.Options{Mode: cassette.Record}), path
}

// finish closes a cassette or a recorder.
func finish(t *testing.T, c io.Closer) {
	t.Helper()
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
}

// loaded is cassette.Load of a tape without faults.
func loaded(t *testing.T, path string) *cassette.Tape {
	t.Helper()
	tape, err := cassette.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	return tape
}

// clientOf is a client of a run.
func clientOf(t *testing.T, token string, transport http.RoundTripper) *proxy.Client {
	t.Helper()
	c, err := proxy.New("http://proxy.test", token, &proxy.Options{Transport: transport})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// mustCall makes a call that must succeed.
func mustCall(t *testing.T, p *proxy.Client, ctx context.Context, tool string, args any) {
	t.Helper()
	if _, err := p.Do(ctx, tool, args); err != nil {
		t.Error(err)
	}
}

// begin names a run of a recorder.
func begin(t *testing.T, r *cassette.Recorder, task cassette.Task) (ctx context.Context, end func() error) {
	t.Helper()
	ctx, end, err := r.Begin(t.Context(), task)
	if err != nil {
		t.Fatal(err)
	}
	return ctx, end
}

// request is a request to a proxy with the token of the run.
func request(t *testing.T, method, url string, body io.Reader) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	return r
}

// client calls through a handler without a network.
func client(t *testing.T, handler http.Handler, opts *proxy.Options) *proxy.Client {
	t.Helper()
	var o proxy.Options
	if opts != nil {
		o = *opts
	}
	if o.Transport == nil {
		o.Transport = proxytest.NewTransport(handler)
	}
	c, err := proxy.New("http://proxy.test/api/odyssey-proxy/runs/7", token, &o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

const token = "run-token-0123456789abcdef"

// envelope answers as the proxy does.
func envelope(w http.ResponseWriter, tool, response string) {
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"tool_name":%q,"response":%s,"source":"odyssey","latency_ms":1.5,"matched_rule_index":null}`, tool,
		response)
}

// answering is a proxy that gives every call the same result.
func answering(tool, response string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { envelope(w, tool, response) })
}

// record makes a tape of what use does against a proxy.
func record(t *testing.T, opts *cassette.Options, behind http.Handler, use func(*proxy.Client)) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "run.jsonl")
	var o cassette.Options
	if opts != nil {
		o = *opts
	}
	o.Mode = cassette.Record
	c := newCassette(t, path, &o)
	use(client(t, c.Wrap(behind), nil))
	finish(t, c)
	return path
}

// tape writes a tape by hand.
func tape(t *testing.T, lines ...string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "run.jsonl")
	write(t, path, strings.Join(lines, "\n")+"\n")
	return path
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// call is a line of a tape.
func call(n int, tool, arguments, response string) string {
	return fmt.Sprintf(`{"n":%d,"kind":"tool","name":%q,"arguments":%s,"status":200,"answer":{"tool_name":%q,"response":%s,`+
		`"source":"odyssey","latency_ms":1,"matched_rule_index":null},"at_ms":0,"latency_ms":1}`, n, tool, arguments,
		tool, response)
}

const head = `{"cassette":1,"created":"2026-11-21T20:15:00Z"}`

func tail(n int) string { return fmt.Sprintf(`{"end":true,"count":%d}`, n) }

func wantKinds(t *testing.T, r *cassette.Report, want ...string) {
	t.Helper()
	got := []string{}
	for _, d := range r.Deviations {
		got = append(got, d.Code)
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("deviations %v, want %v\n%s", got, want, r)
	}
}

func mustContain(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("want %q in:\n%s", part, text)
		}
	}
}

func serveHTTP(t *testing.T, handler http.Handler) (url string) {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

// do sends a request through a handler.
func do(t *testing.T, handler http.Handler, r *http.Request) answer {
	t.Helper()
	return send(t, proxytest.NewTransport(handler), r)
}

// send sends a request, and reads the response to its end.
func send(t *testing.T, transport http.RoundTripper, r *http.Request) answer {
	t.Helper()
	resp, err := transport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{resp.StatusCode, string(body)}
}
