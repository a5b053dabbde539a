package doctor_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/dispatch/doctor"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

// examine examines a port with the tools of the ports.
func examine(t *testing.T, handler http.Handler, names ...doctor.Name) *doctor.Report {
	t.Helper()
	return examineWith(t, byHand(handler), &doctor.Options{
		Task: &dispatchtest.Task{Instruction: "Where is order #4521?"}, ToolsSchema: []byte(orderTool), Scenarios: names,
	})
}

func examineWith(t testing.TB, target dispatchtest.Target, opts *doctor.Options) *doctor.Report {
	t.Helper()
	o := *opts
	o.Timeout, o.LateCallWait = cmp.Or(o.Timeout, 5*time.Minute), cmp.Or(o.LateCallWait, time.Millisecond)
	report, err := doctor.Check(t.Context(), target, &o)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// A call that comes during a scenario, long after the wait for late calls, is a late call too.
func TestLateCallsDuringAScenario(t *testing.T) {
	t.Parallel()
	arrived, called := make(chan struct{}), make(chan struct{})
	var runs, waiting atomic.Int64
	late := &port{late: func(call func()) {
		sample := waiting.Add(1) == 1
		<-arrived
		call()
		if sample {
			close(called)
		}
	}}
	report := examine(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Pipelines-Run-Token") != "" && runs.Add(1) == 4 { // a turn of the session
			close(arrived)
			<-called
		}
		late.ServeHTTP(w, r)
	}), "session_replay")
	expect(t, report, nil, names{"late_calls"}, "the agent called the proxy after it had answered: get_order")
}

// fallBack returns value, or other if Python takes value for false.
func fallBack(value, other any) any {
	switch v := value.(type) {
	case nil:
		return other
	case bool:
		if !v {
			return other
		}
	case float64:
		if v == 0 {
			return other
		}
	case string:
		if v == "" {
			return other
		}
	}
	return value
}

// A bearer is compared as a whole.
func TestNearMissesOfTheBearer(t *testing.T) {
	t.Parallel()
	token := func(header string) string { return strings.TrimPrefix(header, "Bearer ") }
	for name, tt := range map[string]struct {
		auth func(given, want string) bool
		seen string
	}{
		"a beginning":     {func(given, want string) bool { return given != "" && strings.HasPrefix(want, given) }, "without its last character"},
		"more than it":    {strings.HasPrefix, "one more character"},
		"a part":          {func(given, want string) bool { return given != "" && strings.Contains(want, token(given)) }, "without its last character"},
		"an end":          {func(given, want string) bool { return len(token(given)) > 5 && strings.HasSuffix(want, token(given)) }, "without its first character"},
		"it at the end":   {func(given, want string) bool { return strings.HasSuffix(given, token(want)) }, "after one more character"},
		"its first eight": {func(given, want string) bool { return len(given) > 14 && given[:15] == want[:15] }, "without its last character"},
		"no case":         {strings.EqualFold, "in the other case"},
		"its length":      {func(given, want string) bool { return len(given) == len(want) }, "in the other case"},
		"all but its last": {func(given, want string) bool {
			return len(given) == len(want) && given[:len(given)-1] == want[:len(want)-1]
		}, "another last character"},
		"all but its first": {func(given, want string) bool {
			return len(given) == len(want) && token(given)[1:] == token(want)[1:]
		}, "another first character"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			report := examine(t, &port{auth: tt.auth})
			expect(t, report, names{"wrong_bearer"}, nil, tt.seen)
			text, err := json.Marshal(report)
			if err != nil || strings.Contains(string(text), handToken[1:]) || strings.Contains(string(text), handToken[:len(handToken)-1]) ||
				strings.Contains(strings.ToLower(string(text)), handToken) {
				t.Errorf("the report has most of the token: %v\n%s", err, text)
			}
		})
	}
	// A token without a scheme has near misses, too. One of digits has no other case.
	for _, token := range []string{"key-0123456789", "0123456789", "7"} {
		starts := hand{auth: func(string) bool { return true }, first: func(w http.ResponseWriter, r *http.Request) bool {
			given := r.Header.Get("X-API-Key")
			return !(given != "" && strings.HasPrefix(given, token)) && first(401, js, `{"error":"no"}`)(w, r)
		}}
		report := examineWith(t, dispatchtest.Target{Handler: starts, AuthHeader: "X-API-Key", AuthValue: token}, &doctor.Options{NoDispatch: true})
		if said := expect(t, report, names{"wrong_bearer"}, nil); !strings.Contains(said, "one more character") {
			t.Errorf("%s: %q", token, said)
		}
		if f := find(t, report, "wrong_bearer"); !strings.Contains(f.Reproduce, `-H "X-API-Key: ${AUTH_VALUE}x"`) {
			t.Errorf("%s", f.Reproduce)
		}
	}
	// An endpoint that repeats what it was given tells nothing of it in the report.
	echo := hand{first: func(w http.ResponseWriter, r *http.Request) bool {
		given := r.Header.Get("Authorization")
		return given != "Bearer "+handToken && first(401, plain, "unknown: "+given)(w, r)
	}}
	report := examine(t, echo)
	expect(t, report, nil, names{"dispatch"}) // it calls no tool
	if text := fmt.Sprint(report); strings.Contains(text, handToken[2:10]) {
		t.Errorf("%s", text)
	}
}

// An endpoint that refuses any bearer proves nothing about wrong ones.
func TestNoBearerIsAccepted(t *testing.T) {
	t.Parallel()
	report := examine(t, hand{auth: func(string) bool { return false }})
	expect(t, report, names{"ping"}, nil)
	for _, name := range []doctor.Name{"auth_before_ping", "wrong_bearer"} {
		if f := find(t, report, name); f.Status != doctor.StatusSkipped || f.Because != "ping" {
			t.Errorf("%+v", f)
		}
	}
}

// What a result is must not decide whether its envelope is removed, in whatever language.
func TestEnvelopesOfEmptyResults(t *testing.T) {
	t.Parallel()
	for name, lost := range map[string]func(value any) bool{
		"null":  func(v any) bool { return v == nil },
		"0":     func(v any) bool { return v == 0.0 },
		"false": func(v any) bool { return v == false },
		`""`:    func(v any) bool { return v == "" },
		"[]":    func(v any) bool { list, ok := v.([]any); return ok && len(list) == 0 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for other, seen := range map[bool]string{true: name + ": the model was given the whole trace envelope", false: "the model was given something else"} {
				unwraps := func(body map[string]any) any {
					if value := body["response"]; !lost(value) {
						return value
					} else if other {
						return body
					}
					return "nothing"
				}
				report := examine(t, &port{unwraps: unwraps}, "result_kinds")
				if other || name == "0" || name == "false" {
					expect(t, report, names{"result_kinds"}, nil, seen)
				} else {
					expect(t, report, nil, nil) // how a port words that there is no result is a matter of style
				}
			}
		})
	}
}

// What a result has is handed on.
func TestResultsThatAreChanged(t *testing.T) {
	t.Parallel()
	text := func(change func(string) any) func(map[string]any) any {
		return func(body map[string]any) any {
			if text, ok := body["response"].(string); ok {
				return change(text)
			}
			return body["response"]
		}
	}
	for name, tt := range map[string]struct {
		unwraps        func(map[string]any) any
		failed, warned names
		seen           string
	}{
		"decodes what it can": {text(func(s string) any {
			var value any
			if json.Unmarshal([]byte(s), &value) == nil {
				return value
			}
			return s
		}), names{"result_kinds"}, nil, "text that is JSON is decoded once more"},
		"cuts at 2,000":  {text(func(s string) any { return s[:min(len(s), 2000)] }), nil, names{"result_kinds"}, "a tool message has only 2"},
		"cuts at 64,000": {text(func(s string) any { return s[:min(len(s), 64_000)] }), nil, nil, ""},
		"upper case":     {text(func(s string) any { return strings.ToUpper(s) }), names{"result_kinds"}, nil, "the model was given something else"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			report := examine(t, &port{unwraps: tt.unwraps}, "result_kinds")
			expect(t, report, tt.failed, tt.warned, tt.seen)
			// The port reads numbers as float64, which is said and no fault.
			if f := find(t, report, "result_kinds"); !strings.Contains(strings.Join(f.Details, "\n"), "arrives rounded") {
				t.Errorf("%+v", f)
			}
		})
	}
	exact := func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		result, err := proxy.Call[json.RawMessage](ctx, run.Proxy, "get_order", nil)
		if err != nil {
			return nil, err
		}
		return &dispatch.Response{FinalResponse: strings.ReplaceAll(string(result), "9007199254740993", "9,007,199,254,740,993")}, nil
	}
	synctest.Test(t, func(t *testing.T) {
		report := examineWith(t, dispatchtest.Target{Agent: exact}, scenarios("result_kinds"))
		if f := find(t, report, "result_kinds"); f.Status != doctor.StatusOK || len(f.Details) > 0 {
			t.Errorf("%+v", f)
		}
	})
}

// waiting returns an agent that waits for a tool for so long. It may fail then.
func waiting(limit time.Duration, fails bool) dispatch.Agent {
	return func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		if _, err := run.Proxy.Do(ctx, "get_order", nil); err != nil && fails {
			return nil, err
		}
		return &dispatch.Response{FinalResponse: "done"}, nil
	}
}

// An agent waits for a slow tool.
func TestSlowTools(t *testing.T) {
	for name, tt := range map[string]struct {
		waits time.Duration // of the agent
		limit time.Duration // of the run
		want  doctor.Status
		seen  string
	}{
		"two minutes":  {2 * time.Minute, 0, doctor.StatusOK, "waits for a tool call that takes 22s"},
		"five seconds": {5 * time.Second, 0, doctor.StatusWarning, "was not answered within 5s"},
		"20 seconds":   {20 * time.Second, 0, doctor.StatusWarning, "was not answered within 20s"},
		"a short run":  {2 * time.Minute, 20 * time.Second, doctor.StatusSkipped, "a run may take 20s"},
	} {
		for _, fails := range []bool{true, false} {
			synctest.Test(t, func(t *testing.T) {
				defer doctor.SetSlowCall(doctor.SetSlowCall(22 * time.Second))
				report := examineWith(t, dispatchtest.Target{Agent: waiting(tt.waits, fails), RunTimeout: tt.limit}, scenarios("slow_tool"))
				if f := find(t, report, "slow_tool"); f.Status != tt.want || !strings.Contains(f.Seen, tt.seen) || f.Status == "warning" && f.Severity != "advised" {
					t.Errorf("%s: %+v", name, f)
				}
				time.Sleep(time.Minute) // for the call that was given up
			})
		}
	}
}

// What one session said is not in another, by whatever key the agent keeps it.
func TestSessionsAreKeptApart(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		keeps  func(input map[string]any) any
		failed names
	}{
		"by the session": {func(input map[string]any) any { return input["session_id"] }, nil},
		"by the task":    {func(input map[string]any) any { return input["task_id"] }, names{"memory_replay", "memory_stateful"}},
		"in a variable":  {func(map[string]any) any { return "" }, names{"memory_replay", "memory_stateful"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			report := examine(t, &port{keeps: tt.keeps}, "session_replay", "memory_replay", "session_stateful", "memory_stateful")
			said := expect(t, report, tt.failed, nil)
			if tt.failed != nil && !strings.Contains(said, "one session has what only another session said") {
				t.Errorf("%q", said)
			}
			if f := find(t, report, "memory_stateful"); tt.failed == nil && f.Status != doctor.StatusOK {
				t.Errorf("%+v", f)
			}
		})
	}
	// A conversation in a variable, which the first turn of any session begins anew.
	var mu sync.Mutex
	var said []string
	last := hand{}
	last.run = func(w http.ResponseWriter, _ *http.Request, e *handEnvelope) {
		mu.Lock()
		defer mu.Unlock()
		if strings.Contains(e.Input.Instruction, "My reference") {
			said = nil
		}
		said = append(said, e.Input.Instruction)
		text, _ := json.Marshal(map[string]string{"final_response": strings.Join(said, " ")})
		say(w, 200, string(text))
	}
	report := examineWith(t, byHand(last), scenarios("memory_stateful"))
	expect(t, report, names{"memory_stateful"}, names{"dispatch"})
}

// The results of one run are not in a later one.
func TestResultsOfEarlierRuns(t *testing.T) {
	t.Parallel()
	var before atomic.Pointer[string]
	keeps := hand{run: func(w http.ResponseWriter, r *http.Request, e *handEnvelope) {
		result := fetch(e.ProxyURL, r.Header.Get("X-Pipelines-Run-Token"))
		shown := result
		if last := before.Swap(&result); last != nil {
			shown = *last
		}
		text, _ := json.Marshal(map[string]string{"final_response": shown})
		say(w, 200, string(text))
	}}
	report := examineWith(t, byHand(keeps), scenarios("unwrap", "failing_tools"))
	expect(t, report, names{"failing_tools"}, nil, "the answer of one run has the results of another")
}

// An agent whose tools are all refused says so. What it says is judged by what it said of the sample.
func TestRefusedToolsInAnswers(t *testing.T) {
	t.Parallel()
	speak := func(status string) string { return "There was no problem: order #4521 is " + status + "." }
	status := func(result any) string {
		order, _ := result.(map[string]any)
		text, _ := order["status"].(string)
		return text
	}
	for name, tt := range map[string]struct {
		port *port
		want doctor.Status
		seen string
	}{
		"answers nothing": {&port{speaks: func(r any) string { return fallBack(status(r), "(no final response)").(string) }}, doctor.StatusWarning,
			"its handler answered in its place"},
		"fails": {&port{crashes: true}, doctor.StatusWarning, "the run fails when its tool calls are refused: agent_5xx"},
		"falls back on its own body": {&port{fallback: true, speaks: func(r any) string { return speak(status(r)) }}, doctor.StatusWarning,
			"has the results of a run in which they were not: There was no problem: order #4521 is shipped."},
		"says that it failed": {&port{speaks: func(r any) string {
			if status(r) == "" {
				return "I could not look order #4521 up."
			}
			return speak(status(r))
		}}, doctor.StatusOK, "mentions"},
		"says it in a language of its own": {&port{speaks: func(r any) string {
			if status(r) == "" {
				return "Tilausta #4521 ei voitu tarkistaa."
			}
			return speak(status(r))
		}}, doctor.StatusSkipped, "does not show what the agent made of the refusals"},
		"falls back on another body": {&port{fallback: true, speaks: func(r any) string { return strings.ToUpper(speak("on its way")) }}, doctor.StatusSkipped, ""},
		"shows the refusal":          {&port{}, doctor.StatusOK, "the answer has the refusal"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opts := scenarios("failing_tools")
			opts.Task.World.Behaviors = map[string]proxytest.Behavior{"get_order": proxytest.Canned(`{"status":"shipped"}`)}
			report := examineWith(t, byHand(tt.port), opts)
			wantStatus(t, report, "failing_tools", tt.want, tt.seen)
		})
	}
}

// A tool message admits a failure with what it states. The name of a member that is null, or 422 in an amount, is none.
func TestRefusedToolsInMessages(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		row  string // the tool message for a refused call
		want doctor.Status
		seen string
	}{
		{`{"ok":true,"error":null,"status":"shipped"}`, doctor.StatusWarning, "does not mention it"},
		{`{"errors":[],"failed":0,"problem":"","exception":{},"invalid":false,"status":"shipped"}`, doctor.StatusWarning, "does not mention it"},
		{`[{"error":null,"status":"shipped"}]`, doctor.StatusWarning, "does not mention it"},
		{`{"status":"shipped","amount":422.5}`, doctor.StatusWarning, "does not mention it"},
		{`{"status":"shipped","amount":1.422}`, doctor.StatusWarning, "does not mention it"},
		{`{"status":"shipped","number":"14225"}`, doctor.StatusWarning, "does not mention it"},
		{`{"shipped":true}`, doctor.StatusWarning, "does not mention it"},
		{`{"success":false,"result":null}`, doctor.StatusSkipped, ""},
		{`{"failed":true}`, doctor.StatusOK, `it has "fail"`},
		{`{"problem":"unknown"}`, doctor.StatusOK, `it has "problem"`}, // the sample has it too, as null
		{`{"errors":1}`, doctor.StatusOK, `it has "error"`},
		{`{"error":{"code":7}}`, doctor.StatusOK, `it has "error"`},
		{`{"code":422}`, doctor.StatusOK, "has the status 422"},
		{"HTTP 422.", doctor.StatusOK, "has the status 422"},
		{"422", doctor.StatusOK, "has the status 422"},
		{"The call failed.", doctor.StatusOK, `it has "fail"`},
		{"Tilausta ei voitu tarkistaa.", doctor.StatusSkipped, ""},
	} {
		t.Run(tt.row, func(t *testing.T) {
			t.Parallel()
			agent := hand{run: func(w http.ResponseWriter, r *http.Request, e *handEnvelope) {
				row := `{"status":"paid","problem":null}`
				if call(e, "get_order", r.Header.Get("X-Pipelines-Run-Token")) != 200 {
					row = tt.row
				}
				answer, _ := json.Marshal(map[string]any{"final_response": "Done.", "messages": []any{
					map[string]any{"role": "assistant", "tool_calls": []any{map[string]any{"id": "c1", "name": "get_order", "arguments": "{}"}}},
					map[string]any{"role": "tool", "tool_call_id": "c1", "content": row},
				}})
				say(w, 200, string(answer))
			}}
			report := examineWith(t, byHand(agent), scenarios("failing_tools"))
			wantStatus(t, report, "failing_tools", tt.want, tt.seen)
		})
	}
}

// A run that fails at a refusal has not shown whether it would repeat the call, or go on with the answer
// to the repetition.
func TestRunsThatFailWhenACallIsRefused(t *testing.T) {
	t.Parallel()
	report := examine(t, &port{crashes: true}, "terminal_503")
	wantStatus(t, report, "terminal_503", doctor.StatusSkipped, "it ends the run")
	var calls atomic.Int64
	repeats := hand{run: func(w http.ResponseWriter, r *http.Request, e *handEnvelope) {
		for call(e, "get_order", r.Header.Get("X-Pipelines-Run-Token")) != 200 {
			calls.Add(1)
			time.Sleep(150 * time.Millisecond)
		}
		if calls.Load() > 0 { // it takes the first answer
			say(w, 500, `{"error":"the call was refused"}`)
			return
		}
		say(w, 200, `{"final_response":"done"}`)
	}}
	report = examineWith(t, byHand(repeats), scenarios("retry_429", "retry_503"))
	for _, part := range []string{"refused with a 429 was repeated; the run failed", "a transient 503 was repeated; the run failed"} {
		expect(t, report, names{"retry_429"}, names{"retry_503"}, part)
		calls.Store(0)
	}
}
