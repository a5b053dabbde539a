package mcpbridge_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/proxy/mcpbridge"
)

// What a model reads over MCP is what it reads from a client of the run.
func TestCallForModel(t *testing.T) {
	for _, tt := range []struct {
		name, tool string
		args       any
		text, json string // "" means the same as text
		failed     bool
		sent       bool
	}{
		{"an object", "get_order", `{"order_id":"4521"}`, `{"status":"shipped","amount":9007199254740993}`, "", false, true},
		{"bytes", "get_order", []byte(`{"order_id":"list"}`), `[1,2]`, "", false, true},
		{"a Go value", "get_order", map[string]string{"order_id": "list"}, `[1,2]`, "", false, true},
		{"a string", "refund_order", json.RawMessage(`{"order_id":"4521"}`), `done`, `"done"`, false, true},
		{"no arguments", "refund_order", "", `done`, `"done"`, false, true},
		{"nil", "refund_order", nil, `done`, `"done"`, false, true},
		{"a failure", "get_order", `{"order_id":"77"}`, `{"error":"no such order"}`, "", true, true},
		{"broken off", "get_order", `{"order_id":`, `{"error":"invalid_arguments","detail":"the arguments are not a JSON object: ` +
			`invalid JSON at byte 12: /order_id ends before the JSON value is complete; send the arguments as one JSON object and call the tool again"}`,
			"", true, false},
		{"an invented tool", "get_orders", `{}`, `{"error":"unknown_tool","detail":"there is no tool \"get_orders\"; names are case-sensitive",` +
			`"tools":["refund_order","get_order","block"]}`, "", true, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var seen []string
			run := newRun(t)
			client := run.Client(nil).Observe(&proxy.Observer{CallStart: func(ctx context.Context, call proxy.CallInfo) context.Context {
				seen = append(seen, call.CallID+" by "+call.Actor)
				return ctx
			}})
			session := connect(t, overMemory(t, newServer(t, t.Context(), client)), "")
			ctx := proxy.WithCallID(proxy.WithActor(t.Context(), "supervisor/orders"), "call_1")
			got, err := peerOf(t, session).CallForModel(ctx, tt.tool, tt.args)
			if err != nil || got.Failed != tt.failed || got.Text != tt.text {
				t.Errorf("%s, %t, %v; want %s", got.Text, got.Failed, err, tt.text)
			}
			if want := tt.json; string(got.JSON) != want && (want != "" || string(got.JSON) != tt.text) {
				t.Errorf("JSON %s, want %s", got.JSON, want)
			}
			if sent := len(seen) > 0; sent != tt.sent || sent && seen[0] != "call_1 by supervisor/orders" {
				t.Errorf("the run saw the calls %q", seen)
			}
			if tt.tool == "get_order" { // the run's own client agrees
				own, err := run.Client(nil).CallForModel(t.Context(), tt.tool, tt.args)
				if err != nil || own.Text != got.Text || own.Failed != got.Failed {
					t.Errorf("without MCP %s, %t, %v", own.Text, own.Failed, err)
				}
			}
		})
	}
}

// A server in another language answers in its own way.
func TestCallForModelOfOtherServers(t *testing.T) {
	for _, tt := range []struct {
		name       string
		result     mcp.CallToolResult
		err        error
		text, json string
		failed     bool
	}{
		{"a text beside structured content", mcp.CallToolResult{Content: texts("1 order"), StructuredContent: map[string]any{"orders": 1}}, nil,
			`1 order`, `{"orders":1}`, false},
		{"structured content", mcp.CallToolResult{Content: texts(), StructuredContent: map[string]any{"orders": 1}}, nil,
			`{"orders":1}`, `{"orders":1}`, false},
		{"two texts", mcp.CallToolResult{Content: texts("a", "b")}, nil, "a\nb", `"a\nb"`, false},
		{"nothing", mcp.CallToolResult{Content: texts()}, nil, `""`, `""`, false},
		{"a failure", mcp.CallToolResult{Content: texts("There is no order 77."), IsError: true}, nil,
			"There is no order 77.", `"There is no order 77."`, true},
		{"an image", mcp.CallToolResult{Content: []mcp.Content{&mcp.ImageContent{Data: []byte("x"), MIMEType: "image/png"}}}, nil,
			`{"content":[{"type":"image","mimeType":"image/png","data":"eA=="}]}`, `{"content":[{"type":"image","mimeType":"image/png","data":"eA=="}]}`, false},
		{"a large result", mcp.CallToolResult{Content: texts(strings.Repeat("x", 1<<20+1))}, nil,
			`{"error":"response_too_large","detail":"the result has more than 1048576 bytes; ask for less in one call"}`, "", true},
		{"rejected arguments", mcp.CallToolResult{}, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "hunter2"},
			`{"error":"invalid_arguments","detail":"the MCP server does not have the tool any more, or rejects the arguments; correct them and call the tool again"}`, "", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			server := peer(answering("tools/call", func(*mcp.CallToolRequest) (mcp.Result, error) { return &tt.result, tt.err }))
			got, err := peerOf(t, connect(t, overMemory(t, server), "")).CallForModel(t.Context(), "tool", nil)
			if err != nil || got.Failed != tt.failed || got.Text != tt.text || tt.json != "" && string(got.JSON) != tt.json {
				t.Errorf("%.300s, %.300s, %t, %v; want %s, %s", got.Text, got.JSON, got.Failed, err, tt.text, tt.json)
			}
		})
	}
}

func TestCallForModelStops(t *testing.T) {
	cause := errors.New("the user left")
	ended, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	failing := func(err error) *mcp.Server {
		return peer(answering("tools/call", func(*mcp.CallToolRequest) (mcp.Result, error) { return nil, err }))
	}
	for _, tt := range []struct {
		name   string
		ctx    context.Context
		server *mcp.Server
		args   any
		want   error
	}{
		{"ctx has ended", ended, peer(nil), nil, cause},
		{"an error of the server", t.Context(), failing(&jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "hunter2"}), nil, nil},
		{"a label that cannot be sent", proxy.WithActor(t.Context(), "a\nb"), peer(nil), nil, nil},
		{"a Go value that is not an object", t.Context(), peer(nil), []int{1}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := peerOf(t, connect(t, overMemory(t, tt.server), "")).CallForModel(tt.ctx, "tool", tt.args)
			if err == nil || got.JSON != nil || tt.want != nil && !errors.Is(err, tt.want) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%s, %v", got.Text, err)
			}
		})
	}
	session := connect(t, overMemory(t, peer(nil)), "")
	p := peerOf(t, session)
	if err := session.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := p.CallForModel(t.Context(), "tool", nil); err == nil {
		t.Errorf("after the end of the session: %s", got.Text)
	}
}

var _ toolwire.ToolCaller = (*mcpbridge.Peer)(nil)
