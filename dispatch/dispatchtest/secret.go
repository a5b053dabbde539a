package dispatchtest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/internal/redact"
)

// secrets returns what is hidden of the run. A result that was read from JSON has nothing to hide. After
// the run each call makes a set, because a result may be one of many, and a set needs more memory than
// most results.
func (r *Result) secrets() *redact.Set {
	if r.hidden == nil {
		return nil
	}
	return r.hidden()
}

// hideSecrets ends a run: it removes the secrets from what the agent sent, and from why the session
// ended. It does not change the final response and the messages, because they would be graded.
func (r *Result) hideSecrets(s *player) {
	secrets := s.Secrets()
	r.Ping.Body, r.Dispatch.Body = secrets.Redact(r.Ping.Body), secrets.Redact(r.Dispatch.Body)
	r.Ended, r.Problems = secrets.Redact(r.Ended), hideIn(r.Problems, secrets)
	for i := range r.Turns {
		r.Turns[i].hide(secrets)
	}
	r.hidden = s.Hidden
}

func (t *Turn) hide(secrets *redact.Set) {
	t.Body, t.Problems = secrets.Redact(t.Body), hideIn(t.Problems, secrets)
}

// hideIn returns a copy without the secrets: what follows the run may read the problems at this time.
func hideIn(problems []dispatch.Problem, secrets *redact.Set) []dispatch.Problem {
	problems = slices.Clone(problems)
	for i := range problems {
		p := &problems[i]
		p.Pointer, p.Message = secrets.Redact(p.Pointer), secrets.Redact(p.Message)
	}
	return problems
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
