package jsonschema_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/internal/cost"
	"github.com/toolwire/toolwire/internal/jsonschema"
	"github.com/toolwire/toolwire/internal/rawjson"
)

// FuzzCompile checks that every fault and note is about a place that the author wrote, that a
// compilation and a validation say the same twice, and that reading old forms costs no more than a
// schema without them.
func FuzzCompile(f *testing.F) {
	for _, raw := range []string{
		`{"items":[{"items":[{"type":"integer"}],"additionalItems":{"$id":"#n","required":true}}],"additionalItems":{"$ref":"#/items/0/items/0"}}`,
		`{"prefixItems":[{}],"items":[{"minimum":1,"exclusiveMinimum":true}],"additionalItems":false,"allOf":[{"$ref":"#/items/0"},{"$ref":"#n"}]}`,
		`{"$schema":"draft-07","properties":{"a":{"$ref":"#/components/b/items/1","type":"any"}},"components":{"b":{"items":[{},{"title":5,"pattern":"^(?!a)\\u0062"}]}}}`,
		`{"$schema":"http://json-schema.org/draft-04/schema#","id":"x","properties":{"a":{"$ref":"x#/definitions/b","const":1,"nullable":true}},"definitions":{"b":{"description":null}}}`,
		`{"$id":"https://x.test/r#n","$defs":{"a":{"$id":"a","$schema":"x","items":[{"$ref":"#/items/0"}]},"b":{"$id":"a"}},"const":{"items":[{}]},"default":{"$ref":"#/default"}}`,
		`{"dependencies":{"a":"b"},"required":null,"schema":{"type":["any"]},"extends":{"$ref":"#/schema"}}`,
		`{"sides":{"type":"integer"}}`,
	} {
		f.Add([]byte(raw), []byte(`{"a":[1,"b",{"c":null}]}`))
	}
	f.Fuzz(func(t *testing.T, raw, document []byte) {
		o := &jsonschema.Options{AllowUnchecked: true}
		s, faults := jsonschema.Compile(raw, o)
		again, faultsAgain := jsonschema.Compile(raw, o)
		all := faults.Found
		if s != nil {
			all = append(s.Unchecked().Found, s.Notes().Found...)
			faultsAgain.Found = append(again.Unchecked().Found, again.Notes().Found...)
			if first, second := s.Validate(document), again.Validate(document); fmt.Sprint(first) != fmt.Sprint(second) {
				t.Fatalf("%s: not the same twice:\n%v\n%v", raw, first, second)
			}
			s.WrongDefaults()
		}
		if s != nil && !reflect.DeepEqual(all, faultsAgain.Found) {
			t.Fatalf("%s: not the same twice:\n%v\n%v", raw, all, faultsAgain.Found)
		}
		for _, fault := range all {
			if strings.Contains(fault.Pointer, "…") || fault.Code == "not_json" {
				continue // a name was cut
			}
			if _, ok := rawjson.At(raw, fault.Pointer); !ok {
				t.Fatalf("%s: %s at %s, which the author did not write", raw, fault.Code, fault.Pointer)
			}
		}
		var decoded any
		if json.Unmarshal(raw, &decoded) != nil {
			return
		}
		if rawjson.Kind(raw) == '{' {
			jsonschema.NotObject(raw)
		}
		jsonschema.Resolve(decoded, string(document))
		compile := func(raw []byte) { _, _ = jsonschema.Compile(raw, nil) }
		cost.Linear(t, "Compile", raw, cost.List(`{"items":[`, raw, `]}`), compile)
		cost.Linear(t, "Compile", raw, cost.Members(`{"definitions":`, raw, `}`), compile)
	})
}
