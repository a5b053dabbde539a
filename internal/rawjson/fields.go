package rawjson

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/toolwire/toolwire/internal/problem"
	"github.com/toolwire/toolwire/internal/text"
)

// ReadFields reads the members of an object into the variables that fields has for their names. It is
// for the strict JSON of files that people write. It returns all that is wrong: a name that fields does
// not have, a value of another type, and null for anything but a json.RawMessage, which gets a
// sub-slice. The errors name the member and quote no value. After 100 errors, a last one counts the others.
func ReadFields(object json.RawMessage, fields map[string]any) (wrong []error) {
	if kind := Kind(object); kind != '{' {
		return []error{fmt.Errorf("must be an object, not %s", KindName(kind))}
	}
	var list problem.Bounded[error]
	for name, value := range Members(object) {
		into, known := fields[name]
		raw, isRaw := into.(*json.RawMessage)
		switch {
		case isRaw:
			*raw = value
		case known && Kind(value) != 'n' && json.Unmarshal(value, into) == nil:
		case list.Full():
			list.More++
		case known:
			list.Put(fmt.Errorf("%s must be %s", Token(name), fieldType(into)))
		default:
			list.Put(unknownField(name, fields))
		}
	}
	if list.More > 0 {
		list.Found = append(list.Found, fmt.Errorf("has %d more members that are not valid", list.More))
	}
	return list.Found
}

func unknownField(name string, fields map[string]any) error {
	names := slices.Sorted(maps.Keys(fields))
	meant := "the members are " + text.List(names)
	if nearest := text.Nearest(name, names); nearest != "" {
		meant = "did you mean " + nearest + "?"
	}
	return fmt.Errorf("%s is not a member; %s", text.Name(name), meant)
}

// fieldType returns what a variable holds, in the words of JSON.
func fieldType(into any) string {
	switch into.(type) {
	case *string:
		return "a string"
	case *[]string:
		return "a list of strings"
	case *map[string]string:
		return "an object of strings"
	case *map[string]int:
		return "an object of integers"
	case *map[string]json.RawMessage:
		return "an object"
	case *bool:
		return "true or false"
	case *float64:
		return "a number"
	case *[]byte:
		return "base64"
	case *time.Time:
		return "a time such as 2026-11-21T20:15:00Z"
	}
	return "an integer"
}
