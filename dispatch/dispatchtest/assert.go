package dispatchtest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/dispatch/internal/testrun"
	"github.com/toolwire/toolwire/internal/problem"
	"github.com/toolwire/toolwire/internal/text"
)

// AssertOK fails the test unless the run completed with an answer of the agent's own, and the
// agent's whole answer arrived. No answer, an answer after the time and an error fail the test even
// if the handler answers in the agent's place: see [Result].StandIn. It also fails the test if the
// handler removed messages or metadata, or if the platform drops them as malformed. Repairs of the
// handler do not fail the test. Neither do conversations that llm.Transport cannot tell apart,
// requests that belong to none, and requests without the agent's context. The recorded tool calls
// arrive. [Result].Problems lists all of these.
func (r *Result) AssertOK(t testing.TB) {
	t.Helper()
	if !r.OK() {
		t.Errorf("%s", r.failed())
		return
	}
	var lost []string
	for _, p := range r.Problems {
		if !slices.Contains([]string{problem.MessagesRepaired, codeUnclear, codeLeftOut, codeOutside}, p.Code) {
			lost = append(lost, text.Line(p.String(), maxReason))
		}
	}
	if len(lost) > 0 {
		t.Errorf("the run completed, but a part of the agent's answer did not arrive:\n  %s\n%s", strings.Join(lost, "\n  "),
			r)
	}
}

// Codes of problems with conversations.
const (
	codeUnclear = "conversation_unclear" // of package llm, as the next
	codeLeftOut = "request_left_out"
	codeOutside = "request_outside_run" // of this package
)

// failed returns the text of a failure of a run that is not OK: the cause, and below it what
// happened, where the cause is not repeated.
func (r *Result) failed() string {
	cause := r.Error
	if len(r.Faults) > 0 && !r.faultsTold {
		cause = text.Lines(r.Faults[0], maxFault)
	}
	return fmt.Sprintf("the run failed: %s: %s\n%s", cmp.Or(string(r.ErrorClass), string(r.StandIn)), cause, r.print(cause))
}

// AssertFinalResponse fails the test unless the run completed with an answer of the agent's own that
// contains all of these.
func (r *Result) AssertFinalResponse(t testing.TB, parts ...string) {
	t.Helper()
	if !r.OK() {
		t.Errorf("%s", r.failed())
		return
	}
	missing := slices.DeleteFunc(slices.Clone(parts), func(part string) bool { return strings.Contains(r.FinalResponse, part) })
	if len(missing) > 0 {
		t.Errorf("the final response does not contain %q\n%s", missing, r)
	}
}

// AssertErrorClass fails the test unless the run failed with the error class.
func (r *Result) AssertErrorClass(t testing.TB, class ErrorClass) {
	t.Helper()
	switch {
	case r.ErrorClass == class:
	case r.OK():
		t.Errorf("the run succeeded, want it to fail with %s\n%s", class, r)
	case r.WouldBeGraded():
		t.Errorf("the platform would grade the run, want it to fail with %s\n%s", class, r)
	default:
		t.Errorf("want the run to fail with %s\n%s", class, r.failed())
	}
}

// AssertNoCallAfterEnd fails the test if the agent has called the proxy after it answered, or after
// the proxy refused a call because the run was over.
func (r *Result) AssertNoCallAfterEnd(t testing.TB) {
	t.Helper()
	answered := 0
	if len(r.Turns) > 0 {
		answered = r.Turns[len(r.Turns)-1].Answered
	}
	log := &r.Log
	if r.run != nil { // a result that was read from JSON has none
		log = r.run.Log() // with what came after the result was made
	}
	if late, found := testrun.Late(log, answered); found {
		t.Errorf("the agent called the proxy after it had answered\n%s", late)
		return
	}
	r.Log.AssertNoCallAfterEnd(t)
}
