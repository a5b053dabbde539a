package proxy

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/internal/toolresult"
)

// Codes of errors that no other package has, or that few programs branch on.
const (
	codeToolName toolwire.Code = "invalid_tool_name"
	codeActor    toolwire.Code = "actor_id_invalid"
	codeEvent    toolwire.Code = "invalid_event"
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
	Code     toolwire.Code
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

	// Result is the proxy's answer for [toolwire.CodeToolFailed] and [toolwire.CodeResultType].
	Result *Result

	// Err is the cause: the error of a context, the transport or a decoder. Its text may be shown.
	Err error `json:"-"`

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
	case toolwire.CodeTransport, toolwire.CodeTimeout:
		if e.Delivery == Unknown {
			return "the tool may have run: do not repeat the call unless the tool is safe to repeat"
		}
		return checkEgress
	case toolwire.CodeBadResponse, toolwire.CodeResponseTooLarge:
		if e.foreign {
			return "check the base URL: the answer is not of the proxy, but perhaps of something before it, so the tool may have run; " +
				"do not repeat the call unless the tool is safe to repeat"
		}
		return "the tool has run: do not repeat the call"
	case toolwire.CodeServerError, toolwire.CodeUnavailable:
		if e.Delivery == Unknown {
			return "the tool may have run: do not repeat the call unless the tool is safe to repeat"
		}
	case toolwire.CodeNotFound:
		return "check that the tool is declared in tools_schema and that the base URL is the run's"
	case toolwire.CodeRefused:
		switch {
		case e.Class == "tool_executes_in_sandbox":
			return "the tool runs in the platform's sandbox and cannot be called through the proxy"
		case e.Class == "tool_not_executable":
			return "check that the tool is declared in tools_schema"
		}
		return e.seeDetail()
	case toolwire.CodeInvalidArguments:
		if e.Status == http.StatusUnprocessableEntity {
			return "the arguments do not match the tool's input_schema: show ToolResult to the model, or see Error.Detail"
		}
	}
	return e.commonAdvice()
}

func (e *Error) adviceOnEvent() string {
	switch e.Code {
	case toolwire.CodeRefused, toolwire.CodeNotFound, toolwire.CodeInvalidArguments:
		if e.Status >= 400 {
			return e.seeDetail()
		}
	case toolwire.CodeTransport, toolwire.CodeTimeout:
		if e.Delivery == NotSent {
			return checkEgress
		}
	}
	return e.commonAdvice()
}

func (e *Error) adviceOnProbe() string {
	switch e.Code {
	case toolwire.CodeTransport, toolwire.CodeTimeout:
		return checkEgress
	case toolwire.CodeUnexpectedStatus, toolwire.CodeRefused, toolwire.CodeNotFound, toolwire.CodeInvalidArguments, codeActor, toolwire.CodeRequestTooLarge, toolwire.CodeBadResponse, toolwire.CodeResponseTooLarge:
		return "the expected answer is 401: check that the base URL is the proxy's address without a run, " +
			"such as https://api.pipelines.tech/api/odyssey-proxy"
	case toolwire.CodeServerError, toolwire.CodeUnavailable, toolwire.CodeRateLimited:
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
	case toolwire.CodeUnknownTool:
		return "add the tool to Options.Tools if the agent declares it"
	case toolwire.CodeRunOver:
		return "the run is over: stop the agent"
	case toolwire.CodeRateLimited:
		return "another client or process uses the same run token: share one Client"
	case toolwire.CodeUnexpectedStatus:
		return "check that the base URL leads to the proxy"
	case codeActor:
		if e.Status != 0 {
			return "the platform does not accept this label of a sub-agent: correct the label of As or WithActor"
		}
	case toolwire.CodeRequestTooLarge:
		return "send less: the proxy takes at most 1 MiB"
	}
	return ""
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// ErrorCode returns Code. [toolwire.CodeOf] calls it.
func (e *Error) ErrorCode() toolwire.Code { return e.Code }

// IsRunOver reports whether err's tree contains an [*Error] with [toolwire.CodeRunOver]. The agent should then
// stop, and not show err to the model. The chain of a canceled call contains the cause of its
// context.
func IsRunOver(err error) bool {
	for {
		e, ok := errors.AsType[*Error](err)
		if !ok || e.Code == toolwire.CodeRunOver {
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
	case e.Code == toolwire.CodeInvalidArguments, e.Code == codeToolName, e.Code == toolwire.CodeRequestTooLarge:
		code, detail = string(e.Code), e.Detail
		if detail == "" && e.Err != nil {
			detail = e.Err.Error()
		}
		if e.Code == toolwire.CodeInvalidArguments && e.Status == 0 && e.Detail == "" {
			detail += toolresult.Advice
		}
	case e.Code == toolwire.CodeUnknownTool:
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
func localError(code toolwire.Code, tool string, err error) *Error {
	return &Error{Code: code, Delivery: NotSent, Tool: tool, Err: err}
}
