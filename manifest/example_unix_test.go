//go:build unix

package manifest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/toolwire/toolwire/manifest"
	"github.com/toolwire/toolwire/proxy"
)

// A model calls a program. The manifest is usually a file; see [manifest.Load].
func Example() {
	m, err := manifest.Parse([]byte(`{"tools": [{
		"name": "convert", "description": "Convert a time.", "command": ["/bin/cat"],
		"schema": {"type": "object", "properties": {"timezone": {"type": "string"}}, "required": ["timezone"]}
	}]}`), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, tool := range m.Tools() { // for the model
		fmt.Println(tool.Name, "-", tool.Description)
	}
	result, err := m.CallForModel(context.Background(), "convert", `{"timezone":"Europe/Helsinki"}`)
	fmt.Println(result.Text, err)
	// Output:
	// convert - Convert a time.
	// {"timezone":"Europe/Helsinki"} <nil>
}

func ExampleManifest_Call() {
	m,
		err := manifest.Parse([]byte(`{"tools": [{"name": "echo", "command": ["/bin/sh", "-c", "cat"], "timeoutSec": 5}]}`),
		nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	out, err := m.Call(context.Background(), "echo", map[string]string{"timezone": "Europe/Helsinki"})
	fmt.Println(string(out), err)
	// Output: {"timezone":"Europe/Helsinki"} <nil>
}

func ExampleManifest_Do() {
	m, err := manifest.Parse([]byte(`{"tools": [{"name": "fail", "command":
		["/bin/sh", "-c", "echo '{\"error\":\"disk full\",\"hint\":\"delete something\"}' >&2; exit 3"]}]}`), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	r := m.Do(context.Background(), "fail", json.RawMessage(`{}`))
	fmt.Println(r.ExitCode, r.Err)
	if failure, ok := errors.AsType[*manifest.Error](r.Err); ok {
		fmt.Println(string(failure.ToolResult()))
	}
	// Output:
	// 3 manifest: tool "fail": exit status 3; the tool's own words are in Error.Message
	// {"error":"disk full","hint":"delete something"}
}

// A record names environment variables. It contains neither values, arguments nor output.
func ExampleAuditLog() {
	dir, err := os.MkdirTemp("", "audit")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	audit, err := manifest.AuditLog(dir, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	m,
		err := manifest.Parse([]byte(`{"tools": [{"name": "echo", "command": ["/bin/cat"], "envPassthrough": ["API_KEY"]}]}`),
		&manifest.Options{Audit: audit, LookupEnv: func(string) (string, bool) { return "sk-1234567890", true }})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := proxy.WithCallID(context.Background(), "call_1")
	m.Do(ctx, "echo", map[string]string{"password": "swordfish"})

	files, _ := filepath.Glob(filepath.Join(dir, "*.log"))
	line, _ := os.ReadFile(files[0])
	var record manifest.AuditRecord
	_ = json.Unmarshal(line, &record)
	fmt.Println(record.CallID, record.Tool, record.Argv, record.Exit, record.StdoutBytes, record.EnvKeys)
	// Output: call_1 echo [/bin/cat] 0 24 [API_KEY]
}
