// Package members reads and writes the JSON objects that declare tools and ledgers, and keeps
// everything: unknown members in order, and known members that their fields cannot hold.
package members

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/toolwire/toolwire/internal/problem"
	"github.com/toolwire/toolwire/internal/rawjson"
)

// A Problem is one thing that is wrong with a member. Code is wrong_type or wrong_case.
type Problem = problem.Problem

// Kept holds the known members that their fields cannot hold: null, an empty string, or a value of
// the wrong type. A kept member counts only as long as its field is not set.
type Kept struct {
	whole   json.RawMessage // set if the value is not an object
	members []keptMember
}

type keptMember struct {
	name     string
	value    json.RawMessage
	problems []Problem // none if the member counts as absent; pointers start at the member
}

// Member is the underlying type of the members that a declaration does not know.
type Member = struct {
	Name  string
	Value json.RawMessage
}

// Read reads a value into fields, in one pass over its members. The value must be valid JSON. Read
// calls extra for each unknown member. The fields keep sub-slices of doc.
func Read(doc json.RawMessage, fields []Field, extra func(name string, value json.RawMessage)) (k Kept) {
	if rawjson.Kind(doc) != '{' {
		k.whole = doc
		return k
	}
	for name, value := range rawjson.Members(doc) {
		i := slices.IndexFunc(fields, func(f Field) bool { return f.Name == name })
		if i < 0 {
			extra(name, value)
			continue
		}
		var problems []Problem
		if rawjson.Kind(value) != 'n' {
			problems = fields[i].read(value)
		}
		if !fields[i].set() {
			k.members = append(k.members, keptMember{name, value, problems})
		}
	}
	return k
}

// Problems returns what is wrong with what was read and is still kept, in the order of the fields,
// then the unknown members whose names differ from the name of a field by case only: the platform
// does not read these members. The problem of a value that is not an object has the empty pointer and no others
// beside it.
func Problems[M ~Member](k *Kept, fields []Field, extra []M) (list []Problem) {
	if k.whole != nil && len(extra) == 0 && !slices.ContainsFunc(fields, Field.set) {
		return wrongType("", "an object", k.whole)
	}
	for _, f := range fields {
		var part []Problem
		if nested, ok := f.holder.(interface{ inner() []Problem }); ok && f.set() {
			part = nested.inner()
		} else if m := k.find(f.Name); m != nil && !f.set() {
			part = m.problems
		}
		problem.Under(&list, rawjson.Token(f.Name), part)
	}
	for _, m := range extra {
		name := Member(m).Name
		for _, f := range fields {
			if name != f.Name && strings.EqualFold(name, f.Name) {
				list = append(list, Problem{Code: "wrong_case", Pointer: rawjson.Token(name),
					Message: "is not a known member; names are case-sensitive, write \"" + f.Name + `"`})
			}
		}
	}
	return list
}

// Wrong reports whether a member of the wrong type was read.
func (k *Kept) Wrong(name string) bool {
	m := k.find(name)
	return m != nil && len(m.problems) > 0
}

func (k *Kept) find(name string) *keptMember {
	i := slices.IndexFunc(k.members, func(m keptMember) bool { return m.name == name })
	if i < 0 {
		return nil
	}
	return &k.members[i]
}

// Clash is the error for a name that an object would have twice.
type Clash string

// Error implements error.
func (c Clash) Error() string { return "two members are called " + string(c) }

// Write writes the fields that are set or kept, in their order, then the unknown members that have
// a value. The error is a Clash or the error of a field.
func Write[M ~Member](k *Kept, fields []Field, extra []M) (json.RawMessage, error) {
	var w rawjson.Object
	for _, f := range fields {
		var value json.RawMessage
		if f.set() {
			var err error
			if value, err = f.write(); err != nil {
				return nil, err
			}
		} else if m := k.find(f.Name); m != nil {
			value = m.value
		}
		w.Put(f.Name, value)
	}
	for _, m := range extra {
		m := Member(m)
		if len(m.Value) > 0 && w.Has(m.Name) {
			return nil, Clash(m.Name)
		}
		w.Put(m.Name, m.Value)
	}
	if w.Empty() && k.whole != nil {
		return k.whole, nil
	}
	return w.Bytes(), nil
}
