package ledger

import (
	"bytes"
	"encoding/json"
	"slices"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/strictjson"
)

// maxEntities is how many entity types a ledger schema may declare.
const maxEntities = 100

// Values of field_policy and flags.policy. Open is the default of field_policy.
const (
	PolicyOpen   = "open"
	PolicyClosed = "closed"
)

// The six types of a field.
const (
	TypeString  = "string"
	TypeNumber  = "number"
	TypeInteger = "integer"
	TypeBoolean = "boolean"
	TypeObject  = "object"
	TypeArray   = "array"
)

// A Schema is an agent's ledger_schema: the entity types, fields and flags that its world state may
// have. A nil *Schema is a fully open ledger. A Schema is plain data; a [State] works with a copy.
//
// Unmarshalling a Schema fails only if the text is not strict JSON. A member of the wrong JSON type
// leaves its field zero. Validate reports it, and marshalling writes it back. A member that is null
// or "" counts as absent; marshalling writes it back too. The same holds for [Entity], [Field] and
// [FlagRule].
type Schema struct {
	Entities    []Entity  // required; at most 100
	Flags       *FlagRule // if nil, any flag may be set
	FieldPolicy string    // open (the default) or closed; an entity may override it
	Extra       []Member  // unknown members, in order

	bad malformed
}

// An Entity declares one entity type.
type Entity struct {
	Type        string   // required: a singular noun, ^[a-z][a-z0-9_]*$, unique in the schema
	IDField     string   // required: the name of the field that identifies an entity; Fields need not repeat it
	Description string   // a hint for the simulator
	Fields      []Field  // at most 100
	FieldPolicy string   // open or closed; defaults to the schema's
	Extra       []Member // unknown members, in order

	bad malformed
}

// A Field declares one field of an entity.
type Field struct {
	Name string // required: ^[a-z][a-z0-9_]*$, unique in its entity
	Type string // required: string, number, integer, boolean, object or array
	// Enum contains the values that the field may have: strings, booleans, numbers and nil. If nil,
	// every value is allowed. Numbers read from JSON are json.Number and keep their digits. Numbers
	// are compared by value.
	Enum        []any
	Description string
	Ref         string   // the type of the entity that the field's value identifies; "" if none
	Extra       []Member // unknown members, in order

	bad malformed
}

// A FlagRule restricts the flags that may be set.
type FlagRule struct {
	Policy string   // required: open, or closed to restrict flags to Values
	Values []string // if Policy is closed, the flags that may be set
	Extra  []Member // unknown members, in order

	bad malformed
}

var (
	schemaMembers = []string{"entities", "flags", "field_policy"}
	entityMembers = []string{"type", "id_field", "description", "fields", "field_policy"}
	fieldMembers  = []string{"name", "type", "enum", "description", "ref"}
	flagMembers   = []string{"policy", "values"}
	fieldTypes    = []string{TypeString, TypeNumber, TypeInteger, TypeBoolean, TypeObject, TypeArray}
)

// UnmarshalJSON reads a ledger schema. See [Schema] for what is an error.
func (s *Schema) UnmarshalJSON(data []byte) error {
	o, err := readObject(bytes.Clone(data), schemaMembers, strictjson.Limits{})
	if err != nil {
		return unreadable(CodeSchema, err)
	}
	*s = Schema{}
	list(o, "entities", &s.Entities)
	if value, ok := o.take("flags"); ok {
		s.Flags = new(FlagRule)
		if err := s.Flags.UnmarshalJSON(value); err != nil {
			return err
		}
	}
	o.string("field_policy", &s.FieldPolicy)
	s.Extra, s.bad = o.rest()
	return nil
}

// MarshalJSON writes the members that are set or were read, in the documented order, then Extra.
func (s Schema) MarshalJSON() ([]byte, error) {
	w := newObjectWriter(CodeSchema, &s.bad)
	w.member("entities", s.Entities != nil, declarations[Entity](s.Entities))
	w.member("flags", s.Flags != nil, s.Flags)
	w.member("field_policy", s.FieldPolicy != "", s.FieldPolicy)
	return w.end(s.Extra)
}

// UnmarshalJSON reads one entity declaration.
func (e *Entity) UnmarshalJSON(data []byte) error {
	o, err := readObject(bytes.Clone(data), entityMembers, strictjson.Limits{})
	if err != nil {
		return unreadable(CodeSchema, err)
	}
	*e = Entity{}
	o.string("type", &e.Type)
	o.string("id_field", &e.IDField)
	o.string("description", &e.Description)
	list(o, "fields", &e.Fields)
	o.string("field_policy", &e.FieldPolicy)
	e.Extra, e.bad = o.rest()
	return nil
}

// MarshalJSON writes the members that are set or were read, in the documented order, then Extra.
func (e Entity) MarshalJSON() ([]byte, error) {
	w := newObjectWriter(CodeSchema, &e.bad)
	w.member("type", e.Type != "", e.Type)
	w.member("id_field", e.IDField != "", e.IDField)
	w.member("description", e.Description != "", e.Description)
	w.member("fields", e.Fields != nil, declarations[Field](e.Fields))
	w.member("field_policy", e.FieldPolicy != "", e.FieldPolicy)
	return w.end(e.Extra)
}

// UnmarshalJSON reads one field declaration.
func (f *Field) UnmarshalJSON(data []byte) error {
	o, err := readObject(bytes.Clone(data), fieldMembers, strictjson.Limits{})
	if err != nil {
		return unreadable(CodeSchema, err)
	}
	*f = Field{}
	o.string("name", &f.Name)
	o.string("type", &f.Type)
	o.scalars("enum", &f.Enum)
	o.string("description", &f.Description)
	o.string("ref", &f.Ref)
	f.Extra, f.bad = o.rest()
	return nil
}

// MarshalJSON writes the members that are set or were read, in the documented order, then Extra.
func (f Field) MarshalJSON() ([]byte, error) {
	w := newObjectWriter(CodeSchema, &f.bad)
	w.member("name", f.Name != "", f.Name)
	w.member("type", f.Type != "", f.Type)
	w.member("enum", f.Enum != nil, f.Enum)
	w.member("description", f.Description != "", f.Description)
	w.member("ref", f.Ref != "", f.Ref)
	return w.end(f.Extra)
}

// UnmarshalJSON reads the flags member of a ledger schema.
func (f *FlagRule) UnmarshalJSON(data []byte) error {
	o, err := readObject(bytes.Clone(data), flagMembers, strictjson.Limits{})
	if err != nil {
		return unreadable(CodeSchema, err)
	}
	*f = FlagRule{}
	o.string("policy", &f.Policy)
	o.strings("values", &f.Values)
	f.Extra, f.bad = o.rest()
	return nil
}

// MarshalJSON writes the members that are set or were read, in the documented order, then Extra.
func (f FlagRule) MarshalJSON() ([]byte, error) {
	w := newObjectWriter(CodeSchema, &f.bad)
	w.member("policy", f.Policy != "", f.Policy)
	w.member("values", f.Values != nil, f.Values)
	return w.end(f.Extra)
}

// list reads a member that is a list of declarations. Elements that are not objects keep their text
// and their problem.
func list[T any](o *object, name string, into *[]T) {
	value, ok := o.take(name)
	if !ok {
		return
	}
	if value[0] != '[' || json.Unmarshal(value, into) != nil {
		o.reject(name, value, "", "a list of objects, not "+rawjson.KindName(value))
	}
}

// scalars reads a list of strings, numbers, booleans and nulls.
func (o *object) scalars(name string, into *[]any) {
	value, ok := o.take(name)
	if !ok {
		return
	}
	var list []json.RawMessage
	if value[0] != '[' || jsonv2.Unmarshal(value, &list) != nil {
		o.reject(name, value, "", "a list of scalars, not "+rawjson.KindName(value))
		return
	}
	values := make([]any, len(list))
	for i, v := range list {
		if v[0] == '{' || v[0] == '[' {
			o.reject(name, value, indexToken(i), "a string, number, boolean or null, not "+rawjson.KindName(v))
			continue
		}
		dec := json.NewDecoder(bytes.NewReader(v))
		dec.UseNumber()
		_ = dec.Decode(&values[i]) // v is a valid scalar: the whole document was read strictly
	}
	if !o.bad.has(name) {
		*into = values
	}
}

// entity returns the declaration of an entity type, or nil.
func (s *Schema) entity(entityType string) *Entity {
	i := slices.IndexFunc(s.Entities, func(e Entity) bool { return e.Type == entityType })
	if i < 0 {
		return nil
	}
	return &s.Entities[i]
}

// closedFields reports whether an entity may only have declared fields.
func (s *Schema) closedFields(e *Entity) bool {
	if e.FieldPolicy != "" {
		return e.FieldPolicy == PolicyClosed
	}
	return s.FieldPolicy == PolicyClosed
}

func (s *Schema) allowsFlag(flag string) bool {
	return s.Flags == nil || s.Flags.Policy != PolicyClosed || slices.Contains(s.Flags.Values, flag)
}

func (e *Entity) field(name string) *Field {
	i := slices.IndexFunc(e.Fields, func(f Field) bool { return f.Name == name })
	if i < 0 {
		return nil
	}
	return &e.Fields[i]
}

func (e *Entity) declares(name string) bool { return name == e.IDField || e.field(name) != nil }
