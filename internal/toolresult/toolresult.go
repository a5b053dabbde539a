// Package toolresult holds what the packages that call tools for a model have in common: how a model's arguments come in,
// and the shape of the results that it reads.
package toolresult

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"

	"github.com/toolwire/toolwire/internal/clip"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/strictjson"
)

// Advice tells a model how to correct arguments that are not a JSON object.
const Advice = "; send the arguments as one JSON object and call the tool again"

// Text returns arguments that are JSON text, as a model writes them: nil, a string, a []byte or a json.RawMessage. ok is
// false for any other Go value.
func Text(args any) (text json.RawMessage, ok bool) {
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

const (
	maxDetail = 4 << 10
	maxTools  = 100
	maxName   = 200
)

// Failure is the result of a call that failed: {"error": code, "detail": text, "tools": [names]}. An empty detail and an
// empty list are left out. The detail is cut to 4 KiB, the list to 100 names.
func Failure(code, detail string, tools []string) json.RawMessage {
	names := make([]string, min(len(tools), maxTools))
	for i := range names {
		names[i] = cut(tools[i], maxName)
	}
	text, _ := rawjson.Encode(struct { // strings only: cannot fail
		Error  string   `json:"error"`
		Detail string   `json:"detail,omitempty"`
		Tools  []string `json:"tools,omitempty"`
	}{code, cut(detail, maxDetail), names})
	return text
}

// NoTool says that a model called a tool that does not exist.
func NoTool(name string) string {
	quoted, _ := json.Marshal(cut(name, maxName)) // a string: cannot fail
	return "there is no tool " + string(quoted) + "; names are case-sensitive"
}

func cut(s string, most int) string {
	return strings.ToValidUTF8(clip.Text(s, most), "")
}

// Failed reports whether a result tells of a failure: it is an object whose member error is not null, false or "".
func Failed(result json.RawMessage) (failed bool) {
	if !bytes.Contains(result, []byte(`"error"`)) && !bytes.Contains(result, []byte(`\u`)) {
		return false // most results need no second reading; a name may be written with escapes
	}
	// The result has passed the limits of its caller.
	unlimited := strictjson.Limits{Depth: math.MaxInt, Mode: strictjson.Liberal}
	_ = strictjson.Read(result, unlimited, func(read *strictjson.Reader) error {
		if read.Kind() != '{' {
			return nil
		}
		return read.Object(nil, func(name string) error {
			v, err := read.Value()
			if name == "error" {
				failed = !(string(v) == "null" || string(v) == "false" || string(v) == `""`)
			}
			return err
		})
	})
	return failed
}
