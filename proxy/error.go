package proxy

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/toolwire/toolwire/internal/problem"
	"github.com/toolwire/toolwire/internal/toolresult"
)

// A Code classifies an [Error]. Codes are stable; texts are not.
type Code string

const (
	// Found here, before anything was sent.
	CodeOptions     Code = "invalid_options"   // an argument of [New] is not valid
	CodeToolName    Code = "invalid_tool_name" // outside the documented pattern
	CodeUnknownTool Code = "unknown_tool"      // not in [Options.Tools]
	CodeActor       Code = "actor_id_invalid"  // a sub-agent label that cannot be sent, found here or by the proxy
	CodeArguments   Code = "invalid_arguments" // not a JSON object, or refused by [Options.CheckArguments] or with 422
	CodeTooLarge    Code = "request_too_large" // over 1 MiB, or a 413 from the proxy
	CodeEvent       Code = "invalid_event"     // a trace event type that is not reserved, found here or by the proxy

	// No answer arrived.
	CodeCanceled  Code = "canceled"  // the call's context was canceled; [Error] unwraps to its cause
	CodeDeadline  Code = "deadline"  // the deadline passed, or a wait for pacing or a repeat would end after it
	CodeTransport Code = "transport" // no connection, or it broke
	CodeTimeout   Code = "timeout"   // the attempt took longer than [Options.AttemptTimeout]

	// The proxy answered, but not with a result.
	CodeRunOver     Code = "run_over"          // 401: the run token is refused, stop the agent
	CodeNotFound    Code = "not_found"         // 404: the tool did not run
	CodeRateLimited Code = "rate_limited"      // 429 on every attempt
	CodeUnavailable Code = "unavailable"       // 503
	CodeRefused     Code = "refused"           // any other 4xx; see [Error.Delivery]
	CodeServer      Code = "server_error"      // any other 5xx
	CodeStatus      Code = "unexpected_status" // 1xx, 3xx, or a 2xx other than 200

	// The proxy answered 200, so the tool has run, but the answer cannot be used.
	CodeResponseTooLarge Code = "response_too_large" // the result has more than 1 MiB
	CodeBadResponse      Code = "bad_response"       // not the documented envelope
	CodeToolFailed       Code = "tool_failed"        // [Call] only: see [Error.Result]
	CodeResultType       Code = "result_type"        // [Call] only: the result cannot be decoded into the Go type
)

// A Delivery tells whether the tool of a failed call may have run. For a trace event, it tells
// whether the proxy may have recorded the event.
type Delivery string

const (
	NotSent Delivery = "not_sent" // the request did not reach the proxy: the tool did not run
	Refused Delivery = "refused"  // the proxy refused the call in a documented way: the tool did not run
	Unknown Delivery = "unknown"  // the tool may have run; also for answers that the documents do not describe
)

// Error is the one error type of this package. Its text names the tool, the code, the HTTP status
// and the proxy's error class, and what to do. It does not contain a token, argument, result or
// URL.
type Error struct {
	Code     Code
	Delivery Delivery
	Tool     string // "" for [New] and [Probe]; the event type for trace events

	Status int    // HTTP status of the last answer; 0 if there was none
	Class  string // error_class of the last answer; "" if there was none

	// Detail is the proxy's message, at most 2 KiB. It may quote arguments, so the text of the
	// Error does not contain it. [ToolResult] contains it where it helps the model to correct
	// itself.
	Detail string

	Attempts   int           // requests tried
	RetryAfter time.Duration // the wait that the last answer asked for; 0 if it asked for none

	// Result is the proxy's answer for [CodeToolFailed] and [CodeResultType].
	Result *Result

	// Err is the cause: the error of a context, the transport or a decoder. Its text may be shown.
	Err error

	tools   []string // Options.Tools, for a tool that does not exist
	about   about    // what the request was for
	foreign bool     // the answer does not look like the proxy's
}

// Error implements error.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("proxy: ")
	if e.Tool != "" {
		fmt.Fprintf(&b, "%s: ", e.Tool)
	}
	b.WriteString(string(e.Code))
	if e.Status != 0 {
		fmt.Fprintf(&b, " (HTTP %d", e.Status)
		if e.Class != "" {
			fmt.Fprintf(&b, ", %s", e.Class)
		}
		b.WriteString(")")
	}
	if e.Attempts > 1 {
		fmt.Fprintf(&b, " after %d attempts", e.Attempts)
	}
	if e.Err != nil {
		fmt.Fprintf(&b, ": %s", e.Err)
	}
	if advice := e.advice(); advice != "" {
		fmt.Fprintf(&b, "; %s", advice)
	}
	return b.String()
}

// about is what a request was for, so that advice fits it.
type about int

const (
	aCall about = iota
	anEvent
	aProbe
)

// advice returns what to do, or "".
func (e *Error) advice() string {
	switch e.about {
	case anEvent:
		return e.adviceOnEvent()
	case aProbe:
		return e.adviceOnProbe()
	}
	switch e.Code {
	case CodeTransport, CodeTimeout:
		if e.Delivery == Unknown {
			return "the tool may have run: do not repeat the call unless the tool is safe to repeat"
		}
		return checkEgress
	case CodeBadResponse, CodeResponseTooLarge:
		if e.foreign {
			return "check the base URL: the answer is not of the proxy, but perhaps of something before it, so the tool may have run; " +
				"do not repeat the call unless the tool is safe to repeat"
		}
		return "the tool has run: do not repeat the call"
	case CodeServer, CodeUnavailable:
		if e.Delivery == Unknown {
			return "the tool may have run: do not repeat the call unless the tool is safe to repeat"
		}
	case CodeNotFound:
		return "check that the tool is declared in tools_schema and that the base URL is the run's"
	case CodeRefused:
		switch {
		case e.Class == "tool_executes_in_sandbox":
			return "the tool runs in the platform's sandbox and cannot be called through the proxy"
		case e.Class == "tool_not_executable":
			return "check that the tool is declared in tools_schema"
		}
		return e.seeDetail()
	case CodeArguments:
		if e.Status == http.StatusUnprocessableEntity {
			return "the arguments do not match the tool's input_schema: show ToolResult to the model, or see Error.Detail"
		}
	}
	return e.commonAdvice()
}

func (e *Error) adviceOnEvent() string {
	switch e.Code {
	case CodeRefused, CodeNotFound, CodeArguments:
		if e.Status >= 400 {
			return e.seeDetail()
		}
	case CodeTransport, CodeTimeout:
		if e.Delivery == NotSent {
			return checkEgress
		}
	}
	return e.commonAdvice()
}

func (e *Error) adviceOnProbe() string {
	switch e.Code {
	case CodeTransport, CodeTimeout:
		return checkEgress
	case CodeStatus, CodeRefused, CodeNotFound, CodeArguments, CodeActor, CodeTooLarge, CodeBadResponse, CodeResponseTooLarge:
		return "the expected answer is 401: check that the base URL is the proxy's address without a run, " +
			"such as https://api.pipelines.tech/api/odyssey-proxy"
	case CodeServer, CodeUnavailable, CodeRateLimited:
		return "the address is reachable, but does not answer like the proxy now: probe again later"
	}
	return ""
}

func (e *Error) seeDetail() string {
	if e.Detail != "" {
		return "see Error.Detail"
	}
	return "check that the base URL is the run's"
}

const checkEgress = "check that this machine can reach the base URL: DNS, firewall, HTTP proxy, TLS"

// commonAdvice is for all requests of a run.
func (e *Error) commonAdvice() string {
	switch e.Code {
	case CodeUnknownTool:
		return "add the tool to Options.Tools if the agent declares it"
	case CodeRunOver:
		return "the run is over: stop the agent"
	case CodeRateLimited:
		return "another client or process uses the same run token: share one Client"
	case CodeStatus:
		return "check that the base URL leads to the proxy"
	case CodeActor:
		if e.Status != 0 {
			return "the platform does not accept this label of a sub-agent: correct the label of As or WithActor"
		}
	case CodeTooLarge:
		return "send less: the proxy takes at most 1 MiB"
	}
	return ""
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// CodeOf returns the code of the first [*Error] in err's tree, or "" if it contains none.
func CodeOf(err error) Code {
	return problem.CodeOf(err, func(e *Error) Code { return e.Code })
}

// IsRunOver reports whether err's tree contains an [*Error] with [CodeRunOver]. The agent should then
// stop, and not show err to the model. The chain of a canceled call contains the cause of its
// context.
func IsRunOver(err error) bool {
	for {
		e, ok := errors.AsType[*Error](err)
		if !ok || e.Code == CodeRunOver {
			return ok
		}
		err = e.Err
	}
}

// ToolResult returns what a model should see in place of the result of a failed call. It is the
// tool's own result if there is one, and {"error": "<class or tool_call_failed>"} otherwise. A
// member detail is added if it can help the model to correct the call. If the model called a tool
// that does not exist, the member tools lists the names in [Options].Tools.
func (e *Error) ToolResult() json.RawMessage {
	if e.Result != nil {
		return e.Result.Response
	}
	code, detail := e.Class, ""
	if code == "" {
		code = "tool_call_failed"
	}
	switch {
	case e.Code == CodeArguments, e.Code == CodeToolName, e.Code == CodeTooLarge:
		code, detail = string(e.Code), e.Detail
		if detail == "" && e.Err != nil {
			detail = e.Err.Error()
		}
		if e.Code == CodeArguments && e.Status == 0 && e.Detail == "" {
			detail += toolresult.Advice
		}
	case e.Code == CodeUnknownTool:
		code, detail = string(e.Code), toolresult.NoTool(e.Tool)
	case e.Class == "tool_not_executable":
		detail = toolresult.NoTool(e.Tool)
	case e.early():
		code, detail = string(e.Code), "there is no time left for this call; answer with what you have"
	}
	return toolresult.Failure(code, detail, e.tools)
}

// ToolResult returns what a model should see in place of the result of a failed call. It calls the
// method ToolResult of the first error in err's chain that has one, so it accepts errors of
// packages manifest and toolbox too. For any other error it returns {"error":"tool_call_failed"}.
func ToolResult(err error) json.RawMessage {
	type failure interface {
		error
		ToolResult() json.RawMessage
	}
	if e, ok := errors.AsType[failure](err); ok {
		return e.ToolResult()
	}
	return toolresult.Failure("tool_call_failed", "", nil)
}

// An earlyError says that a wait would end after the deadline of a context that has not ended.
type earlyError struct{ error }

// early reports whether the call ended before its context, for want of time.
func (e *Error) early() bool {
	_, early := errors.AsType[earlyError](e.Err)
	return early
}

// localError is the error of a request that this client does not send.
func localError(code Code, tool string, err error) *Error {
	return &Error{Code: code, Delivery: NotSent, Tool: tool, Err: err}
}
