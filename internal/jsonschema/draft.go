package jsonschema

import "strings"

// draftOf returns the draft that a "$schema" names: 4, 6, 7, 2019 or 2020. It returns 0 for any other.
func draftOf(schema string) int {
	rest, ok := strings.CutPrefix(strings.TrimSuffix(schema, "#"), "https://")
	if !ok {
		rest, _ = strings.CutPrefix(rest, "http://")
	}
	return drafts[rest]
}

var drafts = map[string]int{
	"json-schema.org/schema": 2020, "json-schema.org/draft/2020-12/schema": 2020, "json-schema.org/draft/2019-09/schema": 2019,
	"json-schema.org/draft-07/schema": 7, "json-schema.org/draft-06/schema": 6, "json-schema.org/draft-04/schema": 4,
}
