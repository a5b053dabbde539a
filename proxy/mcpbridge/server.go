package mcpbridge

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/internal/problem"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/runctx"
	"github.com/toolwire/toolwire/internal/toolresult"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/schema"
)

// Members of "_meta" in a tools/call. Both are strings.
const (
	MetaActor  = "toolwire/actor"   // the label of the sub-agent that makes the call
	MetaCallID = "toolwire/call_id" // the id that the model gave the call; see [proxy.WithCallID]
)

// NewServer returns an MCP server that offers the tools of one run. Calls of the tools are calls of
// client, so its limits, its pacing and its observers apply. The server works on every transport
// of the SDK, for several sessions at the same time. More tools, prompts and resources may be added.
//
// ctx is the context of the run, such as the one that package dispatch gives an agent. The run is
// over when ctx ends, or when the proxy reports its end in the answer to a call. The server then
// cancels the calls that are in flight, answers every request with an error, and closes each
// session after its last answer.
//
// The list keeps the order of tools, and the schemas keep their order and digits. A schema without
// "properties" gets an empty one, because clients pass schemas on and OpenAI requires it. The members
// "title" and "annotations" of [schema.Tool.Extra] are listed. An OutputSchema is not: MCP requires
// that every result matches a listed one, and clients refuse a result that does not.
//
// The result of a call is one text: the Text that [proxy.Client.CallForModel] returns. A result
// that is a JSON object is also the structured content, because versions of MCP before 2026-07-28
// allow no other value there. A failure has isError set and no structured content. The client's
// cancellation of a call ends the call's context. On streamable HTTP with MCP 2026-07-28 that needs
// [mcp.StreamableHTTPOptions.PropagateRequestCancellation].
//
// A call is attributed to the sub-agent that client names by [proxy.Client.As], or else the member
// [MetaActor] of the call's "_meta", or else [proxy.WithActor] in the context of the request or in ctx.
// The member [MetaCallID] is the id that the model gave the call. A label or an id that is not a string,
// and a label that cannot be sent, are errors of the request.
//
// The error is a [*toolwire.Error] with all problems: what [schema.Validate] rejects, schemas
// that MCP does not allow, and schemas that are written in an older draft, which clients reject.
func NewServer(ctx context.Context, client *proxy.Client, tools []schema.Tool) (*mcp.Server, error) {
	if _, err := schema.Validate(ctx, tools, nil); err != nil {
		return nil, err
	}
	b := &bridge{client: client, rank: make(map[string]int, len(tools)), unanswered: make(map[mcp.Session]int)}
	b.server = mcp.NewServer(&mcp.Implementation{Name: "toolwire", Version: "0"}, &mcp.ServerOptions{
		PageSize:     max(mcp.DefaultPageSize, len(tools)), // one page, because pages are sorted by name
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}},
	})
	var problems problem.List[toolwire.Problem]
	for i, tool := range tools {
		b.rank[tool.Name] = i - len(tools)
		problems.Append(b.add(i, tool), 0)
	}
	if problems.Len() > 0 {
		return nil, &toolwire.Error{Code: toolwire.CodeInvalid, Problems: problems.Found, More: problems.More}
	}
	b.ctx, b.end = context.WithCancelCause(ctx)
	context.AfterFunc(b.ctx, b.close)
	b.server.AddReceivingMiddleware(b.receive)
	return b.server, nil
}

// add adds a tool as MCP declares it, or returns why it cannot be one of MCP.
func (b *bridge) add(i int, tool schema.Tool) (problems []toolwire.Problem) {
	wrong := func(code, member, message string) {
		pointer := fmt.Sprintf("/%d/%s", i, member)
		problems = append(problems, toolwire.Problem{Tool: tool.Name, Code: code, Pointer: pointer, Message: message})
	}
	if rawjson.Unquote(rawjson.Member(tool.InputSchema, "type")) != "object" {
		wrong("no_type", "input_schema", `must have "type": "object" at its root, which MCP requires; add it`)
	}
	listed := &mcp.Tool{Name: tool.Name, Description: tool.Description, InputSchema: toolresult.Parameters(tool.InputSchema)}
	_, err := schema.Compile(inNewestDraft(toolresult.Parameters(tool.InputSchema)), nil)
	if rejected, ok := errors.AsType[*toolwire.Error](err); ok && rejected.Code == toolwire.CodeInvalid {
		for _, p := range rejected.Problems {
			wrong(p.Code, "input_schema"+p.Pointer, p.Message+"; clients of MCP reject schemas that are not of draft 2020-12")
		}
	}
	for _, member := range tool.Extra {
		var err error
		switch member.Name {
		case "title":
			err = json.Unmarshal(member.Value, &listed.Title)
		case "annotations":
			err = json.Unmarshal(member.Value, &listed.Annotations)
		}
		if err != nil {
			wrong("wrong_type", member.Name, "is not what MCP declares; correct it or leave it out")
		}
	}
	if problems != nil {
		return problems
	}
	defer func() { // the SDK panics on declarations that it does not accept
		if value := recover(); value != nil {
			wrong("schema_invalid", "input_schema", fmt.Sprintf("is not accepted by the MCP SDK: %v", value))
		}
	}()
	b.server.AddTool(listed, b.call)
	return nil
}

// inNewestDraft returns a schema with the draft that clients read it in, whatever it names.
func inNewestDraft(input json.RawMessage) json.RawMessage {
	w := new(rawjson.Object)
	w.PutText("$schema", "https://json-schema.org/draft/2020-12/schema")
	for name, value := range rawjson.Members(input) {
		if name != "$schema" {
			w.Put(name, value)
		}
	}
	return w.Bytes()
}

// bridge is the run behind a server.
type bridge struct {
	ctx    context.Context // of the run; its cause is a *jsonrpc.Error if the proxy ended the run
	end    context.CancelCauseFunc
	client *proxy.Client
	server *mcp.Server
	rank   map[string]int // orders the list; negative, so that tools which are added later come last

	mu         sync.Mutex
	unanswered map[mcp.Session]int // requests without a written answer
}

// receive is the middleware of the server.
func (b *bridge) receive(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, request mcp.Request) (mcp.Result, error) {
		b.arrived(ctx, request.GetSession())
		if err := b.ended(); err != nil {
			return nil, err
		}
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		defer context.AfterFunc(b.ctx, func() { cancel(context.Cause(b.ctx)) })()
		result, err := next(ctx, method, request)
		if err := b.ended(); err != nil {
			return nil, err
		}
		if list, ok := result.(*mcp.ListToolsResult); ok && err == nil {
			slices.SortStableFunc(list.Tools, func(x, y *mcp.Tool) int { return cmp.Compare(b.rank[x.Name], b.rank[y.Name]) })
		}
		return result, err
	}
}

// ended returns the answer to a request after the end of the run, or nil before it.
func (b *bridge) ended() error {
	if b.ctx.Err() == nil {
		return nil
	}
	if answer, ok := context.Cause(b.ctx).(*jsonrpc.Error); ok {
		return answer
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the run is over: its context has ended"}
}

// arrived counts a request of session until its answer is written. ctx is the request's context,
// which the SDK cancels after that. A session that is closed before loses the answer.
func (b *bridge) arrived(ctx context.Context, session mcp.Session) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.unanswered[session]++
	context.AfterFunc(ctx, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.unanswered[session]--; b.unanswered[session] > 0 {
			return
		}
		delete(b.unanswered, session)
		if b.ctx.Err() != nil {
			go func() { _ = session.(*mcp.ServerSession).Close() }()
		}
	})
}

// close closes the sessions without unanswered requests. The others are closed after their answers.
func (b *bridge) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for session := range b.server.Sessions() {
		if b.unanswered[session] == 0 {
			go func() { _ = session.Close() }()
		}
	}
}

func (b *bridge) call(ctx context.Context, request *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	ctx, err := b.attribute(ctx, request.Params.Meta)
	if err != nil {
		return nil, err
	}
	result, err := b.client.CallForModel(ctx, request.Params.Name, request.Params.Arguments)
	if err != nil {
		return nil, b.stop(err)
	}
	out := &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: result.Text}}, IsError: result.Failed}
	if !result.Failed && rawjson.Kind(result.JSON) == '{' {
		out.StructuredContent = result.JSON
	}
	return out, nil
}

// attribute returns the context of a call with the label of a sub-agent and the id of the call.
func (b *bridge) attribute(ctx context.Context, meta mcp.Meta) (context.Context, error) {
	if label := runctx.Actor(b.ctx); label != "" && runctx.Actor(ctx) == "" {
		ctx = proxy.WithActor(ctx, label)
	}
	for _, member := range []struct {
		key  string
		with func(context.Context, string) context.Context
	}{{MetaActor, proxy.WithActor}, {MetaCallID, proxy.WithCallID}} {
		value, ok := meta[member.key]
		if !ok {
			continue
		}
		text, ok := value.(string)
		if !ok {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "_meta: " + member.key + " must be a string"}
		}
		ctx = member.with(ctx, text)
	}
	return ctx, nil
}

// stop returns the answer to an error of CallForModel, and ends the bridge if the run is over.
func (b *bridge) stop(err error) error {
	answer := &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: err.Error()}
	switch {
	case proxy.IsRunOver(err):
		b.end(answer)
	case toolwire.CodeOf(err) == "actor_id_invalid":
		answer.Code = jsonrpc.CodeInvalidParams
	}
	return answer
}
