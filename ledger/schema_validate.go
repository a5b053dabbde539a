package ledger

import (
	"encoding/json"
	"slices"

	"github.com/toolwire/toolwire/internal/members"
	"github.com/toolwire/toolwire/internal/problem"
	"github.com/toolwire/toolwire/internal/text"
)

// Validate reports everything that is wrong with the schema, as one [*toolwire.Error] with invalid_schema. Its
// pointers start at the schema. A nil schema is valid.
func (s *Schema) Validate() error {
	if s == nil {
		return nil
	}
	return errorOf(codeSchema, s.problems())
}

func (s *Schema) problems() (ps problems) {
	if !addKept(&ps, s.set()) {
		return ps
	}
	if s.Entities == nil && !s.kept.Wrong("entities") {
		ps.Add("missing", "/entities", "is required; list the entity types")
	}
	if len(s.Entities) > maxEntities {
		ps.Add("too_many", "/entities", "has %d entity types; at most %d are allowed", len(s.Entities), maxEntities)
	}
	types := make(map[string]bool, len(s.Entities))
	for i := range s.Entities {
		types[s.Entities[i].Type] = true
	}
	seen := make(map[string]bool, len(s.Entities))
	for i := range s.Entities {
		e := &s.Entities[i]
		part := e.problems(types)
		if e.Type != "" && seen[e.Type] {
			part.Add("duplicate", "/type", "%q is declared twice; declare each entity type once", text.Cut(e.Type, maxShown))
		}
		seen[e.Type] = true
		problem.Under(&ps, "/entities"+indexToken(i), part.Found, part.More)
	}
	if s.Flags != nil {
		part := s.Flags.problems()
		problem.Under(&ps, "/flags", part.Found, part.More)
	}
	checkPolicy(&ps, "/field_policy", s.FieldPolicy)
	return ps
}

func (e *Entity) problems(types map[string]bool) (ps problems) {
	if !addKept(&ps, e.set()) {
		return ps
	}
	checkName(&ps, &e.kept, "type", e.Type)
	checkName(&ps, &e.kept, "id_field", e.IDField)
	if len(e.Fields) > maxFields {
		ps.Add("too_many", "/fields", "has %d fields; at most %d are allowed", len(e.Fields), maxFields)
	}
	seen := make(map[string]bool, len(e.Fields))
	for i := range e.Fields {
		f := &e.Fields[i]
		part := f.problems(types)
		if f.Name != "" && seen[f.Name] {
			part.Add("duplicate", "/name", "%q is declared twice; declare each field once", text.Cut(f.Name, maxShown))
		}
		seen[f.Name] = true
		problem.Under(&ps, "/fields"+indexToken(i), part.Found, part.More)
	}
	checkPolicy(&ps, "/field_policy", e.FieldPolicy)
	return ps
}

func (f *Field) problems(types map[string]bool) (ps problems) {
	if !addKept(&ps, f.set()) {
		return ps
	}
	checkName(&ps, &f.kept, "name", f.Name)
	switch {
	case f.Type == "" && !f.kept.Wrong("type"):
		ps.Add("missing", "/type", "is required; write string, number, integer, boolean, object or array")
	case f.Type != "" && !slices.Contains(fieldTypes, f.Type):
		ps.Add("invalid_value", "/type", "must be string, number, integer, boolean, object or array")
	}
	if f.Enum != nil && len(f.Enum) == 0 {
		ps.Add("missing", "/enum", "is empty; list the values or leave enum out")
	}
	for i, v := range f.Enum {
		if !isScalar(v) {
			ps.Add("invalid_value", "/enum"+indexToken(i), "must be a string, number, boolean or null")
		}
	}
	if f.Ref != "" && !types[f.Ref] {
		ps.Add("undeclared", "/ref", "%q is not an entity type of this schema", text.Cut(f.Ref, maxShown))
	}
	return ps
}

func (f *FlagRule) problems() (ps problems) {
	if !addKept(&ps, f.set()) {
		return ps
	}
	if f.Policy == "" && !f.kept.Wrong("policy") {
		ps.Add("missing", "/policy", "is required; write open or closed")
	}
	checkPolicy(&ps, "/policy", f.Policy)
	return ps
}

func checkPolicy(ps *problems, pointer, policy string) {
	if policy != "" && policy != policyOpen && policy != policyClosed {
		ps.Add("invalid_value", pointer, "must be open or closed")
	}
}

func checkName(ps *problems, kept *members.Kept, member, name string) {
	switch {
	case name == "" && !kept.Wrong(member):
		ps.Add("missing", "/"+member, "is required")
	case name != "" && !validName(name):
		ps.Add("invalid_name", "/"+member, "%q must be lower case letters, digits and _, beginning with a letter",
			text.Cut(name, maxShown))
	}
}

// validName reports whether name is ^[a-z][a-z0-9_]*$.
func validName(name string) bool {
	for i, c := range []byte(name) {
		letter := c >= 'a' && c <= 'z'
		if !letter && (i == 0 || c != '_' && (c < '0' || c > '9')) {
			return false
		}
	}
	return name != ""
}

// isScalar reports whether encoding/json writes v as a string, number, boolean or null.
func isScalar(v any) bool {
	text, err := json.Marshal(v)
	return err == nil && text[0] != '{' && text[0] != '['
}

// maxShown is how many bytes of a name or value a message contains.
const maxShown = 80
