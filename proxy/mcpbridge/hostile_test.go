package mcpbridge_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolwire/toolwire/proxy/mcpbridge"
)

// A request is what a server got.
type request struct {
	ID     json.RawMessage
	Method string
	Params struct{ Name, Cursor string }
}

// result returns a response to r.
func (r *request) result(result string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", r.ID, result)
}

// serveRaw connects to a server that writes for each request what answer returns. It closes the
// connection if that is not ok.
func serveRaw(t *testing.T, answer func(r *request) (text string, ok bool)) *mcp.ClientSession {
	t.Helper()
	ours, theirs := io.Pipe()
	requests, sent := io.Pipe()
	go func() {
		defer func() { _, _ = ours.CloseWithError(io.EOF), requests.Close() }()
		for lines := bufio.NewReader(requests); ; {
			line, err := lines.ReadBytes('\n')
			if err != nil {
				return
			}
			var r request
			if err := json.Unmarshal(line, &r); err != nil || r.ID == nil || r.Method == "" {
				continue
			}
			if r.Method == "initialize" {
				line := r.result(`{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}`)
				if _, err := io.WriteString(theirs, line); err != nil {
					return
				}
				continue
			}
			text, ok := answer(&r)
			if _, err := io.WriteString(theirs, text); err != nil || !ok {
				_ = theirs.Close()
				return
			}
		}
	}()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "0"}, nil)
	session, err := client.Connect(t.Context(), &mcp.IOTransport{Reader: ours, Writer: sent},
		&mcp.ClientSessionOptions{ProtocolVersion: "2025-06-18"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return session
}

// scripted connects to a server whose tools/list answers list, and whose tools/call answers results[name].
func scripted(t *testing.T, list string, results map[string]string) *mcp.ClientSession {
	t.Helper()
	return serveRaw(t, func(r *request) (string, bool) {
		if r.Method == "tools/list" {
			return r.result(list), true
		}
		return r.result(results[r.Params.Name]), true
	})
}

// connectPeer connects to the tools of a server.
func connectPeer(t *testing.T, session *mcp.ClientSession) *mcpbridge.Peer {
	t.Helper()
	p, _, err := mcpbridge.Connect(t.Context(), session)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A malformed result is a failed call, and the session goes on.
func TestMalformedResults(t *testing.T) {
	results := map[string]string{"fine": `{"content":[{"type":"text","text":"next"}]}`}
	list := []string{fine}
	for i, result := range []string{
		`{"content":[{"type":"json","json":{"a":1}}]}`,
		`{"content":[{"json":{"a":1}}]}`,
		`{"content":[{"type":"text","text":{"a":1}}]}`,
		`{"content":[{"type":"text","text":["a"]}]}`,
		`{"content":[{"type":"text","text":7}]}`,
		`{"content":"done"}`,
		`{"content":{"type":"text","text":"done"}}`,
		`{"content":["done"]}`,
		`{"content":[],"isError":"false"}`,
		`{"content":[],"isError":1}`,
		`{"content":[],"_meta":[]}`,
		`{"content":[{"type":"image","data":"data:image/png;base64,aGk=","mimeType":"image/png"}]}`,
		`{"content":[{"type":"image","data":7,"mimeType":"image/png"}]}`,
		`{"content":[{"type":"text","text":"x","annotations":{"priority":"1"}}]}`,
		`{"content":[{"type":"resource","resource":"file:///a"}]}`,
		`{"content":[],"structuredContent":{"x":1e400}}`,
		`[]`, `"done"`, `7`, `true`,
	} {
		name := fmt.Sprintf("t%d", i)
		results[name] = result
		list = append(list, strings.Replace(fine, "fine", name, 1))
	}
	p := connectPeer(t, scripted(t, `{"tools":[`+strings.Join(list, ",")+`]}`, results))
	for name, result := range results {
		if name == "fine" {
			continue
		}
		got, err := p.CallForModel(t.Context(), name, nil)
		if err != nil || !got.Failed || !strings.Contains(got.Text, "its result is not one of MCP") {
			t.Errorf("%.100s: a model reads %s, %t, %v", result, got.Text, got.Failed, err)
		}
		if _, err := p.Call(t.Context(), name, nil); err == nil || !strings.Contains(err.Error(), "its result is not one of MCP") {
			t.Errorf("%.100s: %v", result, err)
		}
		if got, err := p.CallForModel(t.Context(), "fine", nil); err != nil || got.Text != "next" {
			t.Fatalf("%.100s ends the session: %v", result, err)
		}
	}
}

// A list that the SDK cannot decode is named as such; what came before is declared.
func TestMalformedPages(t *testing.T) {
	for _, page := range []string{
		strings.Replace(`{"tools":[`+fine+`]}`, `"name"`, `"icons":"x","name"`, 1),
		strings.Replace(`{"tools":[`+fine+`]}`, `"name"`, `"annotations":{"readOnlyHint":"yes"},"name"`, 1),
		strings.Replace(`{"tools":[`+fine+`]}`, `"name"`, `"description":["x"],"name"`, 1),
		`{"tools":{}}`, `{"tools":["x"]}`, `{"tools":[],"nextCursor":7}`, `[]`, `"x"`,
	} {
		_, _, err := mcpbridge.Connect(t.Context(), scripted(t, page, nil))
		if err == nil || !strings.Contains(err.Error(), "cannot decode it") {
			t.Errorf("%s: %v", page, err)
		}
		session := serveRaw(t, func(r *request) (string, bool) {
			if r.Params.Cursor == "" {
				return r.result(`{"tools":[` + fine + `],"nextCursor":"2"}`), true
			}
			return r.result(page), true
		})
		p, problems, err := mcpbridge.Connect(t.Context(), session)
		if err != nil || len(problems) != 1 || problems[0].Code != "list_incomplete" || len(p.Tools()) != 1 {
			t.Errorf("%s as page 2: %v, %v", page, problems, err)
		}
	}
	for _, page := range []string{`{}`, `{"tools":null}`, `{"tools":[null]}`, `null`} {
		p, problems, err := mcpbridge.Connect(t.Context(), scripted(t, page, nil))
		if err != nil || problems != nil || len(p.Tools()) != 0 {
			t.Errorf("%s: %v, %v", page, problems, err)
		}
	}
}

// Lists are read to a bound, and the tools before it are declared.
func TestHostileLists(t *testing.T) {
	tool := func(page, i int, more string) string {
		return fmt.Sprintf(`{"name":"t_%d_%d","inputSchema":{"type":"object"}%s}`, page, i, more)
	}
	for _, tt := range []struct {
		name  string
		page  func(page int) string
		tools int
		want  string
	}{
		{"endless", func(page int) string { return fmt.Sprintf(`{"tools":[%s],"nextCursor":"%d"}`, tool(page, 0, ""), page) }, 100, "more than 100 pages"},
		{"the same page again", func(page int) string { return `{"tools":[` + tool(page, 0, "") + `],"nextCursor":"again"}` }, 2, "page 2 has the cursor of an earlier page"},
		{"many", func(page int) string {
			list := make([]string, 1001)
			for i := range list {
				list[i] = tool(page, i, "")
			}
			return `{"tools":[` + strings.Join(list, ",") + `],"nextCursor":"more"}`
		}, 1000, "more than 1000 tools"},
		{"large", func(page int) string {
			large := `,"description":"` + strings.Repeat("x", 3<<20) + `"`
			return `{"tools":[` + tool(0, 0, large) + `,` + tool(0, 1, large) + `]}`
		}, 1, "more than 4194304 bytes; the tools from place 1 on are left out"},
		{"cursors", func(page int) string {
			return fmt.Sprintf(`{"tools":[%s],"nextCursor":"%d%s"}`, tool(page, 0, ""), page, strings.Repeat("x", 1<<20))
		}, 4, "more than 4194304 bytes"},
		{"many problems", func(int) string {
			return `{"tools":[` + strings.Repeat(`{"name":"a"},`, 500) + fine + `]}`
		}, 1, "more problems"},
		{"a long name", func(int) string {
			return `{"tools":[{"name":"` + strings.Repeat("x.", 1<<18) + `"}]}`
		}, 0, "input_schema is required"},
		{"many that need a name", func(int) string {
			list := make([]string, 1000)
			for i := range list {
				list[i] = fmt.Sprintf(`{"name":"%sé%d","inputSchema":{"type":"object"}}`, strings.Repeat("x", 200), i)
			}
			return `{"tools":[` + strings.Join(list, ",") + `]}`
		}, 1000, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			page := 0
			session := serveRaw(t, func(r *request) (string, bool) { page++; return r.result(tt.page(page)), true })
			p, problems, err := mcpbridge.Connect(t.Context(), session)
			if err != nil || len(problems) > 101 || len(p.Tools()) != tt.tools {
				t.Fatalf("%d tools, %d problems, %v", len(p.Tools()), len(problems), err)
			}
			if tt.want == "" && problems != nil || tt.want != "" && !strings.Contains(problems[len(problems)-1].String(), tt.want) {
				t.Errorf("%v, want %s", problems, tt.want)
			}
			if text := fmt.Sprint(problems); len(text) > 64<<10 {
				t.Errorf("%d bytes of problems", len(text))
			}
		})
	}
}

// A server that writes something else than messages ends the session. The error says so, and does not show it.
func TestOutputThatIsNoMessage(t *testing.T) {
	for _, line := range []string{"Server ready on stdio", `{"level":"info"}`, `{"jsonrpc":"1.0","id":2,"result":{}}`, "[]", "17", `"ready"`} {
		_, _, err := mcpbridge.Connect(t.Context(), serveRaw(t, func(*request) (string, bool) { return line + "\n", true }))
		if err == nil || !strings.Contains(err.Error(), "log to standard error") || strings.Contains(err.Error(), line) {
			t.Errorf("%s: %v", line, err)
		}
	}
}

// Whatever a server does, a function returns when its context ends or before, and its error has no words of
// the server.
func TestHostileServers(t *testing.T) {
	const secret = "hunter2-swordfish"
	never := func(text string) func(*request) (string, bool) {
		return func(*request) (string, bool) { return text, true }
	}
	ends := func(text string) func(*request) (string, bool) {
		return func(*request) (string, bool) { return text, false }
	}
	for _, tt := range []struct {
		name   string
		answer func(r *request) (string, bool)
		waits  bool // for the end of the context
	}{
		{"no answer", never(""), true},
		{"half an answer", never(`{"jsonrpc":"2.0","id":`), true},
		{"the id of another request", never(`{"jsonrpc":"2.0","id":4711,"result":{"content":[]}}` + "\n"), true},
		{"an id of another type", never(`{"jsonrpc":"2.0","id":"x","result":{"content":[]}}` + "\n"), true},
		{"notifications without end", never(strings.Repeat(`{"jsonrpc":"2.0","method":"notifications/`+secret+`"}`+"\n", 1000)), true},
		{"requests", never(`{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{}}` + "\n"), true},
		{"a batch for other requests", never(`[{"jsonrpc":"2.0","id":4711,"result":{}},{"jsonrpc":"2.0","id":4712,"result":{}}]` + "\n"), true},
		{"no JSON", never("<html>" + secret + "\n"), false},
		{"two values", func(r *request) (string, bool) {
			return strings.Repeat(strings.TrimSpace(r.result(`"x"`)), 2) + "\n", true
		}, false},
		{"the end of the connection", ends(""), false},
		{"the end within an answer", ends(`{"jsonrpc":"2.0","id":`), false},
		{"a frame beyond the bound", never(`{"jsonrpc":"2.0","` + strings.Repeat("x", 17<<20) + `":1}` + "\n"), false},
		{"nesting beyond the bound", never(strings.Repeat(`[`, 100_000) + "\n"), false},
		{"an error", func(r *request) (string, bool) {
			return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":"%s"}}`+"\n", r.ID, secret), true
		}, false},
		{"a long error", func(r *request) (string, bool) {
			return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":"%s"}}`+"\n", r.ID, strings.Repeat(secret, 1<<16)), true
		}, false},
		{"an error without members", func(r *request) (string, bool) {
			return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{}}`+"\n", r.ID), true
		}, false},
		{"a text as error", func(r *request) (string, bool) {
			return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":"%s"}`+"\n", r.ID, secret), true
		}, false},
		{"the code of a lost request", func(r *request) (string, bool) {
			return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32005,"message":"%s"}}`+"\n", r.ID, secret), true
		}, false},
		{"neither result nor error", func(r *request) (string, bool) { return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s}`+"\n", r.ID), true }, false},
	} {
		for name, use := range map[string]func(ctx context.Context, p *mcpbridge.Peer, s *mcp.ClientSession) error{
			"Connect": func(ctx context.Context, _ *mcpbridge.Peer, s *mcp.ClientSession) error {
				_, _, err := mcpbridge.Connect(ctx, s)
				return err
			},
			"Call": func(ctx context.Context, p *mcpbridge.Peer, _ *mcp.ClientSession) error {
				_, err := p.Call(ctx, "fine", nil)
				return err
			},
			"CallForModel": func(ctx context.Context, p *mcpbridge.Peer, _ *mcp.ClientSession) error {
				got, err := p.CallForModel(ctx, "fine", nil)
				if got.Failed {
					err = errors.New(got.Text)
				}
				return err
			},
		} {
			t.Run(tt.name+"/"+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					declared := false
					session := serveRaw(t, func(r *request) (string, bool) {
						if name != "Connect" && !declared {
							declared = true
							return r.result(`{"tools":[` + fine + `]}`), true
						}
						return tt.answer(r)
					})
					var p *mcpbridge.Peer
					if name != "Connect" {
						p = connectPeer(t, session)
					}
					ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
					defer cancel()
					err := use(ctx, p, session)
					if err == nil || strings.Contains(err.Error(), secret) || len(err.Error()) > 1000 {
						t.Errorf("%v", err)
					}
					if waited := errors.Is(err, context.DeadlineExceeded); waited != tt.waits {
						t.Errorf("waited %t: %v", waited, err)
					}
					_ = session.Close()
				})
			})
		}
	}
}
