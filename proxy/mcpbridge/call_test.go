package mcpbridge_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolwire/toolwire/manifest/toolbox"
	"github.com/toolwire/toolwire/proxy/mcpbridge"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

// peer returns an MCP server with one tool, whose middleware may answer in its place.
func peer(middleware mcp.Middleware) *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "peer", Version: "0"}, nil)
	server.AddTool(&mcp.Tool{Name: "tool", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{}, nil
		})
	if middleware != nil {
		server.AddReceivingMiddleware(middleware)
	}
	return server
}

// answering returns a middleware that answers one method.
func answering[P mcp.Request](method string, answer func(request P) (mcp.Result, error)) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, got string, request mcp.Request) (mcp.Result, error) {
			if got == method {
				return answer(request.(P))
			}
			return next(ctx, got, request)
		}
	}
}

func TestTools(t *testing.T) {
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			session := connect(t, way.over(t, newServer(t, t.Context(), newRun(t).Client(nil))), way.version)
			got := peerOf(t, session).Tools()
			if len(got) != 3 {
				t.Fatal(got)
			}
			for i, want := range tools() {
				if got[i].Name != want.Name || got[i].Description != want.Description {
					t.Errorf("tool %d is %s: %s", i, got[i].Name, got[i].Description)
				}
			}
			want := `{"properties":{"order_id":{"type":"string"}},"type":"object"}` // sorted by the SDK
			if string(got[1].InputSchema) != want {
				t.Errorf("%s", got[1].InputSchema)
			}
			for _, want := range []string{`{title "Look up"}`, `{annotations {`, `"readOnlyHint":true`} {
				if extra := fmt.Sprintf("%s", got[1].Extra); !strings.Contains(extra, want) {
					t.Errorf("the further members %s do not have %s", extra, want)
				}
			}
			if want := `{"properties":{},"type":"object"}`; string(got[2].InputSchema) != want { // OpenAI requires properties
				t.Errorf("%s", got[2].InputSchema)
			}
		})
	}
}

func TestPages(t *testing.T) {
	server := mcp.NewServer(&mcp.Implementation{Name: "peer", Version: "0"}, &mcp.ServerOptions{PageSize: 2})
	for i := range 7 {
		server.AddTool(&mcp.Tool{Name: fmt.Sprintf("tool_%d", i), Title: "A tool.", InputSchema: json.RawMessage(`{"type":"object"}`)}, nil)
	}
	got := peerOf(t, connect(t, overMemory(t, server), "")).Tools()
	if len(got) != 7 || got[6].Name != "tool_6" {
		t.Fatal(got)
	}
	if len(got[0].Extra) != 1 || got[0].Extra[0].Name != "title" {
		t.Errorf("further members: %v", got[0].Extra)
	}
}

func TestCall(t *testing.T) {
	for _, tt := range []struct {
		name   string
		result mcp.CallToolResult
		want   string
	}{
		{"JSON", mcp.CallToolResult{Content: texts(` {"n":9007199254740993} `)}, `{"n":9007199254740993}`},
		{"JSON twice", mcp.CallToolResult{Content: texts(`{"n":9007199254740993}`), StructuredContent: map[string]any{"n": int64(9007199254740993)}}, `{"n":9007199254740993}`},
		{"text", mcp.CallToolResult{Content: texts("Order <4521> has shipped.")}, `"Order <4521> has shipped."`},
		{"texts", mcp.CallToolResult{Content: texts("{}", "two")}, `"{}\ntwo"`},
		{"none", mcp.CallToolResult{Content: texts()}, `""`},
		{"structured content", mcp.CallToolResult{Content: texts("1 order"), StructuredContent: map[string]any{"orders": 1}}, `{"orders":1}`},
		{"structured content beside a number", mcp.CallToolResult{Content: texts("1"), StructuredContent: map[string]any{"orders": 1}}, `{"orders":1}`},
		{"an image", mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "a map"}, &mcp.ImageContent{Data: []byte("x"), MIMEType: "image/png"}}},
			`{"content":[{"type":"text","text":"a map"},{"type":"image","mimeType":"image/png","data":"eA=="}]}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			server := peer(answering("tools/call", func(*mcp.CallToolRequest) (mcp.Result, error) { return &tt.result, nil }))
			p := peerOf(t, connect(t, overMemory(t, server), ""))
			got, err := p.Call(t.Context(), "tool", nil)
			if err != nil || string(got) != tt.want {
				t.Errorf("%s, %v; want %s", got, err, tt.want)
			}
			inBox, err := box(t, p).CallForModel(t.Context(), "tool", nil)
			want := tt.want
			if strings.Trim(want, `"`) != "" { // a blank text stays JSON
				_ = json.Unmarshal([]byte(want), &want)
			}
			if err != nil || inBox.Failed || inBox.Text != want {
				t.Errorf("in a toolbox: %s, %t, %v", inBox.Text, inBox.Failed, err)
			}
		})
	}
}

// The arguments arrive byte for byte.
func TestCallArguments(t *testing.T) {
	const args = `{"z":9007199254740993,"a":"<b>"}`
	var got string
	server := peer(answering("tools/call", func(r *mcp.CallToolRequest) (mcp.Result, error) {
		got = string(r.Params.Arguments)
		return &mcp.CallToolResult{Content: []mcp.Content{}}, nil
	}))
	p := peerOf(t, connect(t, overMemory(t, server), ""))
	if _, err := p.Call(t.Context(), "tool", json.RawMessage(args)); err != nil {
		t.Fatal(err)
	}
	if strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(got) != args {
		t.Errorf("the server got %s, want %s", got, args)
	}
	got = ""
	for _, bad := range []string{`[1]`, `{"a":1,"a":2}`, `{"a":`} {
		if _, err := p.Call(t.Context(), "tool", json.RawMessage(bad)); err == nil || got != "" {
			t.Errorf("%s: %v, and the server got %q", bad, err, got)
		}
	}
}

// A failure of the tool is for the model; no other words of a server are.
func TestCallFails(t *testing.T) {
	const secret = "hunter2-swordfish"
	rpc := func(code int64) func() (mcp.Result, error) {
		return func() (mcp.Result, error) { return nil, &jsonrpc.Error{Code: code, Message: "your key is " + secret} }
	}
	for _, tt := range []struct {
		name   string
		answer func() (mcp.Result, error)
		model  string // the detail that a model reads
		rpc    bool   // the error of the SDK is in the chain
	}{
		{"isError", func() (mcp.Result, error) {
			return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: "There is no order 77."}}}, nil
		}, "There is no order 77.", false},
		{"isError without a text", func() (mcp.Result, error) { return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{}}, nil },
			"the tool failed and does not say why", false},
		{"isError with a long text", func() (mcp.Result, error) {
			return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: strings.Repeat("x", 1<<20)}}}, nil
		}, "xxx", false},
		{"rejected arguments", rpc(jsonrpc.CodeInvalidParams), "rejects the arguments", true},
		{"an error of the server", rpc(jsonrpc.CodeInternalError), "the tool failed for a reason of its own", true},
		{"a large result", func() (mcp.Result, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: strings.Repeat("x", 1<<20)}}}, nil
		}, "ask for less in one call", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			server := peer(answering("tools/call", func(*mcp.CallToolRequest) (mcp.Result, error) { return tt.answer() }))
			p := peerOf(t, connect(t, overMemory(t, server), ""))
			_, err := p.Call(t.Context(), "tool", nil)
			if err == nil || len(err.Error()) > 5000 || strings.Contains(err.Error(), secret) {
				t.Fatal(err)
			}
			if _, ok := errors.AsType[*jsonrpc.Error](err); ok != tt.rpc {
				t.Errorf("the error of the SDK is in the chain: %t", ok)
			}
			result, err := box(t, p).CallForModel(t.Context(), "tool", nil)
			if err != nil || !result.Failed || !strings.Contains(result.Text, tt.model) || len(result.Text) > 5000 || strings.Contains(result.Text, secret) {
				t.Errorf("the model reads %.300s, %t, %v; want %s", result.Text, result.Failed, err, tt.model)
			}
		})
	}
}

// A result of 1 MiB is read, and no larger one.
func TestBoundOfResults(t *testing.T) {
	for _, extra := range []int{0, 1} {
		server := peer(answering("tools/call", func(*mcp.CallToolRequest) (mcp.Result, error) {
			text := strings.Repeat("x", 1<<20-2+extra) // and quotation marks
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil
		}))
		result, err := peerOf(t, connect(t, overMemory(t, server), "")).Call(t.Context(), "tool", nil)
		if (err == nil) != (extra == 0) || err == nil && len(result) != 1<<20 {
			t.Errorf("%d bytes more: %d bytes, %v", extra, len(result), err)
		}
	}
}

// peerOf connects to the tools of an MCP server, all of which can be declared.
func peerOf(t *testing.T, session *mcp.ClientSession) *mcpbridge.Peer {
	t.Helper()
	p, problems, err := mcpbridge.Connect(t.Context(), session)
	if err != nil || problems != nil {
		t.Fatal(problems, err)
	}
	return p
}

// box returns a toolbox with the tools of an MCP server.
func box(t *testing.T, p *mcpbridge.Peer) *toolbox.Toolbox {
	t.Helper()
	var list []toolbox.Tool
	for _, tool := range p.Tools() {
		list = append(list, toolbox.Tool{Name: tool.Name, Parameters: tool.InputSchema, Handler: "mcp.call"})
	}
	document, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	b, err := toolbox.Parse(document, &toolbox.Options{Handlers: map[string]toolbox.Handler{"mcp.call": p.Handler()}})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// No text of an error has the URL of the server, or what it answered.
func TestConnectionFails(t *testing.T) {
	const secret = "hunter2-swordfish"
	inner := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return peer(nil) }, nil)
	var broken atomic.Bool
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if broken.Load() {
			w.WriteHeader(http.StatusBadGateway)
			_, _ = io.WriteString(w, "your key is "+secret)
			return
		}
		inner.ServeHTTP(w, r)
	}))
	defer site.Close()
	for _, name := range []string{"an error of HTTP", "no server"} {
		t.Run(name, func(t *testing.T) {
			session := connect(t, &mcp.StreamableClientTransport{
				Endpoint: site.URL + "/?key=" + secret, MaxRetries: -1, DisableStandaloneSSE: true,
			}, "2025-11-25")
			p := peerOf(t, session)
			switch name {
			case "an error of HTTP":
				broken.Store(true)
				defer broken.Store(false)
			case "no server":
				site.Close()
			}
			_, err := p.Call(t.Context(), "tool", nil)
			if err == nil || strings.Contains(err.Error(), secret) || strings.Contains(err.Error(), site.URL) {
				t.Error("Call:", err)
			}
			_, _, err = mcpbridge.Connect(t.Context(), session)
			if err == nil || strings.Contains(err.Error(), secret) || strings.Contains(err.Error(), site.URL) {
				t.Error("Connect:", err)
			}
		})
	}
}

func TestClosedSession(t *testing.T) {
	session := connect(t, overMemory(t, peer(nil)), "")
	p := peerOf(t, session)
	if err := session.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Call(t.Context(), "tool", nil); !errors.Is(err, mcp.ErrConnectionClosed) {
		t.Error(err)
	}
}

// A call ends with its context, and the tool's context ends, too.
func TestCallCanceled(t *testing.T) {
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			arrived, ended := make(chan struct{}, 1), make(chan struct{})
			run := proxytest.NewPlatform(t, world(arrived, ended), nil).NewRun()
			session := connect(t, way.over(t, newServer(t, t.Context(), run.Client(nil))), way.version)
			p := peerOf(t, session)
			reason := errors.New("no longer needed")
			ctx, cancel := context.WithCancelCause(t.Context())
			failed := make(chan error, 1)
			go func() {
				_, err := p.Call(ctx, "block", nil)
				failed <- err
			}()
			within(t, "the call", arrived)
			cancel(reason)
			if err := within(t, "the error", failed); !errors.Is(err, context.Canceled) || !errors.Is(err, reason) {
				t.Error(err)
			}
			within(t, "the end of the tool", ended)
		})
	}
}
