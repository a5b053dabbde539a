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
