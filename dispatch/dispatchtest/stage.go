package dispatchtest

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/internal/httpcall"
	"github.com/toolwire/toolwire/internal/report"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

// stage holds one run: the agent's endpoint and the proxy.
type stage struct {
	target   Target
	task     Task
	url      string          // of the agent
	caller   httpcall.Client // of the agent
	media    string          // the media type of the agent's last response
	platform *proxytest.Platform
	run      *proxytest.Run
	witness  *witness
	sink     *report.Sink // of the witness
	proxyURL string
	closers  []func()
}

// newStage prepares a run. What the run logs is written to output, unless that is nil. Errors are mistakes of the caller,
// or failures to listen on loopback.
func newStage(target Target, task Task, output io.Writer) (*stage, error) {
	s := &stage{target: target, task: task, url: target.URL, witness: &witness{output: output}}
	err := s.check()
	if err == nil && target.Agent != nil {
		err = s.inMemory()
	} else if err == nil {
		err = s.onLoopback()
	}
	if err != nil {
		s.close()
		return nil, err
	}
	s.witness.secrets = s.secrets()
	return s, nil
}

// check fills the defaults in and begins the run.
func (s *stage) check() error {
	target, task := s.target, s.task
	if err := task.Conversation.validate(); err != nil {
		return err
	}
	if s.target.RunTimeout == 0 {
		s.target.RunTimeout = 300 * time.Second
	}
	if s.target.RunTimeout < 0 || s.target.RunTimeout > 1800*time.Second {
		return fmt.Errorf("dispatchtest: RunTimeout is between 0 and 1800 s, not %s", target.RunTimeout)
	}
	if s.target.AuthHeader == "" {
		s.target.AuthHeader = "Authorization"
	}
	given := 0
	for _, is := range []bool{target.URL != "", target.Handler != nil, target.Agent != nil} {
		if is {
			given++
		}
	}
	if given != 1 {
		return errors.New("dispatchtest: set one of URL, Handler and Agent in Target")
	}
	if s.task.ID == 0 {
		s.task.ID = 1
	}
	if s.task.AgentID == 0 {
		s.task.AgentID = 1
	}
	if s.task.Input == nil {
		s.task.Input = struct{}{}
	}
	input, err := json.Marshal(s.task.Input)
	if err != nil {
		return fmt.Errorf("dispatchtest: Task.Input cannot be written as JSON: %w", err)
	}
	if string(input) == "null" {
		input = []byte("{}")
	}
	if input[0] != '{' {
		return errors.New("dispatchtest: Task.Input must be a JSON object")
	}
	s.task.Input = json.RawMessage(input)
	if s.platform = task.Platform; s.platform == nil {
		if s.platform, err = proxytest.New(task.World, nil); err != nil {
			return fmt.Errorf("dispatchtest: %w", err)
		}
	} else if w := task.World; w.Tools != nil || w.Behaviors != nil || w.InitialState != "" || w.FailureRules != nil {
		return errors.New("dispatchtest: set either Task.World or Task.Platform")
	}
	if task.ProxyURL != "" && (task.Platform == nil || task.WrapProxy != nil || target.Agent != nil) {
		return errors.New("dispatchtest: Task.ProxyURL needs a Task.Platform, a Target with a URL or Handler, and no WrapProxy")
	}
	s.run = s.platform.NewRun()
	s.sink = &report.Sink{Report: s.witness.record, Silent: s.witness.output == nil, Unpaced: s.platform.RatePerMinute() < 0}
	return nil
}

// proxy returns the handler of the proxy URL.
func (s *stage) proxy() http.Handler {
	if s.task.WrapProxy == nil {
		return s.platform
	}
	return s.task.WrapProxy(s.platform)
}

// watched returns a handler whose log and panics the witness receives. Handlers in memory do not need it, because the
// context of the dispatch reaches them.
func (s *stage) watched(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			switch p := recover(); p {
			case nil:
			case http.ErrAbortHandler:
				panic(p)
			default:
				s.witness.panicked(fmt.Sprint(p), string(debug.Stack()))
				panic(http.ErrAbortHandler)
			}
		}()
		handler.ServeHTTP(w, r.WithContext(report.With(r.Context(), s.sink)))
	})
}

func (s *stage) close() {
	for _, end := range s.closers {
		end()
	}
}

// inMemory serves the agent and its proxy without a network.
func (s *stage) inMemory() error {
	var opts dispatch.Options
	if s.target.Options != nil {
		opts = *s.target.Options
	}
	var proxyOpts proxy.Options
	if opts.Proxy != nil {
		proxyOpts = *opts.Proxy
	}
	proxyOpts.Transport = proxytest.NewTransport(s.proxy())
	opts.Proxy = &proxyOpts
	if len(opts.Tokens) == 0 && opts.TokenFunc == nil && opts.Verify == nil && !opts.InsecureNoAuth {
		token := rand.Text()
		opts.Tokens = []string{token}
		if s.target.AuthValue == "" {
			s.target.AuthValue = "Bearer " + token
		}
		opts.AuthHeader = s.target.AuthHeader
	}
	if len(opts.ProxyHosts) > 0 {
		opts.ProxyHosts = append(slices.Clone(opts.ProxyHosts), "proxy.test")
	}
	if opts.RunTimeout == 0 {
		opts.RunTimeout = s.target.RunTimeout
	}
	if opts.Reserve == 0 && opts.RunTimeout < 8*time.Second {
		opts.Reserve = opts.RunTimeout / 4 // the default would leave no time
	}
	handler, err := dispatch.New(s.target.Agent, &opts)
	if err != nil {
		return fmt.Errorf("dispatchtest: Target.Options: %w", err)
	}
	s.url, s.proxyURL = "http://agent.test/dispatch", "http://proxy.test"+s.run.Path
	s.connect(proxytest.NewTransport(handler))
	return nil
}

// onLoopback serves the handler, if there is one, and the proxy on 127.0.0.1.
func (s *stage) onLoopback() error {
	if s.target.Handler != nil {
		base, err := s.serve(s.target.Handler)
		if err != nil {
			return err
		}
		s.url = base + "/dispatch"
	}
	base := strings.TrimRight(s.task.ProxyURL, "/")
	if base == "" {
		var err error
		if base, err = s.serve(s.proxy()); err != nil {
			return err
		}
	}
	s.proxyURL = base + s.run.Path
	transport := httpcall.NewTransport()
	s.closers = append(s.closers, transport.CloseIdleConnections)
	s.connect(transport)
	return nil
}

// serve serves a handler on a free port until the stage is closed. The witness receives its log and panics.
func (s *stage) serve(handler http.Handler) (base string, err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("dispatchtest: %w", err)
	}
	server := &http.Server{Handler: s.watched(handler), ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(listener) }() // ends with Close
	s.closers = append(s.closers, func() { _ = server.Close() })
	return "http://" + listener.Addr().String(), nil
}

func (s *stage) connect(transport http.RoundTripper) {
	s.caller = httpcall.Client{Transport: transport, Peer: "the endpoint", Timeout: s.target.RunTimeout, MaxBytes: maxAnswer}
}

// header returns the documented headers of a dispatch.
func (s *stage) header() http.Header {
	header := http.Header{}
	header.Set("X-Pipelines-Run-Token", s.run.Token)
	header.Set("X-Pipelines-Odyssey-Proxy-URL", s.proxyURL)
	header.Set("X-Pipelines-Run-Id", s.run.ID)
	header.Set("X-Pipelines-Task-Id", strconv.FormatInt(s.task.ID, 10))
	header.Set("X-Pipelines-Run-Token-Jti", s.run.JTI)
	return header
}

// payload is the task in the envelope. The members after Input are those of a session.
type payload struct {
	TaskID      int64  `json:"task_id"`
	Instruction string `json:"user_instruction"`
	Input       any    `json:"input"`

	SessionID string             `json:"session_id,omitempty"`
	TurnID    string             `json:"turn_id,omitempty"`
	Latest    *string            `json:"latest_user_prompt,omitempty"`
	Messages  []dispatch.Message `json:"messages,omitzero"`
}

// envelope builds the documented body of a dispatch.
func (s *stage) envelope(input payload) json.RawMessage {
	input.TaskID, input.Input = s.task.ID, s.task.Input
	body, err := json.Marshal(struct {
		TaskID   int64       `json:"task_id"`
		RunID    json.Number `json:"run_id"`
		AgentID  int64       `json:"agent_id"`
		Input    payload     `json:"input"`
		ProxyURL string      `json:"odyssey_proxy_url"`
		JTI      string      `json:"run_token_jti"`
	}{s.task.ID, json.Number(s.run.ID), s.task.AgentID, input, s.proxyURL, s.run.JTI})
	if err != nil {
		panic("dispatchtest: " + err.Error()) // every part was encoded before
	}
	return body
}
