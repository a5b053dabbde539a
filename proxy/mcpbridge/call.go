package mcpbridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/runctx"
	"github.com/toolwire/toolwire/internal/text"
	"github.com/toolwire/toolwire/internal/toolresult"
	"github.com/toolwire/toolwire/manifest/toolbox"
)

// Bounds on the answer to a call.
const (
	maxResult = 1 << 20 // bytes of one result
	maxText   = 4 << 10 // bytes of the text of a failure
)

// What a model reads about a call without a result.
const (
	textRejected  = "the MCP server does not have the tool any more, or rejects the arguments; correct them and call the tool again"
	textMalformed = "the tool ran, but its result is not one of MCP and cannot be read; do not repeat the call"
	textDigits    = "the tool ran, but its result has integers above 2^53 only in a form in which their digits are lost; do not repeat the call"
	textInput     = "the tool asks for input from a user; there is none"
	textSilent    = "the tool failed and does not say why"
)

// Call calls a tool and returns its result as JSON. args is a JSON object; nil and blank text mean {}.
//
// The result is the structured content if there is some. A text that has the same value is used in its
// place, and so are several texts that are the elements of a list, because the SDK rounds integers above
// 2^53 in structured content. Structured content of {"result": value} that a text has as value is that
// value. Structured content with such integers that no text has is left out. Without structured content,
// the result is the only text if it is JSON, the texts as one JSON string, or {"content": [...]} if there
// are images, sounds or resources.
//
// An error means that the call failed. If the tool failed or the result cannot be read, a model reads
// the text of the error, like the text of [toolbox.Errorf]. The text is the tool's own text if the
// result has isError, or else its structured content, cut to 4 KiB. No other error contains what the
// server sent. If the server answers with an error of JSON-RPC, or if the connection fails, errors.As
// finds the error of the SDK. If ctx has ended, errors.Is finds the error of ctx. A result of more than
// 1 MiB is an error. Calls are never repeated.
func (p *Peer) Call(ctx context.Context, tool string, args json.RawMessage) (json.RawMessage, error) {
	args, err := rawjson.EncodeArguments(args, toolresult.ArgumentLimits)
	if err != nil {
		return nil, toolresult.Errorf("%w", err)
	}
	result, err := p.call(ctx, tool, args, nil)
	if refused, ok := errors.AsType[*refusal](err); ok {
		return nil, toolresult.Errorf("%w", refused)
	}
	if err != nil {
		return nil, err
	}
	if result.failed {
		s := result.text
		if s == "" {
			s = string(result.value)
		}
		return nil, toolresult.Errorf("%s", text.Cut(s, maxText))
	}
	return result.value, nil
}

// Handler returns the function for tools of a toolbox whose Handler is the MCP server. It passes the name
// of the tool and the arguments on by [Peer.Call]. The text that it returns is the result of Call, or its
// text if the result is a string.
func (p *Peer) Handler() toolbox.Handler {
	return func(ctx context.Context, args json.RawMessage, _ toolbox.Agent, tool toolbox.Tool) (string, error) {
		result, err := p.Call(ctx, tool.Name, args)
		if err == nil && rawjson.Kind(result) == '"' {
			return rawjson.Unquote(result), nil
		}
		return string(result), err
	}
}

// CallForModel calls a tool for a model, as [proxy.Client.CallForModel] does. Text of the result is the
// text that the server sent, and JSON is the result of [Peer.Call]. A result with isError is a failed
// one.
//
// args is the model's text: a JSON object as string, []byte or json.RawMessage. It may also be a Go value
// that JSON represents as an object. The server receives the id of [proxy.WithCallID] as [MetaCallID], and
// the label of [proxy.WithActor] as [MetaActor].
//
// If args is malformed or the server has no such tool, CallForModel sends nothing, and the result tells the model
// what to correct. A result that cannot be read is a failed one.
//
// An error means that the agent should stop: ctx or the session has ended, the request was lost, the server
// answered with an error of JSON-RPC that is not about the arguments, or the program has a mistake.
// See [Peer.Call] for what an error contains.
func (p *Peer) CallForModel(ctx context.Context, name string, args any) (toolwire.ModelResult, error) {
	text, ok := toolresult.Arguments(args)
	if ok {
		args = text
	}
	body, err := rawjson.EncodeArguments(args, toolresult.ArgumentLimits)
	switch {
	case err != nil && ok:
		return failure("invalid_arguments", err.Error()+toolresult.Advice, nil), nil
	case err != nil:
		return toolwire.ModelResult{}, fmt.Errorf("mcpbridge: %w", err)
	}
	meta := mcp.Meta{}
	if id := runctx.CallID(ctx); id != "" {
		meta[MetaCallID] = id
	}
	if label := runctx.Actor(ctx); label != "" {
		if err := runctx.CheckActor(label); err != nil {
			return toolwire.ModelResult{}, fmt.Errorf("mcpbridge: %w", err)
		}
		meta[MetaActor] = label
	}
	result, err := p.call(ctx, name, body, meta)
	if refused, ok := errors.AsType[*refusal](err); ok {
		return failure(refused.code, refused.text, refused.tools), nil
	}
	if err != nil {
		return toolwire.ModelResult{}, err
	}
	read := toolresult.ForModel(result.value, result.failed)
	if result.text != "" {
		read.Text = result.text
	}
	return read, nil
}

func failure(code, detail string, tools []string) toolwire.ModelResult {
	return toolresult.ForModel(toolresult.Failure(code, detail, tools), true)
}

// A refusal is why a call has no result. A model reads it.
type refusal struct {
	code, text string
	tools      []string // if the code is unknown_tool
	err        error    // of the SDK; nil if there is none
}

func (r *refusal) Error() string { return r.text }
func (r *refusal) Unwrap() error { return r.err }

// call sends one call. args must be an object.
func (p *Peer) call(ctx context.Context, tool string, args json.RawMessage, meta mcp.Meta) (*result, error) {
	name, ok := p.names[tool]
	if !ok {
		return nil, &refusal{code: "unknown_tool", text: toolresult.NoTool(tool), tools: p.toolNames()}
	}
	answer, err := p.session.CallTool(ctx, &mcp.CallToolParams{Meta: meta, Name: name, Arguments: args})
	if err != nil {
		err = peerError(ctx, p.session, "tools/call", err)
		switch rpc := answered(err); {
		case ctx.Err() != nil:
		case rpc != nil && rpc.Code == jsonrpc.CodeInvalidParams:
			return nil, &refusal{code: "invalid_arguments", text: textRejected, err: err}
		case errors.As(err, new(*undecodable)):
			return nil, &refusal{code: "tool_failed", text: textMalformed, err: err}
		}
		return nil, err
	}
	if answer.NeedsInput() {
		return nil, &refusal{code: "tool_failed", text: textInput}
	}
	return read(answer)
}

// tooLarge returns the refusal for a result beyond the bound.
func tooLarge() *refusal {
	return &refusal{code: "response_too_large",
		text: fmt.Sprintf("the result has more than %d bytes; ask for less in one call", maxResult)}
}
