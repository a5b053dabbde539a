package proxytest_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

func world() proxytest.World {
	return proxytest.World{Behaviors: map[string]proxytest.Behavior{
		"get_order": proxytest.Canned(`{"status":"shipped"}`),
		"count":     func(r *proxytest.Request) (any, error) { return r.Number, nil },
		"fail":      func(*proxytest.Request) (any, error) { return nil, errors.New("no valid response") },
		"big":       func(*proxytest.Request) (any, error) { return strings.Repeat("x", 1<<20), nil },
		"no_json":   func(*proxytest.Request) (any, error) { return func() {}, nil },
	}}
}

// newPlatform is proxytest.New for worlds without mistakes. Faults of its runs do not fail the test.
func newPlatform(t *testing.T, w proxytest.World, opts *proxytest.Options) *proxytest.Platform {
	t.Helper()
	p, err := proxytest.New(w, opts)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// send posts raw bytes to a platform without a network.
func send(t *testing.T, p *proxytest.Platform, path string, header http.Header, body string) (int, string) {
	t.Helper()
	r, err := http.NewRequest("POST", "http://proxy.test"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = header
	response, err := proxytest.NewTransport(p).RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(answer)
}

func TestContract(t *testing.T) {
	p := proxytest.NewPlatform(t, world(), &proxytest.Options{AllowUndeclared: true})
	run := p.NewRun()
	bearer := func(more ...string) http.Header {
		h := http.Header{"Authorization": {"Bearer " + run.Token}}
		for i := 0; i < len(more); i += 2 {
			h.Add(more[i], more[i+1])
		}
		return h
	}
	for _, tt := range []struct {
		name, path string
		header     http.Header
		body       string
		status     int
		part       string // of the answer
	}{
		{"bearer", "/tools/get_order", bearer(), `{}`, 200, `"response":{"status":"shipped"}`},
		{"envelope", "/tools/get_order", bearer(), `{}`, 200, `"matched_rule_index":null`},
		{"source", "/tools/get_order", bearer(), `{}`, 200, `"source":"odyssey"`},
		{"other header", "/tools/get_order", http.Header{"X-Pipelines-Run-Token": {run.Token}}, `{}`, 200,
			`"tool_name":"get_order"`},
		{"both headers", "/tools/get_order", bearer("X-Pipelines-Run-Token", run.Token), `{}`, 200, `response`},
		{"two tokens", "/tools/get_order", bearer("X-Pipelines-Run-Token", "other"), `{}`, 401, `run_token_invalid`},
		{"no token", "/tools/get_order", http.Header{}, `{}`, 401, `run_token_invalid`},
		{"probe", "/api/odyssey-proxy/tools/__reachability_probe__", http.Header{"Authorization": {"Bearer fake-token"}},
			`{}`, 401, `run_token_invalid`},
		{"unknown tool", "/tools/nope", bearer(), `{}`, 404, `tool_not_executable`},
		{"unknown path", "/nope/get_order", bearer(), `{}`, 404, `the path does not exist`},
		{"no name", "/tools/", bearer(), `{}`, 404, `the path does not exist`},
		{"no object", "/tools/get_order", bearer(), `[]`, 422, `must be an object`},
		{"no JSON", "/tools/get_order", bearer(), `x`, 422, `invalid character`},
		{"empty", "/tools/get_order", bearer(), ``, 422, `not a JSON object`},
		{"too large", "/tools/get_order", bearer(), `{"a":"` + strings.Repeat("x", 1<<20) + `"}`, 413, `1048576`},
		{"result too large", "/tools/big", bearer(), `{}`, 502, `1048576`},
		{"actor", "/tools/get_order", bearer("X-Pipelines-Actor-Id", "a/b"), `{}`, 200, `response`},
		{"empty actor", "/tools/get_order", bearer("X-Pipelines-Actor-Id", ""), `{}`, 400, `actor_id_invalid`},
		{"malformed actor", "/tools/get_order", bearer("X-Pipelines-Actor-Id", "a\tb"), `{}`, 400, `actor_id_invalid`},
		{"malformed actor, no JSON", "/tools/get_order", bearer("X-Pipelines-Actor-Id", "a\tb"), `x`, 400, `actor_id_invalid`},
		{"two actors", "/tools/get_order", bearer("X-Pipelines-Actor-Id", "a", "X-Pipelines-Actor-Id", "b"), `{}`, 400,
			`actor_id_invalid`},
		{"simulator fails", "/tools/fail", bearer(), `{}`, 200, `"response":{"error":"no valid response"},"source":"error"`},
		{"result is not JSON", "/tools/no_json", bearer(), `{}`, 200, `"source":"error"`},
		{"trace", "/traces/thinking", bearer(), `{"text":"hm"}`, 200, `"accepted":true`},
		{"unreserved trace", "/traces/tool_call", bearer(), `{}`, 400, `trace_event_type_invalid`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			status, body := send(t, p, "/api/odyssey-proxy/runs/1"+tt.path, tt.header, tt.body)
			if status != tt.status || !strings.Contains(body, tt.part) {
				t.Errorf("got %d %s\nwant %d with %s", status, body, tt.status, tt.part)
			}
			if strings.Contains(body, run.Token) {
				t.Error("the token is in the answer")
			}
			if record, err := json.Marshal(run.Log()); err != nil || strings.Contains(string(record), run.Token) {
				t.Errorf("the record as JSON: %s %v", record, err)
			}
		})
	}
	if _, body := send(t, p, "/tools/fail", bearer(), `{}`); strings.Contains(body, "validation") {
		t.Errorf("validation is there for odyssey only: %s", body)
	}
}

func TestRecording(t *testing.T) {
	platform := proxytest.NewPlatform(t, world(), &proxytest.Options{AllowUndeclared: true})
	server := httptest.NewServer(platform)
	defer server.Close()
	run := platform.NewRun()
	c, err := proxy.New(server.URL+run.Path, run.Token, nil)
	if err != nil {
		t.Fatal(err)
	}
	for want := 1; want <= 2; want++ {
		n, err := proxy.Call[int](t.Context(), c.As("sub"), "count", map[string]int{"n": want})
		if err != nil || n != want {
			t.Errorf("call %d returned %d, %v", want, n, err)
		}
	}
	sequence, err := c.Trace(t.Context(), proxy.EventThinking, map[string]string{"text": "hm"})
	if err != nil || sequence != 3 {
		t.Errorf("sequence %d, %v", sequence, err)
	}
	_, _ = c.Do(t.Context(), "undeclared", nil)
	calls, traces := run.Log().Calls, run.Log().Traces
	if len(calls) != 2 || len(traces) != 1 {
		t.Fatalf("%d calls, %d traces", len(calls), len(traces))
	}
	if got := calls[1]; got.Tool != "count" || got.Actor != "sub" || string(got.Arguments) != `{"n":2}` ||
		string(got.Response) != "2" || got.Source != proxy.SourceOdyssey || got.At.IsZero() {
		t.Errorf("call: %+v", got)
	}
	if got := traces[0]; got.Event != proxy.EventThinking || got.Sequence != 3 ||
		!strings.Contains(string(got.Payload), `"text":"hm"`) {
		t.Errorf("trace: %+v", got)
	}
	calls[0].Tool = "changed"
	if run.Log().Calls[0].Tool == "changed" {
		t.Error("the recording can be changed from outside")
	}
	other := platform.NewRun()
	if other.Token == run.Token || len(other.Log().Calls) != 0 || other.Path == run.Path {
		t.Error("runs are not apart")
	}
	run.End("")
	if _, err := c.Do(t.Context(), "count", nil); !proxy.IsRunOver(err) {
		t.Errorf("after the run: %v", err)
	}
	run.End("run_token_rejected")
	if status, body := send(t, platform, "/tools/count", http.Header{"Authorization": {"Bearer " + run.Token}},
		"{}"); status != 401 || !strings.Contains(body, "run_token_rejected") {
		t.Errorf("%d %s", status, body)
	}
}

// Whatever is sent, the platform answers with JSON and keeps a record that can be written.
func FuzzPlatform(f *testing.F) {
	f.Add("/tools/get_order", "a/b", []byte(`{"order_id":"4521"}`))
	f.Add("/traces/thinking", "", []byte(`{"text":"hm"}`))
	f.Add("/tools/big", " ", []byte(`[`))
	f.Fuzz(func(t *testing.T, path, actor string, body []byte) {
		p := newPlatform(t, world(), nil)
		p.Limit(1000)
		run := p.NewRun()
		r, err := http.NewRequest(http.MethodPost, "http://proxy.test/", bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.URL.Path = path
		r.Header = http.Header{"Authorization": {"Bearer " + run.Token}, "X-Pipelines-Actor-Id": {actor}}
		response, err := proxytest.NewTransport(p).RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		if answer, err := io.ReadAll(response.Body); err != nil || !json.Valid(answer) {
			t.Fatalf("%d %q %v", response.StatusCode, answer, err)
		}
		if _, err := json.Marshal(run.Log()); err != nil {
			t.Fatal(err)
		}
	})
}

func TestRateLimitSlides(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := proxytest.NewPlatform(t, world(), &proxytest.Options{AllowUndeclared: true})
		run := p.NewRun()
		header := http.Header{"Authorization": {"Bearer " + run.Token}}
		hit := func(want int) {
			t.Helper()
			if status, body := send(t, p, "/tools/get_order", header, `{}`); status != want {
				t.Errorf("%d %s, want %d", status, body, want)
			}
		}
		for range 30 {
			hit(200)
		}
		time.Sleep(30 * time.Second)
		for range 30 {
			hit(200)
		}
		hit(429)
		time.Sleep(30 * time.Second)
		for range 30 {
			hit(200)
		}
		hit(429)
		if status, _ := send(t, p, "/tools/get_order", http.Header{"Authorization": {"Bearer " + p.NewRun().Token}},
			`{}`); status != 200 {
			t.Error("the limit is not per token")
		}
		unlimited := proxytest.NewPlatform(t, world(), &proxytest.Options{RatePerMinute: -1})
		header = http.Header{"Authorization": {"Bearer " + unlimited.NewRun().Token}}
		for range 100 {
			if status, _ := send(t, unlimited, "/tools/get_order", header, `{}`); status != 200 {
				t.Fatalf("status %d without a limit", status)
			}
		}
	})
}

func TestInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := proxytest.NewPlatform(t, proxytest.World{Behaviors: map[string]proxytest.Behavior{
			"slow": func(*proxytest.Request) (any, error) { time.Sleep(20 * time.Second); return "done", nil },
		}}, nil)
		run := p.NewRun()
		c, err := proxy.New("http://proxy.test"+run.Path, run.Token, &proxy.Options{Transport: proxytest.NewTransport(p)})
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		var group sync.WaitGroup
		for i := range 200 {
			group.Go(func() {
				if got, err := proxy.Call[string](t.Context(), c, "slow", map[string]int{"i": i}); err != nil || got != "done" {
					t.Error(got, err)
				}
			})
		}
		group.Wait()
		if took := time.Since(start); took < 3*time.Minute || took > 4*time.Minute {
			t.Errorf("200 calls at 60 a minute took %s", took)
		}
		if n := len(run.Log().Calls); n != 200 {
			t.Errorf("%d calls", n)
		}
	})
}

// An agent that keeps the proxy URL of an earlier dispatch calls another run's path with the
// present token.
func TestTheProxyURLOfAnotherRun(t *testing.T) {
	failed := failures(t, func(tb testing.TB) {
		p := proxytest.NewPlatform(tb, world(), nil)
		first, second := p.NewRun(), p.NewRun()
		for _, tt := range []struct {
			base string
			want int
		}{{second.Path, 200}, {first.Path, 401}, {"/prefix" + second.Path, 200}, {"/elsewhere", 200},
			{"/api/odyssey-proxy/runs/99", 401}} {
			status, body := send(t, p, tt.base+"/tools/get_order", http.Header{"Authorization": {"Bearer " + second.Token}},
				"{}")
			if status != tt.want || status == 401 && !strings.Contains(body, "run_token_invalid") {
				t.Errorf("%s: got %d %s, want %d", tt.base, status, body, tt.want)
			}
		}
	})
	const want = `proxytest: the agent called "get_order" with the token of run 2 at the proxy URL of run "1": use the odyssey_proxy_url of each dispatch`
	if !strings.HasPrefix(failed, want+"\n") {
		t.Errorf("failures %q, want %q", failed, want)
	}
}

// The kit accepts the labels that can be sent, and notes those that the platform might refuse.
func TestLabels(t *testing.T) {
	for label, noted := range map[string]bool{"a/b": false, "refund agent": true, "Rückgabe": true, "a//b": true, "/a": true,
		strings.Repeat("a", 256): false, strings.Repeat("a", 257): true} {
		run := proxytest.NewPlatform(t, proxytest.World{Behaviors: map[string]proxytest.Behavior{"get": proxytest.Canned(`1`)}}, nil).NewRun()
		if _, err := run.Client(nil).As(label).Do(t.Context(), "get", nil); err != nil {
			t.Errorf("%q: %v", label, err)
		}
		calls := run.Log().Calls
		if len(calls) != 1 || calls[0].Actor != label || (len(calls[0].Notes) > 0) != noted {
			t.Errorf("%q: %+v", label, calls)
		}
	}
}
