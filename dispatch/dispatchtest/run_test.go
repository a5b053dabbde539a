package dispatchtest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/internal/runctx"
	"github.com/toolwire/toolwire/internal/testkit"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

// five calls get_order five times.
func five(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
	for i := range 5 {
		if _, err := run.Proxy.Do(ctx, "get_order", map[string]int{"i": i}); err != nil {
			return nil, err
		}
	}
	return &dispatch.Response{FinalResponse: "done: " + run.Instruction}, nil
}

func TestInMemory(t *testing.T) {
	result := dispatchtest.Run(t, dispatchtest.Target{Agent: five}, task())
	result.AssertOK(t)
	result.AssertFinalResponse(t, "done", "#4521")
	result.AssertCalledTimes(t, "get_order", 5)
	result.AssertNoCallAfterEnd(t)
	if len(result.Warnings) != 0 {
		t.Errorf("warnings %q", result.Warnings)
	}
	if len(result.Turns) != 1 || result.Ping.Body != `{"ok":true}` || !strings.Contains(string(result.Dispatch.Request),
		`"odyssey_proxy_url":"http://proxy.test/`) {
		t.Errorf("%+v", result.Turns)
	}
	// The handler is a real one: its options count, and so does the registration.
	refused := dispatchtest.Run(t, dispatchtest.Target{Agent: five, AuthValue: "Bearer wrong"}, task())
	refused.AssertErrorClass(t, dispatchtest.AuthFailed)
	refused = dispatchtest.Run(t, dispatchtest.Target{
		Agent: five, AuthHeader: "X-API-Key", AuthValue: "k", Options: &dispatch.Options{Tokens: []string{"k"},
			AuthHeader: "X-API-Key", MaxBodyBytes: 20},
	}, task())
	refused.AssertErrorClass(t, dispatchtest.Agent4xx)
	dispatchtest.Run(t, dispatchtest.Target{Agent: five,
		Options: &dispatch.Options{ProxyHosts: []string{"api.example.com"}}}, task()).AssertOK(t)
	if _, err := dispatchtest.Dispatch(t.Context(),
		dispatchtest.Target{Agent: five, Options: &dispatch.Options{MaxRuns: -1}}, task()); err == nil {
		t.Error("options that cannot be used were used")
	}
}

func TestTimeInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := task().World
		w.FailureRules = []proxytest.FailureRule{{Every: 2, Delay: 100 * time.Second}}
		start := time.Now()
		result := dispatchtest.Run(t, dispatchtest.Target{Agent: five}, dispatchtest.Task{World: w})
		result.AssertOK(t)
		if took := time.Since(start); took != 200*time.Second || result.Dispatch.TookMS != 200_000 {
			t.Errorf("took %s, %v ms", took, result.Dispatch.TookMS)
		}
		// The agent answers in time by itself; one that cannot is timed out.
		result = dispatchtest.Run(t, dispatchtest.Target{Agent: five, RunTimeout: 90 * time.Second},
			dispatchtest.Task{World: w})
		if result.StandIn != dispatchtest.OutOfTime || result.FinalResponse != dispatch.TimeoutFinalResponse {
			t.Errorf("an agent whose time is over: %s", result)
		}
		stuck := func(ctx context.Context, _ *dispatch.Run) (*dispatch.Response, error) {
			time.Sleep(time.Hour)
			return nil, ctx.Err()
		}
		result = dispatchtest.Run(t, dispatchtest.Target{
			Agent: stuck, RunTimeout: time.Minute, Options: &dispatch.Options{RunTimeout: 30 * time.Minute},
		}, dispatchtest.Task{World: w})
		result.AssertErrorClass(t, dispatchtest.AgentTimeout)
		if took := result.Dispatch.TookMS; took != 60_000 {
			t.Errorf("timed out after %v ms", took)
		}
		time.Sleep(time.Hour) // for the agent to end
	})
}

func TestOverTheRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hasty := func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
			for i := range 70 {
				if _, err := run.Proxy.Do(ctx, "get_order", map[string]int{"i": i}); err != nil {
					return nil, err
				}
			}
			return &dispatch.Response{FinalResponse: "Done."}, nil
		}
		result := dispatchtest.Run(t, dispatchtest.Target{Agent: hasty}, task())
		result.AssertOK(t)
		result.AssertWithinRate(t) // the client paces itself
	})
}

func TestWhatARunSays(t *testing.T) {
	rich := func(context.Context, *dispatch.Run) (*dispatch.Response, error) {
		return &dispatch.Response{FinalResponse: "x",
			Messages: []dispatch.Message{{Role: dispatch.RoleAssistant, Content: dispatch.Text("x")}}}, nil
	}
	result := dispatchtest.Run(t, dispatchtest.Target{Agent: rich, Strict: true}, task())
	if !result.Gradeable || len(result.Messages) != 1 || len(result.Warnings) != 1 ||
		!strings.Contains(result.String(), "warning    the run completed without a tool call") {
		t.Errorf("%+v", result)
	}
	if result := dispatchtest.Run(t, dispatchtest.Target{Agent: rich}, dispatchtest.Task{}); len(result.Warnings) != 0 {
		t.Errorf("a warning without tools: %q", result.Warnings)
	}
	var b strings.Builder
	if err := json.NewEncoder(&b).Encode(result); err != nil || !strings.Contains(b.String(), `"gradeable":true`) ||
		!strings.Contains(b.String(), `"calls":null`) {
		t.Errorf("%s %v", b.String(), err)
	}
}

func TestAssertions(t *testing.T) {
	late := make(chan *proxy.Client, 1)
	agent := func(_ context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		late <- run.Proxy
		if run.Instruction == "fail" {
			return nil, errors.New("no")
		}
		return &dispatch.Response{FinalResponse: "It is shipped."}, nil
	}
	good := dispatchtest.Run(t, dispatchtest.Target{Agent: agent}, task())
	good.AssertNoCallAfterEnd(t)
	var stored dispatchtest.Result
	if text, err := json.Marshal(good); err != nil || json.Unmarshal(text, &stored) != nil {
		t.Fatalf("%v: %s", err, text)
	}
	stored.AssertNoCallAfterEnd(t)
	_, _ = (<-late).Do(t.Context(), "get_order", nil)
	bad := dispatchtest.Run(t, dispatchtest.Target{Agent: agent}, dispatchtest.Task{Instruction: "fail"})
	reports := func(code string) *dispatchtest.Result {
		return dispatchtest.Run(t, dispatchtest.Target{Agent: func(ctx context.Context, _ *dispatch.Run) (*dispatch.Response, error) {
			recorderOf(ctx).AddProblem(dispatch.Problem{Code: code, Pointer: "/messages", Message: "it is lost"})
			return &dispatch.Response{FinalResponse: "It is shipped."}, nil
		}}, task())
	}
	lost, unclear := reports("messages_removed"), reports("conversation_unclear")
	if len(unclear.Problems) != 1 {
		t.Errorf("problems %v", unclear.Problems)
	}
	undeclared := func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		_, err := run.Proxy.Do(ctx, "get_ordre", nil)
		return &dispatch.Response{FinalResponse: fmt.Sprint(toolwire.CodeOf(err))}, nil
	}
	for _, tt := range []struct {
		name   string
		assert func(t testing.TB)
		want   string // a part of the failure; "" for a pass
	}{
		{"ok", func(t testing.TB) { good.AssertOK(t) }, ""},
		{"not ok", func(t testing.TB) { bad.AssertOK(t) }, "the run failed: agent_5xx"},
		{"a part is lost", func(t testing.TB) { lost.AssertOK(t) }, "/messages it is lost [messages_removed]"},
		{"an unclear conversation", func(t testing.TB) { unclear.AssertOK(t) }, ""},
		{"final", func(t testing.TB) { good.AssertFinalResponse(t, "It", "shipped") }, ""},
		{"other final", func(t testing.TB) { good.AssertFinalResponse(t, "It", "lost") }, `does not contain ["lost"]`},
		{"no final", func(t testing.TB) { bad.AssertFinalResponse(t) }, "the run failed: agent_5xx: the agent failed: no\n"},
		{"class", func(t testing.TB) { bad.AssertErrorClass(t, dispatchtest.Agent5xx) }, ""},
		{"other class", func(t testing.TB) { good.AssertErrorClass(t, dispatchtest.Agent5xx) },
			"the run succeeded, want it to fail with agent_5xx\n"},
		{"late", func(t testing.TB) { good.AssertNoCallAfterEnd(t) }, "called the proxy after it had answered"},
		{"promoted", func(t testing.TB) { good.AssertCalled(t, "get_order", "") }, "get_order was not called"},
		{"undeclared", func(t testing.TB) { dispatchtest.Run(t, dispatchtest.Target{Agent: undeclared}, task()) },
			`the agent called get_ordre, which is not declared (did you mean get_order?)`},
		{"not staged", func(t testing.TB) { dispatchtest.Run(t, dispatchtest.Target{}, task()) },
			"one of URL, Handler, Agent and Command"},
	} {
		if got := testkit.Failures(t, tt.assert); (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestAPlatformForManyRuns(t *testing.T) {
	p, err := proxytest.New(task().World, &proxytest.Options{AllowUndeclared: true})
	if err != nil {
		t.Fatal(err)
	}
	runs := testkit.Size(100, 1000)
	before := runtime.NumGoroutine()
	var group sync.WaitGroup
	for i := range runs {
		group.Go(func() {
			task := dispatchtest.Task{Instruction: fmt.Sprint(i), Platform: p}
			result, err := dispatchtest.Dispatch(t.Context(), dispatchtest.Target{Agent: five}, task)
			if err != nil || result.FinalResponse != "done: "+task.Instruction || len(result.Calls) != 5 {
				t.Errorf("%v %v", result, err)
			}
		})
	}
	group.Wait()
	for deadline := time.Now().Add(5 * time.Minute); runtime.NumGoroutine() > before && time.Now().Before(deadline); {
		runtime.Gosched()
	}
	if after := runtime.NumGoroutine(); after > before {
		t.Errorf("%d goroutines before, %d after", before, after)
	}
}

// conversing repeats what it was told and what it remembers.
func conversing(_ context.Context, run *dispatch.Run) (*dispatch.Response, error) {
	history, err := run.History()
	if err != nil {
		return nil, err
	}
	var said []string
	for _, m := range history[:max(0, len(history)-1)] { // the last is the present prompt
		said = append(said, string(m.Role)+":"+m.Content.String())
	}
	answer := fmt.Sprintf("%s/%s %s [%s]", run.SessionID, run.TurnID, run.Instruction, strings.Join(said, "|"))
	call := json.RawMessage(`{"i":1}`)
	return &dispatch.Response{FinalResponse: answer, Messages: append(history,
		dispatch.Message{Role: dispatch.RoleAssistant,
			ToolCalls: []dispatch.ToolCall{{ID: "c" + run.TurnID, Name: "get_order", Arguments: call}}},
		dispatch.Message{Role: dispatch.RoleTool, ToolCallID: "c" + run.TurnID, Content: dispatch.Text("{}")},
		dispatch.Message{Role: dispatch.RoleAssistant, Content: dispatch.Text("ok " + run.Instruction)},
	)}, nil
}

func TestConversations(t *testing.T) {
	for _, tt := range []struct {
		name        string
		instruction string
		talk        dispatchtest.Conversation
		want        []string // final responses
	}{
		{"replay", "one", dispatchtest.Conversation{UserTurns: []string{"two", "three"}}, []string{
			"session-1/1 one []", "session-1/2 two [user:one|assistant:session-1/1 one []]",
			"session-1/3 three [user:one|assistant:session-1/1 one []|user:two|assistant:session-1/2 two [user:one|assistant:session-1/1 one []]]",
		}},
		{"replay with tools", "one", dispatchtest.Conversation{UserTurns: []string{"two", "three"}, ReplayTools: true},
			[]string{
				"session-1/1 one []", "session-1/2 two [user:one|assistant:|tool:{}|assistant:ok one]",
				"session-1/3 three [user:one|assistant:|tool:{}|assistant:ok one|user:two|assistant:|tool:{}|assistant:ok two]",
			}},
		{"stateful", "one", dispatchtest.Conversation{UserTurns: []string{"two"}, Stateful: true},
			[]string{"session-1/1 one []", "session-1/2 two []"}},
		{"scripted from the start", "", dispatchtest.Conversation{UserTurns: []string{"one", "two"}, Stateful: true},
			[]string{"session-1/1 one []", "session-1/2 two []"}},
		{"most turns", "one", dispatchtest.Conversation{UserTurns: []string{"two", "three"}, Stateful: true, MaxTurns: 2},
			[]string{"session-1/1 one []", "session-1/2 two []"}},
		{"most turns by default", "", dispatchtest.Conversation{UserTurns: strings.Split(strings.Repeat("x", 12), ""),
			Stateful: true},
			[]string{"/1 x", "/2 x", "/3 x", "/4 x", "/5 x", "/6 x", "/7 x", "/8 x", "/9 x", "/10 x"}},
		{"keyword", "one", dispatchtest.Conversation{UserTurns: []string{"two", "three"}, Stateful: true,
			TerminationKeyword: "two"},
			[]string{"session-1/1 one []", "session-1/2 two []"}},
		{"nothing said", "", dispatchtest.Conversation{Stateful: true}, []string{"session-1/1  []"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			result := dispatchtest.Run(t, dispatchtest.Target{Agent: conversing, Strict: true},
				dispatchtest.Task{Instruction: tt.instruction, Conversation: &tt.talk})
			result.AssertOK(t)
			if len(result.Turns) != len(tt.want) {
				t.Fatalf("%d turns, want %d\n%s", len(result.Turns), len(tt.want), result)
			}
			session := sessionOf(t, result.Turns[0].Request)
			for i, turn := range result.Turns {
				got := strings.ReplaceAll(turn.FinalResponse, session, "session-1")
				if !strings.Contains(got, tt.want[i]) || sessionOf(t, turn.Request) != session {
					t.Errorf("turn %d: %s\nwant %s", i+1, got, tt.want[i])
				}
			}
			if result.FinalResponse != result.Turns[len(result.Turns)-1].FinalResponse {
				t.Error("the final response is not from the last turn")
			}
		})
	}
}

func sessionOf(t *testing.T, envelope json.RawMessage) string {
	t.Helper()
	var e struct {
		Input struct {
			SessionID string `json:"session_id"`
		}
	}
	if err := json.Unmarshal(envelope, &e); err != nil || e.Input.SessionID == "" {
		t.Fatalf("no session in %s", envelope)
	}
	return e.Input.SessionID
}

func TestTheEventsOfATurn(t *testing.T) {
	talk := dispatchtest.Conversation{UserTurns: []string{"b", "c"}}
	agent := func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		_, err := run.Proxy.Do(ctx, "get_order", map[string]string{"turn": run.TurnID})
		return &dispatch.Response{FinalResponse: "done"}, err
	}
	w := task().World
	result := dispatchtest.Run(t, dispatchtest.Target{Agent: agent}, dispatchtest.Task{Instruction: "a", World: w,
		Conversation: &talk})
	for i, turn := range result.Turns {
		calls := turn.Log.Calls
		if want := fmt.Sprintf(`{"turn":"%d"}`, i+1); len(calls) != 1 || string(calls[0].Arguments) != want {
			t.Errorf("turn %d has the calls %v, want one with %s", i+1, calls, want)
		}
	}
}

// An agent that outlives a platform, and remembers, must not take one session for another.
func TestSessionsOfDifferentPlatformsDiffer(t *testing.T) {
	talk := dispatchtest.Conversation{UserTurns: []string{"a"}}
	run := func() string {
		return sessionOf(t, dispatchtest.Run(t, dispatchtest.Target{Agent: conversing},
			dispatchtest.Task{Conversation: &talk}).Dispatch.Request)
	}
	if first, second := run(), run(); first == second {
		t.Errorf("two sessions are called %s", first)
	}
}

func TestTheMembersOfASession(t *testing.T) {
	payload := func(result *dispatchtest.Result, turn int) (p struct{ Input map[string]json.RawMessage }) {
		if err := json.Unmarshal(result.Turns[turn].Request, &p); err != nil {
			t.Fatal(err)
		}
		return p
	}
	talk := dispatchtest.Conversation{UserTurns: []string{"b"}}
	task := dispatchtest.Task{Instruction: "a", Conversation: &talk}
	replay := dispatchtest.Run(t, dispatchtest.Target{Agent: conversing}, task)
	if first := payload(replay, 0).Input; string(first["messages"]) != "[]" ||
		string(first["latest_user_prompt"]) != `"a"` || string(first["turn_id"]) != `"1"` {
		t.Errorf("%s", first)
	}
	talk.Stateful = true
	stateful := dispatchtest.Run(t, dispatchtest.Target{Agent: conversing}, task)
	if second := payload(stateful, 1).Input; second["messages"] != nil || second["latest_user_prompt"] != nil ||
		len(second) != 5 {
		t.Errorf("%s", second)
	}
	for _, c := range []dispatchtest.Conversation{{MaxTurns: 51}, {MaxTurns: -1}} {
		if _, err := dispatchtest.Dispatch(t.Context(), dispatchtest.Target{Agent: conversing},
			dispatchtest.Task{Conversation: &c}); err == nil {
			t.Errorf("%+v was staged", c)
		}
	}
}

// The world lasts from turn to turn, and so does the token with its limit; a turn that fails ends
// the session.
func TestAWorldOfSeveralTurns(t *testing.T) {
	agent := func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		order, err := proxy.Call[json.RawMessage](ctx, run.Proxy, run.Instruction, map[string]string{"id": "1"})
		return &dispatch.Response{FinalResponse: string(order)}, err
	}
	result := dispatchtest.Run(t, dispatchtest.Target{Agent: agent}, dispatchtest.Task{
		Instruction: "ship", Conversation: &dispatchtest.Conversation{UserTurns: []string{"get", "fail", "get"}},
		World: proxytest.World{
			InitialState: `{"order":{"1":{"status":"paid"}}}`,
			Behaviors: map[string]proxytest.Behavior{
				"ship": proxytest.Update("order", "id", &proxytest.WriteOptions{Set: `{"status":"shipped"}`}),
				"get":  proxytest.Get("order", "id", nil), "fail": proxytest.Canned("1"),
			},
			FailureRules: []proxytest.FailureRule{{Tool: "fail", Status: 500}},
		},
	})
	result.AssertErrorClass(t, dispatchtest.Agent5xx)
	result.AssertState(t, "order/1", `{"status":"shipped"}`)
	if len(result.Turns) != 3 || result.Turns[1].FinalResponse != `{"status":"shipped"}` || result.FinalResponse != "" {
		t.Errorf("%s", result)
	}
	at := 0
	for _, part := range []string{"dispatch   \"ship\"", "call       ship", "answer     200", "dispatch   \"get\"",
		"call       get", "dispatch   \"fail\"", "-> 500", "answer     500", "ledger     changed /order/1/status"} {
		i := strings.Index(result.String()[at:], part)
		if i < 0 {
			t.Fatalf("%q is missing or out of order in\n%s", part, result)
		}
		at += i
	}
}

// floor is the least that a run in memory can cost: the requests of one, answered by hand.
func floor(b *testing.B, agent http.RoundTripper) {
	for range 6 {
		r, err := http.NewRequest(http.MethodPost, "http://agent.test/", strings.NewReader(`{"i":1}`))
		if err != nil {
			b.Fatal(err)
		}
		response, err := agent.RoundTrip(r)
		if err != nil {
			b.Fatal(err)
		}
		var answer map[string]any
		if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRun dispatches a run with 5 tool calls to an agent in memory, and judges it. The floor is
// 6 bare requests over the same transport.
func BenchmarkRun(b *testing.B) {
	b.Run("toolwire", func(b *testing.B) {
		p, err := proxytest.New(task().World, nil)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		for b.Loop() {
			result, err := dispatchtest.Dispatch(b.Context(), dispatchtest.Target{Agent: five}, dispatchtest.Task{Platform: p})
			if err != nil || !result.OK() {
				b.Fatal(result, err)
			}
		}
	})
	b.Run("floor", func(b *testing.B) {
		transport := proxytest.NewTransport(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var args map[string]any
			_ = json.NewDecoder(r.Body).Decode(&args)
			_ = json.NewEncoder(w).Encode(map[string]any{"response": args, "id": rand.Int()})
		}))
		b.ReportAllocs()
		for b.Loop() {
			floor(b, transport)
		}
	})
}

// A target that requires a token and has none to send says which field to set.
func TestMissingAuthValue(t *testing.T) {
	agent := func(context.Context, *dispatch.Run) (*dispatch.Response, error) {
		return &dispatch.Response{FinalResponse: "done"}, nil
	}
	target := dispatchtest.Target{Agent: agent, Options: &dispatch.Options{Tokens: []string{"secret"}}}
	result := dispatchtest.Run(t, target, dispatchtest.Task{})
	result.AssertErrorClass(t, dispatchtest.AuthFailed)
	if !strings.Contains(result.Error, `401, and no auth header was sent: set Target.AuthValue`) {
		t.Errorf("%s", result.Error)
	}
	target.AuthValue = "Bearer other"
	result = dispatchtest.Run(t, target, dispatchtest.Task{})
	if result.AssertErrorClass(t, dispatchtest.AuthFailed); !strings.Contains(result.Error,
		"compare the registered auth header") {
		t.Errorf("%s", result.Error)
	}
	target.AuthValue = "Bearer secret"
	dispatchtest.Run(t, target, dispatchtest.Task{}).AssertOK(t)
}

// recorderOf returns what package llm writes into the transcript of the run with.
func recorderOf(ctx context.Context) runctx.Recorder[dispatch.Message, dispatch.Problem, dispatch.Metadata] {
	kept := runctx.From[*runctx.Kept[dispatch.Run]](ctx)
	return kept.Recorder.(runctx.Recorder[dispatch.Message, dispatch.Problem, dispatch.Metadata])
}
