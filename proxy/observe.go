package proxy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// An Observer contains functions that a client calls while it works, for spans, metrics or a log.
// All of them are optional. Package oteltoolwire makes an Observer for OpenTelemetry.
//
// The functions are called on the goroutine of the call or trace event. They must be safe for
// concurrent use and return quickly, because the call waits for them. A context that a function
// returns must be the one that it received, or one derived from it. An Observer must not be changed
// while a client uses it.
type Observer struct {
	// CallStart is called at the start of every tool call, before the call is checked. It returns
	// the context for the rest of the call: its attempts and waits, and CallEnd.
	CallStart func(ctx context.Context, call CallInfo) context.Context

	// CallEnd is called at the end of every tool call, with its result or error. It is not called if
	// the call ends in a panic.
	CallEnd func(ctx context.Context, call CallEnd)

	// AttemptStart is called before a request is sent, for a tool call or a trace event. A call
	// that is repeated makes several attempts. A call that is refused before anything is sent makes
	// none. AttemptStart returns the context for the request and AttemptEnd.
	AttemptStart func(ctx context.Context, attempt AttemptInfo) context.Context

	// AttemptEnd is called after the answer to a request is read, or after the request has failed.
	AttemptEnd func(ctx context.Context, attempt AttemptEnd)

	// WaitStart is called before each wait for the rate limit of the run token, and before each
	// wait to repeat a request.
	WaitStart func(ctx context.Context, wait WaitInfo)

	// WaitEnd is called after each of these waits, even if the wait was cut short.
	WaitEnd func(ctx context.Context, wait WaitEnd)

	// TraceEnd is called at the end of every [Client.Trace] and [Client.Handoff].
	TraceEnd func(ctx context.Context, event TraceEnd)
}

// CallInfo describes a call. Arguments are the caller's data: an observer must not change them, and
// they may be confidential.
type CallInfo struct {
	Tool  string
	Actor string // the sub-agent's label; "" for none

	// CallID is the id that the model gave the call, from [WithCallID]; "" if the context has none.
	CallID string

	// Arguments are what the caller passed, as JSON. Raw JSON is unchanged; it may be malformed if
	// a model wrote it. If a Go value cannot be written as a JSON object, Arguments is nil.
	Arguments json.RawMessage
}

// CallEnd describes the end of a call. Result belongs to the caller; an observer must not change
// it.
type CallEnd struct {
	CallInfo
	Result   *Result       // nil if Err is not nil
	Err      error         // an [*Error], or nil
	Duration time.Duration // of the whole call, including waits
}

// AttemptInfo describes a request, which is always a POST. The URL of the request is Origin, the
// path of the run's proxy, and Path.
type AttemptInfo struct {
	Path   string // "/tools/" and the name of the tool, or "/traces/" and the type of the event
	Origin string // such as "https://api.example.com"
	Number int    // of the attempt, from 1

	// Header contains the headers of earlier observers. AttemptStart may add headers to send, such
	// as Traceparent. It cannot set headers that decide who calls, what is sent or how the answer
	// is read: Authorization, Cookie, headers of HTTP connections, and all that begin with
	// X-Pipelines-, Content-, Accept or Proxy-. Header is nil in AttemptEnd.
	Header http.Header
}

// AttemptEnd describes the end of a request.
type AttemptEnd struct {
	AttemptInfo
	Status   int           // HTTP status of the answer; 0 if there was none
	Err      error         // an [*Error] for this attempt, or nil
	Duration time.Duration // without waits
}

// WaitInfo describes a wait.
type WaitInfo struct {
	Name     string        // of the tool, or the type of the trace event
	Next     int           // the number of the attempt that follows the wait
	Expected time.Duration // a wait for the rate limit may take longer

	// Err is the [*Error] of the attempt that is repeated. If it is nil, the wait is for the rate
	// limit of the run token; see [Options.Pacer].
	Err error

	pace string // what the rate limit admits, if Err is nil
}

// Reason describes why the client waits. It contains no text of the proxy except the error class.
func (w WaitInfo) Reason() string {
	if w.Err == nil {
		return w.pace
	}
	if e, _ := errors.AsType[*Error](w.Err); e != nil && e.Status != 0 {
		return strings.TrimSpace(fmt.Sprintf("the proxy answered %d %s", e.Status, e.Class))
	}
	return "the proxy did not answer"
}

// WaitEnd describes the end of a wait.
type WaitEnd struct {
	WaitInfo
	Duration time.Duration
}

// TraceEnd describes a trace event that was posted, without its payload.
type TraceEnd struct {
	Event    Event
	Actor    string        // the sub-agent's label; "" for none
	From, To string        // the labels of a [Client.Handoff]; "" for other events
	Sequence int64         // 0 if the event was not accepted
	Err      error         // an [*Error], or nil
	Duration time.Duration // including waits
}

// startCall returns the context for a call.
func (c *Client) startCall(ctx context.Context, info CallInfo) context.Context {
	for _, o := range c.observers {
		if o.CallStart != nil {
			ctx = o.CallStart(ctx, info)
		}
	}
	return ctx
}

func (c *Client) endCall(ctx context.Context, info CallInfo, result *Result, err *Error, took time.Duration) {
	end := CallEnd{CallInfo: info, Result: result, Duration: took}
	if err != nil {
		end.Err = err
	}
	for _, o := range c.observers {
		if o.CallEnd != nil {
			o.CallEnd(ctx, end)
		}
	}
}

// startAttempt returns the context for the request, and adds the headers of observers to it.
func (req *request) startAttempt(ctx context.Context, number int, out *http.Request) (context.Context, AttemptInfo) {
	if !slices.ContainsFunc(req.observers, func(o *Observer) bool { return o.AttemptStart != nil || o.AttemptEnd != nil }) {
		return ctx, AttemptInfo{}
	}
	info := AttemptInfo{
		Path: req.plane + req.name, Origin: out.URL.Scheme + "://" + out.URL.Host, Number: number, Header: http.Header{},
	}
	for _, o := range req.observers {
		if o.AttemptStart != nil {
			ctx = o.AttemptStart(ctx, info)
		}
	}
	for name, values := range info.Header {
		if mayAdd(name) {
			out.Header[http.CanonicalHeaderKey(name)] = values
		}
	}
	info.Header = nil
	return ctx, info
}

func (req *request) endAttempt(ctx context.Context, info AttemptInfo, status int, err *Error, took time.Duration) {
	end := AttemptEnd{AttemptInfo: info, Status: status, Duration: took}
	if err != nil {
		end.Err = err
	}
	for _, o := range req.observers {
		if o.AttemptEnd != nil {
			o.AttemptEnd(ctx, end)
		}
	}
}

// startWait reports a wait that begins. The function that it returns reports the end of the wait.
func (req *request) startWait(ctx context.Context, wait WaitInfo) (waited func()) {
	for _, o := range req.observers {
		if o.WaitStart != nil {
			o.WaitStart(ctx, wait)
		}
	}
	began := time.Now()
	return func() {
		end := WaitEnd{WaitInfo: wait, Duration: time.Since(began)}
		for _, o := range req.observers {
			if o.WaitEnd != nil {
				o.WaitEnd(ctx, end)
			}
		}
	}
}

// mayAdd reports whether an observer may add the header. It must not change who the client is, what
// it sends or how an answer is read.
func mayAdd(name string) bool {
	name = http.CanonicalHeaderKey(name)
	for _, prefix := range []string{"X-Pipelines-", "Content-", "Accept", "Proxy-"} {
		if strings.HasPrefix(name, prefix) {
			return false
		}
	}
	switch name {
	case "Authorization", "Cookie", "Host", "Connection", "Keep-Alive", "Transfer-Encoding", "Te", "Trailer", "Upgrade", "Expect":
		return false
	}
	return true
}
