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

func TestWithout(t *testing.T) {
	for in, want := range map[string][2]string{
		`{}`:                              {`{}`, ""},
		` { "b" : 1 } `:                   {` { "b" : 1 } `, ""},
		`{"a":1}`:                         {`{}`, "1"},
		` { "a" : [1, {"a":2}] } `:        {` {} `, `[1, {"a":2}]`},
		`{"a":1 , "b":2}`:                 {`{ "b":2}`, "1"},
		`{"b":2 , "a" : "x,}" , "c":[3]}`: {`{"b":2 , "c":[3]}`, `"x,}"`},
		`{"b":{"a":0}, "\u0061":null}`:    {`{"b":{"a":0}}`, "null"},
		`{"a":1,"a":2}`:                   {`{"a":2}`, "1"},
		"{\"b\":1\n\t,\n\t\"a\": true\n}": {"{\"b\":1\n}", "true"},
	} {
		if rest, value := rawjson.Without([]byte(in), "a"); string(rest) != want[0] || string(value) != want[1] {
			t.Errorf("%s: %s and %s, want %s and %s", in, rest, value, want[0], want[1])
		}
	}
}
