package dispatchtest_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/internal/testkit"
)

// echo answers with what the user said and how much of the session it was sent.
func echo(_ context.Context, run *dispatch.Run) (*dispatch.Response, error) {
	if run.Instruction == "break" {
		return nil, errors.New("broken")
	}
	history, err := run.History()
	return &dispatch.Response{FinalResponse: fmt.Sprintf("%d:%s", len(history), run.Instruction)}, err
}

// Conversation.User speaks after the script, sees all turns, and ends the session.
func TestConversationUser(t *testing.T) {
	type conversation = dispatchtest.Conversation
	done, busy := dispatchtest.ErrDone, errors.New("the model is busy")
	const keyword = "agent: the final response contains the termination keyword"
	for name, tt := range map[string]struct {
		instruction string
		talk        conversation
		says        []string // of the user
		err         error    // after that
		said        string   // by all
		ended       string
		fails       string
	}{
		"done":           {"a", conversation{}, []string{"b"}, done, "a b", "user: done", ""},
		"with a reason":  {"a", conversation{}, nil, fmt.Errorf("%w: it is paid", done), "a", "user: done: it is paid", ""},
		"begins":         {"", conversation{}, []string{"a", "b"}, done, "a b", "user: done", ""},
		"after a script": {"a", conversation{UserTurns: []string{"b"}}, []string{"c"}, done, "a b c", "user: done", ""},
		"stateful":       {"a", conversation{Stateful: true}, []string{"b"}, done, "a b", "user: done", ""},
		"keyword":        {"a", conversation{TerminationKeyword: ":b"}, []string{"b", "c"}, done, "a b", keyword, ""},
		"limit": {"a", conversation{MaxTurns: 2}, []string{"b", "c"}, nil, "a b",
			"limit: the user goes on after turn 2", ""},
		"done in time": {"a", conversation{MaxTurns: 2}, []string{"b"}, done, "a b", "user: done", ""},
		"fails":        {"a", conversation{}, []string{"b"}, busy, "a b", "user: failed", "User: the model is busy"},
		"says nothing": {"a", conversation{}, []string{"b", " "}, nil, "a b", "user: failed", "User: it returned no text"},
		"agent fails":  {"a", conversation{}, []string{"break"}, done, "a break", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			talk, scripted := tt.talk, len(tt.talk.UserTurns)
			if tt.instruction != "" {
				scripted++
			}
			talk.User = func(_ context.Context, turns []dispatchtest.Turn) (string, error) {
				if n := len(turns); n > 0 && (turns[n-1].FinalResponse == "" || turns[0].Instruction != "a") {
					t.Errorf("the user sees %+v", turns)
				}
				if n := len(turns) - scripted; n < len(tt.says) {
					return tt.says[n], nil
				}
				return "", tt.err
			}
			task := dispatchtest.Task{Instruction: tt.instruction, Conversation: &talk}
			got, err := dispatchtest.Dispatch(t.Context(), dispatchtest.Target{Agent: echo}, task)
			if (err == nil) != (tt.fails == "") || err != nil && !strings.Contains(err.Error(), tt.fails) {
				t.Errorf("error %v, want %s", err, tt.fails)
			}
			if tt.err == busy && !errors.Is(err, busy) {
				t.Errorf("the error of the user is lost: %v", err)
			}
			var said []string
			for i, turn := range got.Turns {
				said = append(said, turn.Instruction)
				rows := 2*i + 1
				if talk.Stateful {
					rows = 1
				}
				if want := fmt.Sprintf("%d:%s", rows, turn.Instruction); turn.Instruction != "break" && turn.FinalResponse != want {
					t.Errorf("turn %d is answered with %q, want %q", i+1, turn.FinalResponse, want)
				}
			}
			if strings.Join(said, " ") != tt.said || got.Ended != tt.ended || got.OK() == (tt.ended == "") {
				t.Errorf("%q, ended by %q, error class %q", said, got.Ended, got.ErrorClass)
			}
			if tt.ended != "" && !strings.Contains(got.String(), "ended      "+tt.ended+"\n") {
				t.Errorf("the timeline is\n%s", got)
			}
		})
	}
}

// Who ended a session is known for a script too. A task of one turn is not a session.
func TestEnded(t *testing.T) {
	for want, talk := range map[string]*dispatchtest.Conversation{
		"":                                       nil,
		"user: the script is over":               {UserTurns: []string{"b"}, MaxTurns: 2},
		"limit: the script goes on after turn 2": {UserTurns: []string{"b", "c"}, MaxTurns: 2},
		"agent: the final response contains the termination keyword": {UserTurns: []string{"b", "c"}, TerminationKeyword: ":b"},
	} {
		task := dispatchtest.Task{Instruction: "a", Conversation: talk}
		got := dispatchtest.Run(t, dispatchtest.Target{Agent: echo}, task)
		if got.Ended != want {
			t.Errorf("%q, want %q", got.Ended, want)
		}
	}
}

// The turns that a user sees have no secrets of the target, so that it may print them.
func TestUserSeesNoSecret(t *testing.T) {
	const secret = "s3cr3t-0123456789"
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"final_response":"yes","note":%q}`, r.Header.Get("Authorization"))
	})
	seen := ""
	user := func(_ context.Context, turns []dispatchtest.Turn) (string, error) {
		seen = turns[0].Body
		return "", fmt.Errorf("%w: I know %s", dispatchtest.ErrDone, secret)
	}
	got := dispatchtest.Run(t, dispatchtest.Target{Handler: handler, AuthValue: "Bearer " + secret},
		dispatchtest.Task{Instruction: "a", Conversation: &dispatchtest.Conversation{User: user}})
	if strings.Contains(seen, secret) || !strings.Contains(seen, "[redacted]") {
		t.Error(seen)
	}
	if got.Ended != "user: done: I know [redacted]" {
		t.Errorf("the result has the secret: %q", got.Ended)
	}
}

// What a user does with the turns does not change the result.
func TestUserChangesNoTurns(t *testing.T) {
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprint(w, `{"final_response":"yes","messages":[{"role":"nobody","content":"a"}]}`)
	})
	user := func(_ context.Context, turns []dispatchtest.Turn) (string, error) {
		turns[0].FinalResponse, turns[0].Problems[0].Code = "changed", "changed"
		return "", dispatchtest.ErrDone
	}
	got := dispatchtest.Run(t, dispatchtest.Target{Handler: handler},
		dispatchtest.Task{Instruction: "a", Conversation: &dispatchtest.Conversation{User: user}})
	if turn := got.Turns[0]; turn.FinalResponse != "yes" || turn.Problems[0].Code == "changed" {
		t.Errorf("%+v", turn)
	}
}

// Run fails the test whose user fails, and returns what happened before.
func TestRunWithAUserThatFails(t *testing.T) {
	user := func(context.Context, []dispatchtest.Turn) (string, error) { return "", errors.New("no credit") }
	var got *dispatchtest.Result
	failures := testkit.Failures(t, func(t testing.TB) {
		got = dispatchtest.Run(t, dispatchtest.Target{Agent: echo},
			dispatchtest.Task{Instruction: "a", Conversation: &dispatchtest.Conversation{User: user}})
	})
	if !strings.Contains(failures, "dispatchtest: Conversation.User: no credit") || got == nil || len(got.Turns) != 1 {
		t.Errorf("%q, %+v", failures, got)
	}
}
