package webhook

import (
	"context"
	"encoding/json"

	"github.com/toolwire/toolwire/internal/toolcall"
	"github.com/toolwire/toolwire/schema"
)

// A Tool is one external tool. Its JSON is the definition that Bedrock tools documents, for its
// registration at the platform.
type Tool struct {
	// Name is the name by which the model calls the tool: 1 to 128 ASCII letters, digits, _ and -,
	// beginning with a letter or _.
	Name string `json:"name"`
	// Description tells the model what the tool does.
	Description string `json:"description,omitempty"`

	// Parameters is the JSON Schema of the arguments, without reasoning. Its root must describe an
	// object. If it is nil or null, every object is accepted.
	Parameters json.RawMessage `json:"parameters,omitempty"`

	// Adapter, URL and DetailURL are for the registration only. Adapter is the name or id of the
	// adapter that the tool belongs to. URL is the address at which the platform reaches the
	// [Handler], DetailURL the address of [Detail]. [New] accepts absolute http and https URLs
	// without user and fragment.
	Adapter   string `json:"adapter,omitempty"`
	URL       string `json:"url,omitempty"`
	DetailURL string `json:"detail_url,omitempty"`

	// Func runs one call. [Define] sets it. The arguments are a JSON object that matches Parameters.
	// If the model left a property out, they contain its "default" from Parameters. "properties",
	// "items", "allOf" and local references are searched for defaults. If the arguments with all
	// defaults would not match Parameters, or if the defaults exceed 1 MiB, no default is applied.
	//
	// The result is a value that encoding/json can write. A json.RawMessage is sent as it is, and
	// nil as null. An [ImageResult] is a text with images. [Error] says what the agent reads of an
	// error.
	//
	// Calls that overlap run Func concurrently. ctx ends when the caller closes the connection or
	// when [Options.Timeout] has passed. [FromContext] returns the call.
	Func func(ctx context.Context, arguments json.RawMessage) (any, error) `json:"-"`

	problem error // of Define, reported by New unless Parameters is set
}

// Define returns a tool for a Go function. It infers Parameters from In as [schema.For] does, so In
// is a struct or a map with string keys. [New] reports an In that has no schema. For such a type,
// set Parameters of the returned tool.
//
// Arguments are decoded as encoding/json does. If the schema accepts arguments that In cannot hold,
// such as 300 for an int8, the agent receives an error that names them.
func Define[In, Out any](name, description string, f func(ctx context.Context, in In) (Out, error)) Tool {
	declared, err := schema.Define[In, any](name, description, nil)
	t := Tool{Name: name, Description: description, problem: err}
	if err == nil {
		t.Parameters = declared.InputSchema
	}
	if f != nil {
		t.Func = func(ctx context.Context, raw json.RawMessage) (any, error) {
			in, err := toolcall.Decode[In](raw)
			if err != nil {
				return nil, err
			}
			return f(ctx, in)
		}
	}
	return t
}
