package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/runctx"
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
	// handler, DetailURL the address of [Detail]. [New] accepts absolute http and https URLs
	// without user and fragment.
	Adapter   string `json:"adapter,omitempty"`
	URL       string `json:"url,omitempty"`
	DetailURL string `json:"detail_url,omitempty"`

	// Func runs one call. [Define] sets it. The arguments are a JSON object that matches Parameters. If
	// the model left a property out, they contain its "default" from the "properties" of Parameters, at
	// the root and in objects that are there. A default with which they would not match Parameters is
	// left out.
	//
	// The result is a value that encoding/json can write. A json.RawMessage is sent as it is, and
	// nil as null. An [ImageResult] is a text with images. [toolwire.Error] says what the agent reads of an
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

// An ImageResult is the result of a tool that returns a text and images. It is sent as
// {"text":"…","images":[…]}.
type ImageResult struct {
	Text   string   `json:"text"`
	Images [][]byte `json:"images,omitempty"` // PNG, JPEG, GIF or WEBP; base64 on the wire
}

// encodeResult returns the response body for the result of a tool.
func encodeResult(result any, harness bool) ([]byte, error) {
	if raw, ok := result.(json.RawMessage); ok && raw != nil { // nil is null
		if err := rawjson.Check(raw, rawjson.Limits{}); err != nil {
			return nil, errors.New("the raw result of the tool is not one strict JSON value")
		}
	}
	if p, ok := result.(*ImageResult); ok && p != nil {
		result = *p
	}
	if _, ok := result.(ImageResult); !ok && harness {
		text, isString := result.(string)
		if !isString {
			raw, err := rawjson.Encode(result)
			if err != nil {
				return nil, err
			}
			if text = string(raw); raw[0] == '"' {
				_ = json.Unmarshal(raw, &text) // cannot fail: Encode wrote it
			}
		}
		result = ImageResult{Text: text}
	}
	return rawjson.Encode(result)
}

// A Call describes the request that a tool runs for. [FromContext] returns it.
type Call struct {
	Tool string // the name of the tool

	// AgentID is the UUID from X-Agent-Identity, unchanged. With [Options.StandaloneHarness] it is
	// agent_id from the body: any string, or "". Every caller that has the secret can send any id.
	AgentID string

	// Reasoning is the model's reason for the call: the string as it is, or the JSON of any other
	// value. It is "" if there is none or if the tool declares reasoning as an argument.
	Reasoning string

	// Body is the whole request body: a JSON object, which contains the arguments. It must
	// not be modified.
	Body json.RawMessage
}

// NewContext returns a context with a call, for tests that run a tool without the handler.
func NewContext(ctx context.Context, call *Call) context.Context {
	return runctx.With(ctx, call)
}

// FromContext returns the call in ctx. If there is none, it returns an empty Call, never nil. The
// Call must not be modified.
func FromContext(ctx context.Context) *Call {
	if call := runctx.From[*Call](ctx); call != nil {
		return call
	}
	return &Call{}
}

// CallEnd describes a call of a known tool that has ended. It contains neither arguments nor the
// result.
type CallEnd struct {
	Tool      string
	AgentID   string
	Reasoning string        // as in [Call]; words of the model, which may repeat anything it knows
	Err       error         // a [*toolwire.Error]; nil for success
	Duration  time.Duration // from the end of the request body to the end of the tool
}
