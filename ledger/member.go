package ledger

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/internal/members"
	"github.com/toolwire/toolwire/internal/problem"
	"github.com/toolwire/toolwire/internal/rawjson"
)

// A Member is an unknown member of a declaration. The platform adds members over time; declarations
// keep unknown ones in order and write them after the known ones.
type Member struct {
	Name  string
	Value json.RawMessage
}

// readStrict returns a copy of doc, which must be one strict JSON value.
func readStrict(doc []byte, code toolwire.Code, limits rawjson.Limits) (json.RawMessage, error) {
	var value json.RawMessage
	err := rawjson.Read(bytes.Clone(doc), limits, func(r *rawjson.Reader) (err error) {
		value, err = r.Value()
		return err
	})
	if err != nil {
		return nil, unreadable(code, err)
	}
	return value, nil
}

// unmarshal reads a declaration. Errors have the given code.
func unmarshal[T any](data []byte, code toolwire.Code, into *T, set func(*T) members.Set[Member]) error {
	doc, err := readStrict(data, code, rawjson.Limits{})
	if err == nil {
		*into = members.Reader(set)(doc)
	}
	return err
}

// marshal writes a declaration. Errors have the given code.
func marshal(code toolwire.Code, declared members.Set[Member]) ([]byte, error) {
	out, err := declared.Write()
	if name, ok := errors.AsType[members.Clash](err); ok {
		var ps problems
		ps.Add("duplicate", token(string(name)), "is in Extra too; keep one of them")
		return nil, errorOf(code, ps)
	}
	return out, err
}

// addKept adds the problems of members that the fields cannot hold. It returns false if the
// declaration is not an object.
func addKept(ps *problems, declared members.Set[Member]) (isObject bool) {
	found := declared.Problems()
	problem.Under(ps, "", found.Found, found.More)
	return len(found.Found) == 0 || found.Found[0].Pointer != ""
}
