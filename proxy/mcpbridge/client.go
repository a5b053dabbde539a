package mcpbridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolwire/toolwire/internal/bounded"
	"github.com/toolwire/toolwire/internal/httpcall"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/toolresult"
	"github.com/toolwire/toolwire/manifest/toolbox"
	"github.com/toolwire/toolwire/schema"
)

// Bounds on what an MCP server may send.
const (
	maxTools  = 1000
	maxPages  = 100
	maxList   = 4 << 20 // bytes of all declarations and cursors
	maxResult = 1 << 20 // bytes of one result
	maxText   = 4 << 10 // bytes of the text of a failure
)

const textRejected = "the MCP server does not have the tool, or rejects the arguments; correct them and call the tool again"

// Tools returns the declarations of all tools of an MCP server, in the server's order. Members of
// MCP that the platform does not know, such as title and annotations, are in [schema.Tool.Extra].
//
// The SDK decodes schemas before Tools sees them. Therefore the members of a schema are sorted by
// name, and integers above 2^53 are rounded.
//
// A list of more than 1,000 tools, 100 pages or 4 MiB with its cursors, and a cursor that repeats, are rejected with
// a [*schema.Error] that has CodeLimit. Declarations that [schema.Validate] rejects are a
// [*schema.Error] with CodeInvalid and all problems. If the server does not answer, or answers with
// an error, errors.As finds the error of the SDK. The text of that error is not shown, because it may
// contain anything that the server sent, or the server's URL.
func Tools(ctx context.Context, session *mcp.ClientSession) ([]schema.Tool, error) {
	var list []json.RawMessage
	params, size, seen := &mcp.ListToolsParams{}, 0, map[string]bool{}
	for page := 1; ; page++ {
		result, err := session.ListTools(ctx, params)
		if err != nil {
			return nil, peerError(ctx, "tools/list", err)
		}
		for _, tool := range result.Tools {
			text, err := rawjson.Encode(tool)
			if err != nil {
				return nil, &schema.Error{Code: schema.CodeInvalid, Problems: []schema.Problem{{
					Code: "not_json", Pointer: fmt.Sprintf("/%d", len(list)), Message: "cannot be written as JSON"}}}
			}
			list = append(list, text)
			size += len(text)
		}
		cursor := result.NextCursor
		size += len(cursor)
		switch {
		case size > maxList:
			return nil, limitError("the list of the MCP server has more than %d bytes", maxList)
		case len(list) > maxTools:
			return nil, limitError("the MCP server has more than %d tools", maxTools)
		case cursor == "":
			return declared(ctx, list)
		case page == maxPages:
			return nil, limitError("the list of the MCP server has more than %d pages", maxPages)
		case seen[cursor]:
			return nil, limitError("the list of the MCP server does not end: page %d has the cursor of an earlier page", page)
		}
		seen[cursor] = true
		params = &mcp.ListToolsParams{Cursor: cursor}
	}
}

func limitError(format string, args ...any) error {
	return &schema.Error{Code: schema.CodeLimit, Problems: []schema.Problem{{
		Code: "limit", Message: fmt.Sprintf(format, args...),
	}}}
}

// declared reads the tools of all pages.
func declared(ctx context.Context, list []json.RawMessage) ([]schema.Tool, error) {
	tools, _, err := schema.Import(rawjson.Array(list), schema.MCP)
	if err != nil {
		return nil, err
	}
	if _, err := schema.Validate(ctx, tools, nil); err != nil {
		return nil, err
	}
	return tools, nil
}

// Call calls a tool of an MCP server and returns its result as JSON. args is a JSON object; nil and
// blank text mean {}.
//
// If the only content is a text that is JSON, the result is that text, with its digits. Otherwise it
// is the structured content, or the texts as one JSON string, or {"content": [...]} if there are
// images, sounds or resources. A result of more than 1 MiB is an error.
//
// An error means that the call failed. If the result has isError, the text of the error is the
// first 4 KiB of the tool's text, and a model reads it, like the text of [toolbox.Errorf]. No other
// error contains what the server sent. If the server answers with an error of JSON-RPC, or if the
// connection fails, errors.As finds the error of the SDK. If ctx has ended, errors.Is finds the
// error of ctx. Calls are never repeated.
func Call(ctx context.Context, session *mcp.ClientSession, tool string, args json.RawMessage) (json.RawMessage, error) {
	args, err := rawjson.EncodeArguments(args, toolresult.ArgumentLimits)
	if err != nil {
		return nil, toolresult.Errorf("%w", err)
	}
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return nil, peerError(ctx, "tools/call", err)
	}
	switch {
	case result.NeedsInput():
		return nil, toolresult.Errorf("the tool asks for input from a user; there is none")
	case result.IsError:
		text, _ := texts(result.Content)
		if text == "" {
			text = "the tool failed and does not say why"
		}
		return nil, toolresult.Errorf("%s", bounded.Cut(text, maxText))
	}
	out, err := resultOf(result)
	if len(out) > maxResult {
		return nil, fmt.Errorf("mcpbridge: the result has %d bytes; at most %d are read", len(out), maxResult)
	}
	return out, err
}

// Handler returns the function for tools of a toolbox whose Handler is the tools' MCP server. It
// passes the name of the tool and the arguments on by [Call]. The text that it returns is the result
// of Call, or its text if that is a string.
func Handler(session *mcp.ClientSession) toolbox.Handler {
	return func(ctx context.Context, args json.RawMessage, _ toolbox.Agent, tool toolbox.Tool) (string, error) {
		result, err := Call(ctx, session, tool.Name, args)
		if err == nil && rawjson.Kind(result) == '"' {
			return rawjson.Unquote(result), nil
		}
		return string(result), err
	}
}

// texts returns all texts, with a line break between them. only is false if there is other content.
func texts(list []mcp.Content) (text string, only bool) {
	parts, only := make([]string, 0, len(list)), true
	for _, content := range list {
		if t, ok := content.(*mcp.TextContent); ok {
			parts = append(parts, t.Text)
		} else {
			only = false
		}
	}
	return strings.Join(parts, "\n"), only
}

func resultOf(result *mcp.CallToolResult) (json.RawMessage, error) {
	text, only := texts(result.Content)
	var structured json.RawMessage
	if result.StructuredContent != nil {
		var err error
		if structured, err = rawjson.Encode(result.StructuredContent); err != nil {
			return nil, errors.New("mcpbridge: the structured content cannot be written as JSON")
		}
	}
	switch {
	case only && len(result.Content) == 1 && rawjson.Check([]byte(text), rawjson.Limits{Mode: rawjson.Liberal}) == nil &&
		(structured == nil || rawjson.Kind(structured) == rawjson.Kind([]byte(text))):
		return json.RawMessage(strings.TrimSpace(text)), nil
	case structured != nil:
		return structured, nil
	case only:
		return rawjson.Quote(text), nil
	}
	out, err := rawjson.Encode(map[string]any{"content": result.Content})
	if err != nil {
		return nil, errors.New("mcpbridge: the content cannot be written as JSON")
	}
	return out, nil
}

// peerError describes an error of the SDK in fixed words.
func peerError(ctx context.Context, method string, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("mcpbridge: %s: %w", method, httpcall.ContextError(ctx))
	}
	answer, ok := errors.AsType[*jsonrpc.Error](err)
	switch {
	case ok && method == "tools/call" && answer.Code == jsonrpc.CodeInvalidParams:
		return toolresult.Errorf("%w", httpcall.Quiet(textRejected, err))
	case ok:
		return httpcall.Quiet(fmt.Sprintf("mcpbridge: %s: the MCP server answered with the error %d of JSON-RPC", method, answer.Code), err)
	case errors.Is(err, mcp.ErrConnectionClosed):
		return httpcall.Quiet("mcpbridge: "+method+": the MCP session is closed", err)
	}
	return httpcall.Quiet("mcpbridge: "+method+": "+httpcall.Describe("the MCP server", true, err), err)
}
