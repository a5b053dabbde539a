// Package doctor examines an agent's [endpoint] from outside, as the platform will use it. The
// agent may be written in any language.
//
//	report, err := doctor.Check(ctx, dispatchtest.Target{URL: url, AuthValue: "Bearer " + token}, nil)
//	if err != nil {
//		return err
//	}
//	fmt.Print(report)
//
// [Check] sends [pings], requests that the endpoint should reject, and one sample [dispatch]. The
// scenarios of [Options] dispatch the sample again while the [proxy] misbehaves. Each check ends
// with a [Finding]: what was sent and seen, the rule behind it, what to do, and commands that
// repeat the requests. Only what a document of the platform demands fails. In a test, use
// [Report.AssertOK]. Package dispatchtest tests what the agent does in a run; package eval runs
// datasets.
//
// The errors of Check list mistakes in its arguments, or report that its context has ended. A
// failed check is not an error. Checks of different endpoints may run concurrently.
//
// This package is experimental, as the README explains.
//
// [endpoint]: https://github.com/toolwire/toolwire/blob/main/docs/glossary.md#endpoint
// [pings]: https://github.com/toolwire/toolwire/blob/main/docs/glossary.md#ping
// [dispatch]: https://github.com/toolwire/toolwire/blob/main/docs/glossary.md#dispatch
// [proxy]: https://github.com/toolwire/toolwire/blob/main/docs/glossary.md#proxy
package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/dispatch/internal/testrun"
	"github.com/toolwire/toolwire/internal/httpcall"
	"github.com/toolwire/toolwire/internal/problem"
	"github.com/toolwire/toolwire/internal/redact"
	"github.com/toolwire/toolwire/internal/text"
	"github.com/toolwire/toolwire/ledger"
	"github.com/toolwire/toolwire/schema"
)

// Options adds to what [Check] examines.
type Options struct {
	// Task is the sample that is dispatched. If Task is nil, the sample asks for a short answer,
	// and it is dispatched only to an agent on this machine: another agent could not reach the
	// proxy that Check serves on loopback. For such an agent, set a Task with a Platform and a
	// public ProxyURL. If the World of the Task has neither tools nor behaviors, it gets the tools
	// of ToolsSchema, with generated results.
	Task *dispatchtest.Task

	// Scenarios are the names of further dispatches of Task. Each needs the agent to call a tool,
	// except for the sessions. [Scenarios] returns all names:
	//
	//	concurrent_runs    a run alone, then two at the same time: do URLs, tokens and results stay apart?
	//	unwrap             results with a mark: is the envelope removed, and the result not replaced?
	//	result_kinds       results: text, JSON in a text, a list, a number, HTML, 100 KB, not ASCII, and null, 0,
	//	                   false, "", [] and {}; up to 14 dispatches
	//	retry_429          a 429 for the first attempt of each call: is it repeated, after a wait?
	//	retry_503          two transient 503s: are they repeated, after a wait?
	//	terminal_503       a 503 that is not transient: is it not repeated?
	//	failing_tools      every call is refused: does the agent answer, and mention the failure?
	//	slow_tool          the first call takes 22 s: does the agent wait for it?
	//	expired_token      the run token expires: does the agent stop calling? It needs two calls, one after the other
	//	headers_only       the body has no proxy URL, no run id and no token id
	//	body_only          the run token is the only header of the platform
	//	session_replay     a session of three turns, with the transcript in each dispatch
	//	memory_replay      the same dispatches: does the agent know what the first turn said, and nothing of another
	//	                   session between the turns?
	//	session_stateful   a session of three turns, with its id only
	//	memory_stateful    the same dispatches, judged as in memory_replay
	//
	// Results are changed only as the output_schema of their tool allows. concurrent_runs makes up to
	// six dispatches, and pings the endpoint while a run waits. It warns if the endpoint works on one
	// run at a time. Any scenario fails if a run uses the token or the proxy URL of another run, if its
	// answer has results of another run or of no call, or if it has the trace envelope of the proxy.
	// What could not be seen is skipped, with the reason. An agent shows most if it returns messages.
	//
	// A report lists scenarios after the checks, in the order of [Scenarios]. If Scenarios is nil, Check
	// runs none. OnRun of the Task is called for each dispatch.
	Scenarios []Name

	// NoDispatch omits the sample dispatch, so that the agent does no work.
	NoDispatch bool

	// ProxyBase is the base URL of the platform's proxy without a run, for example
	// "https://api.pipelines.tech/api/odyssey-proxy". Check sends a request with an invalid token
	// from this machine. If ProxyBase is "", the check is skipped.
	ProxyBase string

	// ToolsSchema is the tools_schema of the registration, as JSON. If it is nil, the check is
	// skipped.
	ToolsSchema []byte

	// LedgerSchema is what the adapters of the tools write to. It may be nil.
	LedgerSchema *ledger.Schema

	// Timeout limits each request, except the sample dispatch: its limit is Target.RunTimeout.
	// Defaults to 10 s.
	Timeout time.Duration

	// LateCallWait is how long Check waits for calls to the proxy after the sample dispatch was answered.
	// Calls that come later are noticed until Check returns. Set more for an agent that works on after its
	// answer. Defaults to 500 ms.
	LateCallWait time.Duration

	// Transport sends the requests to a Target with a URL, and the request to ProxyBase. Set it to
	// use an HTTP proxy or other certificate authorities. Defaults to a transport that uses
	// neither, with a new connection for each request.
	Transport http.RoundTripper
}

// A Name is the name of a check or a scenario. Names are stable. The checks, in the order in which they
// are made and reported:
//
//	reachable         the endpoint answers HTTP, with any status
//	tls               certificate, TLS version, and an address that the platform can reach
//	clock             the endpoint's clock agrees with the clock of this machine
//	ping              a ping with the auth value is answered with a 2xx
//	method            GET and PUT are rejected
//	auth_before_ping  a ping without the auth header is rejected
//	wrong_bearer      pings with auth values near the right one, and a dispatch with another, are rejected
//	ping_spacing      white space in a ping makes no difference
//	body_limit        a body of 32 MiB is rejected
//	dispatch          the sample dispatch completes within the response contract
//	content_type      responses are application/json
//	malformed_body    a body that is not JSON is rejected with a 4xx, in JSON
//	late_calls        the agent does not call the proxy after its answer
//	proxy             the platform's proxy can be reached from this machine
//	tools_schema      the platform would accept the tools, and schema.Lint finds nothing
//
// [Scenarios] returns the scenarios.
type Name string

// Scenarios returns the names of all scenarios, for [Options].Scenarios.
func Scenarios() []Name {
	var names []Name
	for _, k := range scenarios {
		names = append(names, k.name)
	}
	return names
}

// Check examines an agent's endpoint from outside, as the platform will use it, and its tools
// ("Porting without the SDK", steps 3 to 6). opts may be nil.
//
// A check that needs the success of another check is skipped if that one failed, and names it in
// [Finding.Because]. If the endpoint stops answering pings during a check, that check fails and the
// checks after it are skipped. The report lists all checks in a fixed order.
//
// Without scenarios, an endpoint that authenticates works on at most one dispatch, the sample. If
// it does not authenticate, the agent may work on up to two more dispatches, which have an expired
// run token. The auth value is sent only to the endpoint and does not appear in the report.
// Redirects are not followed.
//
// An error without a report lists everything that is wrong with target and opts. When ctx ends,
// Check returns the report and the cause of ctx, and the checks that did not finish are skipped.
func Check(ctx context.Context, target dispatchtest.Target, opts *Options) (*Report, error) {
	c, err := newCheckup(target, opts)
	if err != nil {
		return nil, err
	}
	defer c.close()
	report := &Report{Target: c.name()}
	chosen := slices.DeleteFunc(slices.Clone(scenarios), func(k check) bool { return !slices.Contains(c.opts.Scenarios, k.name) })
	for _, k := range slices.Concat(checks, chosen) {
		f := c.find(ctx, &k)
		c.found[k.name] = f
		report.Findings = append(report.Findings, f)
	}
	// The calls of runs that share a URL are calls of one after the answer to the other, and reported there.
	sharing := slices.ContainsFunc(report.Findings, func(f Finding) bool { return f.Do == apartAdvice })
	for i := range report.Findings {
		if f := &report.Findings[i]; f.Name == "late_calls" && f.Status == StatusOK && !sharing {
			c.lateUntilNow(f)
		}
	}
	return report, context.Cause(ctx)
}

// checkup is one execution of all checks.
type checkup struct {
	target  dispatchtest.Target
	opts    Options
	task    dispatchtest.Task // the task of the options, or the default
	url     *url.URL          // nil for a Target without one
	setup   *testrun.Setup    // for the requests that are not dispatches
	outputs map[string]*schema.Validator
	misses  []miss // auth values that are not the right one
	found   map[Name]Finding
	ended   Name // the check after which the endpoint had stopped answering; "" if none
	now     activity
	earlier

	events     atomic.Int64 // counts requests to the proxy in dispatches, and the answers to them
	mu         sync.Mutex
	dispatched []*episode    // all
	secrets    []*redact.Set // of all dispatches
	closers    []func()      // what serves the dispatches
}

// earlier is what checks leave for later ones. The table of checks shows who leaves it and who needs it.
type earlier struct {
	first    *answer             // to the first ping, with the auth value
	access   access              // without the right auth value
	sample   *episode            // nil if there was none
	alone    *lone               // see runAlone
	sessions map[*session]*turns // those that were dispatched
}

// activity is what the current check has done.
type activity struct {
	sent, commands []string // its requests, and what repeats them
	trouble        bool     // an answer may mean that the endpoint has stopped answering
	timedOut       bool     // a time limit has passed
	episodes       []*episode
	instead        *Finding // replaces the finding of the check
}

// note adds a request to the current check.
func (c *checkup) note(sent, command string) {
	c.now.sent, c.now.commands = append(c.now.sent, sent), append(c.now.commands, command)
}

func newCheckup(target dispatchtest.Target, opts *Options) (*checkup, error) {
	c := &checkup{target: target, found: map[Name]Finding{}, earlier: earlier{sessions: map[*session]*turns{}}}
	if opts != nil {
		c.opts = *opts
	}
	mistakes := c.mistakes()
	c.task = c.sampleTask()
	var err error
	if c.setup, err = c.serve(&c.task); err != nil {
		mistakes = append(mistakes, err)
	}
	if err := errors.Join(mistakes...); err != nil {
		c.close()
		return nil, err
	}
	c.readOutputs()
	c.readMisses()
	return c, nil
}

// serve sets up one run of a task.
func (c *checkup) serve(task *dispatchtest.Task) (*testrun.Setup, error) {
	turns := 0
	if task.Conversation != nil {
		turns = task.Conversation.MaxTurns
	}
	s, err := testrun.New(testrun.Target(c.target), testrun.Task{
		ID: task.ID, AgentID: task.AgentID, Input: task.Input, World: task.World, Platform: task.Platform,
		MaxTurns: turns, ProxyURL: task.ProxyURL, WrapProxy: task.WrapProxy,
	}, nil)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.secrets, c.closers = append(c.secrets, s.Secrets()), append(c.closers, s.Close)
	switch {
	case c.url != nil:
		s.Caller.Transport = transportOr(c.opts.Transport)
	case c.target.Handler != nil:
		s.Caller.Transport = transportOr(nil)
	}
	return s, nil
}

// transportOr returns given, or a transport that uses each connection once, so that checks do not affect
// each other.
func transportOr(given http.RoundTripper) http.RoundTripper {
	if given != nil {
		return given
	}
	transport := httpcall.NewTransport()
	transport.DisableKeepAlives = true
	transport.DialContext = new(net.Dialer).DialContext // Options.Timeout is the only limit
	return transport
}

// close ends the proxies of all dispatches. Until then they answer late calls.
func (c *checkup) close() {
	for _, end := range c.closers {
		end()
	}
}

// mistakes checks what package testrun does not, and fills in the defaults.
func (c *checkup) mistakes() (list []error) {
	bad := func(format string, args ...any) { list = append(list, fmt.Errorf("doctor: "+format, args...)) }
	if c.target.URL != "" {
		if u, ok := httpcall.ParseLink(c.target.URL); ok && u.User != nil {
			bad("Target.URL has a user name or password, which the platform rejects: use AuthHeader and AuthValue")
		} else {
			c.url = u
		}
	}
	if c.opts.ProxyBase != "" {
		base := httpcall.Base{Example: "https://api.example.com/api/odyssey-proxy", Secret: "the run token", Plain: true}
		_, mistakes := base.Parse(c.opts.ProxyBase)
		for _, must := range mistakes {
			bad("Options.ProxyBase %s", must)
		}
	}
	reject := func(name, rule string) { bad("Options.%s %s", name, rule) }
	problem.Limit(reject, "Timeout", &c.opts.Timeout, 10*time.Second)
	problem.Limit(reject, "LateCallWait", &c.opts.LateCallWait, 500*time.Millisecond)
	for _, name := range c.opts.Scenarios {
		if !slices.Contains(Scenarios(), name) {
			bad("Options.Scenarios has the unknown name %q; Scenarios returns the names", name)
		}
	}
	return list
}

// find makes a check, unless something keeps it from being made, and returns its finding.
func (c *checkup) find(ctx context.Context, k *check) Finding {
	f, blocked := c.blocked(ctx, k)
	if !blocked {
		start := time.Now()
		f = c.look(ctx, k)
		f.TookMS = float64(time.Since(start).Microseconds()) / 1000
	}
	f.Name = k.name
	return c.complete(k, f)
}

// complete adds the rule behind a finding, and hides secrets in it.
func (c *checkup) complete(k *check, f Finding) Finding {
	switch f.Status {
	case StatusFailed:
		f.Rule, f.Severity = cmp.Or(f.Rule, k.rule), demanded
	case StatusWarning:
		f.Rule, f.Severity = cmp.Or(f.Rule, k.rule), cmp.Or(f.Severity, k.warning)
	}
	for _, text := range []*string{&f.Sent, &f.Seen, &f.Do, &f.Reproduce} {
		*text = c.conceal(*text)
	}
	for i := range f.Details {
		f.Details[i] = c.conceal(f.Details[i])
	}
	return f
}

// blocked returns the finding of a check that cannot be made.
func (c *checkup) blocked(ctx context.Context, k *check) (f Finding, blocked bool) {
	for _, need := range k.needs {
		switch f := c.found[need]; { // of a scenario that was not chosen there is none
		case f.Status == StatusFailed:
			return because(need), true
		case f.Because != "":
			return because(f.Because), true
		}
	}
	switch {
	case k.endpoint && len(c.target.Command) > 0:
		f = skipped("", "code mode receives no requests")
	case c.ended != "" && len(k.needs) > 0:
		f = because(c.ended)
	case ctx.Err() != nil:
		f = interrupted()
	case slices.Contains(k.needs, "dispatch") && c.found["dispatch"].Status == StatusSkipped:
		f = skipped("", "there was no sample dispatch")
	case k.sends != "" && c.task.ProxyURL != "":
		f = skipped("Leave Task.ProxyURL out, on this machine.", "the proxy is served elsewhere, where it cannot be changed")
	case k.calls && len(c.sample.result.Calls) == 0:
		f = skipped("Give a task that makes the agent call a tool, and the tools.", "the sample called no tool")
	default:
		return f, false
	}
	return f, true
}

// look makes a check.
func (c *checkup) look(ctx context.Context, k *check) Finding {
	c.now = activity{}
	f := k.look(c, ctx)
	for _, e := range c.now.episodes {
		timedOut := e.result.ErrorClass == dispatchtest.AgentTimeout
		c.now.timedOut = c.now.timedOut || timedOut
		if k.sends == "" {
			continue
		}
		c.now.trouble = c.now.trouble || e.troubled() && !timedOut
		if s := c.shared(c.sample, e); s != nil {
			f = *s
		} else if f.Status != StatusFailed && enveloped(said(e.result)) {
			f = failed(unwrapAdvice, anEnvelope).by(unwrapRule)
		} else if tool := c.answeredElsewhere(c.sample, e); tool != "" {
			f = failed("Let each call of a tool be a request to the proxy of its run: remove the original body, and what keeps "+
				"results of other runs.",
				"the messages have a call of %s, but no call of the run arrived at the proxy", tool).by(callsRule)
		}
	}
	if c.now.instead != nil {
		f = *c.now.instead
	}
	if c.now.trouble && len(c.target.Command) == 0 && ctx.Err() == nil {
		c.survived(ctx, k.name, &f)
	}
	if c.now.timedOut && f.Do != "" {
		f.Do += " If this machine or the agent's was busy with other things, repeat the check."
	}
	if ctx.Err() != nil && f.Status != StatusOK { // it is not complete
		return interrupted()
	}
	f.Sent = cmp.Or(f.Sent, k.sends, strings.Join(c.now.sent, "\n"))
	f.Reproduce = strings.Join(c.now.commands, "\n")
	if k.sends != "" {
		f.Reproduce = c.command(k.name)
	}
	return f
}

// survived pings the endpoint after a check that it may not have survived. If it has stopped
// answering, the check has failed, and later checks are skipped.
func (c *checkup) survived(ctx context.Context, name Name, f *Finding) {
	if !c.first.ok() || c.first.err != nil { // it never answered a ping
		return
	}
	after := c.send(ctx, probe{body: aPing, auth: true})
	if after.ok() || ctx.Err() != nil {
		return
	}
	do := "No request may end the agent or keep it from answering the next one: its log should tell what happened to it."
	if after.status == http.StatusTooManyRequests {
		do = limitAdvice + " To see the other checks, wait until requests are let in again."
	}
	c.ended = name
	*f = failed(do, "%s, and the next ping is answered %s", f.Seen, c.tell(after)).by(pingRule)
}

const limitAdvice = "Raise the limit on requests: the platform sends one for every turn of every run, and pings besides."

func because(cause Name) Finding {
	return Finding{Status: StatusSkipped, Because: cause, Seen: fmt.Sprintf("needs %s, which failed", cause)}
}

func interrupted() Finding {
	return skipped("", "there was no more time, or the check was interrupted")
}

// conceal hides the secrets of all dispatches.
func (c *checkup) conceal(text string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, set := range c.secrets {
		text = set.Redact(text)
	}
	return text
}

// quote returns text of the endpoint on one line. It hides secrets before it cuts the text, so that
// no part of a secret remains.
func (c *checkup) quote(s string) string {
	return text.Line(c.conceal(s), 200)
}

// name returns the target for the report, without parts of its URL that may be secret.
func (c *checkup) name() string {
	switch {
	case c.url != nil:
		return (&url.URL{Scheme: c.url.Scheme, Host: c.url.Host, Path: c.url.Path}).String()
	case c.target.Handler != nil:
		return "a handler, on loopback"
	case len(c.target.Command) > 0:
		return "a program in code mode"
	}
	return "an agent, in memory"
}
