// Package toolresult is common to the packages that call tools for a model: it checks names of tools,
// reads the arguments of a model, and writes what the model reads about a call.
package toolresult

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strings"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/text"
)

// Advice is the end of a message about arguments that are not a JSON object.
const Advice = "; send the arguments as one JSON object and call the tool again"

// ArgumentLimits bounds the arguments of a call that are validated before the call: the limit of package
// schema for documents.
var ArgumentLimits = rawjson.Limits{Depth: 64}

// Arguments returns arguments that are JSON text, as a model writes them: nil, a string, a []byte or
// a json.RawMessage. For any other Go value ok is false.
func Arguments(args any) (text json.RawMessage, ok bool) {
	switch v := args.(type) {
	case nil:
		return nil, true
	case string:
		return json.RawMessage(v), true
	case []byte:
		return v, true
	case json.RawMessage:
		return v, true
	}
	return nil, false
}

// ForModel returns what a model reads about a call with this result, which is one JSON value.
func ForModel(result json.RawMessage, failed bool) toolwire.ModelResult {
	return toolwire.ModelResult{Text: Plain(result), JSON: result, Failed: failed}
}

// Plain returns a JSON string as its text, and any other value as JSON. A blank string stays JSON,
// because some APIs of models reject a blank text.
func Plain(result json.RawMessage) string {
	if text := rawjson.Unquote(result); strings.TrimSpace(text) != "" {
		return text
	}
	return string(result)
}

const (
	maxDetail = 4 << 10
	maxTools  = 100
	maxName   = 200
)

// Failure returns the result of a failed call: {"error": code, "detail": text, "tools": [names]}.
// It leaves out an empty detail and an empty list. It cuts the detail to 4 KiB and the list to 100
// names.
func Failure(code, detail string, tools []string) json.RawMessage {
	names := make([]string, min(len(tools), maxTools))
	for i := range names {
		names[i] = text.Cut(tools[i], maxName)
	}
	text, _ := rawjson.Encode(struct { // strings only: cannot fail
		Error  string   `json:"error"`
		Detail string   `json:"detail,omitempty"`
		Tools  []string `json:"tools,omitempty"`
	}{code, text.Cut(detail, maxDetail), names})
	return text
}

// NoTool returns the detail for a call of a tool that does not exist.
func NoTool(name string) string {
	quoted, _ := json.Marshal(text.Cut(name, maxName)) // a string: cannot fail
	return "there is no tool " + string(quoted) + "; names are case-sensitive"
}

// Failed reports whether a result describes a failure: an object whose member error says something.
// null, false, "", 0, [] and {} mean that there is none.
func Failed(result json.RawMessage) (failed bool) {
	if !bytes.Contains(result, []byte(`"error"`)) && !bytes.Contains(result, []byte(`\u`)) {
		return false // most results have no such member; its name may contain escapes
	}
	// The caller has checked the result against its own limits.
	unlimited := rawjson.Limits{Depth: math.MaxInt, Mode: rawjson.Liberal}
	_ = rawjson.Read(result, unlimited, func(read *rawjson.Reader) error {
		if read.Kind() != '{' {
			return nil
		}
		return read.Object(nil, func(name string) error {
			v, err := read.Value()
			if name == "error" {
				failed = !slices.Contains([]string{"null", "false", `""`, "0", "[]", "{}"}, rawjson.Key(v))
			}
			return err
		})
	})
	return failed
}
