package dispatchtest

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/toolwire/toolwire/internal/redact"
	"github.com/toolwire/toolwire/ledger"
	"github.com/toolwire/toolwire/proxy/proxytest"
	"github.com/toolwire/toolwire/schema"
)

// CheckOptions adds to what [Check] looks at. The zero value of every field is its default.
type CheckOptions struct {
	// Task is the sample that is dispatched. A World that says nothing of tools gets those of Tools or ToolsJSON, with
	// generated results. Default: a task that asks for a short answer. It is not dispatched to a URL beyond this machine,
	// from where the agent could not reach the proxy that is played here: such an agent needs a Task, best one with a
	// Platform and a public ProxyURL.
	Task *Task

	// NoDispatch leaves the sample out, so that the agent does no work.
	NoDispatch bool

	// ProxyBase is the platform's proxy without a run, such as https://api.pipelines.tech/api/odyssey-proxy. Whether it can
	// be reached from this machine is probed with a token that is none. "" probes nothing.
	ProxyBase string

	// Tools are the agent's tools; ToolsJSON is the text of its tools_schema. At most one of them. LedgerSchema is what the
	// adapters of the tools write to.
	Tools        []schema.Tool
	ToolsJSON    []byte
	LedgerSchema *ledger.Schema

	// Manifest is the file name of a tools manifest, tools.json. "" is none.
	Manifest string

	// Dataset is a dataset in CSV, which is read to its end. nil is none.
	Dataset io.Reader

	// Timeout is how long one request may take, the sample dispatch excepted: its time is that of [Target].RunTimeout.
	// Default 10 s.
	Timeout time.Duration

	// Linger is how long after the answer of the sample dispatch calls to the proxy are waited for. There should be none.
	// Default 500 ms.
	Linger time.Duration

	// Transport sends the requests to a Target with a URL, and the probe of the proxy: it is where certificate authorities
	// of one's own and HTTP proxies go. Default: one that knows neither, with a new connection per request.
	Transport http.RoundTripper
}

// A CheckName names a check of [Check]. Names are stable.
type CheckName string

// The checks, in the order of a report.
const (
	CheckReachable   CheckName = "reachable"        // the endpoint answers HTTP, whatever it answers
	CheckTLS         CheckName = "tls"              // certificate, version of TLS, and an address that the platform can reach
	CheckClock       CheckName = "clock"            // the endpoint's clock against that of this machine
	CheckMethod      CheckName = "method"           // GET and PUT are refused
	CheckAuth        CheckName = "auth_before_ping" // a ping without the bearer is refused
	CheckBearer      CheckName = "wrong_bearer"     // a ping and a dispatch with another bearer are refused
	CheckPing        CheckName = "ping"             // a ping with the right bearer is answered with a 2xx
	CheckPingSpacing CheckName = "ping_spacing"     // white space makes no difference to a ping
	CheckBodyLimit   CheckName = "body_limit"       // a body of 32 MiB is refused
	CheckContentType CheckName = "content_type"     // answers are application/json
	CheckMalformed   CheckName = "malformed_body"   // a body that is no JSON is refused with a 4xx, in JSON
	CheckDispatch    CheckName = "dispatch"         // the sample dispatch completes within the response contract
	CheckLateCalls   CheckName = "late_calls"       // nothing calls the proxy after the answer
	CheckProxy       CheckName = "proxy"            // the platform's proxy can be reached from here
	CheckTools       CheckName = "tools_schema"     // the platform would accept the tools, and they have no lint
	CheckManifest    CheckName = "manifest"         // tools.json loads, and its programs exist
	CheckDataset     CheckName = "dataset"          // the columns and cells of the CSV
)

// Check examines an agent's endpoint from outside, as the platform will meet it, and what belongs to its registration
// ("Porting without the SDK", steps 3 to 6): everything that can be found out before the platform does. opts may be nil.
//
// A check that cannot tell anything because another one failed is skipped and names that one, so that one cause is
// reported once. So are those after a check that the endpoint does not survive: one that has failed because the next ping
// was not answered. The report has every check in a fixed order.
//
// An endpoint that is in order does the work of at most one dispatch, the sample. One that does not check the bearer may
// be made to work on up to two more dispatches with an expired run token. The auth value is sent to the endpoint alone,
// and is not in the report. Redirects are not followed.
//
// An error without a report tells everything that is wrong with target and opts. When ctx ends, the report is returned
// with the error, and the checks that it interrupted are skipped.
func Check(ctx context.Context, target Target, opts *CheckOptions) (*Report, error) {
	c, err := newCheckup(target, opts)
	if err != nil {
		return nil, err
	}
	defer c.stage.close()
	report := &Report{Target: c.name()}
	for _, k := range c.checks {
		report.Checks = append(report.Checks, *c.find(ctx, k.name))
	}
	return report, context.Cause(ctx)
}

// check is one entry of the list.
type check struct {
	name  CheckName
	needs []CheckName // what must not have failed
	after []CheckName // what else must be known
	look  func(*checkup, context.Context) Finding
}

// allChecks is the list, in the order of a report.
func allChecks() []check {
	return []check{
		{CheckReachable, nil, nil, (*checkup).reachable},
		{CheckTLS, []CheckName{CheckReachable}, nil, (*checkup).tls},
		{CheckClock, []CheckName{CheckTLS}, nil, (*checkup).clock},
		{CheckMethod, []CheckName{CheckPing}, nil, (*checkup).method},
		{CheckAuth, []CheckName{CheckTLS}, []CheckName{CheckPing}, (*checkup).auth},
		{CheckBearer, []CheckName{CheckTLS}, []CheckName{CheckAuth}, (*checkup).bearer},
		{CheckPing, []CheckName{CheckTLS}, nil, (*checkup).ping},
		{CheckPingSpacing, []CheckName{CheckPing}, nil, (*checkup).pingSpacing},
		{CheckBodyLimit, []CheckName{CheckPing}, nil, (*checkup).bodyLimit},
		{CheckContentType, []CheckName{CheckPing}, []CheckName{CheckDispatch}, (*checkup).contentType},
		{CheckMalformed, []CheckName{CheckPing}, nil, (*checkup).malformed},
		{CheckDispatch, []CheckName{CheckPing}, nil, (*checkup).dispatch},
		{CheckLateCalls, []CheckName{CheckDispatch}, nil, (*checkup).lateCalls},
		{CheckProxy, nil, nil, (*checkup).proxy},
		{CheckTools, nil, nil, (*checkup).tools},
		{CheckManifest, nil, nil, (*checkup).manifest},
		{CheckDataset, nil, nil, (*checkup).dataset},
	}
}

// checkup is one run of all checks.
type checkup struct {
	stage  *stage
	opts   CheckOptions
	url    *url.URL // nil for a Target without one
	checks []check
	found  map[CheckName]*Finding
	hide   *redact.Set // takes secrets out of what the endpoint says

	hasAuth bool      // an auth value is sent
	first   *answer   // to the first ping, with the right bearer
	open    bool      // whether dispatches are accepted without a bearer
	trouble bool      // an answer to the check under way may mean that the endpoint answers nobody any more
	ended   CheckName // the check after which that was so; "" if it never was
	pings   bool      // whether pings are
	refusal int       // the status of a ping without a bearer
	sample  *Result   // of the sample dispatch

	sampleMedia string                        // of the answer to the sample
	run         atomic.Pointer[proxytest.Run] // of the sample, while it is under way
	strangers   atomic.Int64                  // requests to its proxy with another token
	elsewhere   atomic.Int64                  // requests beside its proxy URL
	astray      atomic.Pointer[string]        // a request below its proxy URL that is no tool call and no trace event
}

func newCheckup(target Target, opts *CheckOptions) (*checkup, error) {
	c := &checkup{checks: allChecks(), found: map[CheckName]*Finding{}}
	if opts != nil {
		c.opts = *opts
	}
	mistakes := c.mistakes(target)
	var err error
	if c.stage, err = newStage(target, c.task(), nil); err != nil {
		mistakes = append(mistakes, err)
	}
	if err := errors.Join(mistakes...); err != nil {
		if c.stage != nil {
			c.stage.close()
		}
		return nil, err
	}
	c.hasAuth = c.stage.target.AuthValue != ""
	c.hide = c.stage.secrets()
	c.connect()
	return c, nil
}

// mistakes checks what newStage does not.
func (c *checkup) mistakes(target Target) (list []error) {
	bad := func(format string, args ...any) { list = append(list, fmt.Errorf("dispatchtest: "+format, args...)) }
	if target.URL != "" {
		u, err := url.Parse(target.URL)
		switch {
		case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
			bad("Target.URL is no http or https URL with a host")
		case u.User != nil:
			bad("Target.URL holds a user name or password, which the platform refuses: use AuthHeader and AuthValue")
		default:
			c.url = u
		}
	}
	list = append(list, target.authMistakes()...)
	if base := c.opts.ProxyBase; base != "" {
		if u, err := url.Parse(base); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil {
			bad("CheckOptions.ProxyBase is no http or https URL with a host and without a password")
		}
	}
	if c.opts.Tools != nil && c.opts.ToolsJSON != nil {
		bad("CheckOptions has either Tools or ToolsJSON")
	}
	if c.opts.Timeout < 0 || c.opts.Linger < 0 {
		bad("CheckOptions.Timeout and Linger must not be negative")
	}
	c.opts.Timeout = cmp.Or(c.opts.Timeout, 10*time.Second)
	c.opts.Linger = cmp.Or(c.opts.Linger, 500*time.Millisecond)
	return list
}

// authMistakes are those that keep any request from being sent.
func (t Target) authMistakes() (list []error) {
	if strings.ContainsFunc(t.AuthHeader, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("!#$%&'*+-.^_`|~", r))
	}) {
		list = append(list, errors.New("dispatchtest: Target.AuthHeader is not a header name"))
	}
	control := func(r rune) bool { return r < ' ' || r == 0x7f }
	if v := t.AuthValue; strings.ContainsFunc(v, control) || strings.TrimSpace(v) != v {
		list = append(list, errors.New("dispatchtest: Target.AuthValue has white space around it or control characters in it: "+
			"is there a line break at the end of the token?"))
	}
	return list
}

// find returns what a check found, after those that it needs.
func (c *checkup) find(ctx context.Context, name CheckName) *Finding {
	if f := c.found[name]; f != nil {
		return f
	}
	k := c.checks[slices.IndexFunc(c.checks, func(k check) bool { return k.name == name })]
	f := c.blocked(ctx, k.needs)
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
		c.trouble = false
		got := k.look(c, ctx)
		if c.trouble && ctx.Err() == nil {
			c.survived(ctx, name, &got)
		}
		got.TookMS = float64(time.Since(start).Microseconds()) / 1000
		f = &got
		if ctx.Err() != nil && f.Status != StatusOK { // it has not seen all
			f = interrupted()
		}
	}
	f.Name = name
	f.Seen, f.Do = c.hide.Text(f.Seen), c.hide.Text(f.Do)
	for i := range f.Details {
		f.Details[i] = c.hide.Text(f.Details[i])
	}
	c.found[name] = f
	return f
}

// survived pings the endpoint after a check in which it was in trouble. If it has stopped answering, that is what the check
// found, and those after it cannot tell anything.
func (c *checkup) survived(ctx context.Context, name CheckName, f *Finding) {
	if !c.first.ok() || c.first.err != nil { // it never answered one
		return
	}
	after := c.send(ctx, probe{body: aPing, auth: c.stage.target.AuthValue})
	if after.ok() || ctx.Err() != nil {
		return
	}
	do := "No request may end the agent or keep it from answering the next one: its log should tell what happened to it."
	if after.status == http.StatusTooManyRequests {
		do = limitAdvice + " To see the other checks, wait until requests are let in again."
	}
	c.ended = name
	*f = failed(do, "%s, and the next ping is answered %s", f.Seen, c.tell(after))
}

const limitAdvice = "Raise the limit on requests: the platform sends one for every turn of every run, and pings besides."

// blocked is the finding of a check that needs one which failed; nil if there is none.
func (c *checkup) blocked(ctx context.Context, needs []CheckName) *Finding {
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

func because(cause CheckName) *Finding {
	return &Finding{Status: StatusSkipped, Because: cause, Seen: fmt.Sprintf("needs %s, which failed", cause)}
}

func interrupted() *Finding {
	return &Finding{Status: StatusSkipped, Seen: "there was no more time, or the check was interrupted"}
}

// name is the target for the report, without what may be secret in its URL.
func (c *checkup) name() string {
	switch {
	case c.url != nil:
		return (&url.URL{Scheme: c.url.Scheme, Host: c.url.Host, Path: c.url.Path}).String()
	case c.stage.target.Handler != nil:
		return "a handler, on loopback"
	}
	return "an agent, in memory"
}

// otherBearer is an auth value of the same form as the right one that is not it.
func (c *checkup) otherBearer() string {
	scheme, _, ok := strings.Cut(c.stage.target.AuthValue, " ")
	switch {
	case ok:
		return scheme + " " + rand.Text()
	case !c.hasAuth && http.CanonicalHeaderKey(c.stage.target.AuthHeader) == "Authorization":
		return "Bearer " + rand.Text()
	}
	return rand.Text()
}
