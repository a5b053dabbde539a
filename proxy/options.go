package proxy

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/internal/httpcall"
	"github.com/toolwire/toolwire/internal/problem"
	"github.com/toolwire/toolwire/internal/redact"
)

// Options configures a [Client]. The zero value of every field is its default. Options are copied
// by [New].
type Options struct {
	// Transport sends the requests. To set TLS options, an HTTP proxy or instrumentation, change
	// the result of [NewTransport]. Defaults to one such transport for all clients of the process,
	// which does not read proxy settings from the environment. Redirects are never followed.
	Transport http.RoundTripper

	// AttemptTimeout bounds one attempt, from dialling to the last byte of the answer. Defaults to
	// 120 s. The context of a call bounds all its attempts and waits.
	AttemptTimeout time.Duration

	// MaxAttempts is the number of attempts of one call, including the first. Defaults to 4. A call
	// also ends if the proxy asks to wait for more than 60 s.
	MaxAttempts int

	// Repeatable names the tools that may safely run twice. Only their calls are repeated if a
	// connection breaks after the request was written.
	Repeatable []string

	// Tools are the names of the tools that the agent declares. A call of any other tool is refused
	// with [toolwire.CodeUnknownTool] before anything is sent, and [Error.ToolResult] tells a model which
	// tools there are. If Tools is empty, every name is sent, and the proxy decides.
	Tools []string

	// Pacer paces the requests. Clients of the same run token must share one. If nil, the client
	// has a pacer of its own with 60 requests in any 60 seconds.
	Pacer *Pacer

	// DropNulls removes members whose value is null from the arguments, in objects at any depth.
	// The platform refuses an explicit null where a schema names a type, and some models write null
	// for every optional argument. Numbers keep their digits; strings may be escaped differently.
	DropNulls bool

	// CheckArguments is called before every call, unless it is nil. If it returns an error, the
	// call fails with [toolwire.CodeInvalidArguments] and nothing is sent. It must not change or keep the
	// arguments. The method ValidateArguments of [github.com/toolwire/toolwire/schema.Set] fits.
	CheckArguments func(tool string, arguments json.RawMessage) error

	// Logger receives one record per attempt (debug) and one per wait (info), for the rate limit or
	// before repeating. Records contain tool, attempt, status, class, code and durations, but no
	// arguments, results or tokens. If Logger is nil, nothing is logged.
	Logger *slog.Logger

	// Observer is called for every call, attempt, wait and trace event. [Client.Observe] adds more
	// observers. If Observer is nil, nothing is called.
	Observer *Observer

	// OnRunOver is called once, when a request fails because the run is over, with the [*Error] of
	// [toolwire.CodeRunOver]. It is called before the method that sent the request returns. The cancel
	// function of [context.WithCancelCause] fits: frameworks often show a tool's error to the model
	// and continue, but stop when their context ends. If nil, nothing is called.
	OnRunOver func(error)
}

const (
	defaultAttemptTimeout = 120 * time.Second
	defaultMaxAttempts    = 4
	defaultPaceLimit      = 60
	defaultPaceWindow     = 60 * time.Second
)

// peer is the other side in error texts.
const peer = "the proxy"

// transientClasses are the error classes for which a 503 is repeated: the call was refused because
// something was locked or busy, so the tool did not run.
var transientClasses = []string{httpcall.LockContention, httpcall.StoreBusy, httpcall.SequenceBusy}

// silent serves all clients without a logger, so that a client costs no allocation for it.
var silent = slog.New(slog.DiscardHandler)

// newRun checks everything once and fills the defaults in.
func newRun(baseURL, token string, opts *Options) (*run, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	base, problems := parseBase(baseURL)
	if !httpcall.VisibleASCII(token) {
		problems = append(problems, errors.New("the run token must be a non-empty string of visible ASCII characters"))
	}
	reject := func(name, rule string) { problems = append(problems, errors.New("Options."+name+" "+rule)) }
	problem.Limit(reject, "AttemptTimeout", &o.AttemptTimeout, defaultAttemptTimeout)
	problem.Limit(reject, "MaxAttempts", &o.MaxAttempts, defaultMaxAttempts)
	if len(problems) > 0 {
		return nil, localError(toolwire.CodeInvalidOptions, "", errors.Join(problems...))
	}
	r := &run{
		base:           base,
		token:          redact.Hide(token),
		pacer:          o.Pacer,
		dropNulls:      o.DropNulls,
		checkArguments: o.CheckArguments,
		log:            o.Logger,
		onRunOver:      o.OnRunOver,
	}
	r.caller = httpcall.Client{
		Transport: o.Transport, Peer: peer, Timeout: o.AttemptTimeout,
		MaxBytes: httpcall.AnswerBytes,
	}
	if r.caller.Transport == nil {
		r.caller.Transport = sharedTransport()
	}
	r.repeats = httpcall.Policy{Peer: peer, MaxAttempts: o.MaxAttempts}
	if len(o.Repeatable) > 0 {
		r.repeatable = make(map[string]bool, len(o.Repeatable))
		for _, tool := range o.Repeatable {
			r.repeatable[tool] = true
		}
	}
	r.tools = slices.Clone(o.Tools)
	if r.pacer == nil {
		r.pacer = new(Pacer)
	}
	if r.log == nil {
		r.log = silent
	}
	if o.Observer != nil {
		r.observers = []*Observer{o.Observer}
	}
	return r, nil
}

// parseBase returns errors that do not repeat the URL, which may contain credentials.
func parseBase(baseURL string) (u *url.URL, problems []error) {
	u, mistakes := httpcall.RunBase.Parse(baseURL)
	u.Path, u.RawPath = strings.TrimRight(u.Path, "/"), strings.TrimRight(u.RawPath, "/")
	if strings.HasSuffix(u.Path, "/tools") || strings.HasSuffix(u.Path, "/traces") {
		mistakes = append(mistakes, "must end before /tools and /traces; the client adds them")
	}
	for _, must := range mistakes {
		problems = append(problems, errors.New("the proxy base URL "+must))
	}
	return u, problems
}
