package rawjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/toolwire/toolwire/internal/problem"
)

// EncodeArguments writes the arguments of a tool call as a JSON object. Raw JSON, a json.RawMessage
// or a []byte, is checked within limits and taken byte for byte. Nil, nil maps and pointers, and
// raw JSON that is blank or null are {}. The error names types and members but never values.
func EncodeArguments(args any, limits Limits) (json.RawMessage, error) {
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
			return nil, marshalError(args, err)
		}
		if body[0] != '{' && string(body) != "null" {
			return nil, fmt.Errorf("the arguments must be written as a JSON object; a Go %T is not; "+
				"pass a struct, a map, or JSON text as json.RawMessage", args)
		}
		raw = body
	}
	object, err := argumentsOf(raw, limits)
	if err != nil {
		return nil, err
	}
	return object, nil
}

// ReadArguments reads the arguments of a call as another party wrote them: a JSON object, or a JSON string
// whose text is one, as some APIs of models have it. It returns the object byte for byte, without white
// space around it. No value, null, and a text that is blank or null are {}. The error says why anything
// else is not an object. The text is then what was written: the text of the string, or given, which need
// not be JSON.
func ReadArguments(given []byte, limits Limits) (text json.RawMessage, err error) {
	if Kind(given) == '"' && Check(given, limits) == nil {
		if text, err = argumentsOf([]byte(Unquote(given)), limits); err != nil {
			err = fmt.Errorf("the arguments are a string, and its text is not usable: %w", err)
		}
		return text, err
	}
	return argumentsOf(given, limits)
}

// argumentsOf returns the object that a text has, or the text and why it has none.
func argumentsOf(text []byte, limits Limits) (json.RawMessage, error) {
	object := bytes.Trim(text, whitespace)
	if len(object) == 0 || string(object) == "null" {
		return json.RawMessage("{}"), nil
	}
	if err := CheckArguments(object, limits); err != nil {
		return text, err
	}
	return object, nil
}

// CheckArguments makes sure that raw is one JSON object within limits.
func CheckArguments(raw json.RawMessage, limits Limits) error {
	err := Check(raw, limits)
	if kind := Kind(raw); err == nil && kind != '{' {
		return fmt.Errorf("the arguments must be an object, not %s", KindName(kind))
	}
	if e, ok := errors.AsType[*Error](err); ok && e.Ambiguous {
		return fmt.Errorf("the arguments are ambiguous: %w; name each member once", err)
	}
	if err != nil {
		return fmt.Errorf("the arguments are not a JSON object: %w", err)
	}
	return nil
}

// marshalError words encoding/json's errors without the values that their texts hold.
func marshalError(args any, err error) error {
	text := fmt.Sprintf("encoding/json cannot write a Go %T", args)
	if t, ok := errors.AsType[*json.UnsupportedTypeError](err); ok {
		text = fmt.Sprintf("the arguments hold a Go %s, which JSON cannot carry", t.Type)
	} else if v, ok := errors.AsType[*json.UnsupportedValueError](err); ok {
		text = fmt.Sprintf("the arguments hold a value of type %s that JSON cannot carry (NaN, an infinity or a cycle)",
			v.Value.Type())
	} else if m, ok := errors.AsType[*json.MarshalerError](err); ok {
		text = fmt.Sprintf("the arguments hold a Go %s whose marshal method failed", m.Type)
	}
	return problem.Quiet(text, err)
}
