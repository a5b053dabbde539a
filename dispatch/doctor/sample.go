package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/dispatch/internal/testrun"
	"github.com/toolwire/toolwire/internal/httpcall"
	"github.com/toolwire/toolwire/internal/runctx"
	"github.com/toolwire/toolwire/internal/text"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/proxy/proxytest"
	"github.com/toolwire/toolwire/schema"
)

// sampleTask returns the task of the options, or one that needs no tools.
func (c *checkup) sampleTask() (task dispatchtest.Task) {
	task.Instruction = "This is a test of the connection. Answer in one short sentence that you are ready; there is nothing else to do."
	if c.opts.Task != nil {
		task = *c.opts.Task
	}
	if w := task.World; task.Platform == nil && w.Tools == nil && w.Behaviors == nil {
		task.World.Tools = c.sandboxTools()
	}
	return task
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

// sampleDispatch dispatches the sample and judges the run. Its ok has seen each turn answered within the
// response contract by the agent itself, and each call with the URL and the token of the run and
// accepted, if there were calls.
func (c *checkup) sampleDispatch(ctx context.Context) (sample *episode, f Finding) {
	switch {
	case c.opts.NoDispatch:
		return nil, skipped("", "left out by the options")
	case c.opts.Task == nil && !c.local():
		return nil, skipped("Give a task of its own, best with a proxy that the agent can reach.",
			"the agent is elsewhere, where it cannot reach the proxy that is served on this machine")
	}
	c.note("a dispatch", c.command(""))
	sample = c.dispatch(ctx, &episode{})
	result := sample.result
	c.now.trouble = sample.troubled()
	took := time.Duration(result.Dispatch.TookMS * float64(time.Millisecond))
	undeclared, details := c.undeclared(result), c.complaints(result, took)
	switch strangers, elsewhere, astray := c.strays(sample); {
	case strangers > 0:
		f = failed("Send the header X-Pipelines-Run-Token of the dispatch as the bearer of every tool call; run_token_jti is not a token.",
			"%s to the proxy came with another token than the run's", text.Plural(strangers, "request"))
	case elsewhere > 0:
		f = failed("Append /tools/ and the tool's name to the whole of odyssey_proxy_url: a path that begins with a slash and is resolved "+
			"against it replaces the path that it has.", "%s to the proxy's host did not begin with odyssey_proxy_url",
			text.Plural(elsewhere, "request"))
	case astray != "" && len(result.Calls)+len(result.Refused) == 0 && len(c.setup.Platform.Tools()) > 0:
		f = failed("Append /tools/ and the tool's name to odyssey_proxy_url.",
			"no tool call reached the proxy, but the agent sent %s", c.quote(astray))
	case !result.WouldBeGraded() && len(undeclared) > 0:
		f = warning("Give the tools_schema (the flag -tools, or Options.ToolsSchema), or a task with a world that has these tools.",
			"the run failed after the agent had called tools that the sample's world does not have: %s; %s",
			strings.Join(undeclared, ", "), c.failure(result))
	case !result.WouldBeGraded():
		f = failed(c.runAdvice(result, astray), "%s", c.failure(result))
	case enveloped(said(result)):
		f = failed(unwrapAdvice, anEnvelope).by(unwrapRule)
	case len(result.Calls) == 0 && len(undeclared) == 0 && refusedWith(result, http.StatusNotFound):
		f = failed("Keep the names of the tools as they are registered, in the path of each call too.",
			"every tool call is refused: its tool is not declared").by(namesRule)
	case len(result.Calls) == 0 && refusedWith(result, http.StatusUnprocessableEntity):
		f = failed("Send the tool's arguments as the body of the request, without a wrapper around them: the platform validates the body "+
			"against the tool's input_schema.", "every tool call is refused: the arguments do not match the input_schema")
	case slices.ContainsFunc(result.Refused, func(call proxytest.Call) bool { return call.ErrorClass == httpcall.ActorInvalid }):
		f = failed("Send a delimited call path of letters, digits, _ and -, such as supervisor/refunds, or leave the header out.",
			"a call was refused because its X-Pipelines-Actor-Id is malformed").by(actorRule)
	case len(details) > 0:
		f = warning(`Compare with "Porting without the SDK", step 3 and its appendix, and with the comments of package dispatch.`,
			"a sample run completes in %s, with %s", round(took), text.Plural(len(result.Calls), "tool call"))
	default:
		f = good("a sample run completes in %s, with %s", round(took), text.Plural(len(result.Calls), "tool call"))
	}
	f.Details = append(details, c.written(result, f.Seen)...)
	return sample, f
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

// strays counts the requests of the sample that the proxy rejects without a record: those with another
// token, and those elsewhere than below the proxy URL. astray is one that is below it and neither a tool
// call nor a trace event.
func (c *checkup) strays(sample *episode) (strangers, elsewhere int, astray string) {
	platform := []string{"telemetry", "data", "context"} // what the platform serves too
	for _, q := range sample.seen(func(*request) bool { return true }) {
		switch {
		case q.below && !q.own:
			strangers++
		case c.task.WrapProxy != nil: // the caller may serve other things there
		case !q.below && strings.HasSuffix(q.path, "/tools/__reachability_probe__"):
		case !q.below:
			elsewhere++
		case slices.Contains(platform, q.plane):
		case q.method != http.MethodPost || q.tool == "" && q.plane != "traces" || q.path == "traces/":
			astray = q.method + " {odyssey_proxy_url}/" + q.path
		}
	}
	return strangers, elsewhere, astray
}

// failure returns why a run failed, or that the agent's handler answered in its place, on one line.
func (c *checkup) failure(r *dispatchtest.Result) string {
	text, last := r.Error, r.Dispatch
	if r.ErrorClass == "" {
		return text
	}
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

// runAdvice returns what to do about a run that failed. astray is a result of strays.
func (c *checkup) runAdvice(r *dispatchtest.Result, astray string) string {
	switch {
	case !c.local() && c.task.ProxyURL == "":
		return "The agent is elsewhere: it could not reach the proxy that was served on this machine, which may be the reason. " +
			"See the agent's log."
	case astray != "":
		return fmt.Sprintf("A tool call is POST {odyssey_proxy_url}/tools/{name}; the agent sent %s.", c.quote(astray))
	case r.Dispatch.Status == http.StatusTooManyRequests:
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
		return "See the agent's log. No tool call arrived: an agent in a container cannot reach the proxy that is served on this " +
			"machine's loopback."
	}
	for _, call := range r.Calls {
		if c.outputs[call.Tool] == nil && c.task.World.Behaviors[call.Tool] == nil && c.task.Platform == nil {
			return fmt.Sprintf("See the agent's log. The tool %s has no output_schema, so its results are made up: the agent may need "+
				"a member that they lack.", call.Tool)
		}
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
	for _, call := range r.Calls {
		if doubt := runctx.DoubtfulActor(call.Actor); doubt != "" {
			list = append(list, fmt.Sprintf("the call of %s: %s", call.Tool, doubt))
		}
	}
	for _, call := range r.Refused {
		if !retried(call) && !slices.ContainsFunc(r.Faults, func(fault string) bool { return strings.Contains(fault, call.Tool) }) {
			list = append(list, refusal(call))
		}
	}
	return list
}

// lostPrompt describes user messages of a run of which none contains the instruction. It returns "" if one
// does, or if there are none.
func (c *checkup) lostPrompt(r *dispatchtest.Result) string {
	words := func(text string) string { return strings.Join(strings.Fields(text), " ") }
	if len(r.Turns) == 0 {
		return ""
	}
	asked, messages := words(c.task.Instruction), rows(r.Turns[0].Body, dispatch.RoleUser)
	if len(messages) == 0 || slices.ContainsFunc(messages, func(text string) bool {
		return strings.Contains(words(text), asked) || shows(text, asked)
	}) {
		return ""
	}
	return fmt.Sprintf("no user message has the instruction: the agent should read input.user_instruction; the first is %q", c.quote(messages[0]))
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

// refusedWith reports whether a tool call was refused with a status.
func refusedWith(r *dispatchtest.Result, status int) bool {
	return slices.ContainsFunc(r.Refused, func(call proxytest.Call) bool { return !call.Trace && call.Status == status })
}

// undeclared returns the tools that the agent called without success, if no tools are declared.
func (c *checkup) undeclared(sample *dispatchtest.Result) (names []string) {
	if len(c.setup.Platform.Tools()) > 0 {
		return nil
	}
	for _, call := range sample.Refused {
		if !call.Trace && call.Status == http.StatusNotFound && !slices.Contains(names, call.Tool) {
			names = append(names, call.Tool)
		}
	}
	return names
}

// lateCalls waits for calls of the agent after its answer. Its ok has seen none of the sample until the wait
// was over, and [checkup.lateUntilNow] none of any dispatch until the end.
func (c *checkup) lateCalls(ctx context.Context) Finding {
	c.note("a dispatch", c.command(""))
	for over, last := time.After(c.opts.LateCallWait), false; !last; {
		select {
		case <-ctx.Done():
			return interrupted()
		case <-over:
			last = true
		case <-time.After(20 * time.Millisecond):
		}
		if late := c.late(); late != "" {
			return called(late)
		}
	}
	return good("nothing called the proxy within %s after the answer", c.opts.LateCallWait)
}

// lateUntilNow replaces the finding of late_calls if a dispatch of any check was followed by a call.
func (c *checkup) lateUntilNow(f *Finding) {
	late := c.late()
	if late == "" {
		f.Seen += ", nor until the end of the examination"
		return
	}
	k := &checks[slices.IndexFunc(checks, func(k check) bool { return k.name == f.Name })]
	now := called(late)
	now.Name, now.Sent, now.Reproduce, now.TookMS = f.Name, f.Sent, f.Reproduce, f.TookMS
	*f = c.complete(k, now)
}

func called(late string) Finding {
	return warning("Wait for everything that the agent has started before answering: the run is over then, and its token refused.",
		"the agent called the proxy after it had answered: %s", late)
}

// late returns the names of the tools and trace events that were sent to the proxy of a dispatch after its
// last answer. A dispatch that timed out has none.
func (c *checkup) late() string {
	var names []string
	for _, e := range c.dispatched {
		turns := e.result.Turns
		if len(turns) == 0 || e.result.Dispatch.Status == 0 {
			continue
		}
		late, _ := testrun.Late(e.run.Log(), turns[len(turns)-1].Answered)
		for _, call := range append(slices.Clone(late.Calls), late.Refused...) {
			names = append(names, call.Tool)
		}
		for _, event := range append(slices.Clone(late.Traces), late.Telemetry...) {
			names = append(names, string(event.Event))
		}
		for _, q := range e.seen(func(q *request) bool { return q.arrived > e.over }) { // a scenario may have answered it
			_, name, _ := strings.Cut(q.path, "/")
			names = append(names, cmp.Or(name, q.path))
		}
	}
	return unique(names)
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// proxy sends an invalid token to the platform's proxy, which should reject it. Its ok has seen a 401.
func (c *checkup) proxy(ctx context.Context) Finding {
	if c.opts.ProxyBase == "" {
		return skipped("", "no proxy base is given (the flag -proxy, or Options.ProxyBase)")
	}
	err := proxy.Probe(ctx, c.opts.ProxyBase, &proxy.Options{AttemptTimeout: c.opts.Timeout, Transport: transportOr(c.opts.Transport)})
	e, _ := errors.AsType[*proxy.Error](err)
	switch {
	case err == nil:
		return good("the proxy refuses a fake token with 401, as it should")
	case e != nil && e.Status != 0:
		return failed("Compare the proxy base with the one that runs are given, without its last part /runs/…: what answers there "+
			"should refuse a fake token with 401.", "%v", err)
	}
	return failed("Let this machine out to the proxy's host: name resolution, firewall, an HTTP proxy that is needed?", "%v", err)
}

// toolsSchema checks the tools as the platform does at registration. Its ok has seen no problem of
// schema.Validate, and none of schema.Lint.
func (c *checkup) toolsSchema(ctx context.Context) Finding {
	if c.opts.ToolsSchema == nil {
		return skipped("", "no tools_schema is given (the flag -tools, or Options.ToolsSchema)")
	}
	tools, _, err := schema.Import(c.opts.ToolsSchema, schema.Platform)
	if err != nil {
		do := `Give {"tools_schema": […]} or the list alone.`
		if _, format, _ := schema.Import(c.opts.ToolsSchema, ""); format != "" && format != schema.Platform {
			do = fmt.Sprintf("This is a tool list in the format %q: convert it with schema.Import and schema.Export.", format)
		}
		return failed(do, "this is not a tools_schema").with(problems(err))
	}
	_, err = schema.Validate(ctx, tools, &schema.ValidateOptions{LedgerSchema: c.opts.LedgerSchema})
	if err != nil {
		return failed("Correct the declarations; the Tools schema says what each member may be.", "the platform would refuse the tools").
			with(problems(err))
	}
	if lint := schema.Lint(tools, &schema.ValidateOptions{LedgerSchema: c.opts.LedgerSchema}); len(lint) > 0 {
		var details []string
		for _, w := range lint {
			details = append(details, w.String())
		}
		return warning("They are accepted as they are; better descriptions and schemas make the model call them rightly.",
			"valid: %s; %s may hurt", text.Plural(len(tools), "tool"), text.Plural(len(lint), "thing")).with(details)
	}
	return good("valid: %s", text.Plural(len(tools), "tool"))
}

// problems returns the problems of an error of package schema, one per line.
func problems(err error) (lines []string) {
	e, ok := errors.AsType[*toolwire.Error](err)
	if !ok {
		return []string{err.Error()}
	}
	for _, p := range e.Problems {
		lines = append(lines, p.String())
	}
	return lines
}
