package doctor

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/internal/httpcall"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/text"
)

// altered returns a scenario of one dispatch with other answers of the proxy, which judge judges. Refusals
// carry the mark of the dispatch.
func altered(answers alter, judge func(c *checkup, ctx context.Context, sample, e *episode) Finding) func(*checkup, context.Context) Finding {
	return func(c *checkup, ctx context.Context) Finding {
		e := c.dispatch(ctx, &episode{alter: answers, mark: canary()})
		if len(e.seen(isTool)) == 0 {
			return noCall()
		}
		return judge(c, ctx, c.sample, e)
	}
}

// edited returns a scenario of one dispatch from which parts are left out. It should run as before. Its
// ok has seen the run complete, with a tool call.
func edited(do string, change func(body map[string]json.RawMessage, header http.Header)) func(*checkup, context.Context) Finding {
	return func(c *checkup, ctx context.Context) Finding {
		e := c.dispatch(ctx, &episode{edit: change})
		switch {
		case !e.result.WouldBeGraded():
			return failed(do, "the run failed: %s", c.failure(e.result))
		case len(e.result.Calls) == 0:
			return warning(do, "no tool call arrives, although the sample made %s",
				text.Plural(len(c.sample.result.Calls), "tool call"))
		}
		return good("the run completes as before, with %s", text.Plural(len(e.result.Calls), "tool call"))
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
		return &reply{status: 503, class: httpcall.SequenceBusy}
	}
	return firstTime(reply{status: 503, class: httpcall.LockContention}, reply{status: 503, class: httpcall.StoreBusy})(q)
}

const (
	backoffAtLeast   = 100 * time.Millisecond // the documented waits begin at 0.5 s
	transientClasses = httpcall.LockContention + ", " + httpcall.StoreBusy + " or " + httpcall.SequenceBusy
	backoffAdvice    = "Wait about 0.5 s, 1 s and 2 s, with jitter, before the second to the fourth attempt."
)

// intended returns how often the episode made an equal call of a tool, at most. So many calls are no
// repetitions.
func (e *episode) intended(tool string) int {
	most, counts := 1, map[string]int{}
	for _, call := range toolCalls(&e.result.Log) {
		if call.Tool == tool && call.Attempt <= 1 {
			counts[string(call.Arguments)]++
			most = max(most, counts[string(call.Arguments)])
		}
	}
	return most
}

// notRepeated describes the tool calls whose first n attempts were refused with a status and not repeated, or
// not after a wait, the trace events that were not repeated after a 503, or else how the run failed. It
// returns "" if all of them were repeated after a wait and the run completed.
func (c *checkup) notRepeated(sample, e *episode, n int, status string) string {
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
			if soon[key]++; soon[key] >= sample.intended(q.tool) {
				hasty = append(hasty, q.tool)
			}
		}
	}
	switch {
	case len(missing) > 0:
		return "not repeated after a " + status + ": " + unique(missing) + c.outcome(e)
	case len(hasty) > 0:
		return "repeated without a wait after a " + status + ": " + unique(hasty)
	case !e.result.OK():
		return "each call that was refused with a " + status + " was repeated" + c.outcome(e)
	}
	return ""
}

func unique(names []string) string {
	slices.Sort(names)
	return strings.Join(slices.Compact(names), ", ")
}

// rateLimited has seen, when it says ok, each first attempt refused with 429 and repeated after a wait,
// and the run complete.
func (c *checkup) rateLimited(_ context.Context, sample, e *episode) Finding {
	const do = "Repeat a call that is refused with 429, and go on with the answer to the repetition. " + backoffAdvice
	if wrong := c.notRepeated(sample, e, 1, "429"); wrong != "" {
		return failed(do, "%s", wrong)
	}
	return good("each call that was refused with a 429 was repeated after a wait")
}

// transient has seen, when it says ok, the first two attempts of each call refused with 503 and repeated
// after a wait, and the run complete.
func (c *checkup) transient(_ context.Context, sample, e *episode) Finding {
	do := "Repeat a request that is refused with 503 and one of the classes " + transientClasses + ", up to four attempts in all. " +
		backoffAdvice + ` The class is in the body: {"detail":{"error_class":"lock_contention", …}}.`
	if wrong := c.notRepeated(sample, e, 2, "transient 503"); wrong != "" {
		return warning(do, "%s", wrong)
	}
	return good("each call that was refused with a transient 503 was repeated after a wait")
}

// terminal has seen, when it says ok, each call refused with 503 and made once, and the agent go on to
// its answer. A run that fails at the first refusal has no time to repeat a call.
func (c *checkup) terminal(_ context.Context, sample, e *episode) Finding {
	var again []string
	for _, q := range e.seen(isTool) {
		if q.attempt > sample.intended(q.tool) {
			again = append(again, q.tool)
		}
	}
	if len(again) > 0 {
		return warning("Repeat a 503 only if its error_class is "+transientClasses+".",
			"repeated after a 503 that is not transient: %s", unique(again))
	}
	if !e.result.OK() {
		return skipped("", "a 503 that is not transient is not repeated, but it ends the run, so nothing is known: %s", c.failure(e.result))
	}
	return good("a 503 that is not transient is not repeated")
}

// outcome describes a run that failed, after a colon; "" for a run that did not.
func (c *checkup) outcome(e *episode) string {
	if e.result.OK() {
		return ""
	}
	return "; the run failed: " + c.failure(e.result)
}

// refusedClass is the class of the refusals in failing_tools.
const refusedClass = "tool_failed"

// admissions are parts of words with which an answer admits that something went wrong. The same words in the
// answer to the sample admit nothing.
var admissions = []string{
	"error", "fail", "unable", "cannot", "can't", "could not", "couldn't", "not available", "unavailable", "problem", "sorry", "refused",
	"wrong", "invalid", "exception", "not possible", "trouble",
	"fehler", "erreur", "errore", "erro", "fout", "ошибка", "错误", "エラー", "오류",
}

// refusedStatus finds the status of the refusals, though not in a longer number such as 422.50.
var refusedStatus = regexp.MustCompile(`(?:^|[^\d.,])422(?:$|[^\d.,]|[.,](?:$|\D))`)

// told returns the text by which a run shows what its model was told: the tool messages, or the answer.
func told(r *dispatchtest.Result) string {
	if rows := toolRows(r); len(rows) > 0 {
		return strings.Join(rows, "\n")
	}
	return r.FinalResponse
}

// stated returns what told returns, in lower case, with what is stated in place of a tool message that is a JSON
// object or array. results reports whether such a message states something.
func stated(r *dispatchtest.Result) (text string, results bool) {
	rows := toolRows(r)
	if len(rows) == 0 {
		return strings.ToLower(r.FinalResponse), false
	}
	for i, row := range rows {
		if kind := rawjson.Kind([]byte(row)); (kind == '{' || kind == '[') && rawjson.Check([]byte(row), rawjson.Limits{Mode: rawjson.Liberal}) == nil {
			parts := statements([]byte(row), nil)
			rows[i], results = strings.Join(parts, "\n"), results || len(parts) > 0
		}
	}
	return strings.ToLower(strings.Join(rows, "\n")), results
}

// statements appends the texts of the values in a JSON value, and the names of the members that have some.
// null, false, 0 and an empty text state nothing: {"error": null} is no error.
func statements(value json.RawMessage, to []string) []string {
	switch text := string(value); rawjson.Kind(value) {
	case '{':
		for name, member := range rawjson.Members(value) {
			if with := statements(member, to); len(with) > len(to) {
				to = append(with, name)
			}
		}
	case '[':
		for element := range rawjson.Elements(value) {
			to = statements(element, to)
		}
	case '"':
		if text = rawjson.Unquote(value); text != "" {
			to = append(to, text)
		}
	case '0', 't':
		if text != "0" {
			to = append(to, text)
		}
	}
	return to
}

// failing judges a run whose tool calls were all refused. Its ok has seen the refusal, or words for a
// failure that the answer to the sample does not have. An answer may admit the failure in any language,
// so the lack of both proves nothing. What proves that another body answered are tool messages in JSON that
// state something, and the results of the sample, where the answer repeats results.
func (c *checkup) failing(ctx context.Context, sample, e *episode) Finding {
	const do = "Remove the tool's original body: it must not answer when the proxy does not. Tell the model that the call failed."
	text, results := stated(e.result)
	before, _ := stated(sample.result)
	fresh := func(word string) bool { return strings.Contains(text, word) && !strings.Contains(before, word) }
	word := slices.IndexFunc(admissions, fresh)
	switch {
	case !e.result.OK():
		return warning("Hand the refusal on to the model as the result of the tool, and answer with what is known.",
			"the run fails when its tool calls are refused: %s", c.failure(e.result))
	case shows(said(e.result), e.mark), fresh(refusedClass):
		return good("all tool calls were refused, and the answer has the refusal")
	case word >= 0:
		return good("all tool calls were refused, and the answer mentions a failure: it has %q", admissions[word])
	case refusedStatus.MatchString(text) && !refusedStatus.MatchString(before):
		return good("all tool calls were refused, and the answer has the status 422")
	case results:
		return warning(do, "all tool calls were refused, and the answer does not mention it: %s", c.quote(told(e.result)))
	}
	if c.runAlone(ctx).visible && sample.repeatedAgain(strings.ToLower(told(e.result))) {
		return warning(do, "all tool calls were refused, and the answer has the results of a run in which they were not: %s",
			c.quote(told(e.result)))
	}
	return skipped(showAdvice, "the answer does not show what the agent made of the refusals")
}

// repeatedAgain reports whether text has all values of results that the answer of the episode has, and
// there are some.
func (e *episode) repeatedAgain(text string) bool {
	before, repeated := strings.ToLower(told(e.result)), false
	for _, q := range e.seen(isTool) {
		for _, value := range scalars(q.result, nil) {
			if value = strings.ToLower(value); len(value) <= 2 || strings.Contains(strings.ToLower(q.arguments), value) || !shows(before, value) {
				continue
			}
			if repeated = true; !shows(text, value) {
				return false
			}
		}
	}
	return repeated
}

// slowCall is how long slow_tool lets a call wait: a call of a simulated tool takes up to 20 s.
var slowCall = 22 * time.Second

// slowTool lets the first tool call of a run wait. Its ok has seen that the agent waited for the answer,
// and the run complete.
func (c *checkup) slowTool(ctx context.Context, sample *episode) Finding {
	const do = "Give a call of the proxy at least 60 s. The document's wrapper waits for 120 s. HTTP clients often wait for 5 s only."
	took := time.Duration(sample.result.Dispatch.TookMS * float64(time.Millisecond))
	if limit := c.setup.Target.RunTimeout; took+slowCall > limit*9/10 {
		return skipped("Give a longer run_timeout_s (the flag -run-timeout, or Target.RunTimeout).",
			"a run may take %s, and a slow call takes %s of it", limit, slowCall)
	}
	waited, gaveUp := make(chan struct{}), false
	e := c.dispatch(ctx, &episode{alter: func(q *request) *reply {
		if q.tool != "" && q.number == 1 {
			defer close(waited)
			select {
			case <-time.After(slowCall):
			case <-q.canceled:
				gaveUp, took = true, time.Since(q.at)
			case <-ctx.Done():
			}
		}
		return nil
	}})
	if len(e.seen(isTool)) == 0 {
		return noCall()
	}
	switch <-waited; { // an agent may have ended before
	case ctx.Err() != nil:
		return interrupted()
	case gaveUp:
		return warning(do, "the agent gave up a tool call that was not answered within %s%s", round(took), c.outcome(e))
	case !e.result.OK():
		return warning(do, "the run fails when a tool call takes %s: %s", slowCall, c.failure(e.result))
	}
	return good("the agent waits for a tool call that takes %s", slowCall)
}

// expiredToken lets the run token expire at the second tool call, or at the first of an agent that makes
// two. The first refusal waits for the calls that the agent makes at once, so that only an agent that
// knows it sends what comes afterwards. Its ok has seen no request then, and fewer calls than the sample
// made.
func (c *checkup) expiredToken(ctx context.Context, sample *episode) Finding {
	calls := len(sample.result.Calls)
	from, together := max(1, min(calls-1, 2)), newGate()
	e := c.dispatch(ctx, &episode{alter: func(q *request) *reply {
		if q.tool == "" || q.number < from {
			return nil
		}
		if q.number >= calls {
			together.open()
		}
		together.wait(ctx)
		return &reply{status: http.StatusUnauthorized, class: httpcall.RunTokenExpired}
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
	if made := e.seen(func(q *request) bool { return isTool(q) && q.arrived <= over }); len(made) >= calls {
		f = skipped("Give a task for which the agent makes two tool calls, one after the other.",
			"the agent does not repeat a call when its token has expired, and had no other call left")
	}
	const do = "End the run at a 401 of the class run_token_expired, run_token_invalid or run_token_rejected: no call can succeed any more."
	switch later := e.seen(func(q *request) bool { return q.arrived > over }); {
	case len(later) > 0:
		f = warning(do, "%s after the proxy had said that the run token has expired", text.Plural(len(later), "request"))
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
		sends: "three dispatches of one session in the memory mode replay, with the previous turns in input.messages, and one of " +
			"another session between them",
		do: "Give the model the conversation in input.messages before the prompt.",
	}
	stateful = &session{
		stateful: true,
		sends: "three dispatches of one session in the memory mode stateful, with input.session_id and input.turn_id, and one of " +
			"another session between them",
		do: "Keep the conversation by input.session_id. If the tasks have the memory mode replay only, this does not matter.",
	}
)

// turns are the episodes of a session: its own, and one of another session, which has its first turn
// after the first turn of this one.
type turns struct{ own, other *episode }

// dispatch dispatches three turns, and one of another session, once for both checks. Only the first
// turns have a mark; the second asks for it.
func (s *session) dispatch(ctx context.Context, c *checkup) *turns {
	if t := c.sessions[s]; t != nil {
		return t
	}
	begin := func(question string, conversation dispatchtest.Conversation) *episode {
		mark := "R-" + rand.Text()[:10]
		conversation.Stateful = s.stateful
		return &episode{mark: mark, aside: " My reference is " + mark + "." + question, conversation: &conversation}
	}
	t := &turns{other: begin(" Which references do you know?", dispatchtest.Conversation{MaxTurns: 1})}
	t.own = begin("", dispatchtest.Conversation{MaxTurns: 3, User: func(_ context.Context, before []dispatchtest.Turn) (string, error) {
		switch len(before) {
		case 1:
			c.dispatch(ctx, t.other)
			return "What is my reference? Please answer with the reference.", nil
		case 2:
			return "Thank you. Is there anything left to do?", nil
		}
		return "", dispatchtest.ErrDone
	}})
	c.sessions[s] = t
	c.dispatch(ctx, t.own)
	return t
}

// answered checks that each dispatch of a session is answered. Its ok has seen four answers that would
// be graded.
func (s *session) answered(c *checkup, ctx context.Context) Finding {
	const do = "Answer each dispatch of a session as if it were the only one; ignore the members that you do not need."
	t := s.dispatch(ctx, c)
	switch {
	case !t.own.result.WouldBeGraded():
		return failed(do, "turn %d of a session failed: %s", max(len(t.own.result.Turns), 1), c.failure(t.own.result))
	case !t.other.result.WouldBeGraded():
		return failed(do, "the first turn of another session between the turns failed: %s", c.failure(t.other.result))
	}
	return good("three turns of a session complete, and one of another session between them")
}

// remembered checks that the agent knows the earlier turns, and nothing of another session. Only an
// agent that shows it can be judged. Its ok has seen the mark of the first turn in a later one, and in
// neither session the mark of the other.
func (s *session) remembered(c *checkup, ctx context.Context) Finding {
	t := s.dispatch(ctx, c)
	e := t.own
	if !e.result.WouldBeGraded() || !t.other.result.WouldBeGraded() {
		return skipped("", "the session did not complete")
	}
	later := e.result.Turns[1:]
	has := func(turn dispatchtest.Turn, mark string) bool {
		return shows(turn.FinalResponse, mark) || shows(string(object([]byte(turn.Body))["messages"]), mark)
	}
	switch {
	case slices.ContainsFunc(t.other.result.Turns, func(turn dispatchtest.Turn) bool { return has(turn, e.mark) }),
		slices.ContainsFunc(later, func(turn dispatchtest.Turn) bool { return has(turn, t.other.mark) }):
		return failed("Keep what the user said by input.session_id, if there is one, and by nothing else: task_id and agent_id are those of "+
			"many sessions.", "one session has what only another session said").by(apart)
	case slices.ContainsFunc(later, func(turn dispatchtest.Turn) bool { return has(turn, e.mark) }):
		return good("a later turn has what only the first turn said, and nothing of another session")
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
