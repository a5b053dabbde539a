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
)

func ExampleManifest_Call() {
	m, err := manifest.Parse([]byte(`{"tools": [{"name": "echo", "command": ["/bin/sh", "-c", "cat"], "timeoutSec": 5}]}`), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	out, err := m.Call(context.Background(), "echo", map[string]string{"timezone": "Europe/Helsinki"})
	fmt.Println(string(out), err)
	// Output: {"timezone":"Europe/Helsinki"} <nil>
}

func ExampleManifest_Run() {
	m, err := manifest.Parse([]byte(`{"tools": [{"name": "fail", "command":
		["/bin/sh", "-c", "echo '{\"error\":\"disk full\",\"hint\":\"delete something\"}' >&2; exit 3"]}]}`), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	r := m.Run(context.Background(), manifest.Call{ID: "call_1", Tool: "fail", Args: json.RawMessage(`{}`)})
	fmt.Println(r.ExitCode, r.Err)
	if failure, ok := errors.AsType[*manifest.Error](r.Err); ok {
		fmt.Println(string(failure.ToolResult()))
	}
	// Output:
	// 3 manifest: tool "fail": exit status 3; the tool's own words are in Error.Message
	// {"error":"disk full","hint":"delete something"}
}

func ExampleManifest_Explain() {
	m, err := manifest.Parse([]byte(`{"tools": [{"name": "get_time", "command": ["./tools/bin/get_time"], "envPassthrough": ["tz"]}]}`),
		&manifest.Options{Dir: "/srv/agent", LookupEnv: func(string) (string, bool) { return "value", true }})
	if err != nil {
		fmt.Println(err)
		return
	}
	e, err := m.Explain("get_time")
	fmt.Println(e.Argv, e.WorkDir, e.Env, e.Timeout)
	fmt.Println(err)
	// Output:
	// [/srv/agent/tools/bin/get_time] /srv/agent [PATH HOME TZ] 30s
	// manifest: tool "get_time": the program /srv/agent/tools/bin/get_time cannot be read: no such file or directory
}

// A record names environment variables; values, arguments and output are never in it.
func ExampleAuditLog() {
	dir, err := os.MkdirTemp("", "audit")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	log := &manifest.AuditLog{Dir: dir}
	m, err := manifest.Parse([]byte(`{"tools": [{"name": "echo", "command": ["/bin/cat"], "envPassthrough": ["API_KEY"]}]}`),
		&manifest.Options{Audit: log.Write, LookupEnv: func(string) (string, bool) { return "sk-1234567890", true }})
	if err != nil {
		fmt.Println(err)
		return
	}
	m.Run(context.Background(), manifest.Call{ID: "call_1", Tool: "echo", Args: map[string]string{"password": "swordfish"}})

	files, _ := filepath.Glob(filepath.Join(dir, "*.log"))
	line, _ := os.ReadFile(files[0])
	var record manifest.AuditRecord
	_ = json.Unmarshal(line, &record)
	fmt.Println(record.CallID, record.Tool, record.Argv, record.Exit, record.StdoutBytes, record.EnvKeys)
	// Output: call_1 echo [/bin/cat] 0 24 [API_KEY]
}
