package dispatch

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/internal/problem"
	"github.com/toolwire/toolwire/internal/runner"
	"github.com/toolwire/toolwire/proxy"
)

// Options configures a [Handler]. Zero fields have defaults. Tokens, TokenFunc or InsecureNoAuth
// must be set. [New] copies the options.
type Options struct {
	// Tokens are the bearer tokens that are accepted. Several tokens permit rotation. None may be
	// empty.
	Tokens []string `json:"-"`

	// TokenFunc returns further tokens that are accepted. It is called for every request, which
	// permits rotation without a restart. It must be fast and safe for concurrent use. An empty
	// token matches no request.
	TokenFunc func() []string

	// AuthHeader is the header that carries the token, as set at registration. Defaults to
	// "Authorization", whose value must be "Bearer " and the token. In another header, such as
	// X-API-Key, "Bearer " is optional. As in HTTP, the case of the scheme and the number of spaces after
	// it do not count. It must not be a header that a dispatch sets itself, such as Host,
	// Content-Type or one that begins with X-Pipelines-.
	AuthHeader string

	// InsecureNoAuth accepts every request. Any program that can reach the handler can then run the
	// agent. Set it if a middleware authenticates the requests in another way.
	InsecureNoAuth bool

	// MaxBodyBytes bounds the body of a request, in bytes. A larger one is rejected with 413.
	// Defaults to 16 MiB, with InsecureNoAuth to 1 MiB. At most 64 KiB of a body are read before
	// the dispatch is admitted. A body with more values and names than one for 16 bytes of the bound, and
	// more than 65,536, is rejected with 400.
	MaxBodyBytes int64

	// MaxBytesInFlight bounds the bodies of all admitted dispatches together, in bytes. Bytes count
	// from their arrival until the agent has returned, even after the answer. A body of more than
	// 64 KiB counts at least 16 bytes for each of its values and names. A body beyond the bound is
	// rejected with 503; a body of at most 64 KiB never is. Defaults to 256 MiB or MaxBodyBytes,
	// whichever is more.
	MaxBytesInFlight int64

	// BodyTimeout is the time limit for the arrival of the body. Defaults to 30 s. It replaces the
	// ReadTimeout of the [http.Server]. It requires a ResponseWriter that supports read deadlines.
	// The ResponseWriter of [http.TimeoutHandler] does not support them. In that case set
	// ReadTimeout, which also ends the connection of a rejected peer that does not send its body.
	BodyTimeout time.Duration

	// ProxyHosts lists the proxies that an envelope's proxy URL may name, so that a forged envelope
	// cannot send run tokens and arguments elsewhere. "api.example.com" means https on port 443,
	// and "api.example.com:8443" means https on that port. "http://proxy.internal:8080" allows
	// plain http. A loopback host, such as "localhost", also allows http, and any port if the entry
	// names none. Case is ignored in ASCII hosts. Other hosts match only the same bytes. If
	// ProxyHosts is empty, every proxy is allowed.
	ProxyHosts []string

	// Proxy configures the clients of the runs. Its Pacer must be nil, because the handler keeps
	// one pacer per run token, across the turns of a session.
	Proxy *proxy.Options

	// RateLimit is the number of requests that the clients of one run token send in one minute:
	// tool calls, their repeats and trace events. Further requests wait. Defaults to 60, as
	// documented. A negative RateLimit means no limit.
	RateLimit int

	// RunTimeout is the agent's run_timeout_s at registration, after which the platform stops
	// waiting. It counts from the arrival of the request. Defaults to 300 s; the maximum is 1800 s.
	// The agent's context ends Reserve earlier, which defaults to 2 s. If the agent has not
	// returned after half of the reserve, the response is from TimeoutResponse. An error that
	// the agent returns before its context has ended fails the run, even if it reports a timeout of
	// a call.
	RunTimeout time.Duration
	Reserve    time.Duration

	// TimeoutResponse returns the response of a run that timed out. If it is nil, the final
	// response is [TimeoutFinalResponse]. If the response has no Messages, the transcript of the
	// run is sent. The agent may still be running. TimeoutResponse and FailureResponse are called
	// on a goroutine of their own. If they do not return within a quarter of Reserve, or panic, the
	// response is empty.
	TimeoutResponse func(*Run) *Response

	// FailureResponse returns the response of a run that failed. It is sent with 200, so that the
	// platform grades the run instead of reporting an error of the endpoint. The message of the
	// error is the one that would have been sent; it contains no secret. If the response has no
	// Messages, the transcript of the run is sent. If FailureResponse is nil, the response is 500.
	FailureResponse func(*Run, *toolwire.Error) *Response

	// SendTranscript sends a transcript with every response. If the [Response] has no Messages, the
	// recorded transcript is sent. If no assistant message with text would arrive, the final
	// response is appended as an assistant message. Agents that are registered with "Require a
	// gradeable rich transcript" need this option. If SendTranscript is false, the recorded
	// transcript is sent if the agent has called [Run.Transcript].
	SendTranscript bool

	// MaxRuns is the maximum number of concurrent runs. Further dispatches are rejected with 503.
	// If 0, there is no limit.
	MaxRuns int

	// Logger receives a record for each run and each rejected request, with ids but without tokens,
	// bodies or results. The record of every rejected request, 401 and 405 included, contains the
	// peer's address and the reason. If nil, nothing is logged.
	Logger *slog.Logger

	// Observer is called for each run and each rejected request. If nil, nothing is called.
	Observer *Observer
}

const (
	defaultMaxBody     = 16 << 20
	defaultMaxOpenBody = 1 << 20 // without authentication
	defaultMaxInFlight = 256 << 20
	defaultBodyTimeout = 30 * time.Second
	defaultRunTimeout  = 300 * time.Second
	maxRunTimeout      = 1800 * time.Second
	defaultReserve     = 2 * time.Second
	defaultRateLimit   = 60 // per minute
)

// newHandler returns a handler without authentication. It checks once the options that requests and
// code mode share, and fills the defaults in. Observer.RunEnd may take one part of the reserve in parts.
func newHandler(agent Agent, opts *Options, parts time.Duration) (h *Handler, problems []error) {
	h = &Handler{agent: agent}
	if opts != nil {
		h.opts = *opts
	}
	o := &h.opts
	bad := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	o.Tokens = nil // the authenticator has their digests
	if agent == nil {
		bad("the agent must not be nil")
	}

	maxBody := int64(defaultMaxBody)
	if o.InsecureNoAuth {
		maxBody = defaultMaxOpenBody
	}
	if o.MaxBytesInFlight > 0 {
		maxBody = min(maxBody, o.MaxBytesInFlight)
	}
	reject := func(name, rule string) { bad("Options.%s %s", name, rule) }
	problem.Limit(reject, "MaxBodyBytes", &o.MaxBodyBytes, maxBody)
	problem.Limit(reject, "MaxBytesInFlight", &o.MaxBytesInFlight, max(defaultMaxInFlight, o.MaxBodyBytes))
	problem.Limit(reject, "BodyTimeout", &o.BodyTimeout, defaultBodyTimeout)
	problem.Limit(reject, "RunTimeout", &o.RunTimeout, defaultRunTimeout)
	problem.Limit(reject, "Reserve", &o.Reserve, defaultReserve)
	problem.Limit(reject, "MaxRuns", &o.MaxRuns, 0)
	if o.MaxBytesInFlight > 0 && o.MaxBodyBytes > o.MaxBytesInFlight {
		bad("Options.MaxBytesInFlight (%d) must not be less than MaxBodyBytes (%d)", o.MaxBytesInFlight, o.MaxBodyBytes)
	}
	if o.RunTimeout > maxRunTimeout {
		bad("Options.RunTimeout is %s; the platform allows at most %.0f s", o.RunTimeout, maxRunTimeout.Seconds())
	}
	if 0 < o.RunTimeout && o.RunTimeout < time.Millisecond {
		bad("Options.RunTimeout is %s; is a unit missing, as in 5 * time.Minute?", o.RunTimeout)
	} else if o.RunTimeout > 0 && o.Reserve >= o.RunTimeout {
		bad("Options.Reserve (%s) must be shorter than RunTimeout (%s)", o.Reserve, o.RunTimeout)
	}
	if o.TimeoutResponse == nil {
		o.TimeoutResponse = func(*Run) *Response {
			return &Response{FinalResponse: TimeoutFinalResponse}
		}
	}
	if len(o.ProxyHosts) > 0 {
		h.hosts = make(hosts, len(o.ProxyHosts))
		for i, entry := range o.ProxyHosts {
			if err := h.hosts.add(entry); err != nil {
				bad("Options.ProxyHosts[%d] %w", i, err)
			}
		}
	}
	copied := proxy.Options{}
	if o.Proxy != nil {
		copied = *o.Proxy
	}
	o.Proxy = &copied
	if copied.Pacer != nil {
		bad("Options.Proxy.Pacer must be nil: the handler has a pacer for each run token; see Options.RateLimit")
	}
	limit := cmp.Or(o.RateLimit, defaultRateLimit)
	h.state.init(func() *proxy.Pacer { return proxy.NewPacer(limit, time.Minute) })
	// The client checks the other proxy options, with a URL that is valid.
	if _, err := proxy.New("http://localhost", "token", o.Proxy); err != nil {
		bad("Options.Proxy: %w", errors.Unwrap(err))
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	run := func(what string, grace time.Duration) runner.Runner {
		return runner.Runner{What: what, Key: "run_id", Logger: o.Logger, Cause: errRunTimeout, Grace: grace}
	}
	h.runner = run("agent", o.Reserve/2)
	h.asker = run("a function of the options", o.Reserve/4)
	h.hooks = run("a function of Options.Observer", o.Reserve/4)
	h.ends = run(h.hooks.What, o.Reserve/parts)
	h.gate.limit, h.gate.byteLimit = o.MaxRuns, o.MaxBytesInFlight
	return h, problems
}
