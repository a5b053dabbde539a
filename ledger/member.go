package ledger

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/strictjson"
)

// A Member is an unknown member of a declaration. The platform adds members over time; declarations
// keep unknown ones in order and write them after the known ones.
type Member struct {
	Name  string
	Value json.RawMessage
}

// malformed keeps the members whose JSON type is not the documented one. Their fields stay zero,
// Validate reports them, and writing the declaration puts the same text back. It also keeps known
// members that are null or "". They count as absent, are not problems, and are written back too.
type malformed struct {
	whole    json.RawMessage // set if the value is not an object
	members  []Member
	blank    []Member
	problems problems
}

func (m *malformed) has(name string) bool {
	return slices.ContainsFunc(m.members, func(b Member) bool { return b.Name == name })
}

// current returns the recorded problems that still hold: those of members that the declaration
// still writes as they were read.
func (m *malformed) current(declaration json.Marshaler) problems {
	if len(m.problems) == 0 {
		return nil
	}
	text, err := declaration.MarshalJSON()
	if err != nil {
		return m.problems
	}
	return slices.DeleteFunc(slices.Clone(m.problems), func(p Problem) bool {
		if p.Pointer == "" {
			return !bytes.Equal(text, m.whole)
		}
		name, _, _ := strings.Cut(p.Pointer[1:], "/")
		name = rawjson.Name(name)
		value := rawjson.Member(text, name)
		i := slices.IndexFunc(m.members, func(b Member) bool { return b.Name == name })
		return value == nil || i >= 0 && !bytes.Equal(value, m.members[i].Value)
	})
}

// object is a JSON object whose members are read one by one. Each method reads one known member.
type object struct {
	members []Member
	bad     malformed
}

// readObject fails only if doc is not strict JSON. It keeps known members that are null as blank.
// The values are sub-slices of doc.
func readObject(doc []byte, known []string, limits strictjson.Limits) (*object, error) {
	o := &object{}
	err := strictjson.Read(doc, limits, func(r *strictjson.Reader) error {
		if kind := r.Kind(); kind != '{' {
			whole, err := r.Value()
			o.bad.whole = whole
			o.bad.problems.add("wrong_type", "", "must be an object, not %s", strictjson.KindName(kind))
			return err
		}
		return r.Object(nil, func(name string) error {
			isNull := r.Kind() == 'n'
			value, err := r.Value()
			if err != nil {
				return err
			}
			if isNull && slices.Contains(known, name) {
				o.bad.blank = append(o.bad.blank, Member{name, value})
				return nil
			}
			for _, k := range known {
				if name != k && strings.EqualFold(name, k) {
					o.bad.problems.add("wrong_case", token(name), "is not a known member; names are case-sensitive, write %q", k)
				}
			}
			o.members = append(o.members, Member{name, value})
			return nil
		})
	})
	return o, err
}

// take removes the member called name and returns its value.
func (o *object) take(name string) (json.RawMessage, bool) {
	i := slices.IndexFunc(o.members, func(m Member) bool { return m.Name == name })
	if i < 0 {
		return nil, false
	}
	value := o.members[i].Value
	o.members = slices.Delete(o.members, i, i+1)
	return value, true
}

func (o *object) reject(name string, value json.RawMessage, pointer, want string) {
	if !o.bad.has(name) {
		o.bad.members = append(o.bad.members, Member{name, value})
	}
	o.bad.problems.add("wrong_type", token(name)+pointer, "must be %s", want)
}

func (o *object) string(name string, into *string) {
	if value, ok := o.take(name); ok {
		if value[0] != '"' || jsonv2.Unmarshal(value, into) != nil {
			o.reject(name, value, "", "a string, not "+rawjson.KindName(value))
		} else if *into == "" {
			o.bad.blank = append(o.bad.blank, Member{name, value})
		}
	}
}

func (o *object) strings(name string, into *[]string) {
	value, ok := o.take(name)
	if !ok {
		return
	}
	var list []json.RawMessage
	if value[0] != '[' || jsonv2.Unmarshal(value, &list) != nil {
		o.reject(name, value, "", "a list of strings, not "+rawjson.KindName(value))
		return
	}
	texts := make([]string, len(list))
	for i, v := range list {
		if v[0] != '"' || jsonv2.Unmarshal(v, &texts[i]) != nil {
			o.reject(name, value, indexToken(i), "a string, not "+rawjson.KindName(v))
		}
	}
	if !o.bad.has(name) {
		*into = texts
	}
}

func (o *object) stringMap(name string, into *map[string]string) {
	value, ok := o.take(name)
	if !ok {
		return
	}
	inner, err := readObject(value, nil, strictjson.Limits{})
	if err != nil || inner.bad.whole != nil {
		o.reject(name, value, "", "an object of strings, not "+rawjson.KindName(value))
		return
	}
	texts := make(map[string]string, len(inner.members))
	for _, m := range inner.members {
		var text string
		if m.Value[0] != '"' || jsonv2.Unmarshal(m.Value, &text) != nil {
			o.reject(name, value, token(m.Name), "a string, not "+rawjson.KindName(m.Value))
			continue
		}
		texts[m.Name] = text
	}
	if !o.bad.has(name) {
		*into = texts
	}
}

// rest returns the members that no method took.
func (o *object) rest() ([]Member, malformed) { return o.members, o.bad }

// objectWriter writes a declaration: known members that are set, malformed or blank, then the
// unknown ones.
type objectWriter struct {
	rawjson.Object
	code Code // of the declaration
	bad  *malformed
	err  error
}

func newObjectWriter(code Code, bad *malformed) *objectWriter {
	return &objectWriter{code: code, bad: bad}
}

func (w *objectWriter) put(name string, value any) {
	text, err := plainJSON(value)
	if err != nil && w.err == nil {
		w.err = err
	}
	w.raw(name, text)
}

// plainJSON is json.Marshal without escapes for HTML. It does not change what a declaration writes.
func plainJSON(value any) ([]byte, error) {
	if m, ok := value.(json.Marshaler); ok {
		return m.MarshalJSON()
	}
	return rawjson.Encode(value)
}

// declarations writes a list of declarations.
type declarations[T json.Marshaler] []T

func (list declarations[T]) MarshalJSON() ([]byte, error) {
	texts := make([]json.RawMessage, len(list))
	for i, d := range list {
		text, err := d.MarshalJSON()
		if err != nil {
			return nil, err
		}
		texts[i] = text
	}
	return rawjson.Array(texts), nil
}

func (w *objectWriter) raw(name string, value json.RawMessage) {
	if w.Has(name) {
		var ps problems
		ps.add("duplicate", token(name), "is in Extra too; keep one of them")
		w.err = ps.err(w.code)
	}
	w.Put(name, value)
}

// member writes value if set is true, and otherwise the text that was kept.
func (w *objectWriter) member(name string, set bool, value any) {
	if set {
		w.put(name, value)
		return
	}
	for _, kept := range [][]Member{w.bad.members, w.bad.blank} {
		for _, b := range kept {
			if b.Name == name {
				w.raw(name, b.Value)
			}
		}
	}
}

func (w *objectWriter) end(extra []Member) ([]byte, error) {
	if w.bad.whole != nil && w.Empty() && len(extra) == 0 {
		return w.bad.whole, nil
	}
	for _, m := range extra {
		w.raw(m.Name, m.Value)
	}
	return w.Bytes(), w.err
}
