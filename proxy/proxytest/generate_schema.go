package proxytest

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
)

// joined are the keywords whose members are joined when schemas are merged.
var joined = []string{"properties", "patternProperties", "dependentRequired"}

// merge lays b over a. Properties and required are joined; of everything else b's is taken.
func merge(a map[string]any, b any) map[string]any {
	over, ok := b.(map[string]any)
	if !ok {
		return a
	}
	both := maps.Clone(a)
	if both == nil {
		both = map[string]any{}
	}
	for name, value := range over {
		switch old := both[name].(type) {
		case map[string]any:
			if value, ok := value.(map[string]any); ok && slices.Contains(joined, name) {
				all := maps.Clone(old)
				maps.Copy(all, value)
				both[name] = all
				continue
			}
		case []any:
			if value, ok := value.([]any); ok && name == "required" {
				both[name] = append(slices.Clone(old), value...)
				continue
			}
		}
		both[name] = value
	}
	return both
}

func without(object map[string]any, name string) map[string]any {
	rest := maps.Clone(object)
	delete(rest, name)
	return rest
}

// bound returns a keyword that is a count.
func bound(object map[string]any, name string, otherwise int) int {
	number, ok := object[name].(json.Number)
	if !ok {
		return otherwise
	}
	f, err := number.Float64()
	if err != nil || f < 0 || f > math.MaxInt32 {
		return otherwise
	}
	return int(f)
}

// limit returns a keyword that is a number.
func limit(object map[string]any, name string) (float64, bool) {
	number, ok := object[name].(json.Number)
	if !ok {
		return 0, false
	}
	f, err := number.Float64()
	return f, err == nil
}
