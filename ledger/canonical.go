package ledger

import (
	"encoding/json"

	"github.com/toolwire/toolwire/internal/rawjson"
)

// The limits leave room for the objects around a field, so a state can write and read every field
// that it accepts. A field may contain half of a surrogate pair, as live responses do. It must not
// contain an object that repeats a name.
var (
	fieldLimits = rawjson.Limits{Depth: maxFieldDepth, Values: maxStateValues, Mode: rawjson.Unique}
	stateLimits = rawjson.Limits{Depth: maxFieldDepth + 10, Mode: rawjson.Unique}
)

// maxNumber is how many characters the number of an id may have, written without an exponent.
const maxNumber = 64

const (
	maxFieldDepth  = 200
	maxStateValues = 10_000_000 // values and names of one field, or of the document of a state
)

// canonical returns a copy of a JSON value with unique names in one form: without white space, members
// sorted by name, strings without unnecessary escapes. Numbers keep their digits. Half of a
// surrogate pair becomes U+FFFD.
func canonical(value json.RawMessage, limits rawjson.Limits) (json.RawMessage, error) {
	err := rawjson.Check(value, limits)
	if err != nil {
		return nil, err
	}
	return rawjson.Tidy(value), nil
}

// readField is canonical for a field that a caller provides.
func readField(value json.RawMessage) (json.RawMessage, error) {
	return canonical(value, fieldLimits)
}

// canonicalOrQuoted is canonical for a value that may not be JSON: it returns such a text as a JSON string.
func canonicalOrQuoted(value json.RawMessage) json.RawMessage {
	if v, err := canonical(value, stateLimits); err == nil {
		return v
	}
	return rawjson.Quote(string(value))
}
