package doctor

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/dispatch/internal/testrun"
	"github.com/toolwire/toolwire/internal/httpserve"
	"github.com/toolwire/toolwire/proxy/proxytest"
	"github.com/toolwire/toolwire/schema"
)

// task returns the sample. It observes the requests to the proxy.
func (c *checkup) task() dispatchtest.Task {
	var task dispatchtest.Task
	if c.opts.Task != nil {
		task = *c.opts.Task
	} else {
		task.Instruction = "This is a test of the connection. Answer in one short sentence that you are ready; there is nothing else to do."
	}
	if w := task.World; task.Platform == nil && w.Tools == nil && w.Behaviors == nil {
		task.World.Tools = c.sandboxTools()
	}
	c.given = task
	if task.ProxyURL == "" { // otherwise the caller serves it
		wrap := task.WrapProxy
		task.WrapProxy = func(next http.Handler) http.Handler {
			if wrap != nil {
				next = wrap(next)
			}
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				c.watch(r, wrap == nil)
				next.ServeHTTP(w, r)
			})
		}
	}
	return task
}

// watch finds requests to the proxy of the sample that the proxy rejects without a record. alone
// means that no other handler is served there.
func (c *checkup) watch(r *http.Request, alone bool) {
	run := c.run.Load()
	if run == nil {
		return
	}
	rest, below := strings.CutPrefix(r.URL.Path, run.Path+"/")
	plane, name, _ := strings.Cut(rest, "/")
	switch {
	case below && !hasToken(r, run.Token):
		c.strangers.Add(1)
	case !alone:
	case !below && strings.HasPrefix(r.URL.Path, strings.TrimSuffix(run.Path, run.ID)): // of a run that should have been rejected
	case !below && strings.HasSuffix(r.URL.Path, "/tools/__reachability_probe__"):
	case !below:
		c.elsewhere.Add(1)
	case slices.Contains([]string{"telemetry", "data", "context"}, plane): // the platform has them
	case r.Method != http.MethodPost || name == "" || plane != "tools" && plane != "traces":
		request := r.Method + " {odyssey_proxy_url}/" + rest
		c.astray.Store(&request)
	}
}

// hasToken reports whether a request has the run token where the proxy reads it.
func hasToken(r *http.Request, token string) bool {
	tokens, _ := httpserve.Tokens(r.Header, "X-Pipelines-Run-Token")
	presented, ok := httpserve.OneToken(tokens)
	return ok && presented == token
}

// sandboxTools returns the declared tools with generated results, or nil if they are not valid.
func (c *checkup) sandboxTools() (tools []schema.Tool) {
	if c.opts.ToolsSchema == nil {
		return nil
	}
	declared, _, _ := schema.Import(c.opts.ToolsSchema, schema.Platform) // the check of the tools reports errors
	if _, err := schema.Validate(context.Background(), declared, &schema.ValidateOptions{LedgerSchema: c.opts.LedgerSchema}); err != nil {
		return nil
	}
	for i := range declared {
		t := &declared[i]
		tools = append(tools, schema.Tool{Name: t.Name, Description: t.Description, InputSchema: t.InputSchema, OutputSchema: t.OutputSchema})
	}
	return tools
}

// dispatch evaluates the sample dispatch.
func (c *checkup) dispatch(ctx context.Context) Finding {
	switch {
	case c.opts.NoDispatch:
		return skipped("", "left out by the options")
	case c.opts.Task == nil && !c.local():
		return skipped("Give a task of its own, best with a proxy that the agent can reach.",
			"the agent is elsewhere, where it cannot reach the proxy that is played on this machine")
	}
	c.run.Store(c.setup.Run)
	result, userErr := c.dispatchSample(ctx)
	c.run.Store(nil) // what comes later is for the next check
	c.trouble = len(c.target.Command) == 0 &&
		(troubled(result.Ping.Status) || len(result.Turns) > 0 && troubled(result.Dispatch.Status))
	c.result, c.sampleMedia = result, c.setup.Media
	for _, turn := range result.Turns {
		if fault := disagreement([]byte(turn.Body), turn.Problems); fault != "" && turn.Status/100 == 2 {
			c.faults = append(c.faults, fault)
		}
	}
	if userErr != nil {
		panic(userError{userErr})
	}
	took := time.Duration(result.Dispatch.TookMS * float64(time.Millisecond))
	undeclared := c.undeclared()
	details := c.complaints(result, took)
	var f Finding
	switch strangers := c.strangers.Load(); {
	case strangers > 0:
		f = failed("Send the header X-Pipelines-Run-Token of the dispatch as the bearer of every tool call; run_token_jti is not a token.",
			"%s to the proxy came with another token than the run's", count(int(strangers), "request"))
	case c.elsewhere.Load() > 0:
		f = failed("Append /tools/ and the tool's name to the whole of odyssey_proxy_url: a path that begins with a slash and is resolved "+
			"against it replaces the path that it has.", "%s to the proxy's host did not begin with odyssey_proxy_url",
			count(int(c.elsewhere.Load()), "request"))
	case c.astray.Load() != nil && len(result.Calls)+len(result.Refused) == 0 && len(c.setup.Platform.Tools()) > 0:
		f = failed("Append /tools/ and the tool's name to odyssey_proxy_url.",
			"no tool call reached the proxy, but the agent sent %s", c.quote(*c.astray.Load()))
	case !result.WouldBeGraded() && len(undeclared) > 0:
		f = warning("Give the tools_schema (the flag -tools, or Options.ToolsSchema), or a task with a world that has these tools.",
			"the run failed after the agent had called tools that the sample's world does not have: %s; %s",
			strings.Join(undeclared, ", "), c.failure(result))
	case !result.WouldBeGraded():
		f = failed(c.runAdvice(result), "%s", c.failure(result))
	case enveloped(said(result)):
		f = failed(unwrapAdvice, anEnvelope)
		f.Rule = rules[unwrap].text
	case len(result.Calls) == 0 && len(undeclared) == 0 && len(refused(result, http.StatusNotFound)) > 0:
		f = failed("Keep the names of the tools as they are registered, in the path of each call too.",
			"every tool call is refused: its tool is not declared")
		f.Rule = porting + `"Keep tool names, signatures, model selection, and prompt content unchanged."`
	case len(result.Calls) == 0 && len(refused(result, http.StatusUnprocessableEntity)) > 0:
		f = failed("Send the tool's arguments as the body of the request, without a wrapper around them: the platform validates the body "+
			"against the tool's input_schema.", "every tool call is refused: the arguments do not match the input_schema")
	case slices.ContainsFunc(result.Refused, func(call proxytest.Call) bool { return call.ErrorClass == "actor_id_invalid" }):
		f = failed("Send a delimited call path of letters, digits, _ and -, such as supervisor/refunds, or leave the header out.",
			"a call was refused because its X-Pipelines-Actor-Id is malformed")
		f.Rule = actorRule
	case len(details) > 0:
		f = warning(`Compare with "Porting without the SDK", step 3 and its appendix, and with the comments of package dispatch.`,
			"a sample run completes in %s, with %s", round(took), count(len(result.Calls), "tool call"))
	default:
		f = good("a sample run completes in %s, with %s", round(took), count(len(result.Calls), "tool call"))
	}
	f.Details = append(details, c.written(result, f.Seen)...)
	return f
}

// written returns the last 2 KiB that a program without a result wrote to standard error, except for
// what the finding says already.
func (c *checkup) written(r *dispatchtest.Result, seen string) (lines []string) {
	_, text, _ := strings.Cut(r.AgentError, "\n")
	if len(c.target.Command) == 0 || r.ErrorClass == "" {
		return nil
	}
	for line := range strings.Lines(text[max(0, len(text)-2<<10):]) {
		if line = c.quote(line); line != "" && !strings.Contains(seen, line) {
			lines = append(lines, line)
		}
	}
	return lines
}

// dispatchSample dispatches the sample, in the setup of all checks. An error is of the User of its
// Conversation.
func (c *checkup) dispatchSample(ctx context.Context) (*dispatchtest.Result, error) {
	return dispatchtest.Dispatch(testrun.With(ctx, c.setup), c.target, c.sample)
}

// failure returns why a run failed, on one line.
func (c *checkup) failure(r *dispatchtest.Result) string {
	text, last := r.Error, r.Dispatch
	if len(r.Turns) == 0 {
		last = r.Ping
	}
	switch {
	case r.ErrorClass == dispatchtest.AgentUnreachable: // it was reachable before
		text = "the endpoint broke the connection without an answer"
	case len(c.target.Command) > 0 && r.AgentError != "": // that the empty response is not JSON tells nothing
		text = c.quote(firstLine(r.AgentError))
	case last.Status >= 400:
		text = fmt.Sprintf("the endpoint answered %d: %s", last.Status, c.quote(last.Body))
		if r.AgentError != "" {
			text += "; the agent's error: " + c.quote(firstLine(r.AgentError))
		}
	}
	return fmt.Sprintf("%s: %s", r.ErrorClass, text)
}

// runAdvice returns what to do about a run that failed.
func (c *checkup) runAdvice(r *dispatchtest.Result) string {
	if !c.local() && c.setup.Task.ProxyURL == "" {
		return "The agent is elsewhere: it could not reach the proxy that was played on this machine, which may be the reason. " +
			"See the agent's log."
	}
	if request := c.astray.Load(); request != nil {
		return fmt.Sprintf("A tool call is POST {odyssey_proxy_url}/tools/{name}; the agent sent %s.", c.quote(*request))
	}
	if r.Dispatch.Status == http.StatusTooManyRequests {
		return limitAdvice
	}
	switch r.ErrorClass {
	case dispatchtest.AgentTimeout:
		return "Answer before run_timeout_s is over, with what there is by then."
	case dispatchtest.AgentBadResponse:
		if len(c.target.Command) > 0 && !strings.Contains(r.AgentError, "exit status 0") {
			return "Read what the program wrote. A variable that it needs is given by the flag -env NAME, or Target.Env."
		}
		if len(c.target.Command) > 0 {
			return `Write {"final_response": "…"}, a text that is not empty, to the file that PIPELINES_RESULT_PATH names, before the program ends.`
		}
		return `Answer 200 with {"final_response": "…"}, a text that is not empty.`
	case dispatchtest.AuthFailed:
		return "The ping was let in with the same bearer: compare how the two are authenticated."
	case dispatchtest.Agent4xx:
		return "Compare how the agent reads the envelope: input.user_instruction, input.input, odyssey_proxy_url; the run token is in " +
			"the header X-Pipelines-Run-Token."
	case dispatchtest.ContractViolation:
		return "Return messages with an assistant message that has text, or do not require a rich transcript at registration."
	}
	if len(r.Calls)+len(r.Refused) == 0 && c.setup.Target.Agent == nil {
		return "See the agent's log. No tool call arrived: an agent in a container cannot reach the proxy that is played on this " +
			"machine's loopback."
	}
	return "See the agent's log."
}

// complaints returns what else deserves a warning in a run.
func (c *checkup) complaints(r *dispatchtest.Result, took time.Duration) (list []string) {
	for _, p := range r.Problems {
		if !p.Fatal { // fatal problems are in Error
			list = append(list, p.String())
		}
	}
	if r.StandIn != "" {
		list = append(list, r.Error)
	}
	if found := c.lostPrompt(r); found != "" {
		list = append(list, found)
	}
	if c.opts.Task != nil {
		list = append(list, r.Warnings...) // the sample of Check asks for nothing
	}
	if c.opts.Task != nil || len(c.setup.Platform.Tools()) > 0 {
		list = append(list, r.Faults...)
	}
	if limit := c.setup.Target.RunTimeout; took > limit*8/10 && r.ErrorClass != dispatchtest.AgentTimeout {
		list = append(list, fmt.Sprintf("it took %s of the %s that a run may take", round(took), limit))
	}
	for _, call := range r.Refused {
		if !retried(call) && !slices.ContainsFunc(r.Faults, func(fault string) bool { return strings.Contains(fault, call.Tool) }) {
			list = append(list, refusal(call))
		}
	}
	return list
}

// lostPrompt says that the messages of a run have user messages, and the instruction in none of
// them; "" if they have it, or no user message.
func (c *checkup) lostPrompt(r *dispatchtest.Result) string {
	words := func(text string) string { return strings.Join(strings.Fields(text), " ") }
	asked := words(c.sample.Instruction)
	var others []string
	for _, turn := range r.Turns[:min(len(r.Turns), 1)] {
		body, _ := object([]byte(turn.Body))
		for _, row := range rows(body["messages"], dispatch.RoleUser) {
			if strings.Contains(words(row), asked) || shows(row, asked) {
				return ""
			}
			others = append(others, row)
		}
	}
	if len(others) == 0 || asked == "" {
		return ""
	}
	return fmt.Sprintf("no user message has the instruction: the agent should read input.user_instruction; the first is %q", c.quote(others[0]))
}

// retried reports whether a refusal is one after which a client repeats the call.
func retried(call proxytest.Call) bool {
	return call.Status == http.StatusTooManyRequests || call.Status == http.StatusServiceUnavailable
}

// refusal names a call that the proxy refused.
func refusal(call proxytest.Call) string {
	kind := "the call of " + call.Tool
	if call.Trace {
		kind = "the request " + call.Tool
	}
	if call.Status == 0 {
		return kind + " was broken off"
	}
	return fmt.Sprintf("%s was refused with %d %s: %s", kind, call.Status, call.ErrorClass, call.Reason)
}

// refused returns the tool calls that were refused with a status.
func refused(r *dispatchtest.Result, status int) (list []proxytest.Call) {
	for _, call := range r.Refused {
		if !call.Trace && call.Status == status {
			list = append(list, call)
		}
	}
	return list
}

// undeclared returns the tools that the agent called without success, if no tools are declared.
func (c *checkup) undeclared() (names []string) {
	if len(c.setup.Platform.Tools()) > 0 {
		return nil
	}
	for _, call := range c.result.Refused {
		if !call.Trace && call.Status == http.StatusNotFound && !slices.Contains(names, call.Tool) {
			names = append(names, call.Tool)
		}
	}
	return names
}

// lateCalls waits for calls of the agent after its answer.
func (c *checkup) lateCalls(ctx context.Context) Finding {
	if c.result == nil {
		return skipped("", "there was no sample dispatch")
	}
	answered := 0
	for _, turn := range c.result.Turns {
		answered = max(answered, turn.Log.LastOrder())
	}
	wait := time.NewTimer(c.opts.LateCallWait)
	defer wait.Stop()
	look := time.NewTicker(min(c.opts.LateCallWait, 20*time.Millisecond))
	defer look.Stop()
	for over := false; !over; {
		select {
		case <-ctx.Done():
			return *interrupted()
		case <-wait.C:
			over = true
		case <-look.C:
		}
		late := testrun.Between(c.setup.Run.Log(), answered, math.MaxInt)
		if late.LastOrder() > 0 {
			return warning("Wait for everything that the agent has started before answering: the run is over then, and its token refused.",
				"the agent called the proxy after it had answered: %s", strings.Join(called(late), ", "))
		}
	}
	return good("nothing called the proxy within %s after the answer", c.opts.LateCallWait)
}

// called returns the names of the tools and trace events that were sent to the proxy.
func called(r *proxytest.Log) (names []string) {
	for _, call := range append(slices.Clone(r.Calls), r.Refused...) {
		names = append(names, call.Tool)
	}
	for _, event := range r.Traces {
		names = append(names, string(event.Event))
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}
