package dispatchtest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/internal/testkit"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

func task() dispatchtest.Task {
	return dispatchtest.Task{
		ID: 42, AgentID: 8, Instruction: "Refund order #4521.", Input: map[string]string{"order_id": "4521"},
		World: proxytest.World{Behaviors: map[string]proxytest.Behavior{"get_order": proxytest.Canned(`{"status":"shipped"}`)}},
	}
}

func TestTheEnvelopeOnTheWire(t *testing.T) {
	var requests []*http.Request
	var bodies []string
	agent := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		requests, bodies = append(requests, r), append(bodies, string(body))
		_, _ = io.WriteString(w, `{"final_response":"done"}`)
	})
	result := dispatchtest.Run(t, dispatchtest.Target{Handler: agent, AuthHeader: "X-API-Key", AuthValue: "k"}, task())
	if !result.OK() || len(requests) != 2 || bodies[0] != `{"ping":true}` {
		t.Fatalf("%+v\n%q", result, bodies)
	}
	for _, r := range requests {
		if r.Method != "POST" || r.Header.Get("X-API-Key") != "k" || r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s %v", r.Method, r.Header)
		}
	}
	if got := requests[0].Header.Get("X-Pipelines-Run-Token"); got != "" {
		t.Errorf("a ping carries a run token")
	}
	var envelope struct {
		TaskID  int64 `json:"task_id"`
		RunID   int64 `json:"run_id"`
		AgentID int64 `json:"agent_id"`
		Input   struct {
			TaskID      int64             `json:"task_id"`
			Instruction string            `json:"user_instruction"`
			Input       map[string]string `json:"input"`
		} `json:"input"`
		ProxyURL string `json:"odyssey_proxy_url"`
		JTI      string `json:"run_token_jti"`
	}
	decoder := json.NewDecoder(strings.NewReader(bodies[1]))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&envelope); err != nil {
		t.Fatal(err)
	}
	h := requests[1].Header
	if envelope.TaskID != 42 || envelope.AgentID != 8 || envelope.Input.TaskID != 42 ||
		envelope.Input.Instruction != "Refund order #4521." ||
		envelope.Input.Input["order_id"] != "4521" || h.Get("X-Pipelines-Task-Id") != "42" ||
		h.Get("X-Pipelines-Run-Id") != fmt.Sprint(envelope.RunID) ||
		h.Get("X-Pipelines-Odyssey-Proxy-URL") != envelope.ProxyURL || h.Get("X-Pipelines-Run-Token-Jti") != envelope.JTI ||
		h.Get("X-Pipelines-Run-Token") == "" {
		t.Errorf("envelope %+v\nheaders %v", envelope, h)
	}
	if strings.Contains(bodies[1], h.Get("X-Pipelines-Run-Token")) {
		t.Error("the run token is in the body")
	}
	empty := dispatchtest.Run(t, dispatchtest.Target{Handler: agent}, dispatchtest.Task{})
	if !empty.OK() || !strings.Contains(bodies[3], `"input":{"task_id":1,"user_instruction":"","input":{}}`) {
		t.Errorf("an empty task was sent as %s", bodies[3])
	}
}

func TestAWholeRun(t *testing.T) {
	h, err := dispatch.New(func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		order, err := proxy.Call[map[string]string](ctx, run.Proxy.As("lookup"), "get_order",
			json.RawMessage(`{"order_id":"4521"}`))
		if err != nil {
			return nil, err
		}
		_, _ = run.Proxy.Trace(ctx, proxy.EventThinking, map[string]string{"text": "hm"})
		return &dispatch.Response{FinalResponse: "It is " + order["status"] + "."}, nil
	}, &dispatch.Options{Tokens: []string{"secret"}})
	if err != nil {
		t.Fatal(err)
	}
	result := dispatchtest.Run(t, dispatchtest.Target{Handler: h, AuthValue: "Bearer secret"}, task())
	if !result.OK() || result.FinalResponse != "It is shipped." || len(result.Calls) != 1 ||
		result.Calls[0].Actor != "lookup" || len(result.Traces) != 1 {
		t.Fatalf("%+v", result)
	}
	if result.Ping.Status != 200 || result.Ping.Body != `{"ok":true}` || result.Ping.TookMS <= 0 ||
		result.Dispatch.TookMS <= 0 {
		t.Errorf("exchanges: %+v %+v", result.Ping, result.Dispatch)
	}
	timeline := result.String()
	at := 0
	for _, want := range []string{
		"ping       200 {\"ok\":true}", `dispatch   "Refund order #4521." with input {"order_id":"4521"}`,
		`call       lookup: get_order {"order_id":"4521"}`,
		`-> {"status":"shipped"}  (odyssey, `, "trace      thinking", "answer     200", "final      It is shipped.",
		"verdict    ok",
	} {
		i := strings.Index(timeline[at:], want)
		if i < 0 {
			t.Fatalf("the timeline misses %q at its place:\n%s", want, timeline)
		}
		at += i
	}
}

func TestErrorClasses(t *testing.T) {
	// after answers the ping well and then as told.
	after := func(status int, body string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			got, _ := io.ReadAll(r.Body)
			if string(got) == `{"ping":true}` {
				_, _ = io.WriteString(w, `{"ok":true}`)
				return
			}
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		})
	}
	slow := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	})
	breaking := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, "{")
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
	for _, tt := range []struct {
		name   string
		target dispatchtest.Target
		class  dispatchtest.ErrorClass
		text   string
	}{
		{"ok", dispatchtest.Target{Handler: after(200, `{"final_response":"x"}`)}, "", ""},
		{"ping refused", dispatchtest.Target{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(401)
		})}, dispatchtest.AuthFailed, "ping: "},
		{"401", dispatchtest.Target{Handler: after(401, ``)}, dispatchtest.AuthFailed, "auth header"},
		{"403", dispatchtest.Target{Handler: after(403, ``)}, dispatchtest.AuthFailed, "403"},
		{"408", dispatchtest.Target{Handler: after(408, ``)}, dispatchtest.AgentTimeout, "408"},
		{"504", dispatchtest.Target{Handler: after(504, ``)}, dispatchtest.AgentTimeout, "504"},
		{"500", dispatchtest.Target{Handler: after(500, `boom`)}, dispatchtest.Agent5xx, "boom"},
		{"404", dispatchtest.Target{Handler: after(404, `nope`)}, dispatchtest.Agent4xx, "nope"},
		{"302", dispatchtest.Target{Handler: after(302, ``)}, dispatchtest.AgentBadResponse, "redirects"},
		{"HTML", dispatchtest.Target{Handler: after(200, `<html>`)}, dispatchtest.AgentBadResponse, "not_json"},
		{"empty final response", dispatchtest.Target{Handler: after(200, `{"final_response":""}`)},
			dispatchtest.AgentBadResponse, "final_response_missing"},
		{"not gradeable", dispatchtest.Target{Handler: after(200, `{"final_response":"x"}`), Strict: true},
			dispatchtest.ContractViolation, "assistant message"},
		{"gradeable", dispatchtest.Target{Handler: after(200,
			`{"final_response":"x","messages":[{"role":"assistant","content":"x"}]}`), Strict: true}, "", ""},
		{"nobody there", dispatchtest.Target{URL: "http://127.0.0.1:1"}, dispatchtest.AgentUnreachable, "cannot be reached"},
		{"slow", dispatchtest.Target{Handler: slow, RunTimeout: 50 * time.Millisecond}, dispatchtest.AgentTimeout,
			"within 50ms"},
		{"breaks off", dispatchtest.Target{Handler: breaking}, dispatchtest.AgentBadResponse, "broke off"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			result, err := dispatchtest.Dispatch(t.Context(), tt.target, task())
			if err != nil {
				t.Fatal(err)
			}
			if result.ErrorClass != tt.class || !strings.Contains(result.Error, tt.text) || result.OK() != (tt.class == "") {
				t.Errorf("class %q, error %q; want %q, %q", result.ErrorClass, result.Error, tt.class, tt.text)
			}
			if (result.FinalResponse != "") != result.OK() {
				t.Errorf("final response %q", result.FinalResponse)
			}
			if timeline := result.String(); !strings.Contains(timeline, string(tt.class)) {
				t.Errorf("timeline:\n%s", timeline)
			}
		})
	}
}

// The time limit of the caller is not the agent's.
func TestACallerThatGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		agent := func(ctx context.Context, _ *dispatch.Run) (*dispatch.Response, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		result, err := dispatchtest.Dispatch(ctx, dispatchtest.Target{Agent: agent}, task())
		if err != nil {
			t.Fatal(err)
		}
		if result.ErrorClass != dispatchtest.AgentUnreachable || !strings.Contains(result.Error, "context deadline exceeded") {
			t.Errorf("class %q, error %q", result.ErrorClass, result.Error)
		}
	})
}

func TestWhatCannotBeStaged(t *testing.T) {
	h := http.NotFoundHandler()
	for _, tt := range []struct {
		name   string
		target dispatchtest.Target
		task   dispatchtest.Task
	}{
		{"nowhere", dispatchtest.Target{}, task()},
		{"two places", dispatchtest.Target{URL: "http://x", Handler: h}, task()},
		{"long timeout", dispatchtest.Target{Handler: h, RunTimeout: time.Hour}, task()},
		{"input is not JSON", dispatchtest.Target{Handler: h}, dispatchtest.Task{Input: func() {}}},
	} {
		if result, err := dispatchtest.Dispatch(t.Context(), tt.target, tt.task); err == nil {
			t.Errorf("%s: %+v", tt.name, result)
		}
	}
}

func TestTheTokenExpiresWithTheRun(t *testing.T) {
	var kept *proxy.Client
	h, err := dispatch.New(func(_ context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		kept = run.Proxy
		return nil, nil
	}, &dispatch.Options{InsecureNoAuth: true, Proxy: &proxy.Options{MaxAttempts: 1}})
	if err != nil {
		t.Fatal(err)
	}
	result := dispatchtest.Run(t, dispatchtest.Target{Handler: h}, task())
	if result.FinalResponse != dispatch.NoFinalResponse {
		t.Errorf("%+v", result)
	}
	if _, err := kept.Do(t.Context(), "get_order", nil); !proxy.IsRunOver(err) {
		t.Errorf("a call after the run: %v", err)
	}
	if got := testkit.Failures(t, func(t testing.TB) { result.AssertNoCallAfterEnd(t) }); !strings.Contains(got,
		"-> 401 run_token_expired") {
		t.Errorf("%q", got)
	}
}
