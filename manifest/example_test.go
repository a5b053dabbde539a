package manifest_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/manifest"
	"github.com/toolwire/toolwire/schema"
)

// Relative programs resolve against the folder of the file.
func ExampleLoad() {
	dir, err := os.MkdirTemp("", "agent")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	file := filepath.Join(dir, "tools.json")
	if err := os.WriteFile(file, []byte(`{"tools": [{"name": "get_time", "command": ["./tools/bin/get_time"]}]}`),
		0o600); err != nil {
		fmt.Println(err)
		return
	}
	m, err := manifest.Load(file, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, tool := range m.Tools() {
		fmt.Println(tool.Name, string(tool.InputSchema))
	}
	fmt.Println(toolwire.CodeOf(m.CheckPrograms()))
	// Output:
	// get_time {"type":"object","properties":{}}
	// program_unavailable
}

// All problems are reported at once, in the words of the document "tools manifest".
func ExampleParse() {
	_, err := manifest.Parse([]byte(`{"tools": [
		{"name": "get_time", "command": ["./tools/bin/../get_time"], "envPassthrough": ["TZ", "OAI-API-KEY"]},
		{"name": "get_time", "command": []}
	]}`), nil)
	fmt.Println(err)
	// Output:
	// tool[0] "get_time": envPassthrough[1]: invalid name "OAI-API-KEY" (must match [A-Z_][A-Z0-9_]*)
	// tool[0] "get_time": command[0] escapes ./tools/bin after normalization (got "./tools/bin/../get_time" -> "./tools/get_time")
	// tool[1] "get_time": duplicate name
	// tool[1] "get_time": command must have at least program name
}

// Code, Pointer and Tool of a problem are for programs.
func ExampleProblem() {
	_, err := manifest.Parse([]byte(`{"tools": [{"name": "get_time", "command": ["get_time"]}]}`), nil)
	if e, ok := errors.AsType[*manifest.Error](err); ok {
		for _, p := range e.Problems {
			fmt.Println(p.Code, p.Pointer, p.Tool)
		}
	}
	// Output: program_outside_bin /tools/0/command/0 get_time
}

func ExampleCodeOf() {
	m, err := manifest.Parse([]byte(`{"tools": []}`), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = m.Call(context.Background(), "get_time", nil)
	if toolwire.CodeOf(err) == toolwire.CodeUnknownTool {
		fmt.Println("the model called a tool that does not exist")
	}
	// Output: the model called a tool that does not exist
}

func ExampleManifest_Lint() {
	m, err := manifest.Parse([]byte(`{"tools": [{"name": "env", "command": ["./tools/bin/env"], "timeout": 5}]}`),
		&manifest.Options{Dir: "/srv/agent"})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, p := range m.Lint() {
		fmt.Println(p.Message)
	}
	// Output: tool[0] "env": unknown member "timeout" is ignored (known: name, description, schema, command, timeoutSec, envPassthrough)
}

// Export writes the tools as the API of a model expects them.
func ExampleManifest_Tools() {
	m, err := manifest.Parse([]byte(`{"tools": [{
		"name": "get_time", "description": "Get current time for an IANA timezone", "command": ["./tools/bin/get_time"],
		"schema": {"type": "object", "properties": {"timezone": {"type": "string"}}, "required": ["timezone"]}
	}]}`), &manifest.Options{Dir: "/srv/agent"})
	if err != nil {
		fmt.Println(err)
		return
	}
	list, _, err := schema.Export(m.Tools(), schema.OpenAIChat)
	fmt.Println(string(list), err)
	// Output: [{"type":"function","function":{"name":"get_time","description":"Get current time for an IANA timezone","parameters":{"type": "object", "properties": {"timezone": {"type": "string"}}, "required": ["timezone"]}}}] <nil>
}

// The loop of an agent passes each call of the model on. Results of failed calls tell the model
// what to correct.
func ExampleManifest_CallForModel() {
	m, err := manifest.Parse([]byte(`{"tools": [{
		"name": "get_time", "command": ["./tools/bin/get_time"],
		"schema": {"type": "object", "properties": {"timezone": {"type": "string"}}, "required": ["timezone"]}
	}]}`), &manifest.Options{Dir: "/srv/agent"})
	if err != nil {
		fmt.Println(err)
		return
	}
	calls := []struct{ name, arguments string }{ // of the model
		{"get_tme", `{"timezone":"UTC"}`}, {"get_time", `{"timezone":3}`}, {"get_time", `{"timezone":`},
	}
	for _, call := range calls {
		result, err := m.CallForModel(context.Background(), call.name, call.arguments)
		if err != nil {
			fmt.Println("stop:", err)
			return
		}
		fmt.Println(result.Failed, result.Text)
	}
	// Output:
	// true {"error":"unknown tool: get_tme","tools":["get_time"]}
	// true {"error":"invalid arguments: /timezone must be a string, not a number"}
	// true {"error":"invalid arguments: the arguments are not a JSON object: invalid JSON at byte 12: /timezone ends before the JSON value is complete; send the arguments as one JSON object and call the tool again"}
}
