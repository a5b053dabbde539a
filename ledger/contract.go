package ledger

import (
	"encoding/json"

	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/text"
)

// contract is a copy of a valid schema, indexed by name. A nil contract allows everything.
type contract struct {
	entities map[string]*entityContract
	flags    allowedFlags
}

type entityContract struct {
	allowedFields
	enums map[string]map[string]bool // canonical texts by field; a field that is missing allows every value
}

func newContract(s *Schema) *contract {
	if s == nil {
		return nil
	}
	c := &contract{entities: make(map[string]*entityContract, len(s.Entities)), flags: s.allowedFlags()}
	for i := range s.Entities {
		e := &s.Entities[i]
		entity := &entityContract{s.allowedFields(e), map[string]map[string]bool{}}
		for _, f := range e.Fields {
			for _, v := range f.Enum {
				if entity.enums[f.Name] == nil {
					entity.enums[f.Name] = make(map[string]bool, len(f.Enum))
				}
				text, _ := json.Marshal(v) // a valid schema's enum has scalars only
				entity.enums[f.Name][rawjson.Key(text)] = true
			}
		}
		c.entities[e.Type] = entity
	}
	return c
}

// checkType reports an entity type that is not allowed. ok is true if it is allowed.
func (c *contract) checkType(ps *problems, pointer, entityType string) (ok bool) {
	switch {
	case entityType == "":
		ps.Add("missing", pointer, "the entity type is empty")
	case c != nil && c.entities[entityType] == nil:
		ps.Add("undeclared", pointer, "%q is not an entity type of the ledger schema", text.Cut(entityType, maxShown))
	default:
		return true
	}
	return false
}

// check reports the given fields of an entity that are not allowed.
func (c *contract) check(ps *problems, entityType, id string, given fields) {
	pointer := token(entityType) + token(id)
	if !c.checkType(ps, pointer, entityType) {
		return
	}
	if id == "" {
		ps.Add("missing", pointer, "the id is empty")
		return
	}
	if c == nil {
		return
	}
	entity := c.entities[entityType]
	for _, name := range sortedKeys(given) {
		kind, enum := entity.types[name], entity.enums[name]
		switch value := given[name]; {
		case !entity.allows(name):
			ps.Add("undeclared", pointer+token(name), "is not a field that the ledger schema declares for %s", entityType)
		case string(value) == "null": // a field may have no value
		case !hasType(value, kind):
			ps.Add("wrong_type", pointer+token(name), "must be of type %s, not %s", kind, rawjson.KindName(rawjson.Kind(value)))
		case enum != nil && !enum[rawjson.Key(value)]:
			ps.Add("not_in_enum", pointer+token(name), "is not one of the values in the ledger schema's enum")
		}
	}
}

func hasType(value json.RawMessage, fieldType string) bool {
	switch kind := rawjson.Kind(value); fieldType {
	case typeString:
		return kind == '"'
	case typeNumber:
		return kind == '0'
	case typeInteger:
		return kind == '0' && rawjson.ParseNumber(string(value)).Integer()
	case typeBoolean:
		return kind == 't' || kind == 'f'
	case typeObject:
		return kind == '{'
	case typeArray:
		return kind == '['
	}
	return true
}
