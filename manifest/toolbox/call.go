package toolbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/toolwire/toolwire/internal/arguments"
	"github.com/toolwire/toolwire/internal/reasoning"
	"github.com/toolwire/toolwire/schema"
)

// Call runs a tool and returns its result: what a handler returns as a JSON string, what a webhook answers as it came.
// args is any value that encoding/json writes as an object, or raw JSON as json.RawMessage or []byte; nil and blank stand
// for {}. Give the model's arguments as they are, with reasoning.
//
// The error is an [*Error]; for the model use [Text]. Nothing is sent or run when the arguments do not match the tool's
// parameters.
func (b *Toolbox) Call(ctx context.Context, name string, args any) (json.RawMessage, error) {
	start := time.Now()
	t, ok := b.byName[name]
	if !ok {
		return nil, errorf(CodeUnknownTool, cut(name, 128), "there is no such tool; names are case-sensitive")
	}
	record := Record{Tool: t.Name, Adapter: t.Adapter, AgentID: b.agent.ID, External: t.run == nil}
	result, failure := b.call(ctx, t, args, &record)
	if failure != nil {
		failure.Tool = t.Name
		record.Code, record.Err = failure.Code, failure
	}
	if b.options.OnCall != nil {
		record.Duration = time.Since(start)
		b.options.OnCall(ctx, record)
	}
	if failure != nil {
		return nil, failure
	}
	return result, nil
}

func (b *Toolbox) call(ctx context.Context, t *tool, args any, record *Record) (json.RawMessage, *Error) {
	whole, err := arguments.Encode(args, b.limits)
	if err != nil {
		return nil, &Error{Code: CodeArguments, Message: err.Error(), Err: err}
	}
	bare := whole
	if !t.reasoning {
		bare, record.Reasoning = reasoning.Take(whole)
	}
	if err := t.validate(bare); err != nil {
		return nil, argumentsError(err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, b.options.Timeout, errTimeout)
	defer cancel()
	if ctx.Err() != nil {
		return nil, contextError(ctx, b.options.Timeout)
	}
	if t.run == nil {
		return b.post(ctx, t, whole)
	}
	return b.handle(ctx, t, bare)
}

func argumentsError(err error) *Error {
	message := err.Error()
	if e, ok := errors.AsType[*schema.InstanceError](err); ok {
		e.Part = schema.Arguments // the validator does not know what it validates
		message = e.Error()
		if e.Code == schema.CodeMismatch {
			message += "; correct them and call the tool again"
		}
	}
	return &Error{Code: CodeArguments, Message: message, Err: err}
}

// handle runs an internal tool.
func (b *Toolbox) handle(ctx context.Context, t *tool, args json.RawMessage) (result json.RawMessage, failure *Error) {
	defer func() {
		if p := recover(); p != nil {
			b.options.Logger.ErrorContext(ctx, "tool panicked", "tool", t.Name, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			result, failure = nil, errorf(CodePanicked, "", "the tool is broken; do not call it again")
		}
	}()
	text, err := t.run(ctx, args, b.agent, t.Tool)
	if err == nil {
		return encode(text), nil
	}
	if e, ok := errors.AsType[*Error](err); ok && e.Code == CodeArguments {
		return nil, &Error{Code: CodeArguments, Message: e.Message, Err: err}
	}
	if ctx.Err() != nil && (errors.Is(err, ctx.Err()) || errors.Is(err, context.Cause(ctx))) {
		return nil, contextError(ctx, b.options.Timeout)
	}
	return nil, &Error{Code: CodeTool, Message: "the tool failed", Detail: cut(err.Error(), maxDetail), Err: err}
}

var errTimeout = errors.New("the tool took too long")

// contextError tells the toolbox's own timeout from the end of the caller's context.
func contextError(ctx context.Context, timeout time.Duration) *Error {
	if cause := context.Cause(ctx); cause == errTimeout {
		return &Error{Code: CodeTimeout, Err: cause, Message: fmt.Sprintf(
			"the tool did not finish within %s and may or may not have had an effect; check that before you call it again", timeout)}
	} else if cause != ctx.Err() {
		return &Error{Code: CodeCanceled, Message: "the call was canceled", Err: errors.Join(ctx.Err(), cause)}
	}
	return &Error{Code: CodeCanceled, Message: "the call was canceled", Err: ctx.Err()}
}

// encode writes compact JSON, without the escapes for HTML, of what is known to be writable.
func encode(v any) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v)
	return json.RawMessage(bytes.TrimSuffix(b.Bytes(), []byte{'\n'}))
}
