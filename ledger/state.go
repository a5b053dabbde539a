package ledger

import (
	"bytes"
	"encoding/json"
	"iter"
	"maps"
	"slices"
	"sync"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/internal/rawjson"
)

// A State is a world state in memory: entities by type and id, and flags. The zero value is empty
// and has no schema. A State is safe for concurrent use. It must not be copied.
type State struct {
	contract *contract // of the schema, fixed from the start

	mu       sync.RWMutex
	entities map[string]map[string]fields
	flags    map[string]bool
}

// fields are the canonical values of an entity by name.
type fields map[string]json.RawMessage

// object returns an entity as a JSON object, members in the order of their names.
func (f fields) object() json.RawMessage {
	var w rawjson.Object
	for _, name := range sortedKeys(f) {
		w.Put(name, f[name])
	}
	return w.Bytes()
}

// NewState makes a state from a task's initial_state, {"type":{"id":{"field":value}}}. An empty
// text, white space and null mean an empty state. The schema validates the initial state and all
// updates. If schema is nil, everything is allowed. NewState copies it.
//
// The error is a [*toolwire.Error] with invalid_schema or invalid_state and everything that is wrong with that
// document. A document may contain at most 10 million values, and a field at most 200 levels of
// nesting. An entity type without entities must be declared too, and is then omitted. The reserved
// key _context_stores is kept and not validated against the schema.
func NewState(initial json.RawMessage, schema *Schema) (*State, error) {
	if err := schema.Validate(); err != nil {
		return nil, err
	}
	s := &State{contract: newContract(schema)}
	if initial = bytes.TrimSpace(initial); len(initial) == 0 || string(initial) == "null" {
		return s, nil
	}
	var ps problems
	entities := readEntities(initial, &ps)
	s.check(entities, &ps)
	s.entities = entities
	if err := errorOf(codeState, ps); err != nil {
		return nil, err
	}
	return s, nil
}

// contextStores is a reserved key of initial_state that declares stores and contains no entities.
const contextStores = "_context_stores"

// readEntities reads {"type":{"id":{"field":value}}}.
func readEntities(initial json.RawMessage, ps *problems) map[string]map[string]fields {
	limits := stateLimits
	limits.Values = maxStateValues
	doc, err := readStrict(initial, codeState, limits)
	if err != nil {
		addUnreadable(ps, "", err)
		return nil
	}
	entities := map[string]map[string]fields{}
	for entityType, ids := range membersOf(ps, "", doc) {
		byID := map[string]fields{}
		for id, attributes := range membersOf(ps, token(entityType), ids) {
			f := fields{}
			for name, value := range membersOf(ps, token(entityType)+token(id), attributes) {
				if f[name], err = readField(value); err != nil {
					addUnreadable(ps, token(entityType)+token(id)+token(name), err)
				}
			}
			byID[id] = f
		}
		entities[entityType] = byID
	}
	return entities
}

// membersOf returns the members of an object. It reports other values.
func membersOf(ps *problems, pointer string, value json.RawMessage) iter.Seq2[string, json.RawMessage] {
	if rawjson.Kind(value) != '{' {
		ps.Add("wrong_type", pointer, "must be an object, not %s", rawjson.KindName(rawjson.Kind(value)))
	}
	return rawjson.Members(value)
}

// check reports what the schema does not allow, sorted by type and id. It then removes the types
// without entities, which are not part of a state.
func (s *State) check(entities map[string]map[string]fields, ps *problems) {
	for _, entityType := range sortedKeys(entities) {
		if entityType == contextStores {
			continue
		}
		if len(entities[entityType]) == 0 {
			s.contract.checkType(ps, token(entityType), entityType)
		}
		for _, id := range sortedKeys(entities[entityType]) {
			s.contract.check(ps, entityType, id, entities[entityType][id])
		}
	}
	maps.DeleteFunc(entities, func(_ string, byID map[string]fields) bool { return len(byID) == 0 })
}

// Applied is what [State.Apply] did with one update.
type Applied struct {
	Update Update `json:"update"`
	// Status is one of these stable words:
	//
	//	created    the entity did not exist and was created
	//	changed    at least one field of the entity has another value now
	//	unchanged  the entity had these values, the flag was set already, or there was nothing to remove
	//	removed    the entity was removed
	//	flag_set   the flag was not set and is now
	//	violation  the update was not applied; see Violations
	Status string `json:"status"`
	// Violations are what the schema does not allow, or what is wrong with the update itself. Their
	// pointers locate the entity in an initial_state document, such as /order/4521/status. For a
	// flag they are "".
	Violations []toolwire.Problem `json:"violations,omitempty"`
}

// String returns the update and its status without values.
func (a Applied) String() string {
	text := a.Update.String() + " - " + a.Status
	for _, v := range a.Violations {
		text += "\n  " + v.String()
	}
	return text
}

// Apply applies the updates one after the other, each completely or not at all, and returns one
// result per update. Readers see all of them or none.
//
//   - update sets the given fields and keeps the others; a missing entity is created with the given
//     fields.
//   - add does the same: a response of a live system never removes fields of an entity.
//   - remove removes the entity; if it is missing, the status is unchanged.
//   - set_flag sets the flag; if it is set already, the status is unchanged.
//
// An update is a violation and is not applied if its op is unknown, if its type, id or flag is
// empty, if a value is not strict JSON, or if the schema does not allow it. The schema does not
// allow an entity type that is not declared, a value of another type than the field's, and a value
// that is not in its enum. Under a closed policy it does not allow fields or flags that are not
// declared. Null is allowed in every field.
func (s *State) Apply(updates ...Update) []Applied {
	applied := make([]Applied, len(updates))
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, u := range updates {
		status, violations := s.apply(u)
		if violations.Len() > 0 {
			status = "violation"
		}
		applied[i] = Applied{u, status, violations.All()}
	}
	return applied
}

func (s *State) apply(u Update) (string, problems) {
	var ps problems
	switch u.Op {
	case OpSetFlag:
		return s.setFlag(u.Flag)
	case OpRemove:
		return s.remove(u)
	case OpAdd, OpUpdate:
	default:
		ps.Add("invalid_value", "", "op must be add, update, remove or set_flag")
		return "", ps
	}
	given := make(fields, len(u.Fields))
	for _, name := range sortedKeys(u.Fields) {
		value, err := readField(u.Fields[name])
		if err != nil {
			addUnreadable(&ps, token(u.EntityType)+token(u.ID)+token(name), err)
		}
		given[name] = value
	}
	if ps.Len() > 0 {
		return "", ps
	}
	s.contract.check(&ps, u.EntityType, u.ID, given)
	if ps.Len() > 0 {
		return "", ps
	}
	return s.merge(u.EntityType, u.ID, given), ps
}

func (s *State) merge(entityType, id string, given fields) string {
	old, exists := s.entities[entityType][id]
	if exists {
		differs := func(name string) bool {
			was, had := old[name]
			return !had || !rawjson.Equal(was, given[name])
		}
		if !slices.ContainsFunc(slices.Collect(maps.Keys(given)), differs) {
			return "unchanged"
		}
		maps.Copy(old, given)
		return "changed"
	}
	if s.entities == nil {
		s.entities = make(map[string]map[string]fields)
	}
	if s.entities[entityType] == nil {
		s.entities[entityType] = make(map[string]fields)
	}
	s.entities[entityType][id] = given
	return "created"
}

func (s *State) remove(u Update) (string, problems) {
	var ps problems
	s.contract.check(&ps, u.EntityType, u.ID, nil)
	if ps.Len() > 0 {
		return "", ps
	}
	if _, exists := s.entities[u.EntityType][u.ID]; !exists {
		return "unchanged", ps
	}
	delete(s.entities[u.EntityType], u.ID)
	if len(s.entities[u.EntityType]) == 0 {
		delete(s.entities, u.EntityType)
	}
	return "removed", ps
}

func (s *State) setFlag(flag string) (string, problems) {
	var ps problems
	switch {
	case flag == "":
		ps.Add("missing", "", "the flag is empty")
	case s.contract != nil && !s.contract.flags.allows(flag):
		ps.Add("undeclared", "", "the flag is not among the values of the ledger schema's closed flags")
	case s.flags[flag]:
		return "unchanged", ps
	default:
		if s.flags == nil {
			s.flags = make(map[string]bool)
		}
		s.flags[flag] = true
		return "flag_set", ps
	}
	return "", ps
}

// Get returns an entity as a JSON object without white space, its members sorted by name. ok is
// false if there is no such entity.
func (s *State) Get(entityType, id string) (entity json.RawMessage, ok bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	f, ok := s.entities[entityType][id]
	if !ok {
		return nil, false
	}
	return f.object(), true
}
