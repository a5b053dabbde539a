package ledger

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/toolwire/toolwire/internal/rawjson"
)

// Hash returns a SHA-256 in hexadecimal. It covers one line ["type","id",{...}] per entity and then
// one line ["name"] per flag, both sorted. The lines are JSON without white space, with sorted
// members and every number in one form. So snapshots that are equal as JSON have equal hashes.
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
