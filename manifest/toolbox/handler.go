package toolbox

import (
	"context"
	"encoding/json"

	"github.com/toolwire/toolwire/internal/rawjson"
)

// A Handler runs an internal tool: the documented signature (args, agent, tool) -> text in its Go form. args is a JSON
// object that matches the tool's parameters, without reasoning. An error is a failure of the tool. The model sees the text
// of an error made with [Errorf]; the text of any other error may hold anything and stays in the error.
//
// A handler is called on a goroutine of its own, concurrently for calls that overlap. ctx ends when the caller's context
// ends or when [Options.Timeout] has passed. A handler that does not return within another 500 ms is left behind: the call
// fails, and what the handler returns later is dropped. A panic or runtime.Goexit fails the call.
type Handler func(ctx context.Context, args json.RawMessage, agent Agent, tool Tool) (string, error)

// Typed makes a [Handler] of a function with Go types. Arguments are decoded as encoding/json does; those that the schema
// accepts and In does not are invalid arguments.
func Typed[In any](f func(ctx context.Context, args In, agent Agent, tool Tool) (string, error)) Handler {
	return func(ctx context.Context, raw json.RawMessage, agent Agent, tool Tool) (string, error) {
		in, err := rawjson.DecodeArguments[In](raw)
		if err != nil {
			return "", &Error{Code: CodeArguments, Message: err.Error() + "; correct them and call the tool again", Err: err}
		}
		return f(ctx, in, agent, tool)
	}
}

// An Agent is on whose behalf a tool runs.
type Agent struct {
	ID      string          // a UUID; external tools need it
	Context json.RawMessage // an object for tools to read, sent to webhooks too; nil for none
}

// A Tool is the definition of a tool as it was written. Its slices must not be changed.
type Tool struct {
	Name        string
	Description string
	Parameters  json.RawMessage // nil when there are none
	Adapter     string          // the adapter's name; "" for none
	Handler     string          // dotted name of an internal tool's handler
	URL         string          // of an external tool
	DetailURL   string
}

// An Adapter is a group of tools.
type Adapter struct {
	ID           string
	Name         string
	Description  string
	ConfigSchema json.RawMessage // nil when there is none
}
