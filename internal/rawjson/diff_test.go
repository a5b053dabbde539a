package rawjson_test

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

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
			got = append(got, fmt.Sprintf("%s <%s> %s", d.Pointer, d.Before, d.After))
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
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	differences := rawjson.Diff(doc, doc)
	runtime.ReadMemStats(&after)
	if len(differences) != 0 {
		t.Errorf("a document differs from itself in %d places", len(differences))
	}
	if bytes := after.TotalAlloc - before.TotalAlloc; bytes > 32<<20 {
		t.Errorf("Diff of %d KiB allocated %d KiB", len(doc)>>10, bytes>>10)
	}
}
