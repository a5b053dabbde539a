// Package dispatchtest is the other half of the platform, in process: it dispatches a task to an agent's endpoint with
// the documented envelope and headers, plays the proxy while the agent works, and judges the answer as the platform
// would ("Porting without the SDK", steps 3 to 5).
//
//	result, err := dispatchtest.Dispatch(ctx, dispatchtest.Target{Handler: h, AuthValue: "Bearer secret"}, dispatchtest.Task{
//		Instruction: "Refund order #4521.",
//		World:       world,
//	})
//
// [Run] is the same for tests. Everything happens on loopback; nothing outside the machine is contacted.
package dispatchtest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

// Target is an agent's endpoint as it is registered.
type Target struct {
	// URL of the endpoint. The platform demands public https; here any http or https URL will do.
	URL string

	// Handler is served on loopback and dispatched to there, instead of URL.
	Handler http.Handler

	// AuthHeader and AuthValue are the registration's auth header, for example "Authorization" (the default) and
	// "Bearer <token>". No value sends no header.
	AuthHeader string
	AuthValue  string

	// RunTimeout is the registration's run_timeout_s. Default 300 s, at most 1800 s.
	RunTimeout time.Duration

	// Strict is the registration's "Require a gradeable rich transcript".
	Strict bool
}

// Task is what the agent is to do, and in which world.
type Task struct {
	ID          int64  // default 1
	AgentID     int64  // default 1
	Instruction string // user_instruction

	// Input is the task's input, the row's current state: any value that encoding/json writes as an object. nil is {}.
	Input any

	// World is what the agent's tools meet.
	World proxytest.World
}

// Exchange is one request to the agent and its answer.
type Exchange struct {
	Request json.RawMessage `json:"request"`
	Status  int             `json:"status"` // 0 if there was no answer
	Body    string          `json:"body"`
	TookMS  float64         `json:"took_ms"`
}

// Result is what the platform knows about a run when it is over.
type Result struct {
	Ping     Exchange          `json:"ping"`
	Dispatch Exchange          `json:"dispatch"`
	Calls    []proxytest.Call  `json:"calls"`
	Traces   []proxytest.Trace `json:"traces,omitempty"`

	// FinalResponse is what would be graded; "" if nothing would.
	FinalResponse string `json:"final_response"`

	// Problems are those of the response contract.
	Problems []dispatch.Problem `json:"problems,omitempty"`

	// ErrorClass is the platform's name for what went wrong, for example [AuthFailed]; "" for a run that completed.
	// Error says it in words.
	ErrorClass ErrorClass `json:"error_class,omitempty"`
	Error      string     `json:"error,omitempty"`
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

// Dispatch pings the target, dispatches the task to it and returns what happened. The proxy that it plays lives on
// loopback until Dispatch returns, when the run's token has expired. Its error means that the run could not be staged:
// a run that fails is a Result.
func Dispatch(ctx context.Context, target Target, task Task) (*Result, error) {
	if target.RunTimeout == 0 {
		target.RunTimeout = 300 * time.Second
	}
	if target.RunTimeout < 0 || target.RunTimeout > 1800*time.Second {
		return nil, fmt.Errorf("dispatchtest: RunTimeout is between 0 and 1800 s, not %s", target.RunTimeout)
	}
	if target.AuthHeader == "" {
		target.AuthHeader = "Authorization"
	}
	if (target.URL == "") == (target.Handler == nil) {
		return nil, errors.New("dispatchtest: a Target has either a URL or a Handler")
	}
	if target.Handler != nil {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("dispatchtest: %w", err)
		}
		server := &http.Server{Handler: target.Handler, ReadHeaderTimeout: 10 * time.Second}
		go func() { _ = server.Serve(listener) }() // ends with Close
		defer func() { _ = server.Close() }()
		target.URL = "http://" + listener.Addr().String() + "/dispatch"
	}
	world, err := proxytest.New(task.World, nil)
	if err != nil {
		return nil, fmt.Errorf("dispatchtest: %w", err)
	}
	platform, err := proxytest.Start(world)
	if err != nil {
		return nil, fmt.Errorf("dispatchtest: %w", err)
	}
	defer platform.Close()
	run := platform.NewRun()
	body, header, err := envelope(task, run, platform.URL)
	if err != nil {
		return nil, err
	}
	client := &http.Client{
		Transport:     &http.Transport{}, // no proxy from the environment, no connection left behind
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	defer client.CloseIdleConnections()

	result := &Result{}
	var failure error
	result.Ping, failure = exchange(ctx, client, target, []byte(`{"ping":true}`), nil)
	if result.classify(target, result.Ping, failure); !result.OK() {
		result.Error = "ping: " + result.Error
		return result, nil
	}
	result.Dispatch, failure = exchange(ctx, client, target, body, header)
	run.End("")
	result.Calls, result.Traces = run.Calls(), run.Traces()
	if result.classify(target, result.Dispatch, failure); result.OK() {
		result.judge(target)
	}
	return result, nil
}

// Run is [Dispatch] for tests: it fails the test if the run could not be staged. Whether it went well is for the test to
// say.
func Run(t testing.TB, target Target, task Task) *Result {
	t.Helper()
	result, err := Dispatch(t.Context(), target, task)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// envelope builds the documented body and headers of a dispatch.
func envelope(task Task, run *proxytest.Run, platformURL string) ([]byte, http.Header, error) {
	if task.ID == 0 {
		task.ID = 1
	}
	if task.AgentID == 0 {
		task.AgentID = 1
	}
	if task.Input == nil {
		task.Input = struct{}{}
	}
	runID, err := strconv.ParseInt(run.ID, 10, 64)
	if err != nil {
		return nil, nil, fmt.Errorf("dispatchtest: %w", err)
	}
	type input struct {
		TaskID      int64  `json:"task_id"`
		Instruction string `json:"user_instruction"`
		Input       any    `json:"input"`
	}
	body, err := json.Marshal(struct {
		TaskID   int64  `json:"task_id"`
		RunID    int64  `json:"run_id"`
		AgentID  int64  `json:"agent_id"`
		Input    input  `json:"input"`
		ProxyURL string `json:"odyssey_proxy_url"`
		JTI      string `json:"run_token_jti"`
	}{task.ID, runID, task.AgentID, input{task.ID, task.Instruction, task.Input}, platformURL + run.Path, run.JTI})
	if err != nil {
		return nil, nil, fmt.Errorf("dispatchtest: Task.Input cannot be written as JSON: %w", err)
	}
	header := http.Header{}
	header.Set("X-Pipelines-Run-Token", run.Token)
	header.Set("X-Pipelines-Odyssey-Proxy-URL", platformURL+run.Path)
	header.Set("X-Pipelines-Run-Id", run.ID)
	header.Set("X-Pipelines-Task-Id", strconv.FormatInt(task.ID, 10))
	header.Set("X-Pipelines-Run-Token-Jti", run.JTI)
	return body, header, nil
}

// maxAnswer is far above any answer that would be graded.
const maxAnswer = 16 << 20

func exchange(ctx context.Context, client *http.Client, target Target, body []byte, header http.Header) (ex Exchange, err error) {
	ex.Request = body
	start := time.Now()
	defer func() { ex.TookMS = float64(time.Since(start).Microseconds()) / 1000 }()
	ctx, cancel := context.WithTimeout(ctx, target.RunTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, target.URL, bytes.NewReader(body))
	if err != nil {
		return ex, err
	}
	req.Header = header.Clone()
	if req.Header == nil {
		req.Header = http.Header{}
	}
	req.Header.Set("Content-Type", "application/json")
	if target.AuthValue != "" {
		req.Header.Set(target.AuthHeader, target.AuthValue)
	}
	resp, err := client.Do(req)
	if err != nil {
		return ex, err
	}
	defer func() { _ = resp.Body.Close() }()
	ex.Status = resp.StatusCode
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	ex.Body = string(answer)
	return ex, err
}

// classify sets the error class of an exchange that did not end with a 2xx.
func (r *Result) classify(target Target, ex Exchange, err error) {
	switch status := ex.Status; {
	case err != nil && errors.Is(err, context.DeadlineExceeded):
		r.fail(AgentTimeout, "the agent did not answer within %s", target.RunTimeout)
	case err != nil && status != 0:
		r.fail(AgentBadResponse, "the answer broke off: %v", err)
	case err != nil:
		r.fail(AgentUnreachable, "the endpoint cannot be reached: %v", err)
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		r.fail(AuthFailed, "the endpoint answered %d: compare the registered auth header with the agent's token", status)
	case status == http.StatusRequestTimeout, status == http.StatusGatewayTimeout:
		r.fail(AgentTimeout, "the endpoint answered %d", status)
	case status >= 500:
		r.fail(Agent5xx, "the endpoint answered %d: %s", status, first(ex.Body, 500))
	case status >= 400:
		r.fail(Agent4xx, "the endpoint answered %d: %s", status, first(ex.Body, 500))
	case status >= 300:
		r.fail(AgentBadResponse, "the endpoint answered %d; redirects are not followed", status)
	}
}

// judge applies the response contract to a 2xx.
func (r *Result) judge(target Target) {
	verdict := dispatch.CheckResponse([]byte(r.Dispatch.Body))
	r.Problems = verdict.Problems
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
	r.FinalResponse = verdict.FinalResponse
}

func (r *Result) fail(class ErrorClass, format string, args ...any) {
	r.ErrorClass, r.Error = class, fmt.Sprintf(format, args...)
}

func first(s string, n int) string {
	runes := []rune(s)
	return string(runes[:min(n, len(runes))])
}
