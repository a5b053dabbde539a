package rawjson

import (
	"encoding/json"
	"testing"
)

// Two values have the same key if and only if they are equal.
func TestKey(t *testing.T) {
	values := []string{
		`1`, ` 1.0`, `10e-1 `, `-1`, `0`, `-0`, `1e400`, `10e399`, `12`, `[1,2]`, `[ 1.0 , 2 ]`, `[12]`, `[[1],2]`, `[1,[2]]`, `[]`, `[[]]`, `[[],[]]`, `{}`, `[{}]`, `{"":{}}`,
		`"1"`, `"a"`, `"\u0061"`, `"A"`, `""`, `"\""`, `"[]"`, `"\ud800"`, `"\ufffd"`, `true`, `false`, `null`, `"true"`, `"t"`,
		`{"a":1,"b":[2]}`, ` {"b" : [2.0], "\u0061":1e0} `, `{"a":1,"b":2}`, `{"a":{"b":1}}`, `{"a":{},"b":1}`, `{"a":2,"a":1,"b":[2]}`, `{"a":1}`, `{"a":null}`,
		`{"a:1":1}`, `{"a":{"b":{}},"c":1}`, `{"a":{"b":{},"c":1}}`,
	}
	for _, a := range values {
		for _, b := range values {
			x, y := json.RawMessage(a), json.RawMessage(b)
			if got := Key(x) == Key(y); got != Equal(x, y) {
				t.Errorf("%s and %s: keys %q and %q, but Equal is %t", a, b, Key(x), Key(y), !got)
			}
		}
	}
}
