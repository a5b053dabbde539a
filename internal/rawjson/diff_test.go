package rawjson_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/internal/cost"
	"github.com/toolwire/toolwire/internal/rawjson"
)

func TestDiff(t *testing.T) {
	for _, tt := range []struct{ before, after, want string }{
		{``, ``, ``},
		{``, `null`, ` <> null`},
		{` {"a":1}`, ``, ` <{"a":1}> `},
		{`1`, ` 1.0 `, ``},
		{`"\u00e4"`, `"ä"`, ``},
		{`9007199254740992`, `9007199254740993`, ` <9007199254740992> 9007199254740993`},
		{`[]`, `{}`, ` <[]> {}`},
		{`"1"`, `1`, ` <"1"> 1`},
		{`{"a":1,"b":[1,{"c":2.0}]}`, ` { "b" : [1.0,{"\u0063":2}] , "a":1e0 } `, ``},
		{`{"b":1,"a/~":{"x":[1, {"y":2}]}}`, `{"c":null,"a/~":{"x":[1,{"y":3},4]}}`,
			`/a~1~0/x/1/y <2> 3; /a~1~0/x/2 <> 4; /b <1> ; /c <> null`},
		{`[1,2]`, `[2]`, `/0 <1> 2; /1 <2> `},
		{`{"":{}}`, `{"":[]}`, `/ <{}> []`},
		{`[[],[[]]]`, `[[],[[1]]]`, `/1/0/0 <> 1`},
	} {
		before, after := json.RawMessage(tt.before), json.RawMessage(tt.after)
		var got []string
		for _, d := range rawjson.Diff(before, after) {
			got = append(got, fmt.Sprintf("%s <%s> %s", d.Pointer, string(d.Before), string(d.After)))
			if cap(d.Before) != len(d.Before) || cap(d.After) != len(d.After) {
				t.Errorf("%s: appending to a value would overwrite the document", tt.before)
			}
		}
		if strings.Join(got, "; ") != tt.want {
			t.Errorf("Diff(%s, %s) = %s, want %s", tt.before, tt.after, strings.Join(got, "; "), tt.want)
		}
		if len(before) > 0 && len(after) > 0 && rawjson.Equal(before, after) != (tt.want == "") {
			t.Errorf("Equal(%s, %s) says otherwise", tt.before, tt.after)
		}
	}
}

// A long name around many equal values is not written once per value.
func TestDiffOfLongNames(t *testing.T) {
	doc := json.RawMessage(`{"` + strings.Repeat("x", 1<<16) + `":[` + strings.Repeat("0,", 1<<14) + `0]}`)
	var differences []rawjson.Difference
	cost.Within(t, "Diff", len(doc), 300, func() { differences = rawjson.Diff(doc, doc) })
	if len(differences) != 0 {
		t.Errorf("a document differs from itself in %d places", len(differences))
	}
}

// FuzzDiff checks that a document does not differ from itself, and that the cost is linear.
func FuzzDiff(f *testing.F) {
	f.Add([]byte(`{"a":1,"b":[1,{"c":2.0}]}`), []byte(`{"\u0061":1e0,"b":[]}`))
	f.Add([]byte(`[[],[[]]]`), []byte(`{"a/~":"~"}`))
	f.Add([]byte(`1e400`), []byte(`0.000000001`))
	f.Fuzz(func(t *testing.T, before, after []byte) {
		for _, doc := range [][]byte{before, after} {
			if !valid(doc) {
				return
			}
		}
		if got := rawjson.Diff(before, before); len(got) != 0 {
			t.Fatalf("%s differs from itself: %v", before, got)
		}
		size := len(before) + len(after)
		cost.Within(t, "Diff", size, 1000, func() { rawjson.Diff(before, after) })
		for _, list := range []func(string, []byte, string) func(int) []byte{cost.List, cost.Members} {
			both := func(n int) []byte { // JSON contains no zero byte
				return slices.Concat(list("[", before, "]")(n), []byte{0}, list("[", after, "]")(n))
			}
			cost.Linear(t, "Diff", slices.Concat(before, after), both, func(doc []byte) {
				before, after, _ := bytes.Cut(doc, []byte{0})
				rawjson.Diff(before, after)
			})
		}
	})
}

func valid(doc []byte) bool {
	return rawjson.Check(doc, rawjson.Limits{Mode: rawjson.Unique}) == nil
}
