package dispatchtest

import (
	"math"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/internal/testrun"
)

// AssertOK fails the test unless the run completed, would be graded, and the agent's whole answer
// arrived. It fails the test if the handler removed messages or metadata, or if the platform drops
// them as malformed. Repairs of the handler do not fail the test. Nor do conversations that
// llm.Transport could not tell apart: their recorded tool calls arrive. Both are in
// [Result].Problems.
func (r *Result) AssertOK(t testing.TB) {
	t.Helper()
	if !r.OK() {
		t.Errorf("the run failed: %s: %s\n%s", r.ErrorClass, r.Error, r)
		return
	}
	var lost []string
	for _, p := range r.Problems {
		if !repaired(p) && p.Code != codeUnclear {
			lost = append(lost, p.String())
		}
	}
	if len(lost) > 0 {
		t.Errorf("the run completed, but a part of the agent's answer did not arrive:\n  %s\n%s", strings.Join(lost, "\n  "),
			r)
	}
}

// Codes of problems that the handler of package dispatch has dealt with.
const (
	codeRepaired = "messages_repaired"
	codeRemoved  = "messages_removed"
	codeUnclear  = "conversation_unclear" // of package llm
)

// repaired reports whether the handler repaired the place of a problem, so that nothing was lost.
func repaired(p dispatch.Problem) bool {
	return p.Code == codeRepaired || p.Code == "final_response_missing" && !p.Fatal // the stand-in was sent
}

// AssertFinalResponse fails the test unless the run completed and its final response contains all
// of these.
func (r *Result) AssertFinalResponse(t testing.TB, parts ...string) {
	t.Helper()
	if !r.OK() {
		t.Errorf("the run failed, so it has no final response: %s: %s\n%s", r.ErrorClass, r.Error, r)
		return
	}
	for _, part := range parts {
		if !strings.Contains(r.FinalResponse, part) {
			t.Errorf("the final response is %q\nwant it to contain %q\n%s", r.FinalResponse, part, r)
		}
	}
}

// AssertErrorClass fails the test unless the run failed with the error class.
func (r *Result) AssertErrorClass(t testing.TB, class ErrorClass) {
	t.Helper()
	if r.ErrorClass != class {
		t.Errorf("the run ended with the error class %q (%s), want %q\n%s", r.ErrorClass, r.Error, class, r)
	}
}

// AssertNoCallAfterEnd fails the test if the agent has called the proxy after it answered, or after
// the proxy refused a call because the run was over.
func (r *Result) AssertNoCallAfterEnd(t testing.TB) {
	t.Helper()
	answered := 0
	if len(r.Turns) > 0 {
		answered = r.Turns[len(r.Turns)-1].last
	}
	if late := testrun.Between(r.run.Reveal().Log(), answered, math.MaxInt); late.LastOrder() > 0 {
		t.Errorf("the agent called the proxy after it had answered\n%s", late)
		return
	}
	r.Log.AssertNoCallAfterEnd(t)
}
