package toolwire

import (
	"context"
	"encoding/json"
)

// A ToolCaller calls tools for a model. A *proxy.Client, a *toolbox.Toolbox, a *manifest.Manifest and a
// *mcpbridge.Peer are ToolCallers, so one loop around a model can serve a run of the platform and the
// users of the program.
type ToolCaller interface {
	// CallForModel calls the tool and returns what the model should read, including failures that
	// the model can do something about. An error means that the agent should stop.
	//
	// args are the arguments as the API of a model has them, a string or []byte or json.RawMessage
	// with a JSON object, or any value that encoding/json encodes as an object.
	CallForModel(ctx context.Context, name string, args any) (ModelResult, error)
}

// ModelResult is what a model reads about a call of a tool.
//
// Give Text to SDKs that take text, such as OpenAI's and Anthropic's, and JSON to SDKs that take
// values, such as Google's. A blank string is `""` in Text too, because some models' APIs reject a
// blank text.
type ModelResult struct {
	Text   string          // a JSON string as its text, any other value as JSON
	JSON   json.RawMessage // the value as it came
	Failed bool            // the call failed
}
