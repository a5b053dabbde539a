package toolbox

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/toolwire/toolwire/internal/actor"
	"github.com/toolwire/toolwire/internal/bounded"
	"github.com/toolwire/toolwire/internal/problem"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/toolcall"
	"github.com/toolwire/toolwire/internal/toolresult"
)

// Call runs a tool and returns its result: the text of a handler as a JSON string, or the response
// of a webhook unchanged. args is a Go value that encoding/json writes as an object, or JSON text
// as json.RawMessage or []byte. Nil and blank text mean {}. Leave reasoning in the arguments of a
// model.
//
// The error is an [*Error]. A failed tool is one, with CodeToolFailed if the response of a webhook is an
// object whose member "error" is not null, false or "". If the arguments do not match the
// parameters, the tool does not run. Use [Toolbox.CallForModel] for calls of a model.
func (b *Toolbox) Call(ctx context.Context, name string, args any) (json.RawMessage, error) {
	start := time.Now()
	t, ok := b.byName[name]
	if !ok {
		e := errorf(CodeUnknownTool, bounded.Cut(name, 128), "the toolbox has no tool of that name; names are case-sensitive")
		for _, t := range b.tools {
			e.tools = append(e.tools, t.Name)
		}
		return nil, e
	}
	end := CallEnd{Tool: t.Name, CallID: actor.CallID(ctx), Adapter: t.Adapter, AgentID: b.agent.ID,
		External: t.run == nil}
	result, failure := b.call(ctx, t, args, &end)
	if failure != nil {
		failure.Tool = t.Name
		end.Code, end.Err = failure.Code, failure
	}
	if b.options.OnCall != nil {
		end.Duration = time.Since(start)
		b.loop.OnCall(ctx, t.Name, func() { b.options.OnCall(ctx, end) })
	}
	if failure != nil {
		return nil, failure
	}
	return result, nil
}

// ModelResult is what a model reads about a call of a tool. It is the same type as proxy.ModelResult; see
// there.
type ModelResult = struct {
	Text   string          // a JSON string as its text, any other value as JSON
	JSON   json.RawMessage // the value as it came
	Failed bool            // the call failed
}

// CallForModel runs a tool for a model. The result is the text of a handler or the response of a
// webhook. If the call failed, it is [Error.ToolResult].
//
// args is the model's text: a JSON object as string, []byte or json.RawMessage. If the text is
// malformed, the result tells the model what to correct. args may also be any Go value that
// [Toolbox.Call] accepts.
//
// An error means that the agent should stop. It is an [*Error]: CodeCanceled or CodeDeadline if ctx has ended,
// CodeAgent if an external tool has no agent, or CodeArguments for a Go value that JSON cannot
// represent.
func (b *Toolbox) CallForModel(ctx context.Context, name string, args any) (ModelResult, error) {
	text, ok := toolresult.Arguments(args)
	if !ok {
		var err error
		if text, err = rawjson.EncodeArguments(args, argumentLimits); err != nil {
			return ModelResult{}, &Error{Code: CodeArguments, Tool: bounded.Cut(name, 128), Message: err.Error(), Err: err}
		}
	}
	result, err := b.Call(ctx, name, text)
	if err == nil {
		return toolresult.ForModel(result, false), nil
	}
	e, _ := errors.AsType[*Error](err) // Call returns no other type
	if e.Code == CodeCanceled || e.Code == CodeDeadline || e.Code == CodeAgent || ctx.Err() != nil {
		return ModelResult{}, err
	}
	return toolresult.ForModel(e.ToolResult(), true), nil
}

func (b *Toolbox) call(ctx context.Context, t *tool, args any, end *CallEnd) (json.RawMessage, *Error) {
	whole, err := rawjson.EncodeArguments(args, argumentLimits)
	if err != nil {
		return nil, &Error{Code: CodeArguments, Message: err.Error() + toolresult.Advice, Err: err}
	}
	whole = slices.Clone(whole) // a tool may read it after the call has returned
	a := t.called.Arguments(whole)
	end.Reasoning = a.Reasoning
	// Handlers and Options.Transport are the host's code.
	result, failure := toolcall.Run(ctx, b.loop, a, func(ctx context.Context) (json.RawMessage, *toolcall.Failure) {
		if t.run != nil {
			text, err := t.run(ctx, a.Filled(), b.agent, t.Tool)
			return encode(text), toolcall.FailureOf(err)
		}
		definition, sent := t.bare, a.Bare
		if rawjson.Kind(rawjson.Member(whole, "reasoning")) == '"' {
			definition, sent = t.reasoned, whole
		}
		result, failed := b.post(ctx, definition, t.URL, sent)
		if failed != nil {
			ended := failed.Code == CodeCanceled || failed.Code == CodeDeadline
			return nil, &toolcall.Failure{Code: ofWebhook, Err: failed, Silent: ended}
		}
		return result, nil
	})
	switch {
	case failure == nil:
		return result, nil
	case failure.Code == ofWebhook:
		e, _ := failure.Err.(*Error)
		return nil, e
	case failure.Code == toolcall.Canceled:
		return nil, contextError(failure.Err, "the call")
	}
	return nil, &Error{Code: Code(failure.Code), Message: failure.Message, Err: failure.Err}
}

// ofWebhook is the code of a failure whose Err is the [*Error] of the call.
const ofWebhook = "webhook"

// contextError returns the error of a call or list whose context ended with err.
func contextError(err error, what string) *Error {
	e := &Error{Code: problem.ContextCode[Code](err), Message: what + " was canceled", Err: err}
	if e.Code == CodeDeadline {
		e.Message = what + " did not end before the caller's deadline"
	}
	return e
}

// encode writes a value that JSON can represent, compact and without escapes for HTML.
func encode(v any) json.RawMessage {
	raw, _ := rawjson.Encode(v)
	return raw
}
