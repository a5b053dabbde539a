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
// [endpoint]: https://github.com/toolwire/toolwire/blob/main/docs/glossary.md#endpoint
// [pings]: https://github.com/toolwire/toolwire/blob/main/docs/glossary.md#ping
// [dispatch]: https://github.com/toolwire/toolwire/blob/main/docs/glossary.md#dispatch
// [proxy]: https://github.com/toolwire/toolwire/blob/main/docs/glossary.md#proxy
package doctor

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
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
	"github.com/toolwire/toolwire/internal/redact"
	"github.com/toolwire/toolwire/ledger"
	"github.com/toolwire/toolwire/proxy/proxytest"
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
	//	result_kinds       results: text, a list, a number, null, HTML, 100 KB, not ASCII; up to 8 dispatches
	//	retry_429          a 429 for the first attempt of each call: is it repeated, after a wait?
	//	retry_503          two transient 503s: are they repeated, after a wait?
	//	terminal_503       a 503 that is not transient: is it not repeated?
	//	failing_tools      every call is refused: does the answer mention the failure?
	//	expired_token      the run token expires: does the agent stop calling?
	//	headers_only       the body has no proxy URL, no run id and no token id
	//	body_only          the run token is the only header of the platform
	//	session_replay     a session of three turns, with the transcript in each dispatch
	//	memory_replay      the same dispatches: does the agent know what the first turn said?
	//	session_stateful   a session of three turns, with its id only
	//	memory_stateful    the same dispatches: does the agent know what the first turn said?
	//
	// Results are changed only as the output_schema of their tool allows. concurrent_runs makes up to
	// six dispatches, and pings the endpoint while a run waits. It warns if the endpoint works on one
	// run at a time. Any scenario fails if a run uses the token or the proxy URL of another run.
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
	// Defaults to 500 ms.
	LateCallWait time.Duration

	// Transport sends the requests to a Target with a URL, and the request to ProxyBase. Set it to
	// use an HTTP proxy or other certificate authorities. Defaults to a transport that uses
	// neither, with a new connection for each request.
	Transport http.RoundTripper
}

// A Name is the name of a check or a scenario. Names are stable. The checks, in the order of a report:
//
//	reachable         the endpoint answers HTTP, with any status
//	tls               certificate, TLS version, and an address that the platform can reach
//	clock             the endpoint's clock agrees with the clock of this machine
//	method            GET and PUT are rejected
//	auth_before_ping  a ping without the auth header is rejected
//	wrong_bearer      a ping and a dispatch with another auth value are rejected
//	ping              a ping with the auth value is answered with a 2xx
//	ping_spacing      white space in a ping makes no difference
//	body_limit        a body of 32 MiB is rejected
//	content_type      responses are application/json
//	malformed_body    a body that is not JSON is rejected with a 4xx, in JSON
//	dispatch          the sample dispatch completes within the response contract
//	late_calls        the agent does not call the proxy after its answer
//	proxy             the platform's proxy can be reached from this machine
//	tools_schema      the platform would accept the tools, and schema.Lint finds nothing
//
// [Scenarios] returns the scenarios.
type Name string

const (
	checkReachable      Name = "reachable"
	checkTLS            Name = "tls"
	checkClock          Name = "clock"
	checkMethod         Name = "method"
	checkAuthBeforePing Name = "auth_before_ping"
	checkWrongBearer    Name = "wrong_bearer"
	checkPing           Name = "ping"
	checkPingSpacing    Name = "ping_spacing"
	checkBodyLimit      Name = "body_limit"
	checkContentType    Name = "content_type"
	checkMalformedBody  Name = "malformed_body"
	checkDispatch       Name = "dispatch"
	checkLateCalls      Name = "late_calls"
	checkProxy          Name = "proxy"
	checkToolsSchema    Name = "tools_schema"
)

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
	defer c.setup.Close()
	report := &Report{Target: c.name()}
	for _, k := range c.checks {
		report.Findings = append(report.Findings, *c.find(ctx, k.name))
	}
	report.Faults = c.faults
	return report, context.Cause(ctx)
}

// check is one entry of the list.
type check struct {
	name  Name
	needs []Name // what must not have failed
	after []Name // what else must be known
	look  func(*checkup, context.Context) Finding
}

// allChecks returns the checks in the order of a report.
func allChecks() []check {
	return []check{
		{checkReachable, nil, nil, (*checkup).reachable},
		{checkTLS, []Name{checkReachable}, nil, (*checkup).tls},
		{checkClock, []Name{checkTLS}, nil, (*checkup).clock},
		{checkMethod, []Name{checkPing}, nil, (*checkup).method},
		{checkAuthBeforePing, []Name{checkTLS}, []Name{checkPing}, (*checkup).auth},
		{checkWrongBearer, []Name{checkTLS}, []Name{checkAuthBeforePing}, (*checkup).bearer},
		{checkPing, []Name{checkTLS}, nil, (*checkup).ping},
		{checkPingSpacing, []Name{checkPing}, nil, (*checkup).pingSpacing},
		{checkBodyLimit, []Name{checkPing}, nil, (*checkup).bodyLimit},
		{checkContentType, []Name{checkPing}, []Name{checkDispatch}, (*checkup).contentType},
		{checkMalformedBody, []Name{checkPing}, nil, (*checkup).malformed},
		{checkDispatch, []Name{checkPing}, nil, (*checkup).dispatch},
		{checkLateCalls, []Name{checkDispatch}, nil, (*checkup).lateCalls},
		{checkProxy, nil, nil, (*checkup).proxy},
		{checkToolsSchema, nil, nil, (*checkup).tools},
	}
}

// checkup is one execution of all checks.
type checkup struct {
	target  dispatchtest.Target
	given   dispatchtest.Task // the task of the options, or the default
	sample  dispatchtest.Task // what is dispatched: given, with its requests to the proxy observed
	setup   *testrun.Setup
	opts    Options
	url     *url.URL // nil for a Target without one
	checks  []check
	found   map[Name]*Finding
	mu      sync.Mutex
	secrets []*redact.Set // hide secrets in what the endpoint sends
	visible bool          // the answer repeats the results of tools

	outputs map[string]*schema.Validator // of the results of tools

	hasAuth  bool                 // an auth value is sent
	first    *answer              // to the first ping, with the right bearer
	open     bool                 // whether dispatches are accepted without a bearer
	sent     []string             // requests of the current check
	commands []string             // that repeat them
	faults   []string             // of the doctor
	trouble  bool                 // a response to the current check may mean that the endpoint has stopped answering
	ended    Name                 // the check after which it had stopped; "" if none
	pings    bool                 // whether pings are accepted without a bearer
	refusal  int                  // the status of a ping without a bearer
	result   *dispatchtest.Result // of the sample dispatch
	sessions map[bool]*session    // the dispatched ones, by memoryMode.stateful
	events   atomic.Int64         // counts requests to the proxy in scenarios, and the answers to them
	single   *trial               // the run alone with marked results
	busy     bool                 // pings are not answered while a run waits

	sampleMedia string                        // of the answer to the sample
	run         atomic.Pointer[proxytest.Run] // of the sample, while it is in progress
	strangers   atomic.Int64                  // requests to its proxy with another token
	elsewhere   atomic.Int64                  // requests beside its proxy URL
	astray      atomic.Pointer[string]        // a request below its proxy URL that is neither a tool call nor a trace event
}

func newCheckup(target dispatchtest.Target, opts *Options) (*checkup, error) {
	c := &checkup{target: target, checks: allChecks(), found: map[Name]*Finding{}, sessions: map[bool]*session{}}
	if opts != nil {
		c.opts = *opts
	}
	mistakes := c.mistakes(target)
	for _, name := range c.choose() {
		mistakes = append(mistakes, fmt.Errorf("doctor: Options.Scenarios has the unknown name %q; Scenarios returns the names", name))
	}
	c.sample = c.task()
	turns := 0
	if c.sample.Conversation != nil {
		turns = c.sample.Conversation.MaxTurns
	}
	var err error
	if c.setup, err = testrun.New(testrun.Target(target), testrun.Task{
		ID: c.sample.ID, AgentID: c.sample.AgentID, Input: c.sample.Input, World: c.sample.World,
		Platform: c.sample.Platform, MaxTurns: turns, ProxyURL: c.sample.ProxyURL, WrapProxy: c.sample.WrapProxy,
	}, nil); err != nil {
		mistakes = append(mistakes, err)
	}
	if err := errors.Join(mistakes...); err != nil {
		if c.setup != nil {
			c.setup.Close()
		}
		return nil, err
	}
	c.hasAuth = c.setup.Target.AuthValue != ""
	c.secrets = append(c.secrets, c.setup.Secrets())
	c.readOutputs()
	c.connect()
	return c, nil
}

// mistakes checks what package testrun does not.
func (c *checkup) mistakes(target dispatchtest.Target) (list []error) {
	bad := func(format string, args ...any) { list = append(list, fmt.Errorf("doctor: "+format, args...)) }
	if target.URL != "" {
		u, ok := httpcall.ParseLink(target.URL)
		switch {
		case !ok:
			bad("Target.URL is not an http or https URL with a host")
		case u.User != nil:
			bad("Target.URL has a user name or password, which the platform rejects: use AuthHeader and AuthValue")
		default:
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
	if c.opts.Timeout < 0 || c.opts.LateCallWait < 0 {
		bad("Options.Timeout or Options.LateCallWait is negative")
	}
	c.opts.Timeout = cmp.Or(c.opts.Timeout, 10*time.Second)
	c.opts.LateCallWait = cmp.Or(c.opts.LateCallWait, 500*time.Millisecond)
	return list
}

// find runs a check once, after the checks that it needs, and returns its finding.
func (c *checkup) find(ctx context.Context, name Name) *Finding {
	if f := c.found[name]; f != nil {
		return f
	}
	k := c.checks[slices.IndexFunc(c.checks, func(k check) bool { return k.name == name })]
	f := c.blocked(ctx, k.needs)
	if f == nil && len(c.target.Command) > 0 && slices.Contains(ofEndpoints, name) {
		skip := skipped("", "code mode receives no requests")
		f = &skip
	}
	if f == nil && c.ended != "" && len(k.needs) > 0 {
		f = because(c.ended)
	}
	if f == nil && ctx.Err() != nil {
		f = interrupted()
	}
	for _, other := range k.after {
		c.find(ctx, other)
	}
	if f == nil {
		start := time.Now()
		c.trouble, c.sent, c.commands = false, nil, nil
		got := c.examine(ctx, k)
		if c.trouble && ctx.Err() == nil {
			c.survived(ctx, name, &got)
		}
		c.describe(name, &got)
		got.TookMS = float64(time.Since(start).Microseconds()) / 1000
		f = &got
		if ctx.Err() != nil && f.Status != StatusOK { // it is not complete
			f = interrupted()
		}
	}
	f.Name = name
	f.cite()
	for _, text := range []*string{&f.Sent, &f.Seen, &f.Do, &f.Reproduce} {
		*text = c.conceal(*text)
	}
	for i := range f.Details {
		f.Details[i] = c.conceal(f.Details[i])
	}
	c.found[name] = f
	return f
}

// ofEndpoints are the checks of what a program in code mode does not have.
var ofEndpoints = []Name{
	checkReachable, checkTLS, checkClock, checkMethod, checkAuthBeforePing, checkWrongBearer, checkPing, checkPingSpacing, checkBodyLimit, checkContentType, checkMalformedBody, headersOnly, bodyOnly,
}

// examine executes a check. A panic is a fault of the doctor, and the check is skipped, unless it is an
// error of the caller's Conversation.User.
func (c *checkup) examine(ctx context.Context, k check) (f Finding) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case userError:
			f = failed("Correct the function User in the Conversation of the task.", "the task's user failed: %s", c.quote(p.Error()))
			f.Rule = `The comment of dispatchtest.Conversation: User returns what the user says next, or ErrDone.`
			f = c.note(k.name, f, "a dispatch")
		default:
			c.faults = append(c.faults, c.conceal(fmt.Sprintf("%s: %v", k.name, p)))
			f = skipped("", "the doctor failed; see its faults")
		}
	}()
	return k.look(c, ctx)
}

// describe adds to a finding what was sent and how to repeat it.
func (c *checkup) describe(name Name, f *Finding) {
	if len(c.sent) == 0 && c.first != nil && slices.Contains([]Name{checkTLS, checkClock, checkAuthBeforePing, checkPing, checkContentType}, name) {
		c.sent, c.commands = []string{c.first.sent}, []string{c.first.again}
	}
	if f.Reproduce == "" && c.result != nil && slices.Contains([]Name{checkDispatch, checkLateCalls}, name) {
		f.Sent, f.Reproduce = "a dispatch", c.again(name)
	}
	f.Sent = cmp.Or(f.Sent, strings.Join(c.sent, "\n"))
	f.Reproduce = cmp.Or(f.Reproduce, strings.Join(c.commands, "\n"))
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

// survived pings the endpoint after a check that it may not have survived. If it has stopped
// answering, the check has failed, and later checks are skipped.
func (c *checkup) survived(ctx context.Context, name Name, f *Finding) {
	if !c.first.ok() || c.first.err != nil { // it never answered a ping
		return
	}
	after := c.send(ctx, probe{body: aPing, auth: c.setup.Target.AuthValue})
	if after.ok() || ctx.Err() != nil {
		return
	}
	do := "No request may end the agent or keep it from answering the next one: its log should tell what happened to it."
	if after.status == http.StatusTooManyRequests {
		do = limitAdvice + " To see the other checks, wait until requests are let in again."
	}
	c.ended = name
	*f = failed(do, "%s, and the next ping is answered %s", f.Seen, c.tell(after))
	f.Rule = rules[checkPing].text
}

const limitAdvice = "Raise the limit on requests: the platform sends one for every turn of every run, and pings besides."

// blocked returns the finding of a check that needs a failed check, or nil.
func (c *checkup) blocked(ctx context.Context, needs []Name) *Finding {
	for _, need := range needs {
		switch f := c.find(ctx, need); {
		case f.Status == StatusFailed:
			return because(need)
		case f.Because != "":
			return because(f.Because)
		}
	}
	return nil
}

func because(cause Name) *Finding {
	return &Finding{Status: StatusSkipped, Because: cause, Seen: fmt.Sprintf("needs %s, which failed", cause)}
}

func interrupted() *Finding {
	return &Finding{Status: StatusSkipped, Seen: "there was no more time, or the check was interrupted"}
}

// name returns the target for the report, without parts of its URL that may be secret.
func (c *checkup) name() string {
	switch {
	case c.url != nil:
		return (&url.URL{Scheme: c.url.Scheme, Host: c.url.Host, Path: c.url.Path}).String()
	case c.setup.Target.Handler != nil:
		return "a handler, on loopback"
	}
	if len(c.target.Command) > 0 {
		return "a program in code mode"
	}
	return "an agent, in memory"
}

// otherBearer returns a wrong auth value that has the form of the right one.
func (c *checkup) otherBearer() string {
	scheme, _, ok := strings.Cut(c.setup.Target.AuthValue, " ")
	switch {
	case ok:
		return scheme + " " + rand.Text()
	case !c.hasAuth && http.CanonicalHeaderKey(c.setup.Target.AuthHeader) == "Authorization":
		return "Bearer " + rand.Text()
	}
	return rand.Text()
}
