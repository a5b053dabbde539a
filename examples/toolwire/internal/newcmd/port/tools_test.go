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

// world is the shop behind the tools, as testdata/world.json describes it.
func world(t *testing.T) proxytest.World {
	t.Helper()
	text, err := os.ReadFile("testdata/world.json")
	if err != nil {
		t.Fatal(err)
	}
	w, err := proxytest.ParseWorld(text)
	if err != nil {
		t.Fatal(err)
	}
	w.Tools = tools
	return w
}
