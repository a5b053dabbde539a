package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/text"
	"github.com/toolwire/toolwire/ledger"
)

// readDocument returns a copy of data, which must be one strict JSON value. The functions below
// read its parts without checking the syntax again.
func readDocument(data []byte) (json.RawMessage, error) { return readAs(data, rawjson.Strict) }

func readAs(data []byte, mode rawjson.Mode) (json.RawMessage, error) {
	var doc json.RawMessage
	err := rawjson.Read(bytes.Clone(data), rawjson.Limits{Mode: mode}, func(r *rawjson.Reader) (err error) {
		doc, err = r.Value()
		return err
	})
	if err == nil {
		return doc, nil
	}
	more := ""
	if rawjson.IsForeign(data) {
		more = rawjson.Convert
	}
	return nil, notStrict(err, more)
}

// readLiberal reads a document of another party. Bytes in its strings that are not UTF-8 are left as they are.
func readLiberal(data []byte) (json.RawMessage, error) {
	data = rawjson.WithoutMark(data)
	doc, err := readAs(data, rawjson.Liberal)
	if err == nil || utf8.Valid(data) {
		return doc, err
	}
	if _, err := readAs(bytes.ToValidUTF8(data, []byte("\ufffd")), rawjson.Liberal); err != nil {
		return nil, err
	}
	return bytes.Clone(data), nil
}

// notStrict returns the problem of a document from an error of [rawjson.Read]. more ends the message.
func notStrict(err error, more string) error {
	e, _ := errors.AsType[*rawjson.Error](err) // it makes no other errors
	return oneProblem("not_json", e.Pointer, fmt.Sprintf("is not strict JSON at byte %d: %s%s", e.Offset, e.Problem, more))
}

// repeats reports whether a name occurs twice.
func repeats(list []ledger.Member) bool {
	seen := make(map[string]bool, len(list))
	for _, m := range list {
		if seen[m.Name] {
			return true
		}
		seen[m.Name] = true
	}
	return false
}

// membersOf returns the members of an object. Other values have none.
func membersOf(value json.RawMessage) (list []ledger.Member) {
	for name, v := range rawjson.Members(value) {
		list = append(list, ledger.Member{Name: name, Value: v})
	}
	return list
}

// member returns the value of a member. It returns nil if there is none or if it is null.
func member(list []ledger.Member, name string) json.RawMessage {
	for _, m := range list {
		if m.Name == name && rawjson.Kind(m.Value) != 'n' {
			return m.Value
		}
	}
	return nil
}

// pointerTo returns "/" and name as a token of a JSON Pointer.
func pointerTo(name string) string { return rawjson.Token(text.Cut(name, 80)) }
