package eval_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/dispatch/eval"
	"github.com/toolwire/toolwire/internal/testkit"
	"github.com/toolwire/toolwire/ledger"
	"github.com/toolwire/toolwire/proxy/proxytest"
	"github.com/toolwire/toolwire/schema"
)

// obedient does what it is told to.
func obedient(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
	switch verb, tool, _ := strings.Cut(run.Instruction, " "); verb {
	case "panic":
		panic("told to")
	case "fail":
		return nil, errors.New("told to")
	case "hang":
		<-ctx.Done()
		return nil, ctx.Err()
	case "both":
		_, _ = run.Proxy.Do(ctx, "get_ordre", nil)
		_, _ = run.Proxy.Do(ctx, "get_order", nil)
	case "call":
		result, err := run.Proxy.CallForModel(ctx, tool, map[string]string{"order_id": "4521"})
		return &dispatch.Response{FinalResponse: result.Text}, err
	}
	return &dispatch.Response{FinalResponse: "done: " + run.Instruction}, nil
}

// rawAgent is an endpoint without the library: what it does wrong goes out as it is.
func rawAgent(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Ping  bool
		Input struct {
			Instruction string `json:"user_instruction"`
		}
	}
	_ = json.NewDecoder(r.Body).Decode(&body)
	w.Header().Set("Content-Type", "application/json")
	switch body.Input.Instruction {
	case "panic":
		panic(http.ErrAbortHandler)
	case "hang":
		<-r.Context().Done()
	case "500":
		http.Error(w, "no", 500)
	case "html":
		_, _ = w.Write([]byte("<html>"))
	case "robot":
		_, _ = w.Write([]byte(`{"final_response":"done","messages":[{"role":"robot"}]}`))
	case "403":
		w.WriteHeader(403)
	default:
		_, _ = w.Write([]byte(`{"final_response":"done"}`))
	}
}

// csvOf is a dataset with one column.
func csvOf(instructions ...string) string { return "user\n" + strings.Join(instructions, "\n") + "\n" }

func casesOf(t *testing.T, csv string, base dispatchtest.Task) []eval.Case {
	t.Helper()
	cases, err := readDataset(t, csv).Cases(base, nil)
	if err != nil {
		t.Fatal(err)
	}
	return cases
}

// verdicts lists what the cases ended with.
func verdicts(set *eval.Experiment) string {
	var b strings.Builder
	for _, c := range set.Trials {
		fmt.Fprintf(&b, "%s %s\n", c.Verdict, c.Cause)
	}
	return b.String()
}

// A row that takes too long fails alone.
func TestARowThatHangs(t *testing.T) {
	testkit.Patiently(t, func(t testing.TB, limit time.Duration) {
		target := dispatchtest.Target{Handler: http.HandlerFunc(rawAgent), RunTimeout: limit}
		cases, err := readDataset(t, csvOf("say 1", "hang", "say 2", "hang", "say 3")).Cases(dispatchtest.Task{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		set, err := eval.Run(t.Context(), target, cases, &eval.Options{Parallel: 2})
		if err != nil {
			t.Fatal(err)
		}
		if got, want := verdicts(set), "passed \nfailed agent_timeout\npassed \nfailed agent_timeout\npassed \n"; got != want {
			t.Errorf("the verdicts are\n%swant\n%s", got, want)
		}
	})
}

// In 1,000 rows, a few hundred but for .ci/nightly, every failure is in its own row, and everything
// else passes.
func TestAThousandRows(t *testing.T) {
	rows := testkit.Size(200, 1000)
	handler, err := dispatch.New(obedient, &dispatch.Options{Tokens: []string{"secret"}})
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]string{
		"panic": "agent_5xx", "fail": "agent_5xx", "call get_ordre": "fault", "call burst": "fault", "grader": "grader", "grader panics": "panic", "grader leaves": "panic",
	}
	rawKinds := map[string]string{
		"panic": "agent_unreachable", "500": "agent_5xx", "html": "agent_bad_response", "403": "auth_failed", "grader": "grader",
		"grader panics": "panic", "grader leaves": "panic",
	}
	world := proxytest.World{Behaviors: map[string]proxytest.Behavior{
		"get_order": proxytest.Canned("1"), "burst": func(*proxytest.Request) (any, error) { panic("burst") },
	}}
	for name, tt := range map[string]struct {
		target dispatchtest.Target
		kinds  map[string]string
	}{
		"agent in memory": {dispatchtest.Target{Agent: obedient}, kinds},
		"agent served":    {dispatchtest.Target{Handler: handler, AuthValue: "Bearer secret"}, kinds},
		"any handler":     {dispatchtest.Target{Handler: http.HandlerFunc(rawAgent)}, rawKinds},
	} {
		t.Run(name, func(t *testing.T) {
			instructions := make([]string, rows)
			for i := range instructions {
				instructions[i] = fmt.Sprintf("say %d", i)
			}
			at := 7
			for kind := range tt.kinds {
				for range 3 {
					instructions[at], at = kind, at+rows/28
				}
			}
			progressed := 0
			before := runtime.NumGoroutine()
			set, err := eval.Run(t.Context(), tt.target, casesOf(t, csvOf(instructions...), dispatchtest.Task{World: world}), &eval.Options{
				Parallel: 8,
				Grader: func(_ context.Context, c eval.Case, r *dispatchtest.Result) error {
					switch c.Task.Instruction {
					case "grader":
						return errors.New("I do not like it")
					case "grader panics":
						panic("grader")
					case "grader leaves":
						runtime.Goexit()
					}
					return nil
				},
				OnTrial: func(trial eval.Trial) {
					progressed++ // it is called for one trial at a time
					if trial.Verdict == eval.Cancelled {
						t.Errorf("%+v", trial)
					}
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			if len(set.Trials) != rows || progressed != rows || set.OK() || set.Count(eval.Passed) != rows-3*len(tt.kinds) {
				t.Errorf("%d cases, %d of progress, %d passed", len(set.Trials), progressed, set.Count(eval.Passed))
			}
			for i, c := range set.Trials {
				cause := tt.kinds[instructions[i]]
				if c.Task.ID != int64(i+2) || c.Cause != cause || (c.Verdict == eval.Passed) != (cause == "") || (c.Reason == "") != (cause == "") {
					t.Errorf("%q: %s, %s: %s", instructions[i], c.Verdict, c.Cause, c.Reason)
				}
				if cause == "" && !strings.HasPrefix(c.Result.FinalResponse, "done") {
					t.Errorf("%q is answered with %q", instructions[i], c.Result.FinalResponse)
				}
			}
			for deadline := time.Now().Add(5 * time.Minute); runtime.NumGoroutine() > before && time.Now().Before(deadline); {
				time.Sleep(time.Millisecond)
			}
			if after := runtime.NumGoroutine(); after > before {
				t.Errorf("%d goroutines before, %d after", before, after)
			}
		})
	}
}

// What is done is kept, what is under way is given up, what has not begun is said to be so.
func TestACancelledExperiment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		why := errors.New("lunch")
		go func() {
			time.Sleep(time.Second)
			cancel(why)
		}()
		set, err := eval.Run(ctx, dispatchtest.Target{Agent: obedient}, casesOf(t, csvOf("say a", "fail", "grader", "hang", "hang", "say b"), dispatchtest.Task{}),
			&eval.Options{Parallel: 3, Grader: func(ctx context.Context, c eval.Case, _ *dispatchtest.Result) error {
				if c.Task.Instruction == "grader" {
					<-ctx.Done()
					return context.Cause(ctx)
				}
				return nil
			}})
		if err != nil {
			t.Fatal(err)
		}
		if got, want := verdicts(set), "passed \nfailed agent_5xx\ncancelled \ncancelled \ncancelled \ncancelled \n"; got != want {
			t.Errorf("got\n%s", got)
		}
		for i, part := range []string{"", "told to", "being graded when the experiment was cancelled: lunch", "in progress when the experiment was cancelled: lunch", "in progress", "had not begun"} {
			if !strings.Contains(set.Trials[i].Reason, part) {
				t.Errorf("case %d: %s", i, set.Trials[i].Reason)
			}
		}
		if set.OK() || set.Took != time.Second {
			t.Errorf("OK %v, took %s", set.OK(), set.Took)
		}
	})
}

// A trial that was cancelled in progress has calls and seconds of its own. They are not scores, because no trial ended.
func TestCancelledBeforeATrialEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		set, err := eval.Run(ctx, dispatchtest.Target{Agent: obedient}, casesOf(t, csvOf("hang", "hang"), dispatchtest.Task{}), nil)
		if err != nil || set.Count(eval.Cancelled) != 2 {
			t.Fatalf("%s %v", verdicts(set), err)
		}
		if scores := scoresOf(set); len(scores) != 0 {
			t.Errorf("no trial ended, and the scores are %v", scores)
		}
		var summary, document bytes.Buffer
		if err := set.WriteSummary(&summary, false); err != nil || strings.Contains(summary.String(), "NaN") {
			t.Errorf("%v\n%s", err, &summary)
		}
		if err := set.WriteJSON(&document); err != nil || !json.Valid(document.Bytes()) {
			t.Errorf("%v\n%s", err, &document)
		}
		if err := set.WriteHTML(io.Discard); err != nil {
			t.Error(err)
		}
	})
}

func TestParallel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := func(context.Context, *dispatch.Run) (*dispatch.Response, error) {
			time.Sleep(time.Second)
			return &dispatch.Response{FinalResponse: "done"}, nil
		}
		for parallel, want := range map[int]time.Duration{1: 12 * time.Second, 4: 3 * time.Second, 100: time.Second} {
			cases := casesOf(t, csvOf(strings.Split("abcdefghijkl", "")...), dispatchtest.Task{})
			set, err := eval.Run(t.Context(), dispatchtest.Target{Agent: slow}, cases, &eval.Options{Parallel: parallel})
			if err != nil || !set.OK() || set.Took != want {
				t.Errorf("%d at once took %s, want %s; error %v", parallel, set.Took, want, err)
			}
		}
	})
}

func TestSkippedAndUnusable(t *testing.T) {
	cases := casesOf(t, "user,turn_mode,user_simulator_persona\na,model_as_user,a clerk\n", dispatchtest.Task{})
	set, err := eval.Run(t.Context(), dispatchtest.Target{Agent: obedient}, cases, nil)
	if err != nil || verdicts(set) != "skipped \n" || set.OK() || set.Trials[0].Result != nil {
		t.Errorf("a set of skipped rows is good: %s %v", verdicts(set), err)
	}
	cases = append(cases, casesOf(t, csvOf("a"), dispatchtest.Task{})...)
	if set, err = eval.Run(t.Context(), dispatchtest.Target{Agent: obedient}, cases, nil); err != nil || !set.OK() {
		t.Errorf("%s %v", verdicts(set), err)
	}
	byHand := []eval.Case{
		{Name: "one", Task: dispatchtest.Task{Input: 1}},
		{Name: "two", Task: dispatchtest.Task{OnRun: func(*proxytest.Run) { panic("hook") }}},
		{Name: "three"},
	}
	set, err = eval.Run(t.Context(), dispatchtest.Target{Agent: obedient}, byHand, nil)
	if err != nil || verdicts(set) != "error not_staged\nerror panic\npassed \n" || !strings.Contains(set.Trials[1].Reason, "panic: hook\n") {
		t.Errorf("%s %v", verdicts(set), err)
	}
	for _, target := range []dispatchtest.Target{{}, {Agent: obedient, RunTimeout: -1}, {URL: "http://127.0.0.1:1/", AuthValue: "Bearer a\nb"}, {URL: "http://127.0.0.1:1/", AuthHeader: "X Key"}, {Agent: obedient, Options: &dispatch.Options{Tokens: []string{""}}}} {
		if set, err = eval.Run(t.Context(), target, cases, nil); err == nil || set != nil {
			t.Errorf("%+v was taken", target)
		}
	}
}

// A row's cells become its task: instruction, input, world, session.
func TestCases(t *testing.T) {
	get, err := schema.Define[struct {
		OrderID string `json:"order_id"`
	}, any]("get_order", "Look up an order.", nil)
	if err != nil {
		t.Fatal(err)
	}
	base := dispatchtest.Task{
		ID: 9, AgentID: 8, Input: map[string]int{"base": 1},
		World: proxytest.World{
			Tools:        []schema.Tool{get},
			LedgerSchema: &ledger.Schema{Entities: []ledger.Entity{{Type: "order", IDField: "id"}}},
			InitialState: `{"order":{"4521":{"status":"base"}}}`,
			Behaviors:    map[string]proxytest.Behavior{"get_order": proxytest.Get("order", "order_id", &proxytest.ReadOptions{Fields: []string{"status"}})},
			FailureRules: []proxytest.FailureRule{{Tool: "get_order", Nth: []int{2}, Status: 500, ErrorClass: "base"}},
		},
	}
	csv := "user,state,failure_rules,current_state,turn_mode,simulator_mode,scripted_user_turns,name\n" +
		"call get_order,,,,,,,\n" +
		`call get_order,"{""order"":{""4521"":{""status"":""own""}}}",,"{""own"":1}",,,,its name` + "\n" +
		`call get_order,"{""order"":{""4521"":{""status"":""own""}}}","[{""tool"":""get_order"",""status"":500,""error_class"":""own""}]",,,,,` + "\n" +
		`call get_order,,,,model_as_user,scripted,"[""call get_order""]",` + "\n" +
		`call get_order,"{""order"":{""4521"":{""status"":""own""}}}",,,,,,` + "\n"
	cases := casesOf(t, csv, base)
	set, err := eval.Run(t.Context(), dispatchtest.Target{Agent: obedient}, cases, nil)
	if err != nil || !set.OK() {
		t.Fatal(err, verdicts(set))
	}
	runs := map[json.Number]bool{}
	for i, want := range []struct{ name, final, input string }{
		{"row 2: call get_order", `{"status":"base"}`, `{"base":1}`},
		{"row 3: its name", `{"status":"own"}`, `{"own":1}`},
		{"row 4: call get_order", `"own"`, `{"base":1}`},
		{"row 5: call get_order", `"base"`, `{"base":1}`}, // its second call, in its second turn
		{"row 6: call get_order", `{"status":"own"}`, `{"base":1}`},
	} {
		got := set.Trials[i]
		var envelope struct {
			TaskID  int64       `json:"task_id"`
			RunID   json.Number `json:"run_id"`
			AgentID int64       `json:"agent_id"`
			Input   struct {
				Input     json.RawMessage
				SessionID string `json:"session_id"`
			}
		}
		if err := json.Unmarshal(got.Result.Dispatch.Request, &envelope); err != nil {
			t.Fatal(err)
		}
		if got.Name != want.name || !strings.Contains(got.Result.FinalResponse, want.final) || string(envelope.Input.Input) != want.input {
			t.Errorf("%s: %s\n%s", got.Name, got.Result.FinalResponse, got.Result.Dispatch.Request)
		}
		if want := map[bool]int{false: 1, true: 2}[i == 3]; len(got.Result.Turns) != want {
			t.Errorf("%s has %d turns, want %d", got.Name, len(got.Result.Turns), want)
		}
		if envelope.TaskID != int64(i+2) || runs[envelope.RunID] || envelope.AgentID != 8 || (i == 3) != (envelope.Input.SessionID != "") {
			t.Errorf("ids in %s", got.Result.Dispatch.Request)
		}
		runs[envelope.RunID] = true
	}
	if cases[1].Task.Platform != cases[4].Task.Platform || cases[0].Task.Platform != cases[3].Task.Platform || cases[1].Task.Platform == cases[2].Task.Platform {
		t.Error("rows with the same world have different platforms, or rows with different ones the same")
	}
	replaying := base
	replaying.Conversation = &dispatchtest.Conversation{ReplayTools: true, UserTurns: []string{"of the base"}}
	if talks := casesOf(t, csv, replaying); talks[0].Task.Conversation != nil || !talks[3].Task.Conversation.ReplayTools ||
		talks[3].Task.Conversation.UserTurns[0] != "call get_order" || cases[3].Task.Conversation.ReplayTools {
		t.Errorf("%+v", talks[3].Task.Conversation)
	}
	bad := readDataset(t, "user,state,failure_rules\na,\"{\"\"ordre\"\":{\"\"1\"\":{}}}\",\nb,,\"[{\"\"tool\"\":\"\"get_ordre\"\",\"\"status\"\":500}]\"\n"+
		"c,\"{\"\"ordre\"\":{\"\"1\"\":{}}}\",\"[{\"\"tool\"\":\"\"x\"\",\"\"status\"\":500}]\"\n")
	_, err = bad.Cases(base, nil)
	wrong, ok := errors.AsType[*eval.Error](err)
	if !ok || wrong.Code != "invalid_world" || len(wrong.Problems) != 4 {
		t.Fatal(err)
	}
	for i, want := range []string{"row 2, column state: /ordre", "row 3, column failure_rules: /0 the tool \"get_ordre\" is not declared",
		"row 4, column state: ", "row 4, column failure_rules: "} {
		if !strings.HasPrefix(wrong.Problems[i].String(), want) {
			t.Errorf("problem %d: %s", i, wrong.Problems[i])
		}
	}

	platform, err := proxytest.New(base.World, nil)
	if err != nil {
		t.Fatal(err)
	}
	if cases, err = readDataset(t, csvOf("call get_order")).Cases(dispatchtest.Task{Platform: platform}, nil); err != nil || cases[0].Task.Platform != platform {
		t.Errorf("%v", err)
	}
	for _, base := range []dispatchtest.Task{{Platform: platform}, {ProxyURL: "http://127.0.0.1:1"}, {World: proxytest.World{InitialState: "["}}} {
		if _, err := readDataset(t, csv).Cases(base, nil); toolwire.CodeOf(err) != "invalid_world" {
			t.Errorf("%+v was taken as base: %v", base, err)
		}
	}
	_, err = readDataset(t, csv).Cases(dispatchtest.Task{World: proxytest.World{InitialState: "["}}, nil)
	if cause, ok := errors.AsType[*toolwire.Error](err); !ok || !strings.Contains(err.Error(), cause.Problems[0].Message) {
		t.Errorf("the error of the base world is lost: %v", err)
	}
}

// What is secret in the query of an agent's URL is in no report.
func TestReportsHideTheQuery(t *testing.T) {
	hangsUp := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	defer hangsUp.Close()
	for _, url := range []string{"http://127.0.0.1:1/", hangsUp.URL} {
		set, err := eval.Run(t.Context(), dispatchtest.Target{URL: url + "?key=geheim"}, casesOf(t, csvOf("a"), dispatchtest.Task{}), nil)
		if err != nil || set.Trials[0].Cause != string(dispatchtest.AgentUnreachable) {
			t.Fatalf("%v %s", err, verdicts(set))
		}
		var b bytes.Buffer
		if err := errors.Join(set.WriteSummary(&b, false), set.WriteJSON(&b), set.WriteJUnit(&b)); err != nil || strings.Contains(b.String(), "geheim") {
			t.Errorf("error %v\n%s", err, b.String())
		}
	}
}
