package toolbox

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/toolwire/toolwire/internal/clip"
	"github.com/toolwire/toolwire/internal/httpcall"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/reasoning"
	"github.com/toolwire/toolwire/internal/runner"
	"github.com/toolwire/toolwire/internal/toolresult"
	"github.com/toolwire/toolwire/schema"
)

// Call runs a tool and returns its result: what a handler returns as a JSON string, what a webhook answers as it came.
// args is any value that encoding/json writes as an object, or raw JSON as json.RawMessage or []byte; nil and blank stand
// for {}. Give the model's arguments as they are, with reasoning.
//
// The error is an [*Error]; for a model use [Toolbox.CallForModel]. Nothing is sent or run if the arguments do not match the
// tool's parameters.
func (b *Toolbox) Call(ctx context.Context, name string, args any) (json.RawMessage, error) {
	start := time.Now()
	t, ok := b.byName[name]
	if !ok {
		e := errorf(CodeUnknownTool, clip.Text(name, 128), "there is no such tool; names are case-sensitive")
		for _, t := range b.tools {
			e.tools = append(e.tools, t.Name)
		}
		return nil, e
	}
	record := Record{Tool: t.Name, Adapter: t.Adapter, AgentID: b.agent.ID, External: t.run == nil}
	result, failure := b.call(ctx, t, args, &record)
	if failure != nil {
		failure.Tool = t.Name
		record.Code, record.Err = failure.Code, failure
	}
	if b.options.OnCall != nil {
		record.Duration = time.Since(start)
		b.hooks.Hook(ctx, t.Name, func() { b.options.OnCall(ctx, record) })
	}
	if failure != nil {
		return nil, failure
	}
	return result, nil
}

// CallForModel calls a tool for a model and returns what the model should read. failed reports that the call failed: the
// result is then [Error.ToolResult], or a webhook's answer with a member error that is not null, false or "".
//
// args is the model's text, a JSON object as string, []byte or json.RawMessage, which may be malformed: the result then tells
// the model what to correct. It may also be any Go value that [Toolbox.Call] accepts.
//
// An error means that the agent should stop. It is an [*Error]: CodeCanceled when ctx has ended, CodeAgent when the
// toolbox has no agent that an external tool needs, or CodeArguments for a Go value that JSON cannot carry.
func (b *Toolbox) CallForModel(ctx context.Context, name string, args any) (result json.RawMessage, failed bool, err error) {
	text, ok := toolresult.Text(args)
	if !ok {
		if text, err = rawjson.EncodeArguments(args, b.limits); err != nil {
			return nil, false, &Error{Code: CodeArguments, Tool: clip.Text(name, 128), Message: err.Error(), Err: err}
		}
	}
	result, err = b.Call(ctx, name, text)
	if err == nil {
		return result, toolresult.Failed(result), nil
	}
	e, _ := errors.AsType[*Error](err) // Call returns no other
	if e.Code == CodeCanceled || e.Code == CodeAgent || ctx.Err() != nil {
		return nil, false, err
	}
	return e.ToolResult(), true, nil
}

func (b *Toolbox) call(ctx context.Context, t *tool, args any, record *Record) (json.RawMessage, *Error) {
	whole, err := rawjson.EncodeArguments(args, b.limits)
	if err != nil {
		return nil, &Error{Code: CodeArguments, Message: err.Error() + toolresult.Advice, Err: err}
	}
	whole = slices.Clone(whole) // a tool may still read it when the call has been given up
	bare := whole
	if !t.reasoning {
		bare, record.Reasoning = reasoning.Take(whole)
	}
	if err := t.validate(bare); err != nil {
		return nil, argumentsError(err)
	}
	if ctx.Err() != nil {
		return nil, canceled(ctx)
	}
	// Handlers, Options.SecretFunc and Options.Transport are the host's code.
	end := runner.Run(ctx, &b.runner, time.Now().Add(b.options.Timeout), t.Name, func(ctx context.Context) outcome {
		if t.run == nil {
			return b.post(ctx, t, whole)
		}
		return b.handle(ctx, t, bare)
	})
	out := end.Value
	switch {
	case end.Panic != nil:
		return nil, errorf(CodePanicked, "", runner.TextBroken)
	case end.Stop == runner.InTime || !end.Left && !out.failure.private():
		return out.result, out.failure
	case end.Stop == runner.TimedOut:
		return nil, &Error{Code: CodeTimeout, Message: runner.TimeoutText(b.options.Timeout), Err: errTimeout}
	}
	return nil, canceled(ctx)
}

// outcome is what a tool returned.
type outcome struct {
	result  json.RawMessage
	failure *Error
}

func argumentsError(err error) *Error {
	message := err.Error()
	if e, ok := errors.AsType[*schema.Error](err); ok {
		e.Part = "arguments" // the validator does not know what it validates
		message = e.Error()
		if e.Code == schema.CodeMismatch {
			message += "; correct them and call the tool again"
		}
	}
	return &Error{Code: CodeArguments, Message: message, Err: err}
}

// handle runs an internal tool. The methods of its error are the tool's own code too.
func (b *Toolbox) handle(ctx context.Context, t *tool, args json.RawMessage) outcome {
	text, err := t.run(ctx, args, b.agent, t.Tool)
	if err != nil {
		return outcome{failure: toolError(err)}
	}
	return outcome{result: encode(text)}
}

// toolError chooses what a model sees of a handler's error: texts that were made for it.
func toolError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok && e.Code == CodeArguments {
		return &Error{Code: CodeArguments, Message: e.Message, Err: err}
	}
	if text, ok := runner.TextOf(err); ok {
		return &Error{Code: CodeTool, Message: text, Err: err}
	}
	return &Error{Code: CodeTool, Message: runner.TextFailed, Err: err}
}

var errTimeout = errors.New("the tool took too long")

// canceled reports the end of the caller's context.
func canceled(ctx context.Context) *Error {
	return &Error{Code: CodeCanceled, Message: "the call was canceled", Err: httpcall.ContextError(ctx)}
}

// encode writes compact JSON, without the escapes for HTML, of what is known to be writable.
func encode(v any) json.RawMessage {
	raw, _ := rawjson.Encode(v)
	return raw
}
