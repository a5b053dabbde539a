package mcpbridge_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/ledger"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/proxy/mcpbridge"
	"github.com/toolwire/toolwire/proxy/proxytest"
	"github.com/toolwire/toolwire/schema"
)

// limit is how long a test waits for an event that must come.
const limit = 2 * time.Minute

// within waits for an event.
func within[T any](t *testing.T, what string, events <-chan T) (event T) {
	t.Helper()
	select {
	case event = <-events:
	case <-time.After(limit):
		t.Fatal("waited in vain:", what)
	}
	return event
}

func TestCallsOfARun(t *testing.T) {
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			run := newRun(t)
			server := newServer(t, t.Context(), run.Client(nil))
			testCalls(t, connect(t, way.over(t, server), way.version), run)
		})
	}
}

func TestStdio(t *testing.T) {
	for _, version := range []string{"", "2025-11-25"} {
		t.Run(version, func(t *testing.T) {
			platform := proxytest.NewPlatform(t, world(make(chan<- struct{}, 1), make(chan struct{})), nil)
			site := httptest.NewServer(platform)
			defer site.Close()
			run := platform.NewRun()
			session := connect(t, overStdio(t, site.URL+run.Path, run.Token), version)
			testCalls(t, session, run)

			run.End("")
			if _, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "get_order"}); err == nil || strings.Contains(err.Error(), run.Token) {
				t.Error("a call after the end:", err)
			}
			ended := make(chan error, 1)
			go func() { ended <- session.Wait() }()
			_ = within(t, "the end of the process", ended)
		})
	}
}

// testCalls lists and calls the tools of world.
func testCalls(t *testing.T, session *mcp.ClientSession, run *proxytest.Run) {
	list, err := session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
		if tool.OutputSchema != nil { // a result need not match it, as the list below
			t.Errorf("%s has an output schema", tool.Name)
		}
	}
	if got := strings.Join(names, " "); got != "refund_order get_order block" || list.NextCursor != "" {
		t.Errorf("tools %s, cursor %q", got, list.NextCursor)
	}
	for _, tt := range []struct {
		tool, args string
		text       string
		structured bool
		failed     bool
		sent       bool
	}{
		{"get_order", `{"order_id":"4521"}`, `{"status":"shipped","amount":9007199254740993}`, true, false, true},
		{"get_order", `{"order_id":"list"}`, `[1,2]`, false, false, true},
		{"get_order", `{"order_id":"77"}`, `{"error":"no such order"}`, false, true, true},
		{"refund_order", `{"order_id":"4521","amount":9007199254740993}`, `done`, false, false, true},
		{"get_order", `{"order_id":"4521","order_id":"77"}`, `"error":"invalid_arguments"`, false, true, false},
	} {
		before := len(run.Log().Calls)
		result := call(t, session, tt.tool, tt.args, nil)
		if got := text(result); !strings.Contains(got, tt.text) || len(result.Content) != 1 {
			t.Errorf("%s %s: %s, want %s", tt.tool, tt.args, got, tt.text)
		}
		if result.IsError != tt.failed || (result.StructuredContent != nil) != tt.structured {
			t.Errorf("%s %s: error %t, structured content %v", tt.tool, tt.args, result.IsError, result.StructuredContent)
		}
		calls := run.Log().Calls
		if sent := len(calls) > before; sent != tt.sent {
			t.Errorf("%s %s: sent %t", tt.tool, tt.args, sent)
		} else if sent && string(calls[before].Arguments) != tt.args {
			t.Errorf("the proxy got %s, want %s", calls[before].Arguments, tt.args)
		}
	}
	if _, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "no_tool"}); err == nil {
		t.Error("a tool that does not exist was called")
	}
}

// On the wire the schemas have the order and the digits of the declarations.
func TestSchemasOnTheWire(t *testing.T) {
	requests, in := io.Pipe()
	out, answers := io.Pipe()
	server := newServer(t, t.Context(), newRun(t).Client(nil))
	session, err := server.Connect(t.Context(), &mcp.IOTransport{Reader: requests, Writer: answers}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	lines := bufio.NewReader(out)
	ask := func(id int, method, params string) string {
		if _, err := fmt.Fprintf(in, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", id, method, params); err != nil {
			t.Fatal(err)
		}
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		return line
	}
	ask(1, "initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"0"}}`)
	if _, err := io.WriteString(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n"); err != nil {
		t.Fatal(err)
	}
	list := ask(2, "tools/list", `{}`)
	for _, want := range []string{`"inputSchema":` + refundSchema, `"inputSchema":` + getSchema, `"title":"Look up"`} {
		if !strings.Contains(list, want) {
			t.Errorf("the list\n%s\ndoes not have\n%s", list, want)
		}
	}
	result := ask(3, "tools/call", `{"name":"get_order","arguments":{"order_id":"4521"}}`)
	if want := `"structuredContent":{"status":"shipped","amount":9007199254740993}`; !strings.Contains(result, want) {
		t.Errorf("the result\n%s\ndoes not have\n%s", result, want)
	}
}

// When the client gives a call up, the request to the proxy ends.
func TestCancel(t *testing.T) {
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			arrived, ended := make(chan struct{}, 1), make(chan struct{})
			run := proxytest.NewPlatform(t, world(arrived, ended), nil).NewRun()
			session := connect(t, way.over(t, newServer(t, t.Context(), run.Client(nil))), way.version)
			ctx, cancel := context.WithCancel(t.Context())
			failed := make(chan error, 1)
			go func() {
				_, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "block"})
				failed <- err
			}()
			within(t, "the call", arrived)
			cancel()
			if err := within(t, "the error", failed); !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			within(t, "the end of the request", ended)
			if got := text(call(t, session, "get_order", `{"order_id":"list"}`, nil)); got != "[1,2]" {
				t.Error("after the cancellation:", got)
			}
		})
	}
}

func TestActors(t *testing.T) {
	for _, tt := range []struct {
		name   string
		of     string // the label of the client
		server string // the label in the context of the server
		meta   mcp.Meta
		want   string
		fails  bool
	}{
		{"none", "", "", nil, "", false},
		{"the client's", "refunds", "", nil, "refunds", false},
		{"of the call", "", "", mcp.Meta{"toolwire/actor": "supervisor/refunds"}, "supervisor/refunds", false},
		{"the client's and of the call", "refunds", "", mcp.Meta{"toolwire/actor": "sales"}, "refunds", false},
		{"the server's", "", "sales", nil, "sales", false},
		{"the server's and of the call", "", "sales", mcp.Meta{"toolwire/actor": "refunds"}, "refunds", false},
		{"not a string", "", "", mcp.Meta{"toolwire/actor": 7}, "", true},
		{"cannot be sent", "", "", mcp.Meta{"toolwire/actor": "a\nb"}, "", true},
		{"an id that is not a string", "", "", mcp.Meta{"toolwire/call_id": []int{1}}, "", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			run, ids := newRun(t), new(callIDs)
			client, ctx := run.Client(&proxy.Options{Observer: ids.observer()}), t.Context()
			if tt.of != "" {
				client = client.As(tt.of)
			}
			if tt.server != "" {
				ctx = proxy.WithActor(ctx, tt.server)
			}
			session := connect(t, overMemory(t, newServer(t, ctx, client)), "")
			meta := mcp.Meta{"toolwire/call_id": "toolu_1"}
			for key, value := range tt.meta {
				meta[key] = value
			}
			_, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "get_order", Meta: meta})
			if answer, ok := errors.AsType[*jsonrpc.Error](err); ok != tt.fails || ok && answer.Code != jsonrpc.CodeInvalidParams {
				t.Fatal(err)
			}
			calls := run.Log().Calls
			if tt.fails {
				if len(calls) != 0 {
					t.Error("the call was sent")
				}
				return
			}
			if len(calls) != 1 || calls[0].Actor != tt.want || !slices.Equal(ids.seen, []string{"toolu_1"}) {
				t.Errorf("calls %+v with the ids %q", calls, ids.seen)
			}
		})
	}
}

// callIDs records the ids of calls.
type callIDs struct{ seen []string }

func (c *callIDs) observer() *proxy.Observer {
	return &proxy.Observer{CallStart: func(ctx context.Context, info proxy.CallInfo) context.Context {
		c.seen = append(c.seen, info.CallID)
		return ctx
	}}
}

// When the proxy says that the run is over, the sessions end.
func TestRunOver(t *testing.T) {
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			run := newRun(t)
			server := newServer(t, t.Context(), run.Client(nil))
			session := connect(t, way.over(t, server), way.version)
			call(t, session, "get_order", `{"order_id":"4521"}`, nil)
			run.End("")
			_, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "get_order"})
			if err == nil || strings.Contains(err.Error(), run.Token) {
				t.Fatal("the call that meets the end:", err)
			}
			// On HTTP the end of the session may reach the client before the answer to the call.
			if !strings.Contains(err.Error(), "run_over") && !strings.HasPrefix(way.name, "HTTP") {
				t.Error("the error does not say why:", err)
			}
			testOver(t, server, session, run, len(run.Log().Calls))
		})
	}
}

// When the context of the run ends, calls in flight and the sessions end.
func TestContextOver(t *testing.T) {
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			arrived, ended := make(chan struct{}, 1), make(chan struct{})
			run := proxytest.NewPlatform(t, world(arrived, ended), nil).NewRun()
			ctx, cancel := context.WithCancel(t.Context())
			server := newServer(t, ctx, run.Client(nil))
			session := connect(t, way.over(t, server), way.version)
			failed := make(chan error, 1)
			go func() {
				_, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "block"})
				failed <- err
			}()
			within(t, "the call", arrived)
			cancel()
			if err := within(t, "the error", failed); err == nil {
				t.Error("the call succeeded")
			}
			within(t, "the end of the request", ended)
			testOver(t, server, session, run, 1)
		})
	}
}

func TestIdleSessionsEndWithTheContext(t *testing.T) {
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			run := newRun(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			server := newServer(t, ctx, run.Client(nil))
			session := connect(t, way.over(t, server), way.version)
			call(t, session, "get_order", `{"order_id":"4521"}`, nil)
			cancel()
			testOver(t, server, session, run, 1)
		})
	}
}

// testOver makes sure that the server has no session and serves nothing more. The proxy got that many
// calls before, of which it may still record the last.
func testOver(t *testing.T, server *mcp.Server, session *mcp.ClientSession, run *proxytest.Run, calls int) {
	t.Helper()
	gone := make(chan struct{})
	go func() {
		for old := range server.Sessions() {
			_ = old.Wait()
		}
		close(gone)
	}()
	within(t, "the end of the sessions", gone)
	if _, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "get_order"}); err == nil {
		t.Error("a later call succeeded")
	}
	late, there := mcp.NewInMemoryTransports()
	if _, err := server.Connect(t.Context(), late, nil); err != nil {
		t.Fatal(err)
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "late", Version: "0"}, nil)
	if _, err := client.Connect(t.Context(), there, nil); err == nil {
		t.Error("a client connects after the end")
	}
	if after := len(run.Log().Calls); after > calls {
		t.Error("the proxy got requests after the end")
	}
}

// Tools that a program adds to the server are listed after the tools of the run.
func TestToolsAddedLater(t *testing.T) {
	server := newServer(t, t.Context(), newRun(t).Client(nil))
	server.AddTool(&mcp.Tool{Name: "a_note", InputSchema: json.RawMessage(`{"type":"object"}`)}, nil)
	list, err := connect(t, ways[0].over(t, server), ways[0].version).ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(list.Tools); n != 4 || list.Tools[0].Name != "refund_order" || list.Tools[n-1].Name != "a_note" {
		t.Errorf("%d tools, from %s to %s", n, list.Tools[0].Name, list.Tools[n-1].Name)
	}
}

// All tools are on one page, however many there are, because the SDK sorts pages by name.
func TestManyTools(t *testing.T) {
	var tools []schema.Tool
	for i := range mcp.DefaultPageSize + 1 {
		tools = append(tools, schema.Tool{Name: fmt.Sprintf("t%d", 9999-i), InputSchema: json.RawMessage(`{"type":"object"}`)})
	}
	server, err := mcpbridge.NewServer(t.Context(), newRun(t).Client(nil), tools)
	if err != nil {
		t.Fatal(err)
	}
	list, err := connect(t, ways[0].over(t, server), ways[0].version).ListTools(t.Context(), nil)
	if err != nil || len(list.Tools) != len(tools) || list.Tools[0].Name != "t9999" {
		t.Errorf("%d tools, %v", len(list.Tools), err)
	}
}

func TestNewServerErrors(t *testing.T) {
	for _, tt := range []struct {
		name  string
		tools []schema.Tool
		want  []string
	}{
		{"no type", []schema.Tool{{Name: "a", InputSchema: json.RawMessage(`{"properties":{}}`)}},
			[]string{`"a"`, `/input_schema must have "type": "object"`}},
		{"no types", []schema.Tool{{Name: "a", InputSchema: json.RawMessage(`{}`)}, {Name: "b", InputSchema: json.RawMessage(`{}`)}},
			[]string{`"a"`, `"b"`}},
		{"all problems", []schema.Tool{{Name: "a b", InputSchema: json.RawMessage(`{"type":"object"}`)}, {Name: "c"}},
			[]string{`"a b"`, `"c"`, "input_schema"}},
		{"twice", []schema.Tool{{Name: "a", InputSchema: json.RawMessage(`{"type":"object"}`)}, {Name: "a", InputSchema: json.RawMessage(`{"type":"object"}`)}},
			[]string{"name"}},
		{"members of MCP", []schema.Tool{{Name: "a", InputSchema: json.RawMessage(`{"type":"object"}`), Extra: []ledger.Member{
			{Name: "title", Value: json.RawMessage(`7`)}, {Name: "annotations", Value: json.RawMessage(`[]`)}}}},
			[]string{`"a"`, "/title is not what MCP declares", "/annotations is not"}},
		{"forms of older drafts", []schema.Tool{{Name: "a", InputSchema: json.RawMessage(`{"type":"object","properties":{"x":{"minimum":1,"exclusiveMinimum":true}}}`)},
			{Name: "b", InputSchema: json.RawMessage(`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"x":{"items":[{}]}}}`)},
			{Name: "c", InputSchema: json.RawMessage(`{"type":"object","required":null}`)},
			{Name: "fine", InputSchema: json.RawMessage(`{"type":"object","definitions":{},"properties":null}`)}},
			[]string{`"a": /0/input_schema/properties/x/exclusiveMinimum`, `"b": /1/input_schema/properties/x/items`, `"c": /2/input_schema/required`,
				"3 problems", "draft 2020-12"}},
		{"a header of MCP", []schema.Tool{{Name: "a", InputSchema: json.RawMessage(
			`{"type":"object","properties":{"x":{"type":"string","x-mcp-header":"bad name"}}}`)}}, []string{`"a"`, "SDK"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			server, err := mcpbridge.NewServer(t.Context(), newRun(t).Client(nil), tt.tools)
			if server != nil || toolwire.CodeOf(err) != toolwire.CodeInvalid {
				t.Fatal(server, err)
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%v does not have %s", err, want)
				}
			}
		})
	}
}
