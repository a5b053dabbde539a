package ledger

import (
	"encoding/json"
	"maps"
	"slices"
)

// A Snapshot is a copy of a [State], as plain data. Its JSON form is
// {"entities":{"type":{"id":{"field":value}}},"flags":["name"]}. Equal snapshots of states have the
// same JSON text.
type Snapshot struct {
	Entities map[string]map[string]json.RawMessage `json:"entities"` // by type and id, each a JSON object
	Flags    []string                              `json:"flags"`    // sorted
}

// Snapshot returns a copy of the state.
func (s *State) Snapshot() Snapshot {
	s.mu.RLock()
	defer s.mu.RUnlock()
	copied := Snapshot{
		Entities: make(map[string]map[string]json.RawMessage, len(s.entities)),
		Flags:    slices.AppendSeq(make([]string, 0, len(s.flags)), maps.Keys(s.flags)),
	}
	slices.Sort(copied.Flags)
	for entityType, byID := range s.entities {
		entities := make(map[string]json.RawMessage, len(byID))
		for id, f := range byID {
			entities[id] = f.object()
		}
		copied.Entities[entityType] = entities
	}
	return copied
}

// MarshalJSON writes the [Snapshot] of a State.
func (s *State) MarshalJSON() ([]byte, error) { return json.Marshal(s.Snapshot()) }

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
