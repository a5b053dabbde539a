package jsonschema

import "strings"

// draftOf returns the draft that a "$schema" names: 4, 6, 7, 2019 or 2020. It returns 0 for any other.
func draftOf(schema string) int {
	rest, ok := strings.CutPrefix(strings.TrimSuffix(schema, "#"), "https://")
	if !ok {
		rest, _ = strings.CutPrefix(rest, "http://")
	}
	switch rest {
	case "json-schema.org/schema", "json-schema.org/draft/2020-12/schema":
		return 2020
	case "json-schema.org/draft/2019-09/schema":
		return 2019
	case "json-schema.org/draft-07/schema":
		return 7
	case "json-schema.org/draft-06/schema":
		return 6
	case "json-schema.org/draft-04/schema":
		return 4
	}
	return 0
}
