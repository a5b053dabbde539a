package schema

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	invopop "github.com/invopop/jsonschema"

	"github.com/toolwire/toolwire/internal/jsonschema"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/ledger"
)

// infer returns the schema of what encoding/json writes for a type. The library that infers schemas
// does not see the type itself: a recursive type would end the process, and it treats other types
// differently from encoding/json.
func infer(t reflect.Type, types map[reflect.Type]json.RawMessage) (json.RawMessage, []Problem) {
	w := &walker{types: make(map[reflect.Type]json.RawMessage, len(types))}
	for by, raw := range types {
		doc, err := readDocument(raw)
		if err != nil || rawjson.Kind(doc) != '{' {
			w.fail("schema_invalid", "the schema of %s in InferOptions.Types is not a JSON object", by)
		}
		w.types[by] = doc
	}
	if len(w.found) > 0 {
		slices.SortFunc(w.found, func(a, b Problem) int { return strings.Compare(a.Message, b.Message) })
		return nil, w.found
	}
	for t.Kind() == reflect.Pointer && t.Name() == "" && t != bigIntType {
		if _, ok := types[t]; ok {
			break
		}
		t = t.Elem()
	}
	s := w.shape(t)
	if len(w.found) > 0 {
		return nil, w.found
	}
	s.null = false
	raw, err := reflectPlain(s.plainType())
	if err != nil {
		return nil, []Problem{{Index: noTool, Code: "type_unsupported", Message: err.Error()}}
	}
	raw = s.finish(raw)
	found := slices.DeleteFunc(jsonschema.Check(raw, nil), jsonschema.Fault.Unchecked) // Validate lists those
	if len(found) > 0 {
		return nil, schemaProblems(found)
	}
	return raw, nil
}

func reflectPlain(t reflect.Type) (_ json.RawMessage, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("no schema can be inferred for it; set one in InferOptions.Types")
		}
	}()
	r := invopop.Reflector{DoNotReference: true, Anonymous: true}
	s := r.ReflectFromType(t)
	s.Version = ""
	return s.MarshalJSON()
}

// finish adds what the library does not infer: null, schemas of InferOptions.Types, integer keys,
// the lower bound of unsigned numbers, and {} for true, which some providers reject.
func (s *shape) finish(raw json.RawMessage) json.RawMessage {
	if rawjson.Kind(raw) != '{' {
		raw = json.RawMessage(`{}`)
	}
	list := members(raw)
	switch {
	case s.byHand != nil:
		list = overlay(members(s.byHand), list)
	case s.isMap:
		list = s.finishMap(list)
	case s.elem != nil:
		set(&list, "items", s.elem.finish(member(list, "items")))
	case s.unsigned && member(list, "minimum") == nil && member(list, "exclusiveMinimum") == nil:
		set(&list, "minimum", json.RawMessage(`0`))
	case len(s.fields) > 0:
		s.finishStruct(&list)
	}
	slices.SortStableFunc(list, func(a, b ledger.Member) int {
		return cmp.Compare(readingOrder(a.Name), readingOrder(b.Name))
	})
	if s.failable {
		list = orElse(list, failureSchema)
	}
	if s.null {
		list = orElse(list, `{"type":"null"}`)
	}
	return object(list)
}

func (s *shape) finishStruct(list *[]ledger.Member) {
	properties := new(rawjson.Object)
	inferred := members(member(*list, "properties"))
	var required []json.RawMessage
	for _, f := range s.fields {
		properties.Put(f.name, f.finish(member(inferred, f.plainName)))
		if f.required {
			required = append(required, rawjson.Quote(f.name))
		}
	}
	set(list, "properties", properties.Bytes())
	*list = slices.DeleteFunc(*list, func(m ledger.Member) bool { return m.Name == "required" })
	if required != nil {
		set(list, "required", rawjson.Array(required))
	}
}

// readingOrder puts the keywords first that readers look for first.
func readingOrder(keyword string) int {
	if at := slices.Index([]string{"type", "title", "description", "properties", "required"}, keyword); at >= 0 {
		return at
	}
	return 5
}

func (s *shape) finishMap(list []ledger.Member) []ledger.Member {
	inner := s.elem.finish(member(list, "additionalProperties"))
	if s.integers {
		named := new(rawjson.Object)
		named.Put("^-?[0-9]+$", inner)
		set(&list, "patternProperties", named.Bytes())
		inner = json.RawMessage(`false`)
	}
	if string(inner) != `{}` {
		set(&list, "additionalProperties", inner)
	}
	return list
}

// orElse allows what another schema describes beside a schema. Descriptions stay outside of "anyOf".
func orElse(list []ledger.Member, other string) []ledger.Member {
	inside, outside := new(rawjson.Object), []ledger.Member{}
	for _, m := range list {
		if slices.Contains([]string{"title", "description", "default", "examples"}, m.Name) {
			outside = append(outside, m)
		} else {
			inside.Put(m.Name, m.Value)
		}
	}
	if inside.Empty() {
		return list // an empty schema allows everything
	}
	alternatives := rawjson.Array([]json.RawMessage{inside.Bytes(), json.RawMessage(other)})
	return append([]ledger.Member{{Name: "anyOf", Value: alternatives}}, outside...)
}

// overlay adds members to a schema of InferOptions.Types. The members of the field win.
func overlay(base, over []ledger.Member) []ledger.Member {
	list := slices.Clone(base)
	for _, m := range over {
		set(&list, m.Name, m.Value)
	}
	return list
}

func set(list *[]ledger.Member, name string, value json.RawMessage) {
	for i, m := range *list {
		if m.Name == name {
			(*list)[i].Value = value
			return
		}
	}
	*list = append(*list, ledger.Member{Name: name, Value: value})
}

func object(list []ledger.Member) json.RawMessage {
	w := new(rawjson.Object)
	for _, m := range list {
		w.Put(m.Name, m.Value)
	}
	return w.Bytes()
}
