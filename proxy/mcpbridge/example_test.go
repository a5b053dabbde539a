package mcpbridge_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolwire/toolwire/manifest/toolbox"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/proxy/mcpbridge"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

var ctx = context.Background()

// A run's tools on streamable HTTP. In an agent, ctx and the client come from the run.
func Example() {
	platform, err := proxytest.New(proxytest.World{Behaviors: map[string]proxytest.Behavior{
		"get_order": proxytest.Canned(`{"status":"shipped"}`),
	}}, nil)
	if err != nil {
		log.Fatal(err)
	}
	run := platform.NewRun().Client(nil)

	server, err := mcpbridge.NewServer(ctx, run.As("support"), tools())
	if err != nil {
		log.Fatal(err)
	}
	site := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	defer site.Close()

	client := mcp.NewClient(&mcp.Implementation{Name: "framework", Version: "1"}, nil)
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: site.URL}, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "get_order", Arguments: map[string]string{"order_id": "4521"}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Content[0].(*mcp.TextContent).Text, result.IsError)
	// Output: {"status":"shipped"} false
}

// A program that a framework in any language starts as its MCP server. The agent puts the run's proxy
// URL and token into the environment of that program only.
func ExampleNewServer_stdio() {
	client, err := proxy.New(os.Getenv("RUN_PROXY_URL"), os.Getenv("RUN_TOKEN"), nil)
	if err != nil {
		log.Print(err) // stdout belongs to MCP
		return
	}
	server, err := mcpbridge.NewServer(ctx, client, tools())
	if err != nil {
		log.Print(err)
		return
	}
	if err := server.Run(ctx, &mcp.StdioTransport{}); err != nil { // until the client hangs up, or the run is over
		log.Print(err)
	}
}

// orderServer returns a session with an MCP server that has a tool of its own.
func orderServer() *mcp.ClientSession {
	type args struct {
		OrderID string `json:"order_id" jsonschema:"the number of the order"`
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "orders", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "get_order", Description: "Look up an order."},
		func(_ context.Context, _ *mcp.CallToolRequest, in args) (*mcp.CallToolResult, any, error) {
			if in.OrderID != "4521" {
				return nil, nil, fmt.Errorf("there is no order %s", in.OrderID)
			}
			return nil, map[string]string{"status": "shipped"}, nil
		})
	ours, theirs := mcp.NewInMemoryTransports()
	if _, err := server.Connect(ctx, ours, nil); err != nil {
		log.Fatal(err)
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, nil).Connect(ctx, theirs, nil)
	if err != nil {
		log.Fatal(err)
	}
	return session
}

// The tools of an MCP server become tools of a toolbox, beside the agent's own.
func ExamplePeer_Handler() {
	session := orderServer()
	defer session.Close()
	peer, problems, err := mcpbridge.Connect(ctx, session)
	if err != nil {
		log.Fatal(err)
	}
	for _, p := range problems {
		log.Print(p) // a tool that cannot be declared
	}

	var list []toolbox.Tool
	for _, t := range peer.Tools() {
		list = append(list, toolbox.Tool{Name: t.Name, Description: t.Description, Parameters: t.InputSchema, Handler: "mcp.orders"})
	}
	document, err := json.Marshal(list)
	if err != nil {
		log.Fatal(err)
	}
	box, err := toolbox.Parse(document, &toolbox.Options{Handlers: map[string]toolbox.Handler{
		"mcp.orders": peer.Handler(),
	}})
	if err != nil {
		log.Fatal(err)
	}

	for _, args := range []string{`{"order_id":"4521"}`, `{"order_id":"77"}`, `{"id":"4521"}`} {
		result, err := box.CallForModel(ctx, "get_order", args)
		fmt.Printf("%.56s %t %v\n", result.Text, result.Failed, err)
	}
	// Output:
	// {"status":"shipped"} false <nil>
	// {"error":"tool_failed","detail":"there is no order 77"} true <nil>
	// {"error":"invalid_arguments","detail":"arguments: is mis true <nil>
}

// The tools of an MCP server are the behaviors of a world.
func ExamplePeer_Call() {
	session := orderServer()
	defer session.Close()
	peer, _, err := mcpbridge.Connect(ctx, session)
	if err != nil {
		log.Fatal(err)
	}
	world := proxytest.World{Tools: peer.Tools(), Behaviors: map[string]proxytest.Behavior{}}
	for _, t := range world.Tools {
		world.Behaviors[t.Name] = func(r *proxytest.Request) (any, error) {
			return peer.Call(r.Context(), r.Tool, r.Arguments)
		}
	}

	platform, err := proxytest.New(world, nil)
	if err != nil {
		log.Fatal(err)
	}
	client := platform.NewRun().Client(nil)
	for _, args := range []string{`{"order_id":"4521"}`, `{"order_id":"77"}`} {
		result, err := client.CallForModel(ctx, "get_order", args)
		fmt.Println(result.Text, result.Failed, err)
	}
	// Output:
	// {"status":"shipped"} false <nil>
	// {"error":"there is no order 77"} true <nil>
}
