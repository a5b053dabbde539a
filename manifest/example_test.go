package manifest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/toolwire/toolwire/manifest"
)

// All problems are reported at once, in the words of the tools manifest.
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

func ExampleError() {
	m, err := manifest.Parse([]byte(`{"tools": []}`), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = m.Call(context.Background(), "get_time", nil)
	if e, ok := errors.AsType[*manifest.Error](err); ok && e.Code == manifest.CodeUnknownTool {
		fmt.Println("the model made a name up:", e.Tool)
	}
	// Output: the model made a name up: get_time
}

func ExampleManifest_Lint() {
	m, err := manifest.Parse([]byte(`{"tools": [{"name": "env", "command": ["./tools/bin/env"], "timeout": 5}]}`), &manifest.Options{Dir: "/srv/agent"})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, p := range m.Lint() {
		fmt.Println(p.Message)
	}
	// Output: tool[0] "env": unknown member "timeout" is ignored (known: name, description, schema, command, timeoutSec, envPassthrough)
}

func ExampleManifest_OpenAITools() {
	m, err := manifest.Parse([]byte(`{"tools": [{
		"name": "get_time", "description": "Get current time for an IANA timezone", "command": ["./tools/bin/get_time"],
		"schema": {"type": "object", "properties": {"timezone": {"type": "string"}}, "required": ["timezone"]}
	}]}`), &manifest.Options{Dir: "/srv/agent"})
	if err != nil {
		fmt.Println(err)
		return
	}
	list, _ := json.Marshal(m.OpenAITools())
	fmt.Println(string(list))
	// Output: [{"type":"function","function":{"name":"get_time","description":"Get current time for an IANA timezone","parameters":{"type":"object","properties":{"timezone":{"type":"string"}},"required":["timezone"]}}}]
}

// Failures, too, become content for the model.
func ExampleToolMessage() {
	m, err := manifest.Parse([]byte(`{"tools": [{
		"name": "get_time", "command": ["./tools/bin/get_time"],
		"schema": {"type": "object", "properties": {"timezone": {"type": "string"}}, "required": ["timezone"]}
	}]}`), &manifest.Options{Dir: "/srv/agent"})
	if err != nil {
		fmt.Println(err)
		return
	}
	results := m.CallAll(context.Background(), []manifest.Call{
		{ID: "call_1", Tool: "get_tme", Args: json.RawMessage(`{"timezone":"UTC"}`)},
		{ID: "call_2", Tool: "get_time", Args: json.RawMessage(`{"timezone":3}`)},
	})
	for _, r := range results {
		fmt.Println(r.CallID, manifest.ToolMessage(r))
	}
	// Output:
	// call_1 {"error":"unknown tool: get_tme"}
	// call_2 {"error":"invalid arguments: /timezone must be a string, not a number"}
}
