package mcpbridge_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolwire/toolwire/ledger"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/proxy/mcpbridge"
	"github.com/toolwire/toolwire/proxy/proxytest"
	"github.com/toolwire/toolwire/schema"
)

// Neither the tools nor the properties are in alphabetical order, and the number is not a
// float64.
const (
	refundSchema = `{"type":"object","properties":{"reasoning":{"type":"string"},"order_id":{"type":"string"},` +
		`"amount":{"type":"integer","maximum":9007199254740993}},"required":["reasoning","order_id"]}`
	getSchema    = `{"type":"object","properties":{"order_id":{"type":"string"}}}`
	resultSchema = `{"type":"object","properties":{"status":{"type":"string"},"amount":{}}}`
)

func tools() []schema.Tool {
	return []schema.Tool{
		{Name: "refund_order", Description: "Refund <an> order.", InputSchema: json.RawMessage(refundSchema)},
		{Name: "get_order", Description: "Look up an order.", InputSchema: json.RawMessage(getSchema),
			OutputSchema: json.RawMessage(resultSchema), Extra: []ledger.Member{
				{Name: "title", Value: json.RawMessage(`"Look up"`)}, {Name: "annotations", Value: json.RawMessage(`{"readOnlyHint":true}`)}}},
		{Name: "block", Description: "Wait.", InputSchema: json.RawMessage(`{"type":"object"}`),
			OutputSchema: json.RawMessage(`{"type":"array"}`)},
	}
}

// world is the world behind the tools. The tool block sends its arrival and its end to the channels.
func world(arrived, ended chan<- struct{}) proxytest.World {
	return proxytest.World{Behaviors: map[string]proxytest.Behavior{
		"get_order": proxytest.Lookup("order_id", map[string]string{
			"4521": `{"status":"shipped","amount":9007199254740993}`,
			"list": `[1,2]`,
			"*":    `{"error":"no such order"}`,
		}),
		"refund_order": proxytest.Canned(`"done"`),
		"block": func(r *proxytest.Request) (any, error) {
			arrived <- struct{}{}
			<-r.Context().Done()
			close(ended)
			return nil, r.Context().Err()
		},
	}}
}

func newRun(t *testing.T) *proxytest.Run {
	return proxytest.NewPlatform(t, world(make(chan<- struct{}, 1), make(chan struct{})), nil).NewRun()
}

func newServer(t *testing.T, ctx context.Context, client *proxy.Client) *mcp.Server {
	t.Helper()
	server, err := mcpbridge.NewServer(ctx, client, tools())
	if err != nil {
		t.Fatal(err)
	}
	return server
}

// ways are the transports, each with the newest version of MCP and with version 2025-11-25. On HTTP the
// SDK speaks the newest version only without sessions.
var ways = []struct {
	name    string
	version string
	over    func(t *testing.T, server *mcp.Server) mcp.Transport
}{
	{"memory", "", overMemory}, {"memory 2025", "2025-11-25", overMemory},
	{"HTTP", "", overHTTP(true)}, {"HTTP 2025", "2025-11-25", overHTTP(false)},
}

func overMemory(t *testing.T, server *mcp.Server) mcp.Transport {
	ours, theirs := mcp.NewInMemoryTransports()
	if _, err := server.Connect(t.Context(), ours, nil); err != nil {
		t.Fatal(err)
	}
	return theirs
}

func overHTTP(stateless bool) func(t *testing.T, server *mcp.Server) mcp.Transport {
	return func(t *testing.T, server *mcp.Server) mcp.Transport {
		handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
			&mcp.StreamableHTTPOptions{Stateless: stateless, PropagateRequestCancellation: true})
		site := httptest.NewServer(handler)
		t.Cleanup(func() {
			site.CloseClientConnections()
			site.Close()
		})
		return &mcp.StreamableClientTransport{Endpoint: site.URL, MaxRetries: -1}
	}
}

func connect(t *testing.T, transport mcp.Transport, version string) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "0"}, nil)
	session, err := client.Connect(t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	if version == "" {
		version = "2026-07-28"
	}
	if got := session.InitializeResult().ProtocolVersion; got != version {
		t.Fatalf("the session speaks %s, want %s", got, version)
	}
	t.Cleanup(func() { _ = session.Close() })
	return session
}

func call(t *testing.T, session *mcp.ClientSession, name, args string, meta mcp.Meta) *mcp.CallToolResult {
	t.Helper()
	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Meta: meta, Name: name, Arguments: json.RawMessage(args)})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func texts(list ...string) (content []mcp.Content) {
	for _, s := range list {
		content = append(content, &mcp.TextContent{Text: s})
	}
	return content
}

func text(result *mcp.CallToolResult) string { return result.Content[0].(*mcp.TextContent).Text }

// The test binary is the MCP server of a run on stdio if these variables are set.
const (
	urlVariable   = "MCPBRIDGE_PROXY_URL"
	tokenVariable = "MCPBRIDGE_RUN_TOKEN"
)

func TestMain(m *testing.M) {
	if url := os.Getenv(urlVariable); url != "" {
		os.Exit(serve(url, os.Getenv(tokenVariable)))
	}
	os.Exit(m.Run())
}

// serve serves until the client hangs up or the run is over.
func serve(url, token string) int {
	client, err := proxy.New(url, token, nil)
	if err != nil {
		return 1
	}
	server, err := mcpbridge.NewServer(context.Background(), client, tools())
	if err != nil {
		return 1
	}
	if err := server.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		return 3
	}
	return 0
}

// overStdio starts a process whose server serves a run of the platform at url.
func overStdio(t *testing.T, url, token string) mcp.Transport {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command(program)
	command.Env = append(os.Environ(), urlVariable+"="+url, tokenVariable+"="+token)
	command.Stderr = os.Stderr
	return &mcp.CommandTransport{Command: command}
}
