package dispatchtest_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/dispatch/eval"
	"github.com/toolwire/toolwire/internal/testkit"
)

// An answer that is not the agent's own fails a test and a trial, with a cause, although the
// platform would grade it.
func TestStandIns(t *testing.T) {
	returns := func(response *dispatch.Response, err error) dispatch.Agent {
		return func(context.Context, *dispatch.Run) (*dispatch.Response, error) { return response, err }
	}
	says := func(text string) *dispatch.Response { return &dispatch.Response{FinalResponse: text} }
	failureResponse := func(*dispatch.Run, *toolwire.Error) *dispatch.Response { return says("Sorry.") }
	late := func(wait time.Duration, response *dispatch.Response) dispatch.Agent {
		return func(context.Context, *dispatch.Run) (*dispatch.Response, error) {
			time.Sleep(wait)
			return response, nil
		}
	}
	stops := func(ctx context.Context, _ *dispatch.Run) (*dispatch.Response, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	const place = "; its handler answered in its place"
	for _, tt := range []struct {
		name  string
		agent dispatch.Agent
		opts  dispatch.Options
		want  dispatchtest.StandIn // "" for an answer of the agent's own
		error string
	}{
		{"nil", returns(nil, nil), dispatch.Options{}, dispatchtest.NoAnswer, "the agent returned no final response" + place},
		{"empty", returns(says(""), nil), dispatch.Options{}, dispatchtest.NoAnswer, "the agent returned no final response" + place},
		{"blank", returns(says(" \n\t"), nil), dispatch.Options{}, dispatchtest.NoAnswer, "the agent returned no final response" + place},
		{"the text of the stand-in", returns(says(dispatch.NoFinalResponse), nil), dispatch.Options{}, dispatchtest.NoAnswer,
			"the agent returned no final response" + place},
		{"an answer", returns(says("Done."), nil), dispatch.Options{}, "", ""},
		{"too late", late(2*time.Minute, says("Done.")), dispatch.Options{}, dispatchtest.OutOfTime, "the agent ran out of time" + place},
		{"out of time, with an own response", late(2*time.Minute, says("Done.")),
			dispatch.Options{TimeoutResponse: func(*dispatch.Run) *dispatch.Response { return says("Late.") }},
			dispatchtest.OutOfTime, "the agent ran out of time" + place},
		{"out of time, with an empty response", late(2*time.Minute, nil),
			dispatch.Options{TimeoutResponse: func(*dispatch.Run) *dispatch.Response { return nil }},
			dispatchtest.OutOfTime, "the agent ran out of time" + place},
		{"stopped at the end of its context", stops, dispatch.Options{}, dispatchtest.OutOfTime, "the agent ran out of time" + place},
		{"an own answer at the end of its context", func(ctx context.Context, _ *dispatch.Run) (*dispatch.Response, error) {
			<-ctx.Done()
			return says("That is all I have."), nil
		}, dispatch.Options{}, "", ""},
		{"failed", returns(nil, errors.New("no route to the model\nat llm")), dispatch.Options{FailureResponse: failureResponse},
			dispatchtest.AgentFailed, "the agent failed: no route to the model" + place},
		{"panicked", func(context.Context, *dispatch.Run) (*dispatch.Response, error) { panic("boom") },
			dispatch.Options{FailureResponse: failureResponse}, dispatchtest.AgentFailed, "the agent failed: panic: boom" + place},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				target := dispatchtest.Target{Agent: tt.agent, Options: &tt.opts, RunTimeout: time.Minute}
				got, err := dispatchtest.Dispatch(t.Context(), target, dispatchtest.Task{Instruction: "Go."})
				if err != nil {
					t.Fatal(err)
				}
				if got.StandIn != tt.want || got.Error != tt.error || got.OK() != (tt.want == "") || !got.WouldBeGraded() {
					t.Errorf("StandIn %q, Error %q, OK %t, WouldBeGraded %t\nwant %q, %q", got.StandIn, got.Error, got.OK(),
						got.WouldBeGraded(), tt.want, tt.error)
				}
				for name, assert := range map[string]func(testing.TB){
					"AssertOK": got.AssertOK, "AssertFinalResponse": func(t testing.TB) { got.AssertFinalResponse(t) },
				} {
					text := testkit.Failures(t, assert)
					want := ""
					if tt.want != "" {
						want = "the run failed: " + string(tt.want) + ": " + tt.error + "\n"
					}
					if first, _, _ := strings.Cut(text, "\n"); want != "" && first+"\n" != want || (text == "") != (want == "") {
						t.Errorf("%s says %q, want %q", name, text, want)
					}
				}
				e, err := eval.Run(t.Context(), target, []eval.Case{{ID: "1", Name: "one"}}, nil)
				if err != nil {
					t.Fatal(err)
				}
				trial := e.Trials[0]
				if trial.Cause != string(tt.want) || (trial.Verdict == eval.Passed) != (tt.want == "") || trial.Reason != tt.error ||
					e.OK() != (tt.want == "") {
					t.Errorf("the trial: %s %s: %s", trial.Verdict, trial.Cause, trial.Reason)
				}
				time.Sleep(time.Hour) // for the agent to end
			})
		})
	}
}

// Behind another server a stand-in is known by the texts of package dispatch.
func TestStandInsOfAnotherServer(t *testing.T) {
	for text, want := range map[string]dispatchtest.StandIn{
		dispatch.NoFinalResponse: dispatchtest.NoAnswer, dispatch.TimeoutFinalResponse: dispatchtest.OutOfTime, "Done.": "",
	} {
		handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"final_response":"` + text + `"}`))
		})
		got := dispatchtest.Run(t, dispatchtest.Target{Handler: handler}, dispatchtest.Task{})
		if got.StandIn != want || got.OK() != (want == "") {
			t.Errorf("%q: StandIn %q, OK %t", text, got.StandIn, got.OK())
		}
	}
}

// A session goes on after a stand-in, as the platform does. It is not OK, whatever follows.
func TestStandInOfATurn(t *testing.T) {
	agent := func(_ context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		if run.TurnID == "2" {
			return nil, nil
		}
		if run.TurnID == "3" {
			return &dispatch.Response{FinalResponse: dispatch.TimeoutFinalResponse}, nil
		}
		return &dispatch.Response{FinalResponse: "fine"}, nil
	}
	got := dispatchtest.Run(t, dispatchtest.Target{Agent: agent}, dispatchtest.Task{
		Conversation: &dispatchtest.Conversation{UserTurns: []string{"one", "two", "three"}},
	})
	want := "turn 2: the agent returned no final response; its handler answered in its place"
	if len(got.Turns) != 3 || got.StandIn != dispatchtest.NoAnswer || got.Error != want || got.OK() {
		t.Errorf("%d turns, StandIn %q, Error %q", len(got.Turns), got.StandIn, got.Error)
	}
}
