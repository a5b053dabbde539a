// Package testrun sets up one run for packages dispatchtest, doctor and eval: the agent's endpoint,
// the proxy, and the collection of what they log.
package testrun

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/internal/hook"
	"github.com/toolwire/toolwire/internal/httpcall"
	"github.com/toolwire/toolwire/internal/httpserve"
	"github.com/toolwire/toolwire/internal/memhttp"
	"github.com/toolwire/toolwire/internal/redact"
	"github.com/toolwire/toolwire/internal/runctx"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

// maxAnswer is the limit of a response, in bytes. It is far larger than any response that would be
// graded.
const maxAnswer = 16 << 20

// Target has the fields of dispatchtest.Target, which can be converted to it.
type Target struct {
	URL        string
	Handler    http.Handler
	Agent      dispatch.Agent
	Options    *dispatch.Options
	Command    []string
	Env        []string
	AuthHeader string
	AuthValue  string
	RunTimeout time.Duration
	Strict     bool
}

// Task has the fields of dispatchtest.Task that a setup needs.
type Task struct {
	ID, AgentID int64
	Input       any
	World       proxytest.World
	Platform    *proxytest.Platform
	MaxTurns    int // of the conversation; 0 if there is none
	ProxyURL    string
	WrapProxy   func(proxy http.Handler) http.Handler
}

// Setup holds one run: the agent's endpoint and the proxy. Defaults of Target and Task are filled
// in.
type Setup struct {
	Target    Target
	Task      Task
	URL       string          // of the agent
	Caller    httpcall.Client // of the agent
	Media     string          // the media type of the agent's last response
	Challenge string          // the header WWW-Authenticate of that response
	Platform  *proxytest.Platform
	Run       *proxytest.Run
	Witness   *Witness
	ProxyURL  string
	Hidden    func() *redact.Set // makes the set of Secrets again: it needs a tenth of the memory of a set
	host      *Host              // nil if the run serves itself
	closers   []func()

	// Edit changes a dispatch before it is sent, if it is not nil. It returns the body.
	Edit func(body json.RawMessage, header http.Header) json.RawMessage
}

// With returns a context that makes dispatchtest.Dispatch use this setup instead of one of its own.
// Dispatch does not close it.
func With(ctx context.Context, s *Setup) context.Context { return runctx.With(ctx, s) }

// From returns the setup of [With], or nil.
func From(ctx context.Context) *Setup { return runctx.From[*Setup](ctx) }

// New prepares a run. What the run logs is written to output, unless output is nil. Errors are
// mistakes of the caller, all that were found, or failures to listen on loopback.
func New(target Target, task Task, output io.Writer) (*Setup, error) {
	return (*Host)(nil).New(target, task, output)
}

// New is [New] for a run that the host serves. The host may be nil.
func (h *Host) New(target Target, task Task, output io.Writer) (*Setup, error) {
	s := &Setup{Target: target, Task: task, URL: target.URL, Witness: &Witness{output: output}, host: h}
	err := s.check()
	if err == nil && len(target.Command) > 0 {
		if err = s.onLoopback(); err == nil {
			err = s.startable()
		}
	} else if err == nil && target.Agent != nil {
		err = s.inMemory()
	} else if err == nil {
		err = s.onLoopback()
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	secrets := append(append(redact.URL(s.Target.URL), s.Target.AuthValue, s.Run.Token), redact.Env(s.Target.Env)...)
	s.Hidden = func() *redact.Set { return redact.New(secrets...) }
	s.Witness.secrets = s.Hidden()
	return s, nil
}

// Secrets returns what must not be shown where the agent repeats it: the auth value, the run token,
// the query of the URL, and the values of Target.Env that have 8 bytes or more.
func (s *Setup) Secrets() *redact.Set { return s.Witness.secrets }

// check fills the defaults in and begins the run.
func (s *Setup) check() error {
	var mistakes []error
	bad := func(format string, args ...any) {
		mistakes = append(mistakes, fmt.Errorf("dispatchtest: "+format, args...))
	}
	target, task := &s.Target, &s.Task
	if given := count(target.URL != "", target.Handler != nil, target.Agent != nil, len(target.Command) > 0); given != 1 {
		bad("set one of URL, Handler, Agent and Command in Target")
	}
	if _, ok := httpcall.ParseLink(target.URL); !ok && target.URL != "" {
		bad("Target.URL is not an http or https URL with a host, such as http://127.0.0.1:8080/dispatch")
	}
	if len(target.Env) > 0 && len(target.Command) == 0 && target.URL == "" {
		bad("Target.Env is for a Target with a Command or a URL")
	}
	target.checkAuth(bad)
	if target.RunTimeout < 0 || target.RunTimeout > 1800*time.Second {
		bad("Target.RunTimeout is from 0 to 1800 s, not %s", target.RunTimeout)
	}
	target.RunTimeout = cmp.Or(target.RunTimeout, 300*time.Second)
	target.AuthHeader = cmp.Or(target.AuthHeader, "Authorization")
	task.ID, task.AgentID = cmp.Or(task.ID, 1), cmp.Or(task.AgentID, 1)
	if task.MaxTurns < 0 || task.MaxTurns > 50 {
		bad("Conversation.MaxTurns is from 1 to 50, not %d", task.MaxTurns)
	}
	if task.Input == nil {
		task.Input = struct{}{}
	}
	switch input, err := json.Marshal(task.Input); {
	case err != nil:
		bad("Task.Input cannot be encoded as JSON: %w", err)
	case string(input) == "null":
		task.Input = json.RawMessage("{}")
	case input[0] != '{':
		bad("Task.Input is not a JSON object")
	default:
		task.Input = json.RawMessage(input)
	}
	if task.ProxyURL != "" && (task.Platform == nil || task.WrapProxy != nil || target.Agent != nil) {
		bad("Task.ProxyURL needs a Task.Platform, a Target with a URL, Handler or Command, and no WrapProxy")
	}
	w := task.World
	switch hasWorld := w.Tools != nil || w.Behaviors != nil || w.InitialState != "" || w.FailureRules != nil ||
		w.Simulator != nil; {
	case task.Platform != nil && hasWorld:
		bad("set either Task.World or Task.Platform")
	case task.Platform != nil:
		s.Platform = task.Platform
	default:
		var err error
		if s.Platform, err = proxytest.New(w, nil); err != nil {
			bad("%w", err)
		}
	}
	if len(mistakes) > 0 {
		return errors.Join(mistakes...)
	}
	s.Run = s.Platform.NewRun()
	s.Witness.run, s.Witness.unpaced = s.Run, hook.Of[runctx.Rate](s.Platform) < 0
	return nil
}

// checkAuth reports what keeps any request from being sent.
func (t *Target) checkAuth(bad func(format string, args ...any)) {
	if t.AuthHeader != "" && !httpserve.ValidHeaderName(t.AuthHeader) {
		bad("Target.AuthHeader is not a header name")
	}
	if t.AuthValue != "" && !httpserve.UsableSecret(t.AuthValue) {
		bad("Target.AuthValue begins or ends with white space, or contains control characters: " +
			"does the token end with a line break?")
	}
}

func count(conditions ...bool) (n int) {
	for _, is := range conditions {
		if is {
			n++
		}
	}
	return n
}

// proxy returns the handler of the proxy URL. The platform records what a tape in front of it
// answers.
func (s *Setup) proxy() http.Handler {
	if s.Task.WrapProxy == nil {
		return s.Platform
	}
	return memhttp.WatchReplays(s.Task.WrapProxy(s.Platform), func(r *http.Request, a memhttp.Replayed) {
		s.Platform.ServeHTTP(discard{}, r.WithContext(memhttp.WithReplayed(r.Context(), a)))
	})
}

// discard is the response to a request that has been answered already.
type discard struct{}

func (discard) Header() http.Header         { return http.Header{} }
func (discard) Write(p []byte) (int, error) { return len(p), nil }
func (discard) WriteHeader(int)             {}

// Close stops serving.
func (s *Setup) Close() {
	for _, end := range s.closers {
		end()
	}
}

// inMemory serves the agent and its proxy without a network.
func (s *Setup) inMemory() error {
	var opts dispatch.Options
	if s.Target.Options != nil {
		opts = *s.Target.Options
	}
	var proxyOpts proxy.Options
	if opts.Proxy != nil {
		proxyOpts = *opts.Proxy
	}
	proxyOpts.Transport = memhttp.NewTransport(s.Witness.Watch(s.proxy()))
	if s.Task.WrapProxy == nil { // the platform notes every request
		proxyOpts.Transport = memhttp.NewArrivalTransport(s.Witness.Watch(s.Platform))
	}
	opts.Proxy = &proxyOpts
	if len(opts.Tokens) == 0 && opts.TokenFunc == nil && !opts.InsecureNoAuth {
		token := rand.Text()
		opts.Tokens = []string{token}
		if s.Target.AuthValue == "" {
			s.Target.AuthValue = "Bearer " + token
		}
		opts.AuthHeader = s.Target.AuthHeader
	}
	if len(opts.ProxyHosts) > 0 {
		opts.ProxyHosts = append(slices.Clone(opts.ProxyHosts), "http://proxy.test")
	}
	if opts.RunTimeout == 0 {
		opts.RunTimeout = s.Target.RunTimeout
	}
	if opts.Reserve == 0 && opts.RunTimeout < 8*time.Second {
		opts.Reserve = opts.RunTimeout / 4 // the default would leave no time
	}
	handler, err := dispatch.New(s.Target.Agent, &opts)
	if err != nil {
		return fmt.Errorf("dispatchtest: Target.Options: %w", err)
	}
	s.URL, s.ProxyURL = "http://agent.test/dispatch", "http://proxy.test"+s.Run.Path
	s.connect(memhttp.NewTransport(s.Witness.WatchAgent(handler)))
	return nil
}

// onLoopback serves the handler, if there is one, and the proxy on 127.0.0.1.
func (s *Setup) onLoopback() error {
	if s.Target.Handler != nil {
		base, err := s.serve(s.Witness.WatchAgent(s.Target.Handler))
		if err != nil {
			return err
		}
		s.URL = base + "/dispatch"
	}
	base := strings.TrimRight(s.Task.ProxyURL, "/")
	if base == "" {
		var err error
		if base, err = s.serve(s.Witness.Watch(s.proxy())); err != nil {
			return err
		}
	}
	s.ProxyURL = base + s.Run.Path
	if s.host != nil {
		s.connect(s.host.transport)
		return nil
	}
	transport := httpcall.NewTransport()
	s.closers = append(s.closers, transport.CloseIdleConnections)
	s.connect(transport)
	return nil
}

// serve serves a handler until the setup is closed: on the port of the host, or on a free one.
func (s *Setup) serve(handler http.Handler) (base string, err error) {
	if s.host != nil {
		base, end, err := s.host.serve(handler)
		if err == nil {
			s.closers = append(s.closers, end)
		}
		return base, err
	}
	base, server, err := listen(handler)
	if err == nil {
		s.closers = append(s.closers, func() { _ = server.Close() })
	}
	return base, err
}

// connect sets the caller of the agent.
func (s *Setup) connect(transport http.RoundTripper) {
	s.Caller = httpcall.Client{Transport: transport, Peer: "the endpoint", Timeout: s.Target.RunTimeout, MaxBytes: maxAnswer}
}

// Header returns the documented headers of a dispatch.
func (s *Setup) Header() http.Header {
	header := http.Header{}
	header.Set("X-Pipelines-Run-Token", s.Run.Token)
	header.Set("X-Pipelines-Odyssey-Proxy-URL", s.ProxyURL)
	header.Set("X-Pipelines-Run-Id", s.Run.ID)
	header.Set("X-Pipelines-Task-Id", strconv.FormatInt(s.Task.ID, 10))
	header.Set("X-Pipelines-Run-Token-Jti", s.Run.JTI)
	return header
}

// Payload is the task in the envelope. The fields after Input describe a session.
type Payload struct {
	TaskID      int64  `json:"task_id"`
	Instruction string `json:"user_instruction"`
	Input       any    `json:"input"`

	SessionID string             `json:"session_id,omitempty"`
	TurnID    string             `json:"turn_id,omitempty"`
	Latest    *string            `json:"latest_user_prompt,omitempty"`
	Messages  []dispatch.Message `json:"messages,omitzero"`
}

// Envelope builds the documented body of a dispatch.
func (s *Setup) Envelope(input Payload) json.RawMessage {
	input.TaskID, input.Input = s.Task.ID, s.Task.Input
	body, err := json.Marshal(struct {
		TaskID   int64       `json:"task_id"`
		RunID    json.Number `json:"run_id"`
		AgentID  int64       `json:"agent_id"`
		Input    Payload     `json:"input"`
		ProxyURL string      `json:"odyssey_proxy_url"`
		JTI      string      `json:"run_token_jti"`
	}{s.Task.ID, json.Number(s.Run.ID), s.Task.AgentID, input, s.ProxyURL, s.Run.JTI})
	if err != nil {
		panic("dispatchtest: " + err.Error()) // every part was encoded before
	}
	return body
}
