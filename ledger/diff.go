package ledger

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/toolwire/toolwire/internal/rawjson"
)

// A Change is one difference between two snapshots: of an entity, of a value in one, or of a flag.
type Change struct {
	Kind string `json:"kind"` // added, removed or changed
	// Pointer is the JSON Pointer of the difference in {"type":{"id":{"field":value}}}: /order/4521
	// if the entity was added or removed, /order/4521/address/city if a value in it differs. It is
	// "" for a flag.
	Pointer string          `json:"pointer,omitempty"`
	Flag    string          `json:"flag,omitempty"`   // the flag, "" for anything else
	Before  json.RawMessage `json:"before,omitempty"` // nil if added, and for flags
	After   json.RawMessage `json:"after,omitempty"`  // nil if removed, and for flags
}

// String returns the change on one line, such as
//
//	changed /order/4521/status: "paid" -> "refunded"
func (c Change) String() string {
	if c.Flag != "" {
		return c.Kind + " flag " + printable(c.Flag)
	}
	text := c.Kind + " " + c.Pointer + ": "
	switch c.Kind {
	case "added":
		return text + string(c.After)
	case "removed":
		return text + string(c.Before)
	}
	return text + string(c.Before) + " -> " + string(c.After)
}

// Changes are the differences between two snapshots, sorted by type, id and field, then flags.
type Changes []Change

// String returns one line per change, or "" if there is none.
func (c Changes) String() string {
	var b strings.Builder
	for _, change := range c {
		b.WriteString(change.String() + "\n")
	}
	return b.String()
}

// Diff returns the differences between two snapshots. Values that are equal as JSON do not differ:
// 20 equals 20.0. Objects are compared member by member, and arrays element by element.
func Diff(before, after Snapshot) Changes {
	var changes Changes
	for _, entityType := range union(before.Entities, after.Entities) {
		was, is := before.Entities[entityType], after.Entities[entityType]
		for _, id := range union(was, is) {
			if bytes.Equal(was[id], is[id]) {
				continue
			}
			at := token(entityType) + token(id)
			for _, d := range rawjson.Diff(canonicalOrNil(was, id), canonicalOrNil(is, id)) {
				changes = append(changes, Change{Kind: kindOf(d), Pointer: at + d.Pointer, Before: d.Before, After: d.After})
			}
		}
	}
	was, is := flagSet(before.Flags), flagSet(after.Flags)
	for _, flag := range union(was, is) {
		switch {
		case !was[flag]:
			changes = append(changes, Change{Kind: "added", Flag: flag})
		case !is[flag]:
			changes = append(changes, Change{Kind: "removed", Flag: flag})
		}
	}
	return changes
}

func kindOf(d rawjson.Difference) string {
	switch {
	case d.Before == nil:
		return "added"
	case d.After == nil:
		return "removed"
	}
	return "changed"
}

func canonicalOrNil(entities map[string]json.RawMessage, id string) json.RawMessage {
	if entity, ok := entities[id]; ok {
		return canonicalOrQuoted(entity)
	}
	return nil
}

func flagSet(flags []string) map[string]bool {
	set := make(map[string]bool, len(flags))
	for _, f := range flags {
		set[f] = true
	}
	return set
}

// union returns the keys of both maps, sorted.
func union[V any](a, b map[string]V) []string {
	keys := append(sortedKeys(a), sortedKeys(b)...)
	slices.Sort(keys)
	return slices.Compact(keys)
}
