package jsonschema

import (
	"errors"

	lib "github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/toolwire/toolwire/internal/rawjson"
)

// Validate validates a JSON document. The error is an [*InvalidError].
func (s *Schema) Validate(raw []byte) (err error) {
	if len(raw) > s.bounds.Bytes {
		return limitError("is %d bytes long; at most %d are checked", len(raw), s.bounds.Bytes)
	}
	if s.copies == nil { // every document matches
		return documentError(rawjson.Check(raw, rawjson.Limits{Depth: s.bounds.Depth, Mode: rawjson.Unique}))
	}
	doc, err := decode(raw, rawjson.Unique, s.bounds.Depth, s.bounds.values)
	if err != nil {
		return documentError(err)
	}
	defer func() {
		switch p := recover().(type) {
		case nil:
		case *InvalidError:
			err = p
		default:
			err = limitError("cannot be checked against its schema")
		}
	}()
	one := s.copies.take()
	defer s.copies.giveBack(one)
	one.counter.begin(one.root, doc, s.bounds.Steps)
	verr, ok := errors.AsType[*lib.ValidationError](one.root.Validate(doc))
	if !ok {
		return nil
	}
	issues, more := collect(verr)
	return &InvalidError{Code: "mismatch", Issues: issues, More: more}
}

const (
	maxNumberLen    = 64
	maxSchemaValues = 500_000 // values and names of a schema document
	maxExponent     = 400     // with larger exponents, exact arithmetic on a short number takes milliseconds
)

// decode reads a document into the library's form: map[string]any, []any, string, json.Number, bool
// and nil. [rawjson.Read] must accept it in a mode without duplicate names. The cost of a document
// grows with its values and names, and faster than linearly with the length of a number, so decode
// bounds both.
func decode(raw []byte, mode rawjson.Mode, depth, values int) (any, error) {
	err := rawjson.Check(raw, rawjson.Limits{Depth: depth, Values: values, Mode: mode})
	if err == nil {
		err = rawjson.BoundNumbers(raw, maxNumberLen, maxExponent)
	}
	if err != nil {
		return nil, err
	}
	return rawjson.Any(raw), nil
}
