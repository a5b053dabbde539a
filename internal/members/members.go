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

// Problems are what is wrong with members. The code of each is wrong_type, wrong_case or too_many.
type Problems = problem.List[problem.Problem]

// Kept holds the known members that their fields cannot hold: null, an empty string, or a value of
// the wrong type. A kept member counts only as long as its field is not set.
type Kept struct {
	whole   json.RawMessage // set if the value is not an object
	members []keptMember
}

type keptMember struct {
	name     string
	value    json.RawMessage
	problems Problems // none if the member counts as absent; pointers start at the member
}

// Member is the underlying type of the members that a declaration does not know.
type Member = struct {
	Name  string
	Value json.RawMessage
}

// A Set is a declaration taken apart: its known members, what their fields cannot hold, and its unknown
// members.
type Set[M ~Member] struct {
	Kept   *Kept
	Extra  *[]M
	Fields []Field
}

// Reader returns a function that reads a declaration from valid JSON, in one pass over its members. set
// takes one apart. What is read shares the memory of the JSON.
func Reader[T any, M ~Member](set func(*T) Set[M]) func(doc json.RawMessage) T {
	return func(doc json.RawMessage) (v T) {
		set(&v).read(doc)
		return v
	}
}

func (s Set[M]) read(doc json.RawMessage) {
	if rawjson.Kind(doc) != '{' {
		s.Kept.whole = doc
		return
	}
	for name, value := range rawjson.Members(doc) {
		i := slices.IndexFunc(s.Fields, func(f Field) bool { return f.Name == name })
		if i < 0 {
			*s.Extra = append(*s.Extra, M(Member{name, value}))
			continue
		}
		var problems Problems
		if rawjson.Kind(value) != 'n' {
			problems = s.Fields[i].read(value)
		}
		if !s.Fields[i].set() {
			s.Kept.members = append(s.Kept.members, keptMember{name, value, problems})
		}
	}
}

// Problems returns what is wrong with what was read and is still kept, in the order of the fields,
// then the unknown members whose names differ from the name of a field by case only: the platform
// does not read these members. The problem of a value that is not an object has the empty pointer and no
// others beside it.
func (s Set[M]) Problems() (list Problems) {
	if s.Kept.whole != nil && len(*s.Extra) == 0 && !slices.ContainsFunc(s.Fields, Field.set) {
		return wrongType("an object", s.Kept.whole)
	}
	for _, f := range s.Fields {
		var part Problems
		if nested, ok := f.holder.(interface{ inner() Problems }); ok && f.set() {
			part = nested.inner()
		} else if m := s.Kept.find(f.Name); m != nil && !f.set() {
			part = m.problems
		}
		problem.Under(&list, rawjson.Token(f.Name), part.Found, part.More)
	}
	for _, m := range *s.Extra {
		name := Member(m).Name
		for _, f := range s.Fields {
			if name != f.Name && strings.EqualFold(name, f.Name) {
				list.Add("wrong_case", rawjson.Token(name), "is not a known member; names are case-sensitive, write %q", f.Name)
			}
		}
	}
	return list
}

// Wrong reports whether a member of the wrong type was read.
func (k *Kept) Wrong(name string) bool {
	m := k.find(name)
	return m != nil && m.problems.Len() > 0
}

// Blank reports whether a member that is not set was read as "".
func (k *Kept) Blank(name string) bool {
	m := k.find(name)
	return m != nil && string(m.value) == `""`
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
func (s Set[M]) Write() (json.RawMessage, error) {
	var w rawjson.Object
	for _, f := range s.Fields {
		var value json.RawMessage
		if f.set() {
			var err error
			if value, err = f.write(); err != nil {
				return nil, err
			}
		} else if m := s.Kept.find(f.Name); m != nil {
			value = m.value
		}
		w.Put(f.Name, value)
	}
	for _, m := range *s.Extra {
		m := Member(m)
		if len(m.Value) > 0 && w.Has(m.Name) {
			return nil, Clash(m.Name)
		}
		w.Put(m.Name, m.Value)
	}
	if w.Empty() && s.Kept.whole != nil {
		return s.Kept.whole, nil
	}
	return w.Bytes(), nil
}
