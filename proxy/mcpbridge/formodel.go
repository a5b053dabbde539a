package mcpbridge

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/runctx"
	"github.com/toolwire/toolwire/internal/toolresult"
	"github.com/toolwire/toolwire/proxy"
)

// CallForModel calls a tool of an MCP server for a model, as [proxy.Client.CallForModel] does. Text of
// the result is the text that the server sent. JSON is the result of [Call]. A result with isError is
// a failed one.
//
// id is the id that the model gave the call, or "". args is the model's text: a JSON object as string,
// []byte or json.RawMessage. It may also be a Go value that JSON represents as an object. The server
// receives id as [MetaCallID], and the label of [proxy.WithActor] as [MetaActor].
//
// If args is malformed, nothing is sent, and the result tells the model what to correct. If the server
// does not have the tool, the result lists its tools, as far as they are on the first page.
//
// An error means that the agent should stop: ctx or the session has ended, the server answered with
// another error of JSON-RPC, or the program has a mistake. See [Call] for what an error contains.
func CallForModel(ctx context.Context, session *mcp.ClientSession, id, name string, args any) (proxy.ModelResult, error) {
	text, ok := toolresult.Arguments(args)
	if ok {
		args = text
	}
	body, err := rawjson.EncodeArguments(args, toolresult.ArgumentLimits)
	switch {
	case err != nil && ok:
		return failure("invalid_arguments", err.Error()+toolresult.Advice), nil
	case err != nil:
		return proxy.ModelResult{}, fmt.Errorf("mcpbridge: %w", err)
	}
	meta := mcp.Meta{}
	if id != "" {
		meta[MetaCallID] = id
	}
	if label := runctx.Actor(ctx); label != "" {
		if err := runctx.CheckActor(label); err != nil {
			return proxy.ModelResult{}, fmt.Errorf("mcpbridge: %w", err)
		}
		meta[MetaActor] = label
	}
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Meta: meta, Name: name, Arguments: body})
	if err != nil {
		return refused(ctx, session, name, err)
	}
	if result.NeedsInput() {
		return failure("tool_failed", "the tool asks for input from a user; there is none"), nil
	}
	return forModel(result), nil
}

// refused describes an error of tools/call. The code of JSON-RPC for a tool that does not exist is
// that for arguments, so refused asks for the list.
func refused(ctx context.Context, session *mcp.ClientSession, name string, err error) (proxy.ModelResult, error) {
	answer, ok := errors.AsType[*jsonrpc.Error](err)
	if !ok || answer.Code != jsonrpc.CodeInvalidParams || ctx.Err() != nil {
		return proxy.ModelResult{}, peerError(ctx, "tools/call", err)
	}
	list, err := session.ListTools(ctx, nil)
	if err != nil {
		return proxy.ModelResult{}, peerError(ctx, "tools/list", err)
	}
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	if slices.Contains(names, name) || list.NextCursor != "" {
		return failure("invalid_arguments", textRejected), nil
	}
	return toolresult.ForModel(toolresult.Failure("unknown_tool", toolresult.NoTool(name), names), true), nil
}

// forModel returns what a model reads about a result.
func forModel(result *mcp.CallToolResult) proxy.ModelResult {
	value, err := resultOf(result)
	text, only := texts(result.Content)
	switch {
	case err != nil:
		return failure("tool_failed", "the result cannot be written as JSON")
	case max(len(value), len(text)) > maxResult:
		return failure("response_too_large", fmt.Sprintf("the result has more than %d bytes; ask for less in one call", maxResult))
	}
	read := toolresult.ForModel(value, result.IsError)
	if only && strings.TrimSpace(text) != "" {
		read.Text = text
	}
	return read
}

func failure(code, detail string) proxy.ModelResult {
	return toolresult.ForModel(toolresult.Failure(code, detail, nil), true)
}
