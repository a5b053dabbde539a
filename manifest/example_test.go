package manifest_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/toolwire/toolwire/manifest"
	"github.com/toolwire/toolwire/schema"
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

// The tools as the API of a model expects them.
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

// The loop of an agent runs what its model calls, whatever the model wrote.
func ExampleManifest_CallForModel() {
	m, err := manifest.Parse([]byte(`{"tools": [{
		"name": "get_time", "command": ["./tools/bin/get_time"],
		"schema": {"type": "object", "properties": {"timezone": {"type": "string"}}, "required": ["timezone"]}
	}]}`), &manifest.Options{Dir: "/srv/agent"})
	if err != nil {
		fmt.Println(err)
		return
	}
	calls := []struct{ name, arguments string }{ // of a model
		{"get_tme", `{"timezone":"UTC"}`}, {"get_time", `{"timezone":3}`}, {"get_time", `{"timezone":`},
	}
	for _, call := range calls {
		result, failed, err := m.CallForModel(context.Background(), call.name, call.arguments)
		if err != nil {
			fmt.Println("stop:", err)
			return
		}
		fmt.Println(failed, string(result))
	}
	// Output:
	// true {"error":"unknown tool: get_tme","tools":["get_time"]}
	// true {"error":"invalid arguments: /timezone must be a string, not a number"}
	// true {"error":"invalid arguments: the arguments are not a JSON object: invalid JSON at byte 12: /timezone ends before the JSON value is complete; send the arguments as one JSON object and call the tool again"}
}
