package dispatchtest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/internal/redact"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

// hideSecrets removes the secrets from what the agent sent, and from why the session ended. It does
// not change the final response and the messages, because they would be graded.
func (r *Result) hideSecrets() {
	r.hideIn(&r.Ping, r.Problems)
	r.hideIn(&r.Dispatch, nil)
	r.Ended = r.secrets.Redact(r.Ended)
	for i := range r.Turns {
		r.hideIn(&r.Turns[i].Exchange, r.Turns[i].Problems)
	}
}

func (r *Result) hideIn(ex *Exchange, problems []dispatch.Problem) {
	ex.Body = r.secrets.Redact(ex.Body)
	for i := range problems {
		p := &problems[i]
		p.Pointer, p.Message = r.secrets.Redact(p.Pointer), r.secrets.Redact(p.Message)
	}
}

// hideInLog removes the secrets from a copy of events before they are printed: a printed text is cut,
// and half of a secret is not found any more.
func (r *Result) hideInLog(log *proxytest.Log) *proxytest.Log {
	hide := func(raw *json.RawMessage) { *raw = json.RawMessage(r.secrets.Redact(string(*raw))) }
	for _, calls := range [][]proxytest.Call{log.Calls, log.Refused} {
		for i := range calls {
			c := &calls[i]
			c.Tool, c.Actor, c.Reason = r.secrets.Redact(c.Tool), r.secrets.Redact(c.Actor), r.secrets.Redact(c.Reason)
			hide(&c.Arguments)
			hide(&c.Response)
		}
	}
	for _, traces := range [][]proxytest.Trace{log.Traces, log.Telemetry} {
		for i := range traces {
			hide(&traces[i].Payload)
		}
	}
	return log
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
