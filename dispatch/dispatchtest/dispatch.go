// Package dispatchtest tests an agent: it simulates the platform's side of a [run] in process. It
// dispatches a [task] to the agent's [endpoint] with the documented envelope and headers, serves
// the [proxy] while the agent works, and evaluates the response as the platform would
// ("[Porting without the SDK]", steps 3 to 5).
//
//	result := dispatchtest.Run(t, dispatchtest.Target{Agent: agent}, dispatchtest.Task{
//		Instruction: "Refund order #4521.",
//		World:       world,
//	})
//	result.AssertCalled(t, "refund_order", `{"order_id":"4521"}`)
//	result.AssertState(t, "order/4521", `{"status":"refunded"}`)
//
// [Dispatch] does the same outside of tests. A Target with an Agent runs in memory and works in
// testing/synctest bubbles. A Target with a Handler or URL runs over loopback. No other host is
// contacted, except the host of a URL.
//
// An error of Dispatch lists mistakes in the target and the task. A run that fails is a [Result]
// with an [ErrorClass], not an error. Dispatch and Run may be called concurrently: each call has
// its own platform.
//
// This package is stable, as the README explains.
//
// # Output
//
// [Run] writes to the output of the test (see testing.TB.Output) what the agent and its handler
// report: the error that the agent returned, its panic with the stack, what the handler refused or
// repaired, each refused tool call, and each wait of its proxy.Client. "go test" shows the output
// of tests that fail, or of all tests with -v. The handler does not need a Logger for it. [Result]
// contains the same: AgentError, Problems, Refused and Waits. [Dispatch], and packages doctor and
// eval, only keep it there.
//
// This needs a Target with an Agent or a Handler. An agent behind a URL may run in another process,
// so only its requests to the proxy are known. To test an agent with its own server, use its
// http.Handler.
//
// A model's SDK that an agent uses in a testing/synctest bubble needs an http.Client with
// [proxytest.NewTransport]; with a network transport the bubble hangs.
//
// [run]: https://github.com/toolwire/toolwire/blob/main/docs/glossary.md#run
// [task]: https://github.com/toolwire/toolwire/blob/main/docs/glossary.md#task
// [endpoint]: https://github.com/toolwire/toolwire/blob/main/docs/glossary.md#endpoint
// [proxy]: https://github.com/toolwire/toolwire/blob/main/docs/glossary.md#proxy
// [Porting without the SDK]: https://github.com/toolwire/toolwire/blob/main/docs/glossary.md#the-five-documents
package dispatchtest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/internal/testrun"
	"github.com/toolwire/toolwire/internal/hook"
	"github.com/toolwire/toolwire/internal/httpcall"
	"github.com/toolwire/toolwire/internal/problem"
	"github.com/toolwire/toolwire/internal/redact"
	"github.com/toolwire/toolwire/internal/runctx"
	"github.com/toolwire/toolwire/internal/testkit"
	"github.com/toolwire/toolwire/internal/text"
	"github.com/toolwire/toolwire/internal/timeline"
	"github.com/toolwire/toolwire/ledger"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

// Target is an agent's endpoint as it is registered. Set one of URL, Handler, Agent and Command.
type Target struct {
	// URL is the endpoint, any http or https URL. The platform requires public https.
	URL string

	// Handler is the endpoint, which is served on loopback.
	Handler http.Handler

	// Agent is served by [dispatch.New] with Options, which may be nil, in memory. Its tool calls
	// are in memory too: the transport of Options.Proxy is replaced. If Options set no way to
	// authenticate, the handler gets a random token. It is sent unless AuthValue is set.
	Agent   dispatch.Agent
	Options *dispatch.Options

	// Command is an agent in code mode: a program and its arguments ("Porting without the SDK",
	// code mode). Each dispatch starts it in the working directory of this process, without a ping,
	// with a proxy on loopback. Its environment contains the documented variables
	// PIPELINES_ODYSSEY_PROXY_URL, PIPELINES_RUN_TOKEN, PIPELINES_RUN_TOKEN_JTI, PIPELINES_RUN_ID,
	// PIPELINES_TASK_ID and _PIPELINES_TASK_INPUT_JSON, as well as PIPELINES_RESULT_PATH, PATH,
	// HOME, the folder for temporary files, and Env, as "NAME=value". The response is what the
	// program has written to PIPELINES_RESULT_PATH when it ends, whatever its exit status. The
	// documents do not describe a result file. If the program writes no result, the run fails with
	// [AgentBadResponse]. After RunTimeout it fails with [AgentTimeout], and the program and its
	// descendants are killed. Standard output is not the result.
	//
	// With a URL, Env is what the agent's program was started with: only its values are hidden.
	Command []string
	Env     []string `json:"-"`

	// AuthHeader and AuthValue are the registration's auth header. AuthHeader defaults to
	// "Authorization", whose value is "Bearer <token>". If AuthValue is "", the header is not sent.
	AuthHeader string
	AuthValue  string `json:"-"`

	// RunTimeout is the registration's run_timeout_s, for each turn. Defaults to 300 s. The maximum
	// is 1800 s.
	RunTimeout time.Duration

	// Strict is the registration's "Require a gradeable rich transcript".
	Strict bool
}

// Task is the agent's task and the world of its tools.
type Task struct {
	ID          int64  // defaults to 1
	AgentID     int64  // defaults to 1
	Instruction string // user_instruction, of the first turn

	// Input is the task's input, the row's current state: any value that encoding/json writes as an
	// object. Defaults to {}.
	Input any

	// World is the world of the tools. Platform is a platform with a world, for options or for many
	// runs. Set at most one of them.
	World    proxytest.World
	Platform *proxytest.Platform

	// Conversation makes the task a session of several turns. If Conversation is nil, the task has
	// one turn.
	Conversation *Conversation

	// ProxyURL is the URL at which Platform is served already, such as the URL of an
	// [net/http/httptest.Server], without the run's path. It is for a Target with a URL or a Handler. If
	// ProxyURL is "", the proxy is served for this run.
	ProxyURL string

	// WrapProxy wraps the proxy of the run in a handler, which may record requests or answer them
	// itself. The handler sees the run token. The result also contains the calls that a cassette
	// answers. If WrapProxy is nil, the proxy is not wrapped.
	WrapProxy func(proxy http.Handler) http.Handler

	// OnRun, if not nil, is called once with the run, before the ping.
	OnRun func(*proxytest.Run)
}

// Exchange is one request to the agent and the response.
type Exchange struct {
	Request json.RawMessage `json:"request"`
	Status  int             `json:"status"` // 0 if there was no response
	Body    string          `json:"body"`
	At      time.Time       `json:"at,omitzero"`
	TookMS  float64         `json:"took_ms"`

	// Order and Answered are the places of the request and of the response among the events of the run:
	// see [proxytest.Call].Order.
	Order    int `json:"order,omitempty"`
	Answered int `json:"answered,omitempty"`
}

// Result is what happened in a run. It has the assertions of [proxytest.Log].
type Result struct {
	Ping     Exchange `json:"ping,omitzero"` // zero for a Target with a Command
	Dispatch Exchange `json:"dispatch"`      // of the last turn

	// Log is what the platform saw: calls, refused calls, trace events, changes of the
	// ledger.
	proxytest.Log

	// Turns are the dispatches: one, or one for each turn of the session.
	Turns []Turn `json:"turns"`

	// Ended says who ended a session and why: "user: ", "agent: " or "limit: " and the reason. It is
	// "" for a task without a [Conversation], and if a turn failed.
	Ended string `json:"ended,omitempty"`

	// FinalResponse is the final response of the last turn, which would be graded. It is "" if the
	// run failed.
	FinalResponse string `json:"final_response"`

	// Messages are the messages of the last turn, as the platform keeps them. The platform drops
	// all messages if one of them is malformed. Messages is nil in that case, and if the response
	// has none. Gradeable reports whether an assistant message with text is among them.
	Messages  []dispatch.Message `json:"messages,omitempty"`
	Gradeable bool               `json:"gradeable"`

	// Problems lists what is wrong with the responses of all turns. The platform fails the run for
	// a fatal problem. For others it drops the messages or metadata and adds a soft warning. For a
	// Target with an Agent or a Handler, Problems also lists what the handler removed or repaired
	// before it sent the response, and what llm.Transport could not tell apart.
	Problems []dispatch.Problem `json:"problems,omitempty"`

	// Warnings lists what the platform shows beside a run that completed. The one warning is that
	// tools are declared but none was called.
	Warnings []string `json:"warnings,omitempty"`

	// ErrorClass is the platform's name for the failure, for example [AuthFailed]. It is "" for a
	// run that completed.
	ErrorClass ErrorClass `json:"error_class,omitempty"`

	// StandIn says why the agent's handler answered in its place, in the first turn in which it
	// did. It is "" if all answers are the agent's own. The platform grades a stand-in, because it
	// cannot tell it from an answer. For a Target with an Agent or a Handler of package dispatch
	// every stand-in is known. For other targets only these are known: [dispatch.NoFinalResponse]
	// and [dispatch.TimeoutFinalResponse].
	StandIn StandIn `json:"stand_in,omitempty"`

	// Error describes the failure, or the stand-in.
	Error string `json:"error,omitempty"`

	// AgentError is the text of the error that the agent returned in the last turn. If the agent
	// panicked, it is "panic: ", the value and the stack. For a Target with a Command that left no
	// result, it says how the program ended and what it wrote to standard error. The platform does
	// not see it. For a Target with a URL it is "".
	AgentError string `json:"agent_error,omitempty"`

	// Waits are the waits of the agent's proxy.Client: for the rate limit of 60 requests per
	// minute, and before it repeated a call. For a Target with a URL there are none.
	Waits []Wait `json:"waits,omitempty"`

	// ModelRequests are the requests of the agent to models that went through llm.Transport, in the
	// order in which they began. For a Target with a URL or a Command there are none.
	ModelRequests []ModelRequest `json:"model_requests,omitempty"`

	run        *proxytest.Run
	hidden     func() *redact.Set // see secrets
	faultsTold bool               // Faults have failed the test
}

// OK reports whether the run completed with an answer of the agent's own: it would be graded, and
// there is no [Result].StandIn.
func (r *Result) OK() bool { return r.WouldBeGraded() && r.StandIn == "" }

// WouldBeGraded reports whether the platform would grade the run. It grades stand-ins too.
func (r *Result) WouldBeGraded() bool { return r.ErrorClass == "" }

// A StandIn is why the agent's handler answered in the agent's place.
type StandIn string

const (
	NoAnswer    StandIn = "no_answer"     // the agent returned nil, or a final response without text
	OutOfTime   StandIn = "agent_timeout" // the time limit passed: [dispatch.Options].TimeoutResponse answered
	AgentFailed StandIn = "agent_failed"  // the agent returned an error: [dispatch.Options].FailureResponse answered
)

// An ErrorClass is the platform's name for a failure of a run.
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

// Dispatch pings the target, dispatches the task to it, turn by turn, and returns what happened.
// The run's token has expired when Dispatch returns. An error lists everything that is wrong with
// target and task, or means that listening on loopback failed. A run that fails is a Result. If
// [Conversation].User fails, Dispatch returns an error that wraps its error, and the Result so far.
func Dispatch(ctx context.Context, target Target, task Task) (*Result, error) {
	if s := testrun.From(ctx); s != nil {
		p := &player{Setup: s, task: task}
		result := p.play(testrun.With(ctx, nil)) // an agent may call Dispatch
		return result, p.userErr
	}
	s, err := newPlayer(testrun.HostFrom(ctx), target, task, nil)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	result := s.play(ctx)
	return result, s.userErr
}

// Ping pings the target and dispatches nothing, as a registration's "Test connection" does. In code mode
// there is no ping, and the result is empty. An error lists what is wrong with the target.
func Ping(ctx context.Context, target Target) (*Result, error) {
	s, err := newPlayer(testrun.HostFrom(ctx), target, Task{}, nil)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	result := &Result{run: s.Run, hidden: s.Secrets}
	defer result.hideSecrets(s)
	if len(s.Target.Command) == 0 {
		s.ping(ctx, result)
	}
	return result, nil
}

// Run is [Dispatch] for tests. It fails the test for the errors of Dispatch, and for faults of the
// run: see [proxytest.Log].Faults. It does not fail the test for a run that failed; use
// [Result.AssertOK]. The proxy answers until the test ends, with an expired token, so that
// [Result.AssertNoCallAfterEnd] sees late calls.
//
// Run writes what the agent and its handler report to the output of the test; see the package
// comment.
func Run(t testing.TB, target Target, task Task) *Result {
	t.Helper()
	s, err := newPlayer(nil, target, task, testkit.Output(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	result := s.play(t.Context())
	if s.userErr != nil {
		t.Errorf("%s", text.Lines(s.userErr.Error(), maxFault))
	}
	for _, fault := range result.Faults {
		t.Errorf("proxytest: %s", text.Lines(fault, maxFault))
	}
	result.faultsTold = true
	return result
}

// play runs the task, from the ping to the verdict.
func (s *player) play(ctx context.Context) *Result {
	result := &Result{run: s.Run, hidden: s.Secrets}
	defer result.hideSecrets(s)
	if s.follow = runctx.From[func(*Result)](ctx); s.follow != nil {
		ctx = runctx.With[func(*Result)](ctx, nil) // not for what the agent dispatches
	}
	if s.earlier = runctx.From[[]Turn](ctx); s.earlier != nil {
		ctx = runctx.With[[]Turn](ctx, nil)
	}
	if s.task.OnRun != nil {
		s.task.OnRun(s.Run)
	}
	if len(s.Target.Command) == 0 { // code mode receives no requests
		s.ping(ctx, result)
	}
	for result.WouldBeGraded() {
		turn := s.nextTurn(ctx, result)
		if turn == nil {
			break
		}
		before := runctx.Outside()
		result.take(s, turn, s.exchange(ctx, result, turn))
		result.addOutside(runctx.Outside() - before)
	}
	s.Run.End("")
	result.Log, result.Waits, result.ModelRequests = *s.Run.Log(), s.waits(), s.modelRequests()
	result.Log.State = result.shared(result.Log.State)
	if result.WouldBeGraded() && len(s.Platform.Tools()) > 0 &&
		!slices.ContainsFunc(append(slices.Clone(result.Calls), result.Refused...), func(c proxytest.Call) bool {
			return !c.Trace
		}) {
		result.Warnings = append(result.Warnings, "the run completed without a tool call, although tools are declared")
	}
	return result
}

// addOutside adds a problem to the last turn if n requests to models had no run in their context while
// it was under way. Nothing else is known of them: they may be of another run of this process.
func (r *Result) addOutside(n int64) {
	if n == 0 {
		return
	}
	p := dispatch.Problem{Code: codeOutside, Pointer: "/messages", Message: fmt.Sprintf("lack what %s to a model "+
		"sent and received without a run in the context: pass the context of the agent to the SDK", text.Plural(int(n), "request"))}
	turn := &r.Turns[len(r.Turns)-1]
	turn.Problems, r.Problems = append(turn.Problems, p), append(r.Problems, p)
}

func (s *player) ping(ctx context.Context, result *Result) {
	result.Ping.Request = []byte(`{"ping":true}`)
	failure := s.exchange(ctx, result, nil)
	if result.classify(Target(s.Target), result.Ping, s.Challenge, failure); !result.WouldBeGraded() {
		result.explain(s.Witness.Take().Failure)
		result.Error = "ping: " + result.Error
	}
}

// take evaluates a turn.
func (r *Result) take(s *player, turn *Turn, failure *httpcall.Failure) {
	before := 0
	if n := len(r.Turns); n > 0 {
		before = r.Turns[n-1].Answered
	}
	turn.Log = testrun.Between(s.Run.Log(), before, turn.Answered)
	turn.Log.State = r.shared(turn.Log.State)
	r.Dispatch, r.FinalResponse, r.Messages, r.Gradeable = turn.Exchange, "", nil, false
	seen := s.Witness.Take()
	if r.classify(Target(s.Target), turn.Exchange, s.Challenge, failure); r.WouldBeGraded() {
		r.apply(Target(s.Target), turn, seen.Problems)
	}
	r.explain(seen.Failure)
	r.standIn(turn, seen)
	r.Turns = append(r.Turns, *turn)
}

// shared returns the ledger of the last turn in place of an equal one, so that it is in memory once.
func (r *Result) shared(state ledger.Snapshot) ledger.Snapshot {
	if n := len(r.Turns); n > 0 && reflect.DeepEqual(r.Turns[n-1].Log.State, state) {
		return r.Turns[n-1].Log.State
	}
	return state
}

// errNoConnection is a timeout of connecting. The agent did not cause it.
var errNoConnection = errors.New("no connection was made in time")

// exchange sends the request of a turn, or the ping if turn is nil, and records the response. The status
// decides before the failure does.
func (s *player) exchange(ctx context.Context, result *Result, turn *Turn) *httpcall.Failure {
	ex, header := &result.Ping, http.Header{}
	if turn != nil {
		ex, header = &turn.Exchange, s.Header()
		if s.Edit != nil {
			ex.Request = s.Edit(ex.Request, header)
		}
	}
	ex.At, ex.Order = time.Now(), int(hook.Of[timeline.Order](s.Run))
	if s.follow != nil {
		now := *result
		if turn != nil {
			now.Turns = append(slices.Clone(now.Turns), *turn)
		}
		s.follow(&now)
	}
	defer func() { ex.TookMS, ex.Answered = milliseconds(time.Since(ex.At)), int(hook.Of[timeline.Order](s.Run)) }()
	var connected atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { connected.Store(true) },
	})
	req, err := http.NewRequest(http.MethodPost, s.URL, bytes.NewReader(ex.Request))
	if err != nil {
		return &httpcall.Failure{Kind: httpcall.Broken, NotSent: true, Err: problem.Quiet("the URL is not valid", err)}
	}
	req.Header = header
	req.Header.Set("Content-Type", "application/json")
	if s.Target.AuthValue != "" {
		req.Header.Set(s.Target.AuthHeader, s.Target.AuthValue)
	}
	answer, failure := s.Caller.Do(ctx, req, nil)
	ex.Status, ex.Body, s.Media = answer.Status, string(answer.Body), answer.Header.Get("Content-Type")
	s.Challenge = answer.Header.Get("WWW-Authenticate")
	if failure != nil && failure.Kind == httpcall.TimedOut && !connected.Load() {
		failure.Kind, failure.Err = httpcall.Broken, errNoConnection
	}
	return failure
}

// classify sets the error class of an exchange that did not end with a 2xx. challenge is its header
// WWW-Authenticate.
func (r *Result) classify(target Target, ex Exchange, challenge string, failure *httpcall.Failure) {
	switch status := ex.Status; {
	case failure != nil && status < 300 && failure.Kind == httpcall.TimedOut:
		r.fail(AgentTimeout, "the agent did not answer within %s", target.RunTimeout)
	// otherwise the status decides, whether or not the body is complete
	case failure != nil && status >= 200 && status < 300:
		r.fail(AgentBadResponse, "%v", failure)
	case failure != nil && status == 0 && failure.Kind == httpcall.Canceled:
		r.fail(AgentUnreachable, "the call was stopped before the endpoint answered: %v", failure)
	case failure != nil && status == 0:
		r.fail(AgentUnreachable, "the endpoint cannot be reached: %v", failure)
	case status < 200:
		r.fail(AgentBadResponse, "the endpoint answered %d, which is not a final response", status)
	case status == http.StatusUnauthorized && foreign(challenge) != "":
		r.fail(AuthFailed, "this 401 does not come from dispatch.Handler: it has WWW-Authenticate: %s, "+
			"so a middleware or proxy in front of the agent requires credentials of its own", foreign(challenge))
	case (status == http.StatusUnauthorized || status == http.StatusForbidden) && target.AuthValue == "":
		r.fail(AuthFailed, "the endpoint answered %d, and no auth header was sent: "+
			"set Target.AuthValue to what the agent expects, such as \"Bearer <token>\"", status)
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		r.fail(AuthFailed, "the endpoint answered %s; compare the registered auth header with the agent's token", r.answer(ex))
	case status == http.StatusRequestTimeout, status == http.StatusGatewayTimeout:
		r.fail(AgentTimeout, "the endpoint answered %d", status)
	case status >= 500:
		r.fail(Agent5xx, "the endpoint answered %s", r.answer(ex))
	case status >= 400:
		r.fail(Agent4xx, "the endpoint answered %s", r.answer(ex))
	case status >= 300:
		r.fail(AgentBadResponse, "the endpoint answered %d; redirects are not followed", status)
	}
}

// answer describes a response: status and body.
func (r *Result) answer(ex Exchange) string {
	if strings.TrimSpace(ex.Body) == "" {
		return fmt.Sprintf("%d with an empty body", ex.Status)
	}
	return fmt.Sprintf("%d: %s", ex.Status, text.Line(r.secrets().Redact(ex.Body), maxReason))
}

// foreign returns the scheme of a challenge that asks for anything but a bearer token.
func foreign(challenge string) string {
	scheme, _, _ := strings.Cut(challenge, " ")
	if strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return text.Code(strings.TrimSuffix(scheme, ","))
}

// explain adds why the agent failed. The status says less.
func (r *Result) explain(agentError string) {
	r.AgentError = agentError
	if agentError != "" && !r.WouldBeGraded() {
		r.Error = "the agent failed: " + reason(agentError)
	}
}

// standIn records that the handler answered a turn in the agent's place.
func (r *Result) standIn(turn *Turn, seen testrun.Seen) {
	if !r.WouldBeGraded() || r.StandIn != "" {
		return
	}
	text := strings.TrimSpace(turn.FinalResponse)
	switch {
	case seen.TimedOut, text == dispatch.TimeoutFinalResponse:
		r.StandIn, r.Error = OutOfTime, "the agent ran out of time"
	case seen.Failure != "":
		r.StandIn, r.Error = AgentFailed, "the agent failed: "+reason(seen.Failure)
	case text == dispatch.NoFinalResponse:
		r.StandIn, r.Error = NoAnswer, "the agent returned no final response"
	default:
		return
	}
	if n := len(r.Turns); n > 0 {
		r.Error = fmt.Sprintf("turn %d: %s", n+1, r.Error)
	}
	r.Error = r.secrets().Redact(r.Error + "; its handler answered in its place")
}

// reason returns the first line of an error for a sentence.
func reason(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return text.Line(line, maxReason)
}

// apply applies the response contract to a 2xx.
func (r *Result) apply(target Target, turn *Turn, reported []dispatch.Problem) {
	verdict := dispatch.CheckResponse([]byte(turn.Body))
	turn.Problems = verdict.Problems
	for _, p := range reported { // what the handler removed or repaired
		if !slices.ContainsFunc(verdict.Problems, func(q dispatch.Problem) bool {
			return p.Code == q.Code && p.Pointer == q.Pointer
		}) {
			turn.Problems = append(turn.Problems, p)
		}
	}
	r.Problems = append(r.Problems, turn.Problems...)
	r.Messages, r.Gradeable = verdict.Messages, verdict.Gradeable
	switch {
	case !verdict.OK():
		for _, p := range verdict.Problems {
			if p.Fatal {
				r.fail(AgentBadResponse, "%s", text.Line(r.secrets().Redact(p.String()), maxReason))
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
	r.ErrorClass, r.Error = class, r.secrets().Redact(fmt.Sprintf(format, args...))
}
