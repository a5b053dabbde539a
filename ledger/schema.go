package ledger

import (
	"cmp"
	"slices"

	"github.com/toolwire/toolwire/internal/members"
)

// maxEntities is how many entity types a ledger schema may declare.
const maxEntities = 100

// Values of field_policy and flags.policy.
const (
	policyOpen   = "open"
	policyClosed = "closed"
)

// The six types of a field.
const (
	typeString  = "string"
	typeNumber  = "number"
	typeInteger = "integer"
	typeBoolean = "boolean"
	typeObject  = "object"
	typeArray   = "array"
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

	kept members.Kept
}

// An Entity declares one entity type.
type Entity struct {
	Type        string   // required: a singular noun, ^[a-z][a-z0-9_]*$, unique in the schema
	IDField     string   // required: the name of the field that identifies an entity; Fields need not repeat it
	Description string   // a hint for the simulator
	Fields      []Field  // at most 100
	FieldPolicy string   // open or closed; defaults to the schema's
	Extra       []Member // unknown members, in order

	kept members.Kept
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

	kept members.Kept
}

// A FlagRule restricts the flags that may be set.
type FlagRule struct {
	Policy string   // required: open, or closed to restrict flags to Values
	Values []string // if Policy is closed, the flags that may be set
	Extra  []Member // unknown members, in order

	kept members.Kept
}

var fieldTypes = []string{typeString, typeNumber, typeInteger, typeBoolean, typeObject, typeArray}

func (s *Schema) set() members.Set[Member] {
	return members.Set[Member]{Kept: &s.kept, Extra: &s.Extra, Fields: []members.Field{
		members.List("entities", &s.Entities, members.Reader((*Entity).set)),
		members.Object("flags", &s.Flags, members.Reader((*FlagRule).set), nil),
		members.String("field_policy", &s.FieldPolicy),
	}}
}

func (e *Entity) set() members.Set[Member] {
	return members.Set[Member]{Kept: &e.kept, Extra: &e.Extra, Fields: []members.Field{
		members.String("type", &e.Type),
		members.String("id_field", &e.IDField),
		members.String("description", &e.Description),
		members.List("fields", &e.Fields, members.Reader((*Field).set)),
		members.String("field_policy", &e.FieldPolicy),
	}}
}

func (f *Field) set() members.Set[Member] {
	return members.Set[Member]{Kept: &f.kept, Extra: &f.Extra, Fields: []members.Field{
		members.String("name", &f.Name),
		members.String("type", &f.Type),
		members.Scalars("enum", &f.Enum),
		members.String("description", &f.Description),
		members.String("ref", &f.Ref),
	}}
}

func (f *FlagRule) set() members.Set[Member] {
	return members.Set[Member]{Kept: &f.kept, Extra: &f.Extra, Fields: []members.Field{
		members.String("policy", &f.Policy),
		members.Strings("values", &f.Values),
	}}
}

// UnmarshalJSON reads a ledger schema. See [Schema] for what is an error.
func (s *Schema) UnmarshalJSON(data []byte) error {
	return unmarshal(data, codeSchema, s, (*Schema).set)
}

// MarshalJSON writes the members that are set or were read, in the documented order, then Extra.
func (s Schema) MarshalJSON() ([]byte, error) { return marshal(codeSchema, s.set()) }

// UnmarshalJSON reads one entity declaration.
func (e *Entity) UnmarshalJSON(data []byte) error {
	return unmarshal(data, codeSchema, e, (*Entity).set)
}

// MarshalJSON writes the members that are set or were read, in the documented order, then Extra.
func (e Entity) MarshalJSON() ([]byte, error) { return marshal(codeSchema, e.set()) }

// UnmarshalJSON reads one field declaration.
func (f *Field) UnmarshalJSON(data []byte) error { return unmarshal(data, codeSchema, f, (*Field).set) }

// MarshalJSON writes the members that are set or were read, in the documented order, then Extra.
func (f Field) MarshalJSON() ([]byte, error) { return marshal(codeSchema, f.set()) }

// UnmarshalJSON reads the flags member of a ledger schema.
func (f *FlagRule) UnmarshalJSON(data []byte) error {
	return unmarshal(data, codeSchema, f, (*FlagRule).set)
}

// MarshalJSON writes the members that are set or were read, in the documented order, then Extra.
func (f FlagRule) MarshalJSON() ([]byte, error) { return marshal(codeSchema, f.set()) }

// entity returns the declaration of an entity type, or nil.
func (s *Schema) entity(entityType string) *Entity {
	i := slices.IndexFunc(s.Entities, func(e Entity) bool { return e.Type == entityType })
	if i < 0 {
		return nil
	}
	return &s.Entities[i]
}

// allowedFlags holds the flags that may be set; nil allows all flags.
type allowedFlags map[string]bool

func (s *Schema) allowedFlags() allowedFlags {
	if s.Flags == nil || s.Flags.Policy != policyClosed {
		return nil
	}
	return flagSet(s.Flags.Values)
}

func (f allowedFlags) allows(flag string) bool { return f == nil || f[flag] }

// allowedFields tells which fields an entity may have.
type allowedFields struct {
	types  map[string]string // of the declared fields, by name; "" allows every type
	closed bool              // others are not allowed
}

func (s *Schema) allowedFields(e *Entity) allowedFields {
	f := allowedFields{types: map[string]string{e.IDField: ""}, closed: cmp.Or(e.FieldPolicy, s.FieldPolicy) == policyClosed}
	for _, field := range e.Fields {
		f.types[field.Name] = field.Type
	}
	return f
}

func (f allowedFields) allows(name string) bool {
	_, declared := f.types[name]
	return declared || !f.closed
}
