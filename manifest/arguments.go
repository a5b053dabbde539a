package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/toolwire/toolwire/internal/strictjson"
)

// argumentsCheck tells what is wrong with the arguments of a call; nil for nothing.
type argumentsCheck func(arguments json.RawMessage) error

// encodeArguments writes the arguments of a call as the tool will read them: raw JSON byte for byte, without white
// space around it.
func encodeArguments(args any) (json.RawMessage, error) {
	var raw []byte
	switch v := args.(type) {
	case nil:
	case json.RawMessage:
		raw = v
	case []byte:
		raw = v
	default:
		body, err := json.Marshal(args)
		if err != nil {
			return nil, fmt.Errorf("a Go %T cannot be written as JSON", args) // the error's text may hold a value
		}
		if !bytes.Equal(body, []byte("null")) { // a nil map or pointer
			raw = body
		}
	}
	raw = bytes.Trim(raw, " \t\r\n")
	if len(raw) == 0 {
		return json.RawMessage("{}"), nil
	}
	return raw, nil
}

// argumentLimits bound arguments before anything looks at them.
var argumentLimits = strictjson.Limits{Depth: 64, Values: 50_000}

// checkObject is the check that holds for every tool, with a schema or without.
func checkObject(arguments json.RawMessage) error {
	err := strictjson.Read(arguments, argumentLimits, func(r *strictjson.Reader) error {
		return r.Object(nil, func(string) error { _, err := r.Value(); return err })
	})
	if e, ok := errors.AsType[*strictjson.Error](err); ok && e.Pointer == "" {
		return fmt.Errorf("the arguments are no JSON object: %w", err)
	}
	return err
}
