package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/strictjson"
	"github.com/toolwire/toolwire/ledger"
)

// readDocument checks that data is one strict JSON value and returns a copy of it, whose parts the functions below take
// without looking at the syntax again.
func readDocument(data []byte) (json.RawMessage, error) {
	var doc json.RawMessage
	err := strictjson.Read(bytes.Clone(data), strictjson.Limits{}, func(r *strictjson.Reader) (err error) {
		doc, err = r.Value()
		return err
	})
	if err == nil {
		return doc, nil
	}
	problem := Problem{Index: noTool, Code: CodeNotJSON, Message: "is not strict JSON"}
	if e, ok := errors.AsType[*strictjson.Error](err); ok {
		problem.Pointer, problem.Message = e.Pointer, fmt.Sprintf("is not strict JSON at byte %d: %s", e.Offset, e.Problem)
	}
	return nil, &ValidationError{Problems: []Problem{problem}}
}

// members takes an object apart. Other values have no members.
func members(value json.RawMessage) (list []ledger.Member) {
	for name, v := range rawjson.Members(value) {
		list = append(list, ledger.Member{Name: name, Value: v})
	}
	return list
}

// member returns the value of a member, nil when there is none or it is null.
func member(list []ledger.Member, name string) json.RawMessage {
	for _, m := range list {
		if m.Name == name && rawjson.Kind(m.Value) != 'n' {
			return m.Value
		}
	}
	return nil
}

// objectWriter writes an object of a declaration.
type objectWriter struct{ rawjson.Object }
