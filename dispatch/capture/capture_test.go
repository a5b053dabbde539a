package capture_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/capture"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/dispatch/webhook"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/proxy/proxytest"
	"github.com/toolwire/toolwire/schema"
)

// lines is a writer for a capture. Each Write must be whole lines.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
	odd  []string
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !bytes.HasSuffix(p, []byte("\n")) || bytes.Count(bytes.TrimSpace(p), []byte("\n")) > 0 {
		l.odd = append(l.odd, string(p))
	}
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// world answers get_order and refund_order.
func world() proxytest.World {
	input := []byte(`{"type":"object","properties":{"order_id":{"type":"string"},"note":{"type":"string"}}}`)
	return proxytest.World{
		Tools: []schema.Tool{
			{Name: "get_order", Description: "Look up an order.", InputSchema: input},
			{Name: "refund_order", Description: "Refund an order.", InputSchema: input},
		},
		Behaviors: map[string]proxytest.Behavior{
			"get_order":    proxytest.Canned(`{"status":"shipped","owner":"Content-Canary-result"}`),
			"refund_order": proxytest.Canned(`{"refund_id":"rf_1"}`),
		},
	}
}

// dispatchRun dispatches a run over loopback to an agent whose endpoint and transport are recorded.
func dispatchRun(t *testing.T, record *capture.Capture, agent dispatch.Agent, task dispatchtest.Task) *dispatchtest.Result {
	t.Helper()
	const token = "Secret-Canary-agent-token"
	handler, err := dispatch.New(agent, &dispatch.Options{
		Tokens: []string{token}, Proxy: &proxy.Options{Transport: record.Transport(nil)},
	})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(record.Middleware(handler))
	t.Cleanup(server.Close)
	if task.Instruction == "" {
		task.Instruction = "Content-Canary-instruction"
	}
	task.Input = map[string]any{"Content-Canary-name": "Content-Canary-value", "amount": 79.5}
	if task.World.Tools == nil {
		task.World = world()
	}
	return dispatchtest.Run(t, dispatchtest.Target{URL: server.URL + "/dispatch", AuthValue: "Bearer " + token}, task)
}

func refund(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
	if _, err := run.Proxy.Handoff(ctx, "supervisor", "supervisor/refunds"); err != nil {
		return nil, err
	}
	client := run.Proxy.As("supervisor/refunds")
	if _, err := client.Call(ctx, "get_order", map[string]any{"order_id": "Content-Canary-argument"}); err != nil {
		return nil, err
	}
	if _, err := client.Call(ctx, "refund_order", map[string]any{"order_id": "4521"}); err != nil {
		return nil, err
	}
	return run.Transcript().Response("Content-Canary-final"), nil
}

// closed returns the records of a capture that is complete.
func closed(t *testing.T, record *capture.Capture, out *lines) []capture.Record {
	t.Helper()
	if err := record.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(out.odd) > 0 {
		t.Errorf("these were written at once and are not one line each: %q", out.odd)
	}
	records, err := capture.Read(strings.NewReader(out.String()))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		if r.Kind == "broken" {
			t.Errorf("line %d: %s", r.Line, r.Problem)
		}
	}
	return records
}

// find returns the records of a kind and side.
func find(records []capture.Record, kind, side string) []capture.Record {
	var list []capture.Record
	for _, r := range records {
		if r.Kind == kind && r.Side == side {
			list = append(list, r)
		}
	}
	return list
}

// A capture of a run over loopback has the dispatch and its calls, joined by the run, and neither
// secrets nor content.
func TestWholeRun(t *testing.T) {
	var out lines
	record := capture.New(&out, nil)
	var secret string
	task := dispatchtest.Task{OnRun: func(run *proxytest.Run) { secret = run.Token }}
	dispatchRun(t, record, refund, task).AssertOK(t)
	records := closed(t, record, &out)

	if first, last := records[0], records[len(records)-1]; first.Kind != "start" || first.Line != 2 ||
		first.Session != 1 || last.Kind != "end" || last.Lost != 0 {
		t.Errorf("it begins with %+v and ends with %+v", first, last)
	}
	dispatches, calls := find(records, "request", "dispatch"), find(records, "request", "call")
	if len(dispatches) != 2 || len(calls) != 3 {
		t.Fatalf("%d dispatches, %d calls, want the ping, the dispatch, a handoff and two tool calls:\n%s",
			len(dispatches), len(calls), out.String())
	}
	run := dispatches[1]
	if dispatches[0].Run != "" || run.Run != "run-1" || run.Protocol != "HTTP/1.1" || run.TLS != "" ||
		run.Connection != dispatches[0].Connection || run.Connection == "" || run.Target != "<path 9>" {
		t.Errorf("%+v", run)
	}
	token := run.Headers.Get("X-Pipelines-Run-Token")
	want := `{"task_id":1,"run_id":1,"agent_id":1,"input":{"task_id":1,"user_instruction":"<string 26>","input":"<object 2>"},` +
		`"odyssey_proxy_url":"http:url-1","run_token_jti":"` + run.Headers.Get("X-Pipelines-Run-Token-Jti") + `"}`
	if got := string(run.Body.JSON); got != want {
		t.Errorf("the dispatch is\n%s\nwant\n%s", got, want)
	}
	for i, target := range []string{"/traces/handoff", "/tools/get_order", "/tools/refund_order"} {
		if c := calls[i]; c.Run != "run-1" || c.Target != "http:url-1"+target || c.Headers.Get("Authorization") != "Bearer "+token {
			t.Errorf("call %d: %+v, want the run token %s", i, c, token)
		}
	}
	if c := calls[1]; !c.Reused || c.Headers.Get("X-Pipelines-Actor-Id") != "aaaaaaaaaa/aaaaaaa" || string(c.Body.JSON) != `"<object 1>"` {
		t.Errorf("%+v", c)
	}
	answers := find(records, "response", "call")
	if got := string(answers[1].Body.JSON); !strings.HasPrefix(got, `{"tool_name":"get_order","response":"<object 2>","source":"odyssey",`) {
		t.Errorf("the answer of get_order is %s", got)
	}
	if answers[1].Exchange != calls[1].Exchange || answers[1].Status != 200 || answers[1].Protocol != "HTTP/1.1" {
		t.Errorf("%+v", answers[1])
	}
	for _, canary := range []string{secret, "Secret-Canary", "Content-Canary", "127.0.0.1", "4521", "79.5", "supervisor"} {
		if strings.Contains(out.String(), canary) {
			t.Errorf("the capture has %q:\n%s", canary, out.String())
		}
	}
}

// With Content the values are there, and the secrets are not.
func TestContent(t *testing.T) {
	var out lines
	record := capture.New(&out, &capture.Options{Content: true})
	var secret string
	agent := func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		_, err := run.Proxy.Call(ctx, "get_order", map[string]any{
			"order_id": secret, "note": "it is " + secret, "api_key": "Secret-Canary-key", "pin_token": 9134567,
		})
		return run.Transcript().Response("Content-Canary-final"), err
	}
	w := world()
	w.Tools[0].InputSchema = []byte(`{"type":"object"}`)
	task := dispatchtest.Task{World: w, OnRun: func(run *proxytest.Run) { secret = run.Token }}
	dispatchRun(t, record, agent, task)
	records := closed(t, record, &out)
	for _, part := range []string{"Content-Canary-instruction", "Content-Canary-value", "Content-Canary-result", "Content-Canary-final", "79.5"} {
		if !strings.Contains(out.String(), part) {
			t.Errorf("the capture does not have %q", part)
		}
	}
	for _, canary := range []string{secret, "Secret-Canary", "9134567"} {
		if strings.Contains(out.String(), canary) {
			t.Errorf("the capture has %q:\n%s", canary, out.String())
		}
	}
	call := find(records, "request", "call")[0]
	want := `{"api_key":"token-3","note":"it is [redacted]","order_id":"token-2","pin_token":"<integer 7>"}`
	if got := string(call.Body.JSON); got != want || call.Headers.Get("Authorization") != "Bearer token-2" {
		t.Errorf("the arguments are\n%s\nwant\n%s\nwith the token %v", got, want, call.Headers["Authorization"])
	}
}

// The token and the URL of a body can be compared with those of the headers.
func TestEqualValuesHaveEqualPlaceholders(t *testing.T) {
	for body, want := range map[string]string{
		`{"run_token":"tok-1234567890","odyssey_proxy_url":"https://api.example.com/runs/abc"}`:  `{"run_token":"token-1","odyssey_proxy_url":"url-1"}`,
		`{"run_token":"tok-0987654321","odyssey_proxy_url":"https://API.example.com/runs/abc/"}`: `{"run_token":"token-2","odyssey_proxy_url":"url-1/"}`,
		`{"odyssey_proxy_url":"http://user:pass@api.example.com/runs/abc?key=1"}`:                `{"odyssey_proxy_url":"http:<user>@url-2?<query>"}`,
		`{"odyssey_proxy_url":"abc","run_token":"short"}`:                                        `{"odyssey_proxy_url":"<not a URL 3>","run_token":"token-2"}`,
	} {
		var out lines
		record := capture.New(&out, nil)
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
		r.Header["X-Pipelines-Run-Token"] = []string{"tok-1234567890"}
		r.Header["X-Pipelines-Odyssey-Proxy-Url"] = []string{"https://api.example.com/runs/abc"}
		record.Middleware(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
		})).ServeHTTP(httptest.NewRecorder(), r)
		got := find(closed(t, record, &out), "request", "dispatch")[0]
		if got.Headers.Get("X-Pipelines-Run-Token") != "token-1" || got.Headers.Get("X-Pipelines-Odyssey-Proxy-Url") != "url-1" ||
			string(got.Body.JSON) != want {
			t.Errorf("%s is\n%s\nwant\n%s\nwith %v", body, got.Body.JSON, want, got.Headers)
		}
	}
}

// A webhook is recorded by the same middleware.
func TestWebhook(t *testing.T) {
	var out lines
	record := capture.New(&out, nil)
	handler, err := webhook.New([]webhook.Tool{{
		Name: "search_leads", Parameters: []byte(`{"type":"object"}`),
		Func: func(context.Context, json.RawMessage) (any, error) { return "Content-Canary-result", nil },
	}}, &webhook.Options{Secrets: []string{"Secret-Canary-webhook"}})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(record.Middleware(handler))
	defer server.Close()
	r, _ := http.NewRequest(http.MethodPost, server.URL, strings.NewReader(
		`{"function":{"name":"search_leads","url":"https://Secret-Canary"},"arguments":{"Content-Canary":"Content-Canary"},"agent":{"id":"a-1","mood":"Content-Canary"}}`))
	r.Header.Set("X-Agent-Secret", "Secret-Canary-webhook")
	r.Header.Set("X-Agent-Identity", "6f1c1a5e-3c1b-4a53-9d7e-0c5f2b8a9e11")
	resp, err := http.DefaultClient.Do(r)
	if err != nil || resp.StatusCode != 200 {
		t.Fatalf("%v, %v", resp, err)
	}
	_ = resp.Body.Close()
	got := find(closed(t, record, &out), "request", "webhook")[0]
	want := `{"function":{"name":"search_leads","url":"<string 21>"},"arguments":"<object 1>","agent":{"id":"<string 3>","mood":"<string 14>"}}`
	if string(got.Body.JSON) != want || got.Headers.Get("X-Agent-Secret") != "token-1" || got.Headers.Get("X-Agent-Identity") != "id-1" {
		t.Errorf("%s\nwant\n%s\n%v", got.Body.JSON, want, got.Headers)
	}
	if strings.Contains(out.String(), "Canary") {
		t.Errorf("the capture has a canary:\n%s", out.String())
	}
}

// The request of proxy.Probe belongs to no run.
func TestTheProbeIsNoRun(t *testing.T) {
	var out lines
	record := capture.New(&out, nil)
	platform := httptest.NewServer(proxytest.NewPlatform(t, world(), nil))
	defer platform.Close()
	if err := proxy.Probe(t.Context(), platform.URL, &proxy.Options{Transport: record.Transport(nil)}); err != nil {
		t.Fatal(err)
	}
	got := find(closed(t, record, &out), "request", "call")
	if len(got) != 1 || got[0].Run != "" || !strings.HasSuffix(got[0].Target, "/tools/__reachability_probe__") {
		t.Errorf("%+v", got)
	}
}

// Runs at the same time are told apart by their tokens.
func TestConcurrentRuns(t *testing.T) {
	var out lines
	record := capture.New(&out, nil)
	t.Run("runs", func(t *testing.T) {
		for range 8 {
			t.Run("", func(t *testing.T) {
				t.Parallel()
				dispatchRun(t, record, refund, dispatchtest.Task{}).AssertOK(t)
			})
		}
	})
	tokens, calls := map[string]string{}, map[string]int{}
	for _, r := range closed(t, record, &out) {
		if r.Kind != "request" || r.Run == "" {
			continue
		}
		token := r.Headers.Get("X-Pipelines-Run-Token")
		if r.Side == "call" {
			calls[r.Run]++
			token = strings.TrimPrefix(r.Headers.Get("Authorization"), "Bearer ")
		}
		if known := tokens[r.Run]; known != "" && known != token {
			t.Errorf("%s has the tokens %s and %s", r.Run, known, token)
		}
		tokens[r.Run] = token
	}
	if len(tokens) != 8 {
		t.Errorf("%d runs", len(tokens))
	}
	for run, n := range calls {
		if n != 3 {
			t.Errorf("%s has %d calls", run, n)
		}
	}
}
