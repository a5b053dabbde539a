package rawjson

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// Key returns a text that two values have in common if they are equal, see [Equal], and only then. To
// find equal values among many, compare keys: each value is read once.
func Key(value json.RawMessage) string { return string(appendKey(nil, value)) }

func appendKey(dst []byte, value json.RawMessage) []byte {
	switch kind := Kind(value); kind {
	case '{':
		members := maps.Collect(Members(value))
		for _, name := range slices.Sorted(maps.Keys(members)) {
			dst = appendKey(append(AppendQuote(append(dst, '{'), name), ':'), members[name])
		}
		return append(dst, '{', '}')
	case '[':
		for element := range Elements(value) {
			dst = appendKey(append(dst, '['), element)
		}
		return append(dst, '[', ']')
	case '"':
		return AppendQuote(dst, Text(value))
	case '0':
		return fmt.Append(dst, ParseNumber(string(bytes.Trim(value, whitespace))))
	case 0:
		return dst
	default: // true, false or null
		return append(dst, kind)
	}
}
