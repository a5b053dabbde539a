package mcpbridge_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/internal/toolresult"
	"github.com/toolwire/toolwire/proxy/mcpbridge"
)

// FuzzServer: whatever an MCP server lists and answers, its tools can be declared, and a call ends.
func FuzzServer(f *testing.F) {
	f.Add(`{"tools":[{"name":"a.b","inputSchema":{"type":"object"}}]}`, `{"content":[{"type":"text","text":"x"}]}`)
	f.Add(`{"tools":[{"name":"a"},{"name":"a"},null,1],"nextCursor":""}`, `{"structuredContent":{"n":9007199254740993},"isError":true}`)
	f.Add(`{"tools":null}`, `{"content":[{"type":"resource"}],"structuredContent":[1]}`)
	f.Fuzz(func(t *testing.T, list, result string) {
		if strings.ContainsAny(list+result, "\n\r") || len(list) > 10_000 || !json.Valid([]byte(list)) || !json.Valid([]byte(result)) {
			return // a message is one line of JSON, and what is not one is no answer
		}
		pages := 0
		session := serveRaw(t, func(r *request) (string, bool) {
			if r.Method == "tools/list" {
				pages++
				return r.result(list), pages < 5
			}
			return r.result(result), true
		})
		p, problems, err := mcpbridge.Connect(t.Context(), session)
		if err != nil {
			return
		}
		if len(problems) > 101 {
			t.Errorf("%d problems", len(problems))
		}
		for i, tool := range p.Tools() {
			if toolresult.NameFault(tool.Name) >= 0 {
				t.Errorf("%q", tool.Name)
			}
			if _, err := p.Call(t.Context(), tool.Name, nil); err != nil && len(err.Error()) > 8<<10 {
				t.Errorf("%d bytes: %.100s", len(err.Error()), err)
			}
			if i == 2 {
				break
			}
		}
	})
}
