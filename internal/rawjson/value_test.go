package rawjson_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/toolwire/toolwire/internal/rawjson"
)

func TestStrings(t *testing.T) {
	doc := []byte(" {\"a\" : \"b\\\"\", \"\\u0063\":[\"\",1,{\"d\":\"e:\"}] , \"f\":null}")
	var got []string
	rawjson.Strings(doc, func(from, to int, name bool) { got = append(got, fmt.Sprint(string(doc[from:to]), name)) })
	want := []string{"atrue", `b\"false`, `\u0063true`, "false", "dtrue", "e:false", "ftrue"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	rawjson.Strings([]byte(`"a"`), func(from, to int, name bool) {
		if from != 1 || to != 2 || name {
			t.Error(from, to, name)
		}
	})
}
