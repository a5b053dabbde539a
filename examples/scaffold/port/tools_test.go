package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"testing"

	"github.com/toolwire/toolwire/proxy/proxytest"
)

var update = flag.Bool("update", false, "write tools_schema.json")

// toolsSchema returns the tools as the registration form imports them.
func toolsSchema(t *testing.T) []byte {
	t.Helper()
	text, err := json.MarshalIndent(tools, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return append(text, '\n')
}

// The file for the registration form has the tools of the code.
func TestToolsSchema(t *testing.T) {
	const name = "tools_schema.json"
	want := toolsSchema(t)
	if *update {
		if err := os.WriteFile(name, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(name); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s does not have the tools of tools.go; run: go test -run TestToolsSchema -update (%v)", name, err)
	}
}

// world is the shop behind the tools: order 4521 has shipped, and order 4522 has not.
func world() proxytest.World {
	return proxytest.World{
		Tools: tools,
		InitialState: `{"order":{
			"4521":{"status":"shipped","amount":79.5},
			"4522":{"status":"paid","amount":12}
		}}`,
		Behaviors: map[string]proxytest.Behavior{
			"get_order": proxytest.Get("order", "order_id", nil),
			"refund_order": proxytest.Update("order", "order_id", &proxytest.WriteOptions{
				Set: `{"status":"refunded"}`, Result: `{"refund_id":"rf_1"}`,
			}),
		},
	}
}
