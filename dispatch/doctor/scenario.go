package doctor

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/internal/bounded"
	"github.com/toolwire/toolwire/internal/rawjson"
)

// altered returns a scenario of one dispatch with other answers of the proxy, which judge judges.
func altered(answers alter, judge func(*checkup, *episode) Finding) func(*checkup, context.Context) Finding {
	return func(c *checkup, ctx context.Context) Finding {
		e := c.dispatch(ctx, &episode{alter: answers})
		if len(e.seen(isTool)) == 0 {
			return noCall()
		}
		return judge(c, e)
	}
}

// edited returns a scenario of one dispatch from which parts are left out. It should run as before.
func edited(do string, change func(body map[string]json.RawMessage, header http.Header)) func(*checkup, context.Context) Finding {
	return func(c *checkup, ctx context.Context) Finding {
		e := c.dispatch(ctx, &episode{edit: change})
		switch {
		case !e.result.WouldBeGraded():
			return failed(do, "the run failed: %s", c.failure(e.result))
		case len(e.result.Calls) == 0:
			return warning(do, "no tool call arrives, although the sample made %s",
				bounded.Plural(len(c.sample.result.Calls), "tool call"))
		}
		return good("the run completes as before")
	}
}

// noCall is the finding about a dispatch that has nothing to judge.
func noCall() Finding {
	return skipped("Give a task for which the agent always calls a tool.", "the agent called no tool this time")
}

// always answers each tool call with an error.
func always(answer reply) alter {
	return func(q *request) *reply {
		if q.tool == "" {
			return nil
		}
		return &answer
	}
}

// firstTime answers the first attempts of each tool call with errors.
func firstTime(answers ...reply) alter {
	return func(q *request) *reply {
		if q.tool == "" || q.attempt > len(answers) {
			return nil
		}
		return &answers[q.attempt-1]
	}
}

// transientTwice refuses the first two attempts of each tool call, and the first trace event.
func transientTwice(q *request) *reply {
	if q.plane == "traces" && q.number == 1 {
		return &reply{status: 503, class: "trace_sequence_contended"}
	}
	return firstTime(reply{status: 503, class: "lock_contention"}, reply{status: 503, class: "context_store_unavailable"})(q)
}

const (
	backoffAtLeast   = 100 * time.Millisecond // the documented waits begin at 0.5 s
	transientClasses = "lock_contention, context_store_unavailable or trace_sequence_contended"
	backoffAdvice    = "Wait about 0.5 s, 1 s and 2 s, with jitter, before the second to the fourth attempt."
)

// intended returns how often the sample made an equal call of a tool, at most. So many calls are no
// repetitions.
func (c *checkup) intended(tool string) int {
	most, counts := 1, map[string]int{}
	for _, call := range toolCalls(&c.sample.result.Log) {
		if call.Tool == tool && call.Attempt <= 1 {
			counts[string(call.Arguments)]++
			most = max(most, counts[string(call.Arguments)])
		}
	}
	return most
}

// notRepeated describes the tool calls whose first n attempts were refused and not repeated, or not after
// a wait, and the trace events that were not repeated after a 503. It returns "" if there are none.
func (c *checkup) notRepeated(e *episode, n int, after string) string {
	var missing, hasty []string
	soon := map[string]int{} // equal calls that came soon after a refusal
	all := e.seen(func(*request) bool { return true })
	for _, q := range all {
		if q.status < 400 || q.attempt > n || q.tool == "" && q.status != http.StatusServiceUnavailable {
			continue
		}
		again := slices.IndexFunc(all, func(r request) bool {
			return r.arrived > q.answered && r.path == q.path && (r.tool == "" || r.arguments == q.arguments)
		})
		switch {
		case again < 0:
			missing = append(missing, cmp.Or(q.tool, q.path))
		case q.tool != "" && all[again].at.Sub(q.answeredAt) < backoffAtLeast:
			key := q.tool + " " + q.arguments
			if soon[key]++; soon[key] >= c.intended(q.tool) {
				hasty = append(hasty, q.tool)
			}
		}
	}
	switch {
	case len(missing) > 0:
		return "not repeated after " + after + ": " + unique(missing) + c.outcome(e)
	case len(hasty) > 0:
		return "repeated without a wait after " + after + ": " + unique(hasty)
	}
	return ""
}

func unique(names []string) string {
	slices.Sort(names)
	return strings.Join(slices.Compact(names), ", ")
}

func (c *checkup) rateLimited(e *episode) Finding {
	if wrong := c.notRepeated(e, 1, "a 429"); wrong != "" {
		return failed("Repeat a call that is refused with 429. "+backoffAdvice, "%s", wrong)
	}
	return good("each call that was refused with 429 was repeated after a wait")
}

func (c *checkup) transient(e *episode) Finding {
	if wrong := c.notRepeated(e, 2, "a transient 503"); wrong != "" {
		return warning("Repeat a request that is refused with 503 and one of the classes "+transientClasses+", up to four attempts in all. "+
			backoffAdvice, "%s", wrong)
	}
	return good("each call that was refused with a transient 503 was repeated after a wait")
}

func (c *checkup) terminal(e *episode) Finding {
	var again []string
	for _, q := range e.seen(isTool) {
		if q.attempt > c.intended(q.tool) {
			again = append(again, q.tool)
		}
	}
	if len(again) > 0 {
		return warning("Repeat a 503 only if its error_class is "+transientClasses+".", "repeated after a 503 that is not transient: %s", unique(again))
	}
	return good("a 503 without a transient class is not repeated")
}

// outcome describes a run that failed, after a colon; "" for a run that did not.
func (c *checkup) outcome(e *episode) string {
	if e.result.WouldBeGraded() {
		return ""
	}
	return "; the run failed: " + c.failure(e.result)
}

// admissions are parts of words with which an answer admits that something went wrong, and of what
// the refusal says.
var admissions = []string{
	"error", "fail", "unable", "cannot", "can't", "could not", "couldn't", "not available", "unavailable", "problem", "sorry", "refused",
	"422", "wrong", "invalid", "exception", "not possible", "trouble", "no final response",
	"fehler", "erreur", "errore", "erro", "fout", "ошибка", "错误", "エラー", "오류",
}

// failing judges a run whose tool calls were all refused. Only tool messages that look like results
// are a reason to warn: an answer may admit the failure in any language.
func (c *checkup) failing(e *episode) Finding {
	rows := toolRows(e.result)
	text := strings.ToLower(e.result.FinalResponse)
	if len(rows) > 0 {
		text = strings.ToLower(strings.Join(rows, "\n"))
	}
	switch {
	case !e.result.WouldBeGraded(), slices.ContainsFunc(admissions, func(word string) bool { return strings.Contains(text, word) }):
		return good("the answer mentions that all tool calls were refused")
	case slices.ContainsFunc(rows, func(row string) bool {
		return strings.ContainsAny(row[:min(1, len(row))], "{[") && json.Valid([]byte(row))
	}):
		return warning("Remove the tool's original body: it must not answer when the proxy does not. Tell the model that the call failed.",
			"all tool calls were refused, and the answer does not mention it: %s", c.quote(text))
	}
	return skipped(showAdvice, hidden)
}

// expiredToken lets the run token expire at the second tool call, or at the first of an agent that
// makes one. The first refusal waits for the calls that the agent makes at once, so that only an agent
// that knows it sends what comes afterwards.
func (c *checkup) expiredToken(ctx context.Context) Finding {
	calls := len(c.sample.result.Calls)
	from, together := min(calls, 2), newGate()
	e := c.dispatch(ctx, &episode{alter: func(q *request) *reply {
		if q.tool == "" || q.number < from {
			return nil
		}
		if q.number >= calls {
			together.open()
		}
		together.wait(ctx)
		return &reply{status: http.StatusUnauthorized, class: "run_token_expired"}
	}})
	gone := e.seen(func(q *request) bool { return isTool(q) && q.status == http.StatusUnauthorized })
	switch {
	case len(e.seen(isTool)) == 0:
		return noCall()
	case len(gone) == 0:
		return skipped("Give a task for which the agent always calls the same tools.", "the agent made fewer tool calls this time")
	}
	first := slices.MinFunc(gone, func(a, b request) int { return cmp.Compare(a.answered, b.answered) }).answered
	over := first // the calls that were on their way at the first refusal have been answered
	for _, q := range e.seen(func(q *request) bool { return q.arrived < first }) {
		over = max(over, q.answered)
	}
	f := good("the agent stops calling when its token has expired")
	const do = "End the run at a 401 of the class run_token_expired, run_token_invalid or run_token_rejected: no call can succeed any more."
	switch later := e.seen(func(q *request) bool { return q.arrived > over }); {
	case len(later) > 0:
		f = warning(do, "%s after the proxy had said that the run token has expired", bounded.Plural(len(later), "request"))
	case e.result.ErrorClass == dispatchtest.AgentTimeout:
		f = warning(do, "the agent did not answer any more after its token had expired")
	}
	if from == 1 {
		f.Sent = "a dispatch; each tool call is answered 401 run_token_expired"
	}
	return f
}

// A session is three turns, in one of the two ways in which an agent gets to know the earlier ones.
type session struct {
	stateful bool
	sends    string
	do       string // so that the agent knows the earlier turns
}

var (
	replay = &session{
		sends: "three dispatches of one session in the memory mode replay, with the previous turns in input.messages",
		do:    "Give the model the conversation in input.messages before the prompt.",
	}
	stateful = &session{
		stateful: true,
		sends:    "three dispatches of one session in the memory mode stateful, with input.session_id and input.turn_id",
		do:       "Keep the conversation by input.session_id. If the tasks have the memory mode replay only, this does not matter.",
	}
)

// dispatch dispatches three turns, once for both checks. Only the first turn has the mark; the second
// asks for it.
func (s *session) dispatch(ctx context.Context, c *checkup) *episode {
	if c.sessions[s] == nil {
		mark := "R-" + rand.Text()[:10]
		c.sessions[s] = c.dispatch(ctx, &episode{mark: mark, aside: " My reference is " + mark + ".", conversation: &dispatchtest.Conversation{
			UserTurns: []string{"What is my reference? Please answer with the reference.", "Thank you. Is there anything left to do?"},
			MaxTurns:  3, Stateful: s.stateful,
		}})
	}
	return c.sessions[s]
}

// answered checks that each dispatch of a session is answered.
func (s *session) answered(c *checkup, ctx context.Context) Finding {
	e := s.dispatch(ctx, c)
	if !e.result.WouldBeGraded() {
		return failed("Answer each dispatch of a session as if it were the only one; ignore the members that you do not need.",
			"turn %d of a session failed: %s", max(len(e.result.Turns), 1), c.failure(e.result))
	}
	return good("three turns of a session complete")
}

// remembered checks that the agent knows the earlier turns. Only an agent that shows it can be judged.
func (s *session) remembered(c *checkup, ctx context.Context) Finding {
	e := s.dispatch(ctx, c)
	if !e.result.WouldBeGraded() {
		return skipped("", "the session did not complete")
	}
	later := e.result.Turns[1:]
	known := slices.ContainsFunc(later, func(turn dispatchtest.Turn) bool {
		return shows(turn.FinalResponse, e.mark) || shows(string(object([]byte(turn.Body))["messages"]), e.mark)
	})
	switch {
	case known:
		return good("a later turn has what only the first turn said")
	case slices.ContainsFunc(later, hasModel):
		return warning(s.do, "asked for the reference that the first turn gave, the agent answers without it: %s",
			c.quote(later[0].FinalResponse))
	}
	return skipped("Return messages with the conversation, so that it can be seen.",
		"the responses do not show whether the agent knows the earlier turns")
}

// hasModel reports whether the metadata of a response name a model or count its tokens. A model
// that knows a reference says it when it is asked.
func hasModel(turn dispatchtest.Turn) bool {
	var metadata struct {
		Model  string      `json:"model"`
		Input  json.Number `json:"total_input_tokens"`
		Output json.Number `json:"total_output_tokens"`
	}
	raw := object([]byte(turn.Body))["metadata"]
	if rawjson.Kind(raw) != '{' || json.Unmarshal(raw, &metadata) != nil {
		return false
	}
	return metadata.Model != "" || strings.Trim(metadata.Input.String()+metadata.Output.String(), "0") != ""
}
