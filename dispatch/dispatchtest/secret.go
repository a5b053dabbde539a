package dispatchtest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/internal/redact"
)

// secrets returns what is hidden of the run. A result that was read from JSON has nothing to hide. After the run
// each call makes a set, because a result may be one of many, and a set needs more memory than most results.
func (r *Result) secrets() *redact.Set {
	if r.hidden == nil {
		return nil
	}
	return r.hidden()
}

// hideSecrets ends a run: it removes the secrets from what the agent sent, and from why the session ended. It
// does not change the final response and the messages, because they would be graded.
func (r *Result) hideSecrets(s *player) {
	r.hideIn(&r.Ping, r.Problems)
	r.hideIn(&r.Dispatch, nil)
	r.Ended = r.secrets().Redact(r.Ended)
	for i := range r.Turns {
		r.hideIn(&r.Turns[i].Exchange, r.Turns[i].Problems)
	}
	r.hidden = s.Hidden
}

func (r *Result) hideIn(ex *Exchange, problems []dispatch.Problem) {
	ex.Body = r.secrets().Redact(ex.Body)
	for i := range problems {
		p := &problems[i]
		p.Pointer, p.Message = r.secrets().Redact(p.Pointer), r.secrets().Redact(p.Message)
	}
}

// Format implements [fmt.Formatter]. It prints "[redacted]" for AuthValue, the values of Env and
// what may be secret in URL.
func (t Target) Format(f fmt.State, verb rune) {
	type plain Target
	t.URL = redact.New(redact.URL(t.URL)...).Redact(t.URL)
	t.Env = slices.Clone(t.Env)
	for i, variable := range t.Env {
		name, value, _ := strings.Cut(variable, "=")
		t.Env[i] = name + "=" + redact.Field(value)
	}
	t.AuthValue = redact.Field(t.AuthValue)
	redact.Format(f, verb, plain(t))
}
