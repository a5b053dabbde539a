package toolcall

import (
	"encoding/json"

	"github.com/toolwire/toolwire/internal/rawjson"
)

// find finds the member reasoning of a valid JSON object, in one pass that allocates only if a name
// is escaped. Without the bytes from:to the object is valid JSON. value is nil if there is no such
// member.
func find(object json.RawMessage) (from, to int, value json.RawMessage) {
	at := skip(object, 0) + 1 // behind the brace
	for first := true; ; first = false {
		start := at
		at = skip(object, at)
		if at >= len(object) || object[at] != '"' {
			return 0, 0, nil
		}
		nameEnd := rawjson.End(object, at)
		quoted := object[at:nameEnd]
		at = skip(object, nameEnd) // behind the colon
		valueEnd := rawjson.End(object, at)
		if rawjson.Unquote(quoted) != reasoningName {
			at = valueEnd
			continue
		}
		value = object[at:valueEnd:valueEnd]
		if !first { // start is at the comma before
			return start, valueEnd, value
		}
		if to = rawjson.Space(object, valueEnd); object[to] == ',' {
			to++
		}
		return start, to, value
	}
}

// skip returns the offset after white space and separators.
func skip(doc []byte, at int) int {
	for {
		at = rawjson.Space(doc, at)
		if at >= len(doc) || doc[at] != ',' && doc[at] != ':' {
			return at
		}
		at++
	}
}
