package httpcall

import "slices"

// Classes of refusals by the platform's proxy on which this module acts.
const (
	ActorInvalid    = "actor_id_invalid"
	EventInvalid    = "trace_event_type_invalid"
	RunsInSandbox   = "tool_executes_in_sandbox"
	NotExecutable   = "tool_not_executable"
	LockContention  = "lock_contention"
	StoreBusy       = "context_store_unavailable"
	SequenceBusy    = "trace_sequence_contended"
	RunTokenExpired = "run_token_expired"
	RunTokenInvalid = "run_token_invalid"
)

var proxyClasses = []string{
	ActorInvalid, EventInvalid, RunsInSandbox, NotExecutable, LockContention, StoreBusy, SequenceBusy, RunTokenExpired,
	RunTokenInvalid, "run_token_rejected",
}

// RunOver reports whether a class says that the run token is no longer accepted.
func RunOver(class string) bool {
	return slices.Contains([]string{RunTokenExpired, RunTokenInvalid, "run_token_rejected"}, class)
}

// ProxyClass returns the class of a refusal by the platform's proxy: the one that is named as a class, else a code,
// error or detail that is one of the platform's classes or of more.
func (r *Refusal) ProxyClass(more []string) string {
	if r.Class != "" {
		return r.Class
	}
	i := slices.IndexFunc(r.Codes, func(code string) bool {
		return slices.Contains(proxyClasses, code) || slices.Contains(more, code)
	})
	if i < 0 {
		return ""
	}
	return r.Codes[i]
}
