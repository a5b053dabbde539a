package toolbox

import (
	"context"
	"encoding/json"

	"github.com/toolwire/toolwire/internal/toolcall"
)

// Handler runs an internal tool. It is the Go form of the documented signature (args, agent, tool)
// -> text. args is a JSON object that matches the parameters of the tool, without reasoning. If the
// model left a property out, args contains its "default" from the parameters. "properties",
// "items", "allOf" and local references are searched for defaults. If args with all defaults would
// not match the parameters, or if the defaults exceed 1 MiB, no default is applied.
//
// An error means that the tool failed. The model reads the text of an error that [Errorf] made. The
// text of any other error stays in the error, because it may contain anything.
//
// Each call runs on its own goroutine. ctx ends when the caller's context ends or when
// [Options.Timeout] has passed. If the handler does not return within another 500 ms, the call
// fails and the later result is dropped. A panic or runtime.Goexit fails the call.
type Handler func(ctx context.Context, args json.RawMessage, agent Agent, tool Tool) (string, error)

// Typed makes a [Handler] from a function with a Go type. It decodes arguments as encoding/json
// does. If In does not accept arguments that match the schema, the call fails with CodeArguments.
func Typed[In any](f func(ctx context.Context, args In, agent Agent, tool Tool) (string, error)) Handler {
	return func(ctx context.Context, raw json.RawMessage, agent Agent, tool Tool) (string, error) {
		in, err := toolcall.Decode[In](raw)
		if err != nil {
			return "", err
		}
		return f(ctx, in, agent, tool)
	}
}

// Tool is the definition of a tool in the document. Its JSON is the same definition, so [Parse]
// reads a list of tools. Do not change its slices.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"` // nil if there are none
	// Adapter is the name of the tool's adapter, or its id if no name is known. It is "" if there
	// is none.
	Adapter   string `json:"adapter,omitempty"`
	Handler   string `json:"handler,omitempty"` // the dotted name of an internal tool's function
	URL       string `json:"url,omitempty"`     // of an external tool
	DetailURL string `json:"detail_url,omitempty"`
}

// Adapter is a group of tools.
type Adapter struct {
	ID           string          `json:"id,omitempty"`
	Name         string          `json:"name"`
	Description  string          `json:"description,omitempty"`
	ConfigSchema json.RawMessage `json:"config_schema,omitempty"` // of its configuration; nil if it has none
}

func (a Adapter) is(name string) bool { return name != "" && (name == a.Name || name == a.ID) }
