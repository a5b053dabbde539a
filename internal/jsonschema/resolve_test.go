package jsonschema_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/toolwire/toolwire/internal/jsonschema"
)

func TestResolve(t *testing.T) {
	const document = `{"properties":{"id":{"type":"string"},"a/b":{"minimum":1},"50%":{"items":[{},{"maximum":2}]}},"":{"title":"empty"},
		"$defs":{"own":{"$id":"own","properties":{"x":{}}},"old":{"id":"old","properties":{"x":{}}},"null":null}}`
	var root any
	if err := json.Unmarshal([]byte(document), &root); err != nil {
		t.Fatal(err)
	}
	for ref, want := range map[string]string{
		"#":                              document,
		"#/properties/id":                `{"type":"string"}`,
		"#/properties/a~1b/minimum":      `1`,
		"#/properties/50%25/items/1":     `{"maximum":2}`,
		"#/properties/50%25/items/01":    "",
		"#/properties/50%25/items/+1":    "",
		"#/properties/50%25/items/2":     "",
		"#/properties/50%25/items/-":     "",
		"#/properties/a~1b/minimum/deep": "",
		"#/":                             `{"title":"empty"}`,
		"#/$defs/own":                    `{"$id":"own","properties":{"x":{}}}`,
		"#/$defs/own/properties/x":       "",
		"#/$defs/old/properties/x":       "",
		"#/$defs/null":                   `null`,
		"#/$defs/none":                   "",
		"#anchor":                        "",
		"#/%zz":                          "",
		"other#/properties/id":           "",
		"":                               "",
	} {
		got, ok := jsonschema.Resolve(root, ref)
		var expected any
		if want != "" {
			if err := json.Unmarshal([]byte(want), &expected); err != nil {
				t.Fatal(err)
			}
		}
		if ok != (want != "") || !reflect.DeepEqual(got, expected) {
			t.Errorf("Resolve(%q) = %v, %v; want %s", ref, got, ok, want)
		}
	}
}
