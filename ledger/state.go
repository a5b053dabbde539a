package ledger

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"sync"

	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/strictjson"
)

// A State is a world state in memory: entities by type and id, and flags. The zero value is empty and takes anything.
// It is safe for concurrent use; do not copy it.
type State struct {
	contract *contract // of the schema, fixed from the start

	mu       sync.RWMutex
	entities map[string]map[string]fields
	flags    map[string]bool
}

// fields are the tidy values of an entity by name.
type fields map[string]json.RawMessage

// text writes an entity as a JSON object, members in the order of their names.
func (f fields) text() json.RawMessage {
	out := []byte{'{'}
	for i, name := range sortedKeys(f) {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(append(out, rawjson.Quote(name)...), ':'), f[name]...)
	}
	return append(out, '}')
}

// NewState makes a state from a task's initial_state, {"type":{"id":{"field":value}}}. No text, blanks or null are an
// empty state. The schema, which may be nil, checks the initial state and all updates; it is copied.
//
// The error is an [*Error] with everything that is wrong with the schema or else with the initial state, its pointers
// starting there. A document of more than 10 million values and a field nested more than 200 levels deep are refused.
// An entity type without entities must be declared too, and is then left out. The reserved key _context_stores is kept
// and not checked against the schema.
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
	if err := ps.err(CodeState); err != nil {
		return nil, err
	}
	return s, nil
}

// contextStores is a reserved key of initial_state that declares stores and holds no entities.
const contextStores = "_context_stores"

// readEntities reads {"type":{"id":{"field":value}}}.
func readEntities(doc json.RawMessage, ps *problems) map[string]map[string]fields {
	types, err := readObject(doc, nil, stateLimits)
	if err == nil {
		err = strictjson.Bound(doc, maxStateValues, 0)
	}
	if err != nil {
		ps.unreadable("", err)
		return nil
	}
	ps.under("", types.bad.problems)
	entities := make(map[string]map[string]fields, len(types.members))
	for _, t := range types.members {
		ids, _ := readObject(t.Value, nil, stateLimits) // strict JSON, or doc would not be
		ps.under(token(t.Name), ids.bad.problems)
		byID := make(map[string]fields, len(ids.members))
		for _, id := range ids.members {
			attributes, _ := readObject(id.Value, nil, stateLimits)
			ps.under(token(t.Name)+token(id.Name), attributes.bad.problems)
			f := make(fields, len(attributes.members))
			for _, a := range attributes.members {
				if f[a.Name], err = readField(a.Value); err != nil {
					ps.unreadable(token(t.Name)+token(id.Name)+token(a.Name), err)
				}
			}
			byID[id.Name] = f
		}
		entities[t.Name] = byID
	}
	return entities
}

// check reports, in the order of types and ids, what the schema does not allow. It then takes the types without entities
// away, which are no part of a state.
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
	//	unchanged  the entity had these values, the flag was set already, or nothing could be removed
	//	removed    the entity was removed
	//	flag_set   the flag was not set and is now
	//	violation  the update was not applied; see Violations
	Status string `json:"status"`
	// Violations are what the schema does not allow, or what is wrong with the update itself. Their
	// pointers are those of the entity in an initial_state document, such as /order/4521/status, and
	// "" for a flag.
	Violations []Problem `json:"violations,omitempty"`
}

// String returns the update and its status without values.
func (a Applied) String() string {
	text := a.Update.String() + " - " + a.Status
	for _, v := range a.Violations {
		text += "\n  " + v.String()
	}
	return text
}

// Apply makes the changes one after the other, each of them whole or not at all, and returns what became of each.
// Readers see all of them or none.
//
//   - update sets the given fields and leaves the others; a missing entity is created with the given fields.
//   - add does the same: what a live system says about an entity is never a reason to lose fields of it.
//   - remove takes the entity away; a missing one is unchanged.
//   - set_flag sets the flag; one that is set already is unchanged.
//
// An update is a violation, and not applied, when its op is unknown, its type, id or flag is empty, a value is not
// strict JSON, or the schema does not allow it: an entity type or, under closed policies, a field or flag that is not
// declared, a value of another type than the field's, or one that is not in its enum. Null is allowed in every field.
func (s *State) Apply(updates ...Update) []Applied {
	applied := make([]Applied, len(updates))
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, u := range updates {
		status, violations := s.apply(u)
		if len(violations) > 0 {
			status = "violation"
		}
		applied[i] = Applied{u, status, violations}
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
		ps.add("invalid_value", "", "op must be add, update, remove or set_flag")
		return "", ps
	}
	given := make(fields, len(u.Fields))
	for _, name := range sortedKeys(u.Fields) {
		value, err := readField(u.Fields[name])
		if err != nil {
			ps.unreadable(token(u.EntityType)+token(u.ID)+token(name), err)
		}
		given[name] = value
	}
	if len(ps) > 0 {
		return "", ps
	}
	s.contract.check(&ps, u.EntityType, u.ID, given)
	if len(ps) > 0 {
		return "", ps
	}
	return s.merge(u.EntityType, u.ID, given), nil
}

func (s *State) merge(entityType, id string, given fields) string {
	old, exists := s.entities[entityType][id]
	if exists {
		differs := func(name string) bool {
			was, had := old[name]
			return !had || !equalValues(was, given[name])
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
	if len(ps) > 0 {
		return "", ps
	}
	if _, exists := s.entities[u.EntityType][u.ID]; !exists {
		return "unchanged", nil
	}
	delete(s.entities[u.EntityType], u.ID)
	if len(s.entities[u.EntityType]) == 0 {
		delete(s.entities, u.EntityType)
	}
	return "removed", nil
}

func (s *State) setFlag(flag string) (string, problems) {
	var ps problems
	switch {
	case flag == "":
		ps.add("missing", "", "the flag is empty")
	case !s.contract.allowsFlag(flag):
		ps.add("undeclared", "", "the flag is not among the values of the ledger schema's closed flags")
	case s.flags[flag]:
		return "unchanged", nil
	default:
		if s.flags == nil {
			s.flags = make(map[string]bool)
		}
		s.flags[flag] = true
		return "flag_set", nil
	}
	return "", ps
}

// Get returns an entity as a JSON object without white space, its members in the order of their names; ok is false when
// there is none.
func (s *State) Get(entityType, id string) (entity json.RawMessage, ok bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	f, ok := s.entities[entityType][id]
	if !ok {
		return nil, false
	}
	return f.text(), true
}

// Flags returns the flags that are set, sorted.
func (s *State) Flags() []string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return sortedKeys(s.flags)
}
