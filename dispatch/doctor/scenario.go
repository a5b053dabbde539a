package doctor

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

// The scenarios. Options.Scenarios documents them.
const (
	concurrentRuns  Name = "concurrent_runs"
	unwrap          Name = "unwrap"
	resultKinds     Name = "result_kinds"
	retry429        Name = "retry_429"
	retry503        Name = "retry_503"
	terminal503     Name = "terminal_503"
	failingTools    Name = "failing_tools"
	expiredToken    Name = "expired_token"
	headersOnly     Name = "headers_only"
	bodyOnly        Name = "body_only"
	sessionReplay   Name = "session_replay"
	memoryReplay    Name = "memory_replay"
	sessionStateful Name = "session_stateful"
	memoryStateful  Name = "memory_stateful"
)

// Scenarios returns the names of all scenarios, for [Options].Scenarios.
func Scenarios() []Name {
	var names []Name
	for _, k := range allScenarios() {
		names = append(names, k.name)
	}
	return names
}

func allScenarios() []check {
	needs := []Name{checkDispatch, concurrentRuns}
	list := []check{
		{concurrentRuns, []Name{checkDispatch}, nil, (*checkup).concurrent},
		{unwrap, needs, nil, (*checkup).unwrapped},
		{resultKinds, append(needs, unwrap), nil, (*checkup).ofKinds},
	}
	for _, w := range worlds {
		list = append(list, check{w.name, append(needs, w.needs...), nil, func(c *checkup, ctx context.Context) Finding { return c.play(ctx, &w) }})
	}
	return append(list,
		check{sessionReplay, needs, nil, func(c *checkup, ctx context.Context) Finding { return c.turns(ctx, replay) }},
		check{memoryReplay, append(needs, sessionReplay), nil, func(c *checkup, ctx context.Context) Finding { return c.memory(ctx, replay) }},
		check{sessionStateful, needs, nil, func(c *checkup, ctx context.Context) Finding { return c.turns(ctx, stateful) }},
		check{memoryStateful, append(needs, sessionStateful), nil, func(c *checkup, ctx context.Context) Finding { return c.memory(ctx, stateful) }},
	)
}

// A world is what one dispatch of the sample meets.
type world struct {
	name  Name
	needs []Name
	sent  string // the dispatch, for the finding

	// alter changes what the proxy answers, edit the dispatch.
	alter func(*checkup, context.Context) func(*request) *reply
	edit  func(body map[string]json.RawMessage, header http.Header)

	judge func(*checkup, *episode) Finding
}

var worlds = []world{
	{
		name: retry429, sent: "a dispatch; the first attempt of each tool call is answered 429",
		alter: stateless(firstTime(reply{status: 429, class: "rate_limited"})), judge: (*checkup).rateLimited,
	}, {
		name: retry503, sent: "a dispatch; the first two attempts of each tool call are answered 503, with two transient classes, " +
			"and the first trace event with a third",
		alter: func(*checkup, context.Context) func(*request) *reply {
			refuse := firstTime(reply{status: 503, class: "lock_contention"}, reply{status: 503, class: "context_store_unavailable"})
			var traced atomic.Bool
			return func(q *request) *reply {
				if strings.HasPrefix(q.path, "traces/") && traced.CompareAndSwap(false, true) {
					return &reply{status: 503, class: "trace_sequence_contended"}
				}
				return refuse(q)
			}
		},
		judge: (*checkup).transient,
	}, {
		name: terminal503, sent: "a dispatch; each tool call is answered 503 with the class simulator_down",
		alter: stateless(always(reply{status: 503, class: "simulator_down"})), judge: (*checkup).terminal,
	}, {
		name: failingTools, needs: []Name{unwrap}, sent: "a dispatch; each tool call is answered 422",
		alter: stateless(always(reply{status: 422, class: "tool_failed"})), judge: (*checkup).failing,
	}, {
		name: expiredToken, sent: "a dispatch; from the second tool call on, the answer is 401 run_token_expired",
		alter: (*checkup).expire, judge: (*checkup).expired,
	}, {
		name: headersOnly, sent: "a dispatch without odyssey_proxy_url, run_id and run_token_jti in its body",
		edit: func(body map[string]json.RawMessage, _ http.Header) {
			for _, name := range []string{"odyssey_proxy_url", "run_id", "run_token_jti"} {
				delete(body, name)
			}
		},
		judge: completes("Take the proxy URL from the header X-Pipelines-Odyssey-Proxy-URL if the body does not have it."),
	}, {
		name: bodyOnly, sent: "a dispatch whose only header of the platform is X-Pipelines-Run-Token",
		edit: func(_ map[string]json.RawMessage, header http.Header) {
			for name := range header {
				if strings.HasPrefix(name, "X-Pipelines-") && name != "X-Pipelines-Run-Token" {
					header.Del(name)
				}
			}
		},
		judge: completes("Take the proxy URL and the ids from the body if there are no headers with them."),
	},
}

// choose adds the scenarios of the options to the checks, in their own order. It returns the names
// that are unknown.
func (c *checkup) choose() (unknown []Name) {
	chosen := allScenarios()
	for _, name := range c.opts.Scenarios {
		if !slices.ContainsFunc(chosen, func(k check) bool { return k.name == name }) {
			unknown = append(unknown, name)
		}
	}
	for _, k := range chosen {
		if slices.Contains(c.opts.Scenarios, k.name) {
			k.needs = slices.DeleteFunc(slices.Clone(k.needs), func(need Name) bool {
				return need != checkDispatch && !slices.Contains(c.opts.Scenarios, need)
			})
			c.checks = append(c.checks, k)
		}
	}
	return unknown
}

// unplayable returns why no scenario can be played, or nil.
func (c *checkup) unplayable(tools bool) *Finding {
	var f Finding
	switch {
	case c.result == nil:
		f = skipped("", "there was no sample dispatch")
	case c.given.ProxyURL != "":
		f = skipped("Leave Task.ProxyURL out, on this machine.", "the proxy is served elsewhere, where it cannot be changed")
	case tools && len(c.result.Calls) == 0:
		f = skipped("Give a task that makes the agent call a tool, and the tools.", "the sample called no tool")
	default:
		return nil
	}
	return &f
}

// noCall is the finding about a dispatch that has nothing to judge.
func noCall() Finding {
	return skipped("Give a task for which the agent always calls a tool.", "the agent called no tool this time")
}

// note adds to a finding of a scenario what was sent and how to repeat it.
func (c *checkup) note(name Name, f Finding, sent string) Finding {
	f.Sent, f.Reproduce = cmp.Or(f.Sent, sent), c.again(name)
	return f
}

// play dispatches the sample in a world, and judges what comes of it.
func (c *checkup) play(ctx context.Context, w *world) Finding {
	if f := c.unplayable(true); f != nil {
		return *f
	}
	e := &episode{edit: w.edit}
	if w.alter != nil {
		e.alter = w.alter(c, ctx)
	}
	c.dispatchAgain(ctx, e)
	if f := c.shared(e); f != nil {
		return c.note(w.name, *f, w.sent)
	}
	if len(e.seen(isTool)) == 0 && w.edit == nil {
		return noCall()
	}
	return c.note(w.name, w.judge(c, e), w.sent)
}

// stateless is the alter of a world in which nothing is counted.
func stateless(alter func(*request) *reply) func(*checkup, context.Context) func(*request) *reply {
	return func(*checkup, context.Context) func(*request) *reply { return alter }
}

// always answers each tool call with an error.
func always(answer reply) func(*request) *reply {
	return func(q *request) *reply {
		if q.tool == "" {
			return nil
		}
		return &answer
	}
}

// firstTime answers the first attempts of each tool call with errors.
func firstTime(answers ...reply) func(*request) *reply {
	return func(q *request) *reply {
		if q.tool == "" || q.attempt > len(answers) {
			return nil
		}
		return &answers[q.attempt-1]
	}
}

const (
	backoffAtLeast = 100 * time.Millisecond // the documented waits begin at 0.5 s
	backoffAdvice  = "Wait about 0.5 s, 1 s and 2 s, with jitter, before the second to the fourth attempt."
)

// intended returns how often the sample made an equal call of a tool, at most. So many calls are no
// repetitions.
func (c *checkup) intended(tool string) int {
	most, counts := 1, map[string]int{}
	for _, call := range toolCalls(&c.result.Log) {
		if call.Tool == tool && call.Attempt <= 1 {
			counts[string(call.Arguments)]++
			most = max(most, counts[string(call.Arguments)])
		}
	}
	return most
}

// repeats returns the tools whose refused calls were not repeated, and the tools that were repeated
// without a wait. A repetition comes after the answer to the first n attempts.
func (c *checkup) repeats(e *episode, n int) (missing, hasty []string) {
	calls := e.seen(isTool)
	soon := map[string]int{} // equal calls that came soon after a refusal
	for _, q := range calls {
		if q.status < 400 || q.attempt > n {
			continue
		}
		again := slices.IndexFunc(calls, func(r request) bool { return r.same(&q) && r.arrived > q.answered })
		switch {
		case again < 0:
			missing = append(missing, q.tool)
		case calls[again].at.Sub(q.answeredAt) < backoffAtLeast:
			key := q.tool + " " + q.arguments
			if soon[key]++; soon[key] >= c.intended(q.tool) {
				hasty = append(hasty, q.tool)
			}
		}
	}
	return unique(missing), unique(hasty)
}

// same reports whether both are calls of one tool with equal arguments.
func (q *request) same(r *request) bool { return q.path == r.path && q.arguments == r.arguments }

func unique(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}

func (c *checkup) rateLimited(e *episode) Finding {
	missing, hasty := c.repeats(e, 1)
	switch {
	case len(missing) > 0:
		return failed("Repeat a call that is refused with 429. "+backoffAdvice, "not repeated after a 429: %s%s",
			strings.Join(missing, ", "), c.outcome(e))
	case len(hasty) > 0:
		return failed(backoffAdvice, "repeated without a wait after a 429: %s", strings.Join(hasty, ", "))
	}
	return good("each call that was refused with 429 was repeated after a wait")
}

func (c *checkup) transient(e *episode) Finding {
	missing, hasty := c.repeats(e, 2)
	for _, q := range e.seen(func(q *request) bool { return q.tool == "" && q.status == http.StatusServiceUnavailable }) {
		if len(e.seen(func(r *request) bool { return r.path == q.path })) == 1 {
			missing = append(missing, q.path)
		}
	}
	switch {
	case len(missing) > 0:
		return warning("Repeat a request that is refused with 503 and one of these classes, up to four attempts in all. "+backoffAdvice,
			"not repeated after a 503 of the classes lock_contention, context_store_unavailable or trace_sequence_contended: %s%s",
			strings.Join(missing, ", "), c.outcome(e))
	case len(hasty) > 0:
		return warning(backoffAdvice, "repeated without a wait after a transient 503: %s", strings.Join(hasty, ", "))
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
		return warning("Repeat a 503 only if its error_class is lock_contention, context_store_unavailable or trace_sequence_contended.",
			"repeated after a 503 that is not transient: %s", strings.Join(unique(again), ", "))
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

const (
	unwrapAdvice = `Return the member response of the proxy's answer from the tool, as it is.`
	showAdvice   = "Return messages with the tool results, so that it can be seen."
	hidden       = "the answer does not repeat what a tool returned"
	anEnvelope   = "the model was given the whole trace envelope of the proxy, not its member response"
)

// unwrapped judges the dispatch with marked results.
func (c *checkup) unwrapped(ctx context.Context) Finding {
	if f := c.unplayable(true); f != nil {
		return *f
	}
	const sent = "a dispatch; the result of each tool call carries a mark"
	t := c.alone(ctx)
	if f := c.shared(t.episode); f != nil {
		return c.note(unwrap, *f, sent)
	}
	f, is := c.unclear(t)
	switch rows := toolRows(t.result); {
	case is:
	case enveloped(said(t.result)):
		f = failed(unwrapAdvice, anEnvelope)
	case c.visible:
		f = good("the model was given the response without its envelope")
	case !t.marked:
		f = skipped("", "the output_schema of the tools leaves no room for a mark in their results")
	case len(rows) > 0 && !t.repeated(rows):
		f = failed(unwrapAdvice+" Remove the tool's original body.", "the tool messages have another content than what the proxy answered: %s",
			c.quote(rows[0]))
	default:
		f = skipped(showAdvice, hidden)
	}
	return c.note(unwrap, f, sent)
}

// repeated reports whether rows have a value of a result, though not the mark: the tool may hand on
// a part of its result.
func (t *trial) repeated(rows []string) bool {
	text := strings.Join(rows, "\n")
	for _, q := range t.seen(isTool) {
		for _, value := range scalars(q.response, nil) {
			if len(value) > 2 && shows(text, value) {
				return true
			}
		}
	}
	return false
}

// scalars appends the texts of the strings and numbers in a JSON value.
func scalars(value json.RawMessage, to []string) []string {
	switch rawjson.Kind(value) {
	case '{':
		for _, member := range rawjson.Members(value) {
			to = scalars(member, to)
		}
	case '[':
		for element := range rawjson.Elements(value) {
			to = scalars(element, to)
		}
	case '"':
		to = append(to, rawjson.Unquote(value))
	case '0':
		to = append(to, string(value))
	}
	return to
}

// A kind is a result of another JSON type, or a text.
type kind struct {
	name          string
	before, after string // of the mark
	format        string // of the result, with %s for the text or the mark; "" is a string
}

var kinds = []kind{
	{name: "text"}, {name: "a list", format: `["%s"]`}, {name: "a number", format: "743190452"}, {name: "null", format: "null"},
	{name: "HTML", before: "<html><body>", after: "</body></html>"},
	{name: "100 KB of text", after: strings.Repeat(" and more", 11_000)}, {name: "text that is not ASCII", before: "Grüße 漢字 🎉 "},
}

// ofKinds dispatches the sample once for each kind of result that a tool of the sample may return. A long text
// and one that is not ASCII may also be a part of a result.
func (c *checkup) ofKinds(ctx context.Context) Finding {
	if f := c.unplayable(true); f != nil {
		return *f
	}
	var altered, broken, lost, played []string
	possible := false
	for _, k := range kinds {
		marker := canary()
		text := k.before + marker + k.after
		result := rawjson.Quote(text)
		switch {
		case strings.Contains(k.format, "%s"):
			result = json.RawMessage(fmt.Sprintf(k.format, marker))
		case k.format != "":
			result, marker = json.RawMessage(k.format), strings.Trim(k.format, "nul")
		case k.after == "":
			marker = text
		}
		partly := len(text) > 1000 || k.name == "text that is not ASCII"
		whole := slices.ContainsFunc(c.result.Calls, func(call proxytest.Call) bool { return c.allows(call.Tool, result) })
		if !whole && !partly {
			continue
		}
		var placed atomic.Bool
		e := c.dispatchAgain(ctx, &episode{alter: replaced(func(q *request, old json.RawMessage) json.RawMessage {
			is := c.allows(q.tool, result)
			if is {
				old = result
			} else if partly {
				old, is = c.put(q, old, text, true)
			}
			placed.Store(placed.Load() || is)
			return old
		})})
		if ctx.Err() != nil {
			return *interrupted()
		}
		if called := len(e.seen(isTool)) > 0; !placed.Load() {
			possible = possible || !called
			continue
		}
		possible, played = true, append(played, k.name)
		rows := toolRows(e.result)
		switch {
		case !e.result.WouldBeGraded() && k.name == "text" && c.decodesTwice(ctx):
			altered = append(altered, "text that is JSON is decoded once more; text that is not makes the run fail: "+c.failure(e.result))
		case !e.result.WouldBeGraded():
			broken = append(broken, k.name+": "+c.failure(e.result))
		case !c.visible || marker == "" || shows(said(e.result), marker):
		case len(rows) > 0:
			altered = append(altered, k.name+": the model was given something else: "+c.quote(rows[0]))
		case len(text) < 1000: // the agent may shorten it in its answer
			lost = append(lost, k.name+": the answer does not have it, although it has other results")
		}
	}
	const do = "Hand the member response on as it is: it is decoded already, and text that is not JSON is a string."
	var f Finding
	switch details := slices.Concat(altered, broken, lost); {
	case !possible:
		return skipped("", "the output_schema of the tools allows no result of another kind")
	case len(played) == 0:
		return noCall()
	case len(altered) > 0:
		f = failed(do, "%s", goWrong(len(details)))
		f.Details = details
	case len(details) > 0:
		f = warning(do+" Declare an output_schema for a tool that does not return such results.", "%s", goWrong(len(details)))
		f.Details = details
	case !c.visible:
		f = good("the runs complete with results of all kinds; the answers do not show what arrives")
	default:
		f = good("results of all kinds arrive")
	}
	return c.note(resultKinds, f, fmt.Sprintf("%s; the tool calls are answered with %s, where the output_schema allows it",
		count(len(played), "dispatch"), strings.Join(played, ", ")))
}

func goWrong(n int) string {
	if n == 1 {
		return "1 kind of results goes wrong"
	}
	return fmt.Sprintf("%d kinds of results go wrong", n)
}

// replaced returns an alter that replaces the results of tools.
func replaced(result func(q *request, result json.RawMessage) json.RawMessage) func(*request) *reply {
	return always(reply{result: result})
}

// decodesTwice reports whether the run completes when each result is a string with the JSON that the
// world has.
func (c *checkup) decodesTwice(ctx context.Context) bool {
	e := c.dispatchAgain(ctx, &episode{alter: replaced(func(_ *request, result json.RawMessage) json.RawMessage {
		return rawjson.Quote(string(result))
	})})
	return e.result.WouldBeGraded() && len(e.seen(isTool)) > 0
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
		return good("an agent whose tool calls are all refused says so")
	case slices.ContainsFunc(rows, func(row string) bool {
		return strings.ContainsAny(row[:min(1, len(row))], "{[") && json.Valid([]byte(row))
	}):
		return warning("Remove the tool's original body: it must not answer when the proxy does not. Tell the model that the call failed.",
			"all tool calls were refused, and the answer does not say so: %s", c.quote(text))
	}
	return skipped(showAdvice, hidden)
}

// expire lets the run token expire at the second tool call, or at the first of an agent that makes
// one. The first refusal waits for the calls that the agent makes at once, so that only an agent
// that knows it sends what comes afterwards.
func (c *checkup) expire(ctx context.Context) func(*request) *reply {
	from := c.expiresAt()
	together := newGate()
	return func(q *request) *reply {
		if q.tool == "" || q.number < from {
			return nil
		}
		if q.number >= len(c.result.Calls) {
			together.open()
		}
		together.wait(ctx)
		return &reply{status: http.StatusUnauthorized, class: "run_token_expired"}
	}
}

// expiresAt returns the number of the tool call from which on the run token has expired.
func (c *checkup) expiresAt() int { return min(len(c.result.Calls), 2) }

func (c *checkup) expired(e *episode) Finding {
	gone := e.seen(func(q *request) bool { return isTool(q) && q.status == http.StatusUnauthorized })
	if len(gone) == 0 {
		return skipped("Give a task for which the agent always calls the same tools.", "the agent made fewer tool calls this time")
	}
	first := slices.MinFunc(gone, func(a, b request) int { return cmp.Compare(a.answered, b.answered) }).answered
	over := first
	for _, q := range e.seen(func(q *request) bool { return q.arrived < first }) {
		over = max(over, q.answered)
	}
	f := good("the agent stops calling when its token has expired")
	const do = "End the run at a 401 of the class run_token_expired, run_token_invalid or run_token_rejected: no call can succeed any more."
	switch later := e.seen(func(q *request) bool { return q.arrived > over }); {
	case len(later) > 0:
		f = warning(do, "%s after the proxy had said that the run token has expired", count(len(later), "request"))
	case e.result.ErrorClass == dispatchtest.AgentTimeout:
		f = warning(do, "the agent did not answer any more after its token had expired")
	}
	if c.expiresAt() == 1 {
		f.Sent = "a dispatch; each tool call is answered 401 run_token_expired"
	}
	return f
}

// completes judges a dispatch from which parts are left out. It should run as before.
func completes(do string) func(*checkup, *episode) Finding {
	return func(c *checkup, e *episode) Finding {
		switch {
		case !e.result.WouldBeGraded():
			return failed(do, "the run failed: %s", c.failure(e.result))
		case len(e.result.Calls) == 0:
			return warning(do, "no tool call arrives, although the sample made %s", count(len(c.result.Calls), "tool call"))
		}
		return good("the run completes as before")
	}
}
