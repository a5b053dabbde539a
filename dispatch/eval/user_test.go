package eval_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/dispatch/eval"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

// clerk is an agent that needs the number of an order, and may be asked to fail.
func clerk(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
	say := func(text string) (*dispatch.Response, error) { return &dispatch.Response{FinalResponse: text}, nil }
	switch {
	case run.Instruction == "fail":
		return nil, errors.New("told to")
	case run.Instruction == "misuse":
		_, _ = run.Proxy.Do(ctx, "get_ordre", nil) // the fault is what matters
		return say("Which order?")
	case strings.Contains(run.Instruction, "#4521"):
		_, err := run.Proxy.Do(ctx, "refund_order", map[string]string{"order_id": "4521"})
		return &dispatch.Response{FinalResponse: "It is refunded."}, err
	}
	return say("Which order?")
}

const personas = `user,turn_mode,user_simulator_persona,memory_mode,max_turns,termination_keyword
I want my money back.,model_as_user,A tired clerk.,,,
Refund me!,model_as_user,An angry customer.,stateful,3,
Refund my order.,model_as_user,A polite customer.,,,refunded
Refund #4521.,,,,,
`

// helpful answers the clerk's question and is done after that.
func helpful(_ context.Context, t eval.Trial, turns []dispatchtest.Turn) (string, error) {
	if last := turns[len(turns)-1]; strings.Contains(last.FinalResponse, "refunded") {
		return "", fmt.Errorf("%w: %s has the money", dispatchtest.ErrDone, t.Cell("user_simulator_persona"))
	}
	return "It is #4521.", nil
}

func personaCases(t *testing.T, csv string) []eval.Case {
	return casesOf(t, csv, dispatchtest.Task{World: shop()})
}

// Rows with a persona run if there is a user, in both memory modes. The result says who ended the
// session.
func TestUser(t *testing.T) {
	cases := personaCases(t, personas)
	if got := ended(run(t, clerk, cases, nil)); got != "s s s ." {
		t.Errorf("without a user: %s", got)
	}
	grader := eval.State("order/4521", `{"status":"refunded"}`)
	e := run(t, clerk, cases, &eval.Options{User: helpful, Grader: grader})
	if got := ended(e); got != ". . . ." {
		t.Fatal(got, verdicts(e), e.Trials[0].Reason)
	}
	for i, want := range []string{
		"user: done: A tired clerk. has the money", "user: done: An angry customer. has the money",
		"agent: the final response contains the termination keyword", "",
	} {
		r, turns := e.Trials[i].Result, map[bool]int{true: 2, false: 1}[i < 3]
		if r.Ended != want || len(r.Turns) != turns || r.Turns[0].Instruction != cases[i].Task.Instruction {
			t.Errorf("row %d: %q after %d turns", i+2, r.Ended, len(r.Turns))
		}
		if stateful := !bytes.Contains(r.Dispatch.Request, []byte(`"messages"`)); i < 3 && stateful != (i == 1) {
			t.Errorf("row %d was sent %s", i+2, r.Dispatch.Request)
		}
	}
	var b bytes.Buffer
	if err := errors.Join(e.WriteSummary(&b, false), e.WriteJSON(&b), e.WriteJUnit(&b)); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{
		"sessions ended by: user 2, agent 1\n4 cases in ", `"ended": "user: done: A tired clerk. has the money"`,
		"\nended      user: done: A tired clerk. has the money\n",
	} {
		if !strings.Contains(b.String(), part) {
			t.Errorf("%q is missing in\n%s", part, b.String())
		}
	}
	again := dispatchtest.Run(t, dispatchtest.Target{Agent: clerk}, e.Trials[0].Task)
	if again.Ended != e.Trials[0].Result.Ended || len(again.Turns) != 2 {
		t.Errorf("the task of the trial does not repeat it: %s", again)
	}
}

// Everything that a user does wrong is its own cause, and not the agent's failure.
func TestUserFaults(t *testing.T) {
	release := make(chan struct{})
	for _, tt := range []struct {
		name   string
		user   func(ctx context.Context) (string, error)
		reason string
		turns  int
	}{
		{"error", func(context.Context) (string, error) { return "", errors.New("no credit") }, "no credit", 1},
		{"text and error", func(context.Context) (string, error) { return "#1", errors.New("cut off") }, "cut off", 1},
		{"panic", func(context.Context) (string, error) { panic("no idea") }, "panic: no idea\ngoroutine ", 1},
		{"goexit", func(context.Context) (string, error) { runtime.Goexit(); return "", nil }, "it ended its goroutine", 1},
		{"timeout", func(ctx context.Context) (string, error) {
			<-ctx.Done()
			return "", ctx.Err()
		}, "it did not answer within 1m0s", 1},
		{"deaf", func(context.Context) (string, error) { <-release; return "#4521", nil }, "it did not answer within 1m0s", 1},
		{"empty", func(context.Context) (string, error) { return "", nil }, "it returned no text", 1},
		{"blank", func(context.Context) (string, error) { return " \n", nil }, "it returned no text", 1},
		{"too many turns", func(context.Context) (string, error) { return "more", nil },
			"it went on after turn 3, the last of the session (max_turns)", 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				release = make(chan struct{})
				user := func(ctx context.Context, _ eval.Trial, _ []dispatchtest.Turn) (string, error) { return tt.user(ctx) }
				cases := personaCases(t, "user,turn_mode,user_simulator_persona,max_turns\nhello,model_as_user,a clerk,3\n")
				begun := time.Now()
				trial := run(t, clerk, cases, &eval.Options{User: user}).Trials[0]
				close(release)
				if trial.Verdict != eval.Errored || trial.Cause != "user" ||
					!strings.HasPrefix(trial.Reason, "the user failed: "+tt.reason) || len(trial.Result.Turns) != tt.turns {
					t.Errorf("%s, %s, %d turns: %s", trial.Verdict, trial.Cause, len(trial.Result.Turns), trial.Reason)
				}
				if took := time.Since(begun); took > time.Minute {
					t.Errorf("it took %s", took)
				}
			})
		})
	}
}

// What the agent did wrong before its user failed, or because of it, is the agent's.
func TestAgentBeforeUser(t *testing.T) {
	for want, says := range map[string][]string{
		"failed agent_5xx\n": {"hello", "fail"},
		"failed fault\n":     {"misuse"},
		"error user\n":       {"hello", "hello"},
	} {
		cases := personaCases(t, "user,turn_mode,user_simulator_persona\n"+says[0]+",model_as_user,a clerk\n")
		got := verdicts(run(t, clerk, cases, &eval.Options{User: func(_ context.Context, t eval.Trial, turns []dispatchtest.Turn) (string, error) {
			if n := len(turns); n < len(says) {
				return says[n], nil
			}
			return "", errors.New("busy")
		}}))
		if got != want {
			t.Errorf("%q: %s", says, got)
		}
	}
}

// The faults of a user are counted as failures in one estimate and left out in the other, and reports
// name them.
func TestUserFaultsHaveTwoBounds(t *testing.T) {
	var calls atomic.Int64
	cases := personaCases(t, "user,turn_mode,user_simulator_persona\nhello,model_as_user,a\nhi,model_as_user,b\n")
	e := run(t, clerk, cases, &eval.Options{
		Trials: 4, Parallel: 1, User: func(context.Context, eval.Trial, []dispatchtest.Turn) (string, error) {
			if calls.Add(1)%4 == 0 {
				return "", errors.New("busy")
			}
			return "", dispatchtest.ErrDone
		}})
	s := e.Stats()
	if got := ended(e); got != ".... .!.!" || s.Faults != 2 || s.UserFaults != 2 ||
		e.Figure("rate").Value != 0.75 || figure(e, "rate", "dropped").Value != 1 {
		t.Errorf("%s: %+v %+v", got, s, e.Figures())
	}
	var b bytes.Buffer
	if err := errors.Join(e.WriteSummary(&b, false), e.WriteJSON(&b), e.WriteJUnit(&b)); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{
		"user        2\n", "2 faults (2 of the user) counted as failed: 75 % [", "sessions ended by: user 8\n",
		`"user_faults": 2`, `<property name="user_faults" value="2">`, `<error message="the user failed: busy" type="user">`,
	} {
		if !strings.Contains(b.String(), part) {
			t.Errorf("%q is missing in\n%s", part, b.String())
		}
	}
}

// A trial whose user thinks when the experiment ends is cancelled, and not at fault.
func TestCancelledUser(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	e, err := eval.Run(ctx, dispatchtest.Target{Agent: clerk}, personaCases(t, personas), &eval.Options{
		Parallel: 1, User: func(ctx context.Context, _ eval.Trial, _ []dispatchtest.Turn) (string, error) {
			cancel(errors.New("lunch"))
			<-ctx.Done()
			return "", ctx.Err()
		}})
	if err != nil || ended(e) != "c c c c" || !strings.Contains(e.Trials[0].Reason, "when the experiment was cancelled: lunch") {
		t.Errorf("%s: %s, error %v", ended(e), e.Trials[0].Reason, err)
	}
}

// A user gets the seed of its trial: its own, and the same in every run.
func TestSeedOfTheUser(t *testing.T) {
	seeds := func(seed uint64, parallel int) (list []string) {
		cases := casesOf(t, "user,turn_mode,user_simulator_persona\nhello,model_as_user,a\nhi,model_as_user,b\n",
			dispatchtest.Task{World: proxytest.World{Seed: seed}})
		user := func(_ context.Context, t eval.Trial, turns []dispatchtest.Turn) (string, error) {
			drawn := rand.New(rand.NewPCG(t.Seed(), 0)).Uint64()
			return "", fmt.Errorf("%w: %s %d %d", dispatchtest.ErrDone, t.Cell("user_simulator_persona"), t.Number, drawn)
		}
		e := run(t, clerk, cases, &eval.Options{Trials: 3, Parallel: parallel, User: user})
		for _, trial := range e.Trials {
			list = append(list, trial.Result.Ended)
		}
		return list
	}
	one := seeds(0, 1)
	if two := seeds(0, 6); !slices.Equal(one, two) {
		t.Errorf("not reproducible:\n%v\n%v", one, two)
	}
	if other := seeds(1, 1); one[0] == other[0] || !strings.HasPrefix(one[4], "user: done: b 2 ") {
		t.Errorf("the seed of the world is not used: %v", other)
	}
	drawn := map[string]bool{}
	for _, text := range one {
		drawn[text[strings.LastIndexByte(text, ' '):]] = true
	}
	if len(drawn) != 6 {
		t.Errorf("trials share a seed: %v", one)
	}
}

// Results with users are stored, resumed and graded again as others are. The version of the user is
// part of the fingerprint.
func TestResultsOfUsers(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "results.jsonl")
	cases := personaCases(t, personas)
	flaky := func(ctx context.Context, t eval.Trial, turns []dispatchtest.Turn) (string, error) {
		if t.Number == 2 {
			return "", errors.New("busy")
		}
		return helpful(ctx, t, turns)
	}
	opts := eval.Options{Trials: 2, ResultsFile: file, User: flaky, UserVersion: "u1", Grader: eval.Says("refunded")}
	first := run(t, clerk, cases, &opts)
	if got := ended(first); got != ".! .! .! .." {
		t.Fatal(got)
	}
	inMemory := opts
	inMemory.ResultsFile = ""
	want := reports(t, run(t, clerk, cases, &inMemory))
	for name, e := range map[string]*eval.Experiment{"written": first, "loaded": load(t, file)} {
		if got := reports(t, e); got != want || e.Fingerprint().User != "u1" {
			t.Errorf("%s: %s", name, firstDifference(got, want))
		}
	}
	graded := opts
	graded.ResultsFile = filepath.Join(dir, "again.jsonl")
	again, err := eval.Grade(t.Context(), cases, &graded, file)
	if err != nil || ended(again) != ended(first) || !bytes.Equal(read(t, file), read(t, graded.ResultsFile)) {
		t.Errorf("%s, error %v", ended(again), err)
	}
	graded.ResultsFile, graded.Grader = "", nil
	if again, err = eval.Grade(t.Context(), cases, &graded, file); err != nil || ended(again) != ended(first) {
		t.Errorf("a session that the user broke off is graded: %s, error %v", ended(again), err)
	}
	for name, tt := range map[string]struct {
		change func(*eval.Options)
		want   string
	}{
		"another version": {func(o *eval.Options) { o.UserVersion = "u2" }, `the version of the user is "u1" and not "u2"`},
		"no version":      {func(o *eval.Options) { o.UserVersion = "" }, `of the user is "u1" and not "unversioned"`},
		"no user":         {func(o *eval.Options) { o.User = nil }, `the version of the user is "u1" and not ""`},
	} {
		o := opts
		tt.change(&o)
		_, err := eval.Run(t.Context(), dispatchtest.Target{Agent: clerk}, cases, &o)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	scripted := casesOf(t, csvOf("a"), dispatchtest.Task{})
	e := run(t, clerk, scripted, &eval.Options{User: helpful, UserVersion: "u1"})
	if e.Fingerprint().User != "" {
		t.Errorf("a user that is not needed is in the fingerprint: %q", e.Fingerprint().User)
	}
}

// The plan has the turns and the calls of the user before anything is spent.
func TestPlanOfUsers(t *testing.T) {
	cases := personaCases(t, personas)
	opts := &eval.Options{Trials: 2, User: helpful}
	plan, err := opts.Plan(cases)
	const want = "at most 8 trials of 4 cases with 48 turns and 46 calls of the user; a comparison of this size finds a difference of about 98 points in these cases; a gate needs at least 6 cases"
	if err != nil || plan.Turns() != 2*(10+3+10+1) || plan.Asked() != 2*(10+3+10) || plan.String() != want {
		t.Errorf("%s, error %v", plan, err)
	}
	// A user that never ends costs exactly as much.
	var asked, turns atomic.Int64
	run(t, func(context.Context, *dispatch.Run) (*dispatch.Response, error) {
		turns.Add(1)
		return &dispatch.Response{FinalResponse: "Which order?"}, nil
	}, cases, &eval.Options{Trials: 2, User: func(context.Context, eval.Trial, []dispatchtest.Turn) (string, error) {
		asked.Add(1)
		return "Guess.", nil
	}})
	if asked.Load() != int64(plan.Asked()) || turns.Load() != int64(plan.Turns()) {
		t.Errorf("%d calls of the user and %d turns, the plan is %s", asked.Load(), turns.Load(), plan)
	}
	// What a file has already is not in the plan.
	ctx, cancel := context.WithCancel(t.Context())
	stored := &eval.Options{
		Trials: 2, User: helpful, Parallel: 1, ResultsFile: filepath.Join(t.TempDir(), "results.jsonl"),
		OnTrial: func(eval.Trial) { cancel() },
	}
	if _, err := eval.Run(ctx, dispatchtest.Target{Agent: clerk}, cases, stored); err != nil {
		t.Fatal(err)
	}
	if left, err := stored.Plan(cases); err != nil || left.Stored() != 1 || left.Trials != 7 || left.Turns() != 48-10 || left.Asked() != 46-10 {
		t.Errorf("after one trial: %+v, error %v", left, err)
	}
	if plan, err = (&eval.Options{}).Plan(cases); err != nil || !strings.Contains(plan.String(), ", 3 skipped") || plan.Turns() != 1 || plan.Asked() != 0 {
		t.Errorf("without a user: %s, error %v", plan, err)
	}
	byHand := []eval.Case{{ID: "a"}, {ID: "b"}, {ID: "c"}, {ID: "d"}}
	if plan, err = (&eval.Options{Shard: "1/2"}).Plan(byHand); err != nil || !strings.Contains(plan.String(), "of 2 cases") || plan.Trials != 2 || plan.Turns() != 2 {
		t.Errorf("a shard of cases without an instruction: %s, error %v", plan, err)
	}
}

// A row that needs the sandbox is not played, whatever its persona, and the reason names the sandbox.
func TestUserOfACodingTask(t *testing.T) {
	cases := personaCases(t, "user,turn_mode,user_simulator_persona,setup_command\nhello,model_as_user,a clerk,make\n")
	for name, user := range map[string]eval.User{"no user": nil, "user": helpful} {
		e := run(t, clerk, cases, &eval.Options{User: user})
		if trial := e.Trials[0]; trial.Verdict != eval.Skipped || !strings.Contains(trial.Reason, "sandbox") || e.Fingerprint().User != "" {
			t.Errorf("%s: %s, %s, %q", name, trial.Verdict, trial.Reason, e.Fingerprint().User)
		}
	}
}

// A case by hand has a user of its own, which is guarded in the same way.
func TestUserOfACase(t *testing.T) {
	talk := func(say func() (string, error)) dispatchtest.Task {
		user := func(context.Context, []dispatchtest.Turn) (string, error) { return say() }
		return dispatchtest.Task{Instruction: "hello", Conversation: &dispatchtest.Conversation{User: user, MaxTurns: 2}}
	}
	byHand := func() []eval.Case {
		return []eval.Case{
			{ID: "done", Task: talk(func() (string, error) { return "", dispatchtest.ErrDone })},
			{ID: "panics", Task: talk(func() (string, error) { panic("no") })},
			{ID: "goes on", Task: talk(func() (string, error) { return "and?", nil })},
			{ID: "by hand", Columns: map[string]string{"user_simulator_persona": "a clerk"}, Task: dispatchtest.Task{Conversation: &dispatchtest.Conversation{MaxTurns: 4}}},
		}
	}
	cases := byHand()
	opts := &eval.Options{User: func(_ context.Context, t eval.Trial, turns []dispatchtest.Turn) (string, error) {
		if len(turns) == 0 {
			return "I begin.", nil
		}
		return "", dispatchtest.ErrDone
	}}
	e := run(t, clerk, cases, opts)
	got, begun := verdicts(e), e.Trials[3].Result.Turns[0].Instruction
	if got != "passed \nerror user\nerror user\npassed \n" || begun != "I begin." {
		t.Error(got, begun)
	}
	if e.Fingerprint().User != "unversioned" || *e.Fingerprint() != *run(t, clerk, byHand(), opts).Fingerprint() {
		t.Errorf("%+v", e.Fingerprint())
	}
	if plan, err := opts.Plan(cases); err != nil || plan.Turns() != 2+2+2+4 || plan.Asked() != 2+2+2+5 {
		t.Errorf("%+v, error %v", plan, err)
	}
}
