package ledger

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"

	"github.com/toolwire/toolwire/internal/rawjson"
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
		Flags:    sortedKeys(s.flags),
	}
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

// Hash returns a SHA-256 in hexadecimal. It covers one line ["type","id",{...}] per entity and then
// one line ["name"] per flag, both sorted. The lines are JSON without white space, with sorted
// members and every number in one form. So snapshots that are equal as JSON have equal hashes, in
// every process and release.
func (s Snapshot) Hash() string {
	sum := sha256.New()
	var line []byte
	for _, entityType := range sortedKeys(s.Entities) {
		for _, id := range sortedKeys(s.Entities[entityType]) {
			line = append(line[:0], '[')
			line = append(append(line, rawjson.Quote(entityType)...), ',')
			line = append(append(line, rawjson.Quote(id)...), ',')
			line = append(append(line, rawjson.Key(canonicalOrQuoted(s.Entities[entityType][id]))...), ']', '\n')
			sum.Write(line)
		}
	}
	for _, flag := range sortedKeys(flagSet(s.Flags)) {
		sum.Write(append(append([]byte{'['}, rawjson.Quote(flag)...), ']', '\n'))
	}
	return hex.EncodeToString(sum.Sum(nil))
}

func sortedKeys[V any](m map[string]V) []string {
	keys := slices.AppendSeq(make([]string, 0, len(m)), maps.Keys(m))
	slices.Sort(keys)
	return keys
}
