// Package dispatchtest is the other half of the platform, in process: it dispatches a task to an agent's endpoint with
// the documented envelope and headers, plays the proxy while the agent works, and judges the answer as the platform
// would ("Porting without the SDK", steps 3 to 5).
//
//	result := dispatchtest.Run(t, dispatchtest.Target{Agent: agent}, dispatchtest.Task{
//		Instruction: "Refund order #4521.",
//		World:       world,
//	})
//	result.AssertCalled(t, "refund_order", `{"order_id":"4521"}`)
//	result.AssertState(t, "order/4521", `{"status":"refunded"}`)
//
// [Dispatch] is the same outside of tests. With an Agent the whole run happens in memory, also in testing/synctest
// bubbles; with a Handler or URL it happens on loopback. Nothing outside the machine is contacted, but for a URL that is
// elsewhere.
package dispatchtest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/internal/redact"
	"github.com/toolwire/toolwire/internal/report"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

// Target is an agent's endpoint as it is registered. It has one of URL, Handler and Agent.
type Target struct {
	// URL of the endpoint. The platform demands public https; here any http or https URL will do.
	URL string

	// Handler is served on loopback and dispatched to there.
	Handler http.Handler

	// Agent is served by [dispatch.New] without a network, and so are its tool calls: the transport of Options.Proxy is
	// replaced. Options may be nil; without a way to authenticate in them the agent gets a token, which is sent unless
	// AuthValue is set.
	Agent   dispatch.Agent
	Options *dispatch.Options

	// AuthHeader and AuthValue are the registration's auth header, for example "Authorization" (the default) and
	// "Bearer <token>". No value sends no header.
	AuthHeader string
	AuthValue  string `json:"-"`

	// RunTimeout is the registration's run_timeout_s, for every turn. Default 300 s, at most 1800 s.
	RunTimeout time.Duration

	// Strict is the registration's "Require a gradeable rich transcript".
	Strict bool
}

// Task is what the agent is to do, and in which world.
type Task struct {
	ID          int64  // default 1
	AgentID     int64  // default 1
	Instruction string // user_instruction, of the first turn

	// Input is the task's input, the row's current state: any value that encoding/json writes as an object. nil is {}.
	Input any

	// World is what the agent's tools meet. Platform is one that has been made of a world already, with options or for
	// many runs; then World must be left out.
	World    proxytest.World
	Platform *proxytest.Platform

	// Conversation makes the task a session of several turns. nil is a single one.
	Conversation *Conversation

	// ProxyURL is where Platform is served already, such as the URL of a [proxytest.Server]; the run's path is added. It
	// is for a Target with a URL or a Handler. "" serves the proxy for this run alone.
	ProxyURL string

	// WrapProxy puts a handler of the caller's before the proxy that the run serves: one that records, for example, or
	// that answers instead. The handler sees the run token. nil is none.
	WrapProxy func(proxy http.Handler) http.Handler

	// OnRun is called once with the run, before the ping, so that it can be looked at while it is under way. nil is none.
	OnRun func(*proxytest.Run)
}

// Exchange is one request to the agent and its answer.
type Exchange struct {
	Request json.RawMessage `json:"request"`
	Status  int             `json:"status"` // 0 if there was no answer
	Body    string          `json:"body"`
	TookMS  float64         `json:"took_ms"`
}

// Result is what the platform knows about a run when it is over. It has the assertions of [proxytest.Record].
type Result struct {
	Ping     Exchange `json:"ping"`
	Dispatch Exchange `json:"dispatch"` // of the last turn

	// Record is what happened at the proxy: calls, trace events, changes of the ledger.
	proxytest.Record

	// Turns are the dispatches: one, or those of the session.
	Turns []Turn `json:"turns"`

	// FinalResponse is what would be graded, that of the last turn; "" if nothing would.
	FinalResponse string `json:"final_response"`

	// Messages are those of the last turn as they arrive; nil when absent or dropped. Gradeable reports whether an
	// assistant message with text is among them.
	Messages  []dispatch.Message `json:"messages,omitempty"`
	Gradeable bool               `json:"gradeable"`

	// Problems are those of the response contract, of all turns. Those that are not fatal are soft warnings.
	Problems []dispatch.Problem `json:"problems,omitempty"`

	// Warnings are what the platform shows beside a run that completed: that tools are declared and none was called.
	Warnings []string `json:"warnings,omitempty"`

	// ErrorClass is the platform's name for what went wrong, for example [AuthFailed]; "" for a run that completed.
	// Error says it in words.
	ErrorClass ErrorClass `json:"error_class,omitempty"`
	Error      string     `json:"error,omitempty"`

	// AgentError is the text of the error that the agent returned in the last turn, or "panic: ", the value of its panic and
	// the stack. The platform does not see it. It is known of a Target with an Agent or a Handler: an agent behind a URL
	// runs elsewhere.
	AgentError string `json:"agent_error,omitempty"`

	// Waits are the delays that the agent's [proxy.Client] made before tool calls: for the rate limit of 60 requests per
	// minute, and before it repeated calls. They are known of a Target with an Agent or a Handler.
	Waits []Wait `json:"waits,omitempty"`

	run     redact.Hidden[*proxytest.Run]
	secrets *redact.Set
}

// OK reports whether the run completed and would be graded.
func (r *Result) OK() bool { return r.ErrorClass == "" }

// An ErrorClass is the platform's name for the way in which a run failed.
type ErrorClass string

const (
	AuthFailed        ErrorClass = "auth_failed"        // 401 or 403 from the endpoint
	AgentTimeout      ErrorClass = "agent_timeout"      // 408 or 504, or no answer in time
	Agent5xx          ErrorClass = "agent_5xx"          // any other 5xx
	Agent4xx          ErrorClass = "agent_4xx"          // any other 4xx
	AgentBadResponse  ErrorClass = "agent_bad_response" // a 2xx without a usable JSON body, or a redirect
	AgentUnreachable  ErrorClass = "agent_unreachable"  // no connection
	ContractViolation ErrorClass = "response_contract_violation"
)

// Dispatch pings the target, dispatches the task to it, turn by turn, and returns what happened. The proxy that it plays
// lives until Dispatch returns, when the run's token has expired. Its error means that the run could not be staged: a run
// that fails is a Result.
func Dispatch(ctx context.Context, target Target, task Task) (*Result, error) {
	s, err := newStage(target, task, nil)
	if err != nil {
		return nil, err
	}
	defer s.close()
	return s.play(ctx), nil
}

// Run is [Dispatch] for tests: it fails the test if the run could not be staged, and for faults that no test should pass
// with, see [proxytest.Record].Faults. Whether the run went well otherwise is for the test to say. The proxy lives, with
// an expired token, until the test ends, so that [Result.AssertNoCallAfterEnd] sees what comes too late.
func Run(t testing.TB, target Target, task Task) *Result {
	t.Helper()
	s, err := newStage(target, task, report.Output(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.close)
	result := s.play(t.Context())
	result.ReportFaults(t)
	return result
}

// play is the run from the ping to the verdict.
func (s *stage) play(ctx context.Context) *Result {
	result := &Result{run: redact.Hide(s.run), secrets: s.witness.secrets}
	defer result.hideSecrets()
	if s.task.OnRun != nil {
		s.task.OnRun(s.run)
	}
	failure := s.exchange(ctx, &result.Ping, []byte(`{"ping":true}`), nil)
	if result.classify(s.target, result.Ping, failure); !result.OK() {
		result.Error = "ping: " + result.Error
		agentError, _ := s.witness.take()
		result.explain(agentError)
	}
	for result.OK() {
		turn := s.nextTurn(result.Turns)
		if turn == nil {
			break
		}
		result.take(s, turn, s.exchange(ctx, &turn.Exchange, turn.Request, s.header()))
	}
	s.run.End("")
	result.Record, result.Waits = *s.run.Record(), s.witness.waited()
	if result.OK() && len(s.platform.Tools()) > 0 && !slices.ContainsFunc(append(slices.Clone(result.Calls), result.Refused...), func(c proxytest.Call) bool { return !c.Trace }) {
		result.Warnings = append(result.Warnings, "the run completed without a tool call, although tools are declared")
	}
	return result
}

// take judges a turn.
func (r *Result) take(s *stage, turn *Turn, failure error) {
	turn.Last = s.run.Record().Last()
	r.Dispatch, r.FinalResponse, r.Messages, r.Gradeable = turn.Exchange, "", nil, false
	agentError, reported := s.witness.take()
	if r.classify(s.target, turn.Exchange, failure); r.OK() {
		r.judge(s.target, turn, reported)
	}
	r.explain(agentError)
	r.Turns = append(r.Turns, *turn)
}

// errNoConnection is a time-out of connecting, which is not one of the agent.
var errNoConnection = errors.New("no connection came about in time")

// maxAnswer is far above any answer that would be graded.
const maxAnswer = 16 << 20

// exchange sends one request. What it learns goes into ex.
func (s *stage) exchange(ctx context.Context, ex *Exchange, body []byte, header http.Header) error {
	ex.Request = body
	start := time.Now()
	defer func() { ex.TookMS = float64(time.Since(start).Microseconds()) / 1000 }()
	ctx, cancel := context.WithTimeout(report.With(ctx, s.sink), s.target.RunTimeout)
	defer cancel()
	var connected atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected.Store(true) }})
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header = header.Clone()
	if req.Header == nil {
		req.Header = http.Header{}
	}
	req.Header.Set("Content-Type", "application/json")
	if s.target.AuthValue != "" {
		req.Header.Set(s.target.AuthHeader, s.target.AuthValue)
	}
	resp, err := s.client.Do(req)
	if err != nil && !connected.Load() && ctx.Err() != nil {
		return errNoConnection
	}
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	ex.Status = resp.StatusCode
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	ex.Body = string(answer)
	return err
}

// classify sets the error class of an exchange that did not end with a 2xx.
func (r *Result) classify(target Target, ex Exchange, err error) {
	if withURL, ok := errors.AsType[*url.Error](err); ok {
		err = withURL.Err // the query may be secret
	}
	switch status := ex.Status; {
	case err != nil && status < 300 && errors.Is(err, context.DeadlineExceeded):
		r.fail(AgentTimeout, "the agent did not answer within %s", target.RunTimeout)
	case err != nil && status >= 200 && status < 300: // of another status the status counts, not how much of the body came
		r.fail(AgentBadResponse, "the answer broke off: %v", err)
	case err != nil && status == 0:
		r.fail(AgentUnreachable, "the endpoint cannot be reached: %v", err)
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		r.fail(AuthFailed, "the endpoint answered %d: compare the registered auth header with the agent's token", status)
	case status == http.StatusRequestTimeout, status == http.StatusGatewayTimeout:
		r.fail(AgentTimeout, "the endpoint answered %d", status)
	case status >= 500:
		r.fail(Agent5xx, "the endpoint answered %d: %s", status, first(r.secrets.Text(ex.Body), 500))
	case status >= 400:
		r.fail(Agent4xx, "the endpoint answered %d: %s", status, first(r.secrets.Text(ex.Body), 500))
	case status >= 300:
		r.fail(AgentBadResponse, "the endpoint answered %d; redirects are not followed", status)
	}
}

// explain adds why the agent failed.
func (r *Result) explain(agentError string) {
	r.AgentError = agentError
	if agentError != "" && !r.OK() {
		r.Error += "; the agent's error: " + firstLine(agentError)
	}
}

// judge applies the response contract to a 2xx.
func (r *Result) judge(target Target, turn *Turn, reported []dispatch.Problem) {
	verdict := dispatch.CheckResponse([]byte(turn.Body))
	turn.Problems = verdict.Problems
	for _, p := range reported { // of what the handler did not send, or sent otherwise
		if !slices.ContainsFunc(turn.Problems, func(q dispatch.Problem) bool { return p.Code == q.Code && p.Pointer == q.Pointer }) {
			turn.Problems = append(turn.Problems, p)
		}
	}
	r.Problems = append(r.Problems, turn.Problems...)
	r.Messages, r.Gradeable = verdict.Messages, verdict.Gradeable
	switch {
	case !verdict.OK():
		for _, p := range verdict.Problems {
			if p.Fatal {
				r.fail(AgentBadResponse, "%s", p)
			}
		}
		return
	case target.Strict && !verdict.Gradeable:
		r.fail(ContractViolation, "no assistant message with text arrives in messages, and the registration requires one")
		return
	}
	r.FinalResponse, turn.FinalResponse, turn.messages = verdict.FinalResponse, verdict.FinalResponse, verdict.Messages
}

func (r *Result) fail(class ErrorClass, format string, args ...any) {
	r.ErrorClass, r.Error = class, r.secrets.Text(fmt.Sprintf(format, args...))
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

func first(s string, n int) string {
	runes := []rune(s)
	return string(runes[:min(n, len(runes))])
}
