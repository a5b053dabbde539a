package webhook

import (
	"context"
	"encoding/json"

	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/schema"
)

// A Tool is one external tool. Its JSON form holds the members that Bedrock tools documents for a definition.
type Tool struct {
	// Name is the name by which the model calls the tool: 1 to 128 ASCII letters, digits, _ and -, beginning with a
	// letter or _.
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`

	// Parameters is the JSON Schema of the arguments, without reasoning; its root must describe an object. Nil or null:
	// any object will do.
	Parameters json.RawMessage `json:"parameters,omitempty"`

	// Func runs the tool. [Typed] makes one from a function with Go types.
	Func Func `json:"-"`

	problem error // of Define, reported by New
}

// A Func runs one call. The arguments are a JSON object that matches the tool's parameters. The result is anything that
// encoding/json can write, a json.RawMessage as it is (nil stands for null), or a [Result]; see [Shape] for how it is sent.
//
// It is called on a goroutine of its own, concurrently for calls that overlap. ctx ends when the caller hangs up or when
// [Options.Timeout] has passed, and [FromContext] finds the call in it. What becomes of an error is told at [Error].
type Func func(ctx context.Context, arguments json.RawMessage) (any, error)

// Define declares a tool from a Go function: the parameters are inferred from In as [schema.For] does, so In is a struct
// or a map with string keys. What is wrong with the types is reported by [New]. For types that schema.For refuses, set
// Parameters by hand and use [Typed].
func Define[In, Out any](name, description string, f func(ctx context.Context, in In) (Out, error)) Tool {
	declared, err := schema.Define[In, any](name, description, nil)
	t := Tool{Name: name, Description: description, Parameters: declared.InputSchema, problem: err}
	if f != nil {
		t.Func = Typed(f)
	}
	return t
}

// Typed makes a [Func] of a function with Go types. Arguments are decoded as encoding/json does; those that the schema
// accepts and In does not, such as 300 for an int8, are answered as invalid arguments.
func Typed[In, Out any](f func(ctx context.Context, in In) (Out, error)) Func {
	return func(ctx context.Context, raw json.RawMessage) (any, error) {
		in, err := rawjson.DecodeArguments[In](raw)
		if err != nil {
			return nil, &Error{Code: CodeArguments, Message: err.Error(), Err: err}
		}
		return f(ctx, in)
	}
}
