package doctor

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/internal/rawjson"
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
	needs := []Name{Dispatch, concurrentRuns}
	return []check{
		{concurrentRuns, []Name{Dispatch}, nil, (*checkup).concurrent},
		{unwrap, needs, nil, (*checkup).unwrapped},
		{resultKinds, append(needs, unwrap), nil, (*checkup).kinds},
		{retry429, needs, nil, (*checkup).rateLimited},
		{retry503, needs, nil, (*checkup).transient},
		{terminal503, needs, nil, (*checkup).terminal},
		{failingTools, append(needs, unwrap), nil, (*checkup).failing},
		{expiredToken, needs, nil, (*checkup).expired},
		{headersOnly, needs, nil, (*checkup).onlyHeaders},
		{bodyOnly, needs, nil, (*checkup).onlyBody},
		{sessionReplay, needs, nil, func(c *checkup, ctx context.Context) Finding { return c.turns(ctx, replay) }},
		{memoryReplay, append(needs, sessionReplay), nil, func(c *checkup, ctx context.Context) Finding { return c.memory(ctx, replay) }},
		{sessionStateful, needs, nil, func(c *checkup, ctx context.Context) Finding { return c.turns(ctx, stateful) }},
		{memoryStateful, append(needs, sessionStateful), nil, func(c *checkup, ctx context.Context) Finding { return c.memory(ctx, stateful) }},
	}
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
				return need != Dispatch && !slices.Contains(c.opts.Scenarios, need)
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

// idle returns a finding if an episode has nothing to judge, or nil.
func idle(e *episode) *Finding {
	if len(e.seen(isTool)) > 0 {
		return nil
	}
	f := skipped("Give a task for which the agent always calls a tool.", "the agent called no tool this time")
	return &f
}

// note adds to a finding of a scenario what was sent and how to repeat it.
func (c *checkup) note(name Name, f Finding, sent string) Finding {
	f.Sent, f.Reproduce = sent, c.again(name)
	return f
}

// firstTime answers the first attempt of each tool call with an error.
func firstTime(answers ...reply) func(*request) *reply {
	return func(q *request) *reply {
		if q.tool == "" || q.attempt > len(answers) {
			return nil
		}
		return &answers[q.attempt-1]
	}
}

const backoffAtLeast = 100 * time.Millisecond // the documented waits begin at 0.5 s

// repeats returns the tools whose refused calls were not repeated, and those that were repeated
// without a wait. A call has to come n times.
func (e *episode) repeats(n int) (missing, hasty []string) {
	calls := e.seen(isTool)
	for _, q := range calls {
		if q.status < 400 || q.attempt > n {
			continue
		}
		i := slices.IndexFunc(calls, func(r request) bool {
			return r.path == q.path && r.arguments == q.arguments && r.attempt == q.attempt+1
		})
		switch {
		case i < 0:
			missing = append(missing, q.tool)
		case calls[i].at.Sub(q.answeredAt) < backoffAtLeast:
			hasty = append(hasty, q.tool)
		}
	}
	slices.Sort(missing)
	slices.Sort(hasty)
	return slices.Compact(missing), slices.Compact(hasty)
}

const backoffAdvice = "Wait about 0.5 s, 1 s and 2 s, with jitter, before the second to the fourth attempt."

func (c *checkup) rateLimited(ctx context.Context) Finding {
	if f := c.unplayable(true); f != nil {
		return *f
	}
	e := c.dispatchAgain(ctx, &episode{alter: firstTime(reply{status: 429, class: "rate_limited"})})
	if f := idle(e); f != nil {
		return *f
	}
	missing, hasty := e.repeats(1)
	f := good("each call that was refused with 429 was repeated after a wait")
	switch {
	case len(missing) > 0:
		f = failed("Repeat a call that is refused with 429. "+backoffAdvice, "not repeated after a 429: %s%s",
			strings.Join(missing, ", "), c.outcome(e))
	case len(hasty) > 0:
		f = warning(backoffAdvice, "repeated without a wait after a 429: %s", strings.Join(hasty, ", "))
	}
	return c.note(retry429, f, "a dispatch; the first attempt of each tool call is answered 429")
}

func (c *checkup) transient(ctx context.Context) Finding {
	if f := c.unplayable(true); f != nil {
		return *f
	}
	classes := firstTime(reply{status: 503, class: "lock_contention"}, reply{status: 503, class: "context_store_unavailable"})
	var once sync.Once
	var traced string
	e := c.dispatchAgain(ctx, &episode{alter: func(q *request) (answer *reply) {
		if strings.HasPrefix(q.path, "traces/") {
			once.Do(func() { traced, answer = q.path, &reply{status: 503, class: "trace_sequence_contended"} })
			return answer
		}
		return classes(q)
	}})
	if f := idle(e); f != nil {
		return *f
	}
	missing, hasty := e.repeats(2)
	if traced != "" && len(e.seen(func(q *request) bool { return q.path == traced })) == 1 {
		missing = append(missing, traced)
	}
	f := good("each call that was refused with a transient 503 was repeated after a wait")
	switch {
	case len(missing) > 0:
		f = warning("Repeat a request that is refused with 503 and one of these classes, up to four attempts in all. "+backoffAdvice,
			"not repeated after a 503 of the classes lock_contention, context_store_unavailable or trace_sequence_contended: %s%s",
			strings.Join(missing, ", "), c.outcome(e))
	case len(hasty) > 0:
		f = warning(backoffAdvice, "repeated without a wait after a transient 503: %s", strings.Join(hasty, ", "))
	}
	return c.note(retry503, f, "a dispatch; the first two attempts of each tool call are answered 503, with two transient classes, "+
		"and the first trace event with a third")
}

func (c *checkup) terminal(ctx context.Context) Finding {
	if f := c.unplayable(true); f != nil {
		return *f
	}
	e := c.dispatchAgain(ctx, &episode{alter: func(q *request) *reply {
		if q.tool == "" {
			return nil
		}
		return &reply{status: 503, class: "simulator_down"}
	}})
	if f := idle(e); f != nil {
		return *f
	}
	f := good("a 503 without a transient class is not repeated")
	if again := e.seen(func(q *request) bool { return isTool(q) && q.attempt > 1 }); len(again) > 0 {
		f = warning("Repeat a 503 only if its error_class is lock_contention, context_store_unavailable or trace_sequence_contended.",
			"repeated after a 503 that is not transient: %s", strings.Join(tools(again), ", "))
	}
	return c.note(terminal503, f, "a dispatch; each tool call is answered 503 with the class simulator_down")
}

func tools(list []request) (names []string) {
	for _, q := range list {
		names = append(names, q.tool)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// outcome describes a run that failed, after a colon; "" for a run that did not.
func (c *checkup) outcome(e *episode) string {
	if e.result.WouldBeGraded() {
		return ""
	}
	return "; the run failed: " + c.failure(e.result)
}

// results returns an alter that replaces every result.
func results(response string) func(*request) *reply {
	return func(q *request) *reply {
		if q.tool == "" {
			return nil
		}
		return &reply{response: json.RawMessage(response)}
	}
}

func canary() string { return "canary-" + rand.Text() }

const unwrapAdvice = `Return the member response of the proxy's answer from the tool, as it is.`

func (c *checkup) unwrapped(ctx context.Context) Finding {
	if f := c.unplayable(true); f != nil {
		return *f
	}
	value := canary()
	e := c.dispatchAgain(ctx, &episode{alter: results(fmt.Sprintf(`{"doctor":%q}`, value))})
	if f := idle(e); f != nil {
		return *f
	}
	rows := e.toolRows()
	arguments := ""
	for _, q := range e.seen(isTool) {
		arguments += q.arguments
	}
	var f Finding
	switch text := e.said() + arguments; {
	case !e.result.WouldBeGraded():
		f = failed(unwrapAdvice, "the run failed when the result of each call was a JSON object: %s", c.failure(e.result))
	case strings.Contains(text, "matched_rule_index") || strings.Contains(text, "latency_ms") && strings.Contains(text, "tool_name"):
		f = failed(unwrapAdvice, "the model was given the whole trace envelope of the proxy, not its member response")
	case shows(text, value):
		c.visible = true
		f = good("the model was given the response without its envelope")
	case len(rows) > 0:
		f = failed(unwrapAdvice+" Remove the tool's original body.", "the tool messages have another content than what the proxy answered: %s",
			c.quote(rows[0]))
	default:
		f = skipped("Return messages with the tool results, so that it can be seen.", "the answer does not repeat what a tool returned")
	}
	return c.note(unwrap, f, "a dispatch; each tool call is answered with a recognisable object")
}

func (c *checkup) kinds(ctx context.Context) Finding {
	if f := c.unplayable(true); f != nil {
		return *f
	}
	var broken, lost []string
	played := 0
	for _, kind := range [...]struct{ name, before, after string }{
		{"text", "", ""}, {"a list", "[", "]"}, {"a number", "#", ""}, {"null", "null", ""}, {"HTML", "<html><body>", "</body></html>"},
		{"100 KB of text", "", strings.Repeat(" and more", 11_000)}, {"text that is not ASCII", "Grüße 漢字 🎉 ", ""},
	} {
		marker := canary()
		response := string(rawjson.Quote(kind.before + marker + kind.after))
		switch kind.before {
		case "[":
			response = fmt.Sprintf("[%q]", marker)
		case "#":
			marker = "743190452"
			response = marker
		case "null":
			marker, response = "", "null"
		case "Grüße 漢字 🎉 ":
			marker = kind.before + marker
		}
		e := c.dispatchAgain(ctx, &episode{alter: results(response)})
		if ctx.Err() != nil {
			return *interrupted()
		}
		if idle(e) != nil {
			continue
		}
		played++
		switch {
		case !e.result.WouldBeGraded():
			broken = append(broken, kind.name+": "+c.failure(e.result))
		case !c.visible || marker == "" || shows(e.said(), marker):
		case len(e.toolRows()) > 0:
			broken = append(broken, kind.name+": the model was given something else: "+c.quote(e.toolRows()[0]))
		case len(kind.after) < 1000: // the agent may shorten it in its answer
			lost = append(lost, kind.name+": the answer does not have it, although it has other results")
		}
	}
	f := good("results of all kinds arrive")
	if !c.visible {
		f = good("the runs complete with results of all kinds; the answers do not show what arrives")
	}
	const do = "Hand the member response on as it is: it is decoded already, and text that is not JSON is a string."
	switch {
	case len(broken) > 0:
		f = failed(do, "%s of results %s wrong", count(len(broken), "kind"), map[bool]string{true: "goes", false: "go"}[len(broken) == 1])
		f.Details = append(broken, lost...)
	case len(lost) > 0:
		f = warning(do, "%s of results may be lost", count(len(lost), "kind"))
		f.Details = lost
	case played == 0:
		return skipped("Give a task for which the agent always calls a tool.", "the agent called no tool this time")
	}
	return c.note(resultKinds, f, "seven dispatches; the tool calls are answered with text, a list, a number, null, HTML, 100 KB and non-ASCII text")
}

// admissions are parts of words with which an answer admits that something went wrong.
var admissions = []string{
	"error", "fail", "unable", "cannot", "can't", "could not", "couldn't", "not available", "unavailable", "problem", "sorry", "refused",
	"422", "wrong", "invalid", "exception", "not possible", "trouble", "no final response",
}

func (c *checkup) failing(ctx context.Context) Finding {
	if f := c.unplayable(true); f != nil {
		return *f
	}
	e := c.dispatchAgain(ctx, &episode{alter: func(q *request) *reply {
		if q.tool == "" {
			return nil
		}
		return &reply{status: http.StatusUnprocessableEntity, class: "tool_failed"}
	}})
	if f := idle(e); f != nil {
		return *f
	}
	text, rows := e.result.FinalResponse, e.toolRows()
	if len(rows) > 0 {
		text = strings.Join(rows, "\n")
	}
	text = strings.ToLower(text)
	if e.result.WouldBeGraded() && len(rows) == 0 && !c.visible {
		return skipped("Return messages with the tool results, so that it can be seen, and play the scenario unwrap too.",
			"the answer does not repeat what a tool returned")
	}
	f := good("an agent whose tool calls are all refused says so")
	if e.result.WouldBeGraded() && !slices.ContainsFunc(admissions, func(word string) bool { return strings.Contains(text, word) }) {
		f = warning("Remove the tool's original body: it must not answer when the proxy does not. Tell the model that the call failed.",
			"all tool calls were refused, and the answer does not say so: %s", c.quote(text))
	}
	return c.note(failingTools, f, "a dispatch; each tool call is answered 422")
}

func (c *checkup) expired(ctx context.Context) Finding {
	if f := c.unplayable(true); f != nil {
		return *f
	}
	from := min(len(c.result.Calls), 2)
	e := c.dispatchAgain(ctx, &episode{alter: func(q *request) *reply {
		if q.tool == "" || q.number < from {
			return nil
		}
		return &reply{status: http.StatusUnauthorized, class: "run_token_expired"}
	}})
	gone := e.seen(func(q *request) bool { return q.status == http.StatusUnauthorized })
	if len(gone) == 0 {
		return skipped("Give a task for which the agent always calls the same tools.", "the agent made fewer tool calls this time")
	}
	over := slices.MinFunc(gone, func(a, b request) int { return a.answered - b.answered }).answered
	f := good("the agent stops calling when its token has expired")
	later := e.seen(func(q *request) bool { return q.arrived > over })
	const do = "End the run at a 401 of the class run_token_expired, run_token_invalid or run_token_rejected: no call can succeed any more."
	switch {
	case len(later) > 0:
		f = warning(do, "%s after the proxy had said that the run token has expired", count(len(later), "request"))
	case e.result.ErrorClass == dispatchtest.AgentTimeout:
		f = warning(do, "the agent did not answer any more after its token had expired")
	}
	return c.note(expiredToken, f, fmt.Sprintf("a dispatch; from the %s tool call on, the answer is 401 run_token_expired",
		map[int]string{1: "first", 2: "second"}[from]))
}
