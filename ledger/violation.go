package ledger

import (
	"encoding/json"

	"github.com/toolwire/toolwire/internal/jsonpath"
)

// violations reports what the schema, which may be nil, does not allow about the given fields of an entity.
func (s *Schema) violations(ps *problems, entityType, id string, given fields) {
	pointer := token(entityType) + token(id)
	switch {
	case entityType == "":
		ps.add(CodeMissing, pointer, "the entity type is empty")
		return
	case id == "":
		ps.add(CodeMissing, pointer, "the id is empty")
		return
	case s == nil:
		return
	}
	entity := s.entity(entityType)
	if entity == nil {
		ps.add(CodeUndeclared, pointer, "%q is not an entity type of the ledger schema", cut(entityType))
		return
	}
	closed := s.closedFields(entity)
	for _, name := range sortedKeys(given) {
		switch field := entity.field(name); {
		case field != nil:
			if code, problem := field.breach(given[name]); code != "" {
				ps.add(code, pointer+token(name), "%s", problem)
			}
		case closed && name != entity.IDField:
			ps.add(CodeUndeclared, pointer+token(name), "is not a field that the ledger schema declares for %s", entityType)
		}
	}
}

// breach says how a tidy value breaks the field's declaration; code is "" when it does not. Null breaks none: it says
// that the field has no value.
func (f *Field) breach(value json.RawMessage) (code Code, problem string) {
	if string(value) == "null" {
		return "", ""
	}
	if !f.hasType(value) {
		return CodeWrongType, "must be of type " + f.Type + ", not " + kindName(value)
	}
	for _, allowed := range f.Enum {
		text, err := json.Marshal(allowed)
		if err != nil {
			continue
		}
		if text, err = tidy(text, fieldLimits); err == nil && equalValues(text, value) {
			return "", ""
		}
	}
	if len(f.Enum) > 0 {
		return CodeNotInEnum, "is none of the values that the ledger schema's enum lists"
	}
	return "", ""
}

func (f *Field) hasType(value json.RawMessage) bool {
	switch kind := jsonpath.Kind(value); f.Type {
	case TypeString:
		return kind == '"'
	case TypeNumber:
		return kind == '0'
	case TypeInteger:
		return kind == '0' && parseNumber(string(value)).integer()
	case TypeBoolean:
		return kind == 't' || kind == 'f'
	case TypeObject:
		return kind == '{'
	case TypeArray:
		return kind == '['
	}
	return true
}
