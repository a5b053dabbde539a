package rawjson_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/internal/cost"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/testkit"
)

func TestTidyKeyAndAppend(t *testing.T) {
	digits := strings.Repeat("7", 64) // as many as are written without an exponent
	for _, tt := range []struct{ doc, tidy, key, written string }{
		{` { "b" : [ 1.50 , {} , [ ] , "x,\u000a" ] , "a\u0062" : -0 , "A" : 1e2 , "" : {"z":true,"y":null} } `,
			`{"":{"y":null,"z":true},"A":1e2,"ab":-0,"b":[1.50,{},[],"x,\n"]}`,
			`{"":{"y":null,"z":true},"A":100,"ab":0,"b":[1.5,{},[],"x,\n"]}`,
			`{"b":[1.50,{},[],"x,\n"],"ab":-0,"A":1e2,"":{"z":true,"y":null}}`},
		{`{"\u0062":1,"a":2,"\u0061":3}`, `{"a":3,"b":1}`, `{"a":3,"b":1}`, `{"b":1,"a":2,"a":3}`},
		{`{"a":1,"b":2,"a":3}`, `{"a":3,"b":2}`, `{"a":3,"b":2}`, `{"a":1,"b":2,"a":3}`},
		{"{\"\U0001f600\":1,\"\uff5e\":2}", "{\"\uff5e\":2,\"\U0001f600\":1}", "{\"\uff5e\":2,\"\U0001f600\":1}", "{\"\U0001f600\":1,\"\uff5e\":2}"},
		{`"\ud800<\/"`, "\"\ufffd</\"", "\"\ufffd</\"", "\"\ufffd</\""},
		{`"a\u0020\u001f\u007f\/"`, "\"a \\u001f\u007f/\"", "\"a \\u001f\u007f/\"", "\"a \\u001f\u007f/\""},
		{digits + "0e-1", digits + "0e-1", digits, digits + "0e-1"},
		{digits + "0", digits + "0", "0." + digits + "e65", digits + "0"},
		{` false `, `false`, `false`, `false`},
		{`1e70`, `1e70`, `0.1e71`, `1e70`},
		{` `, ``, ``, ``},
	} {
		doc := json.RawMessage(tt.doc)
		if got := string(rawjson.Tidy(doc)); got != tt.tidy {
			t.Errorf("Tidy of %s = %s, want %s", doc, got, tt.tidy)
		}
		if got := rawjson.Key(doc); got != tt.key {
			t.Errorf("Key of %s = %s, want %s", doc, got, tt.key)
		}
		if got := string(rawjson.Parse(doc).Append(nil)); got != tt.written {
			t.Errorf("%s is written as %s, want %s", doc, got, tt.written)
		}
	}
}

// Of members with one name the last counts, also among so many that sort does not use insertion.
func TestTheLastOfRepeatedMembersCounts(t *testing.T) {
	var b strings.Builder
	for i := range 400 {
		fmt.Fprintf(&b, `"m%d":%d,`, i%7, i)
	}
	doc := json.RawMessage("{" + strings.TrimSuffix(b.String(), ",") + "}")
	last := json.RawMessage(`{"m0":399,"m1":393,"m2":394,"m3":395,"m4":396,"m5":397,"m6":398}`)
	if got := rawjson.Key(doc); got != string(last) {
		t.Errorf("Key = %s, want %s", got, last)
	}
	if got := rawjson.Diff(doc, last); len(got) != 0 || !rawjson.Equal(doc, last) || !rawjson.Contains(doc, last) {
		t.Errorf("Diff = %s, Equal = %t", got, rawjson.Equal(doc, last))
	}
}

// Whoever asks only whether values differ does not pay for a list of all differences, nor for a tree.
func TestComparisonsAreCheap(t *testing.T) {
	a := json.RawMessage("[" + strings.Repeat("1,", 1<<15) + "1]")
	b := json.RawMessage("[" + strings.Repeat("2,", 1<<15) + "2]")
	all := testing.AllocsPerRun(5, func() { rawjson.Diff(a, b) })
	if first := testing.AllocsPerRun(5, func() { rawjson.Contains(a, b) }); first > all-1<<15 {
		t.Errorf("Contains allocates %v times, Diff %v", first, all)
	}
	orders := json.RawMessage(testkit.Kinds[0].Document(64 << 10))
	spaced := append([]byte(" "), orders...)
	if n := testing.AllocsPerRun(5, func() { rawjson.Equal(orders, orders) }); n != 0 {
		t.Errorf("Equal of the same text allocates %v times", n)
	}
	tidy := func(doc string) float64 {
		return testing.AllocsPerRun(5, func() { rawjson.Tidy(json.RawMessage(doc)) })
	}
	if inner, outer := tidy(`{"b":1,"c":{"a":1}}`), tidy(`{"a":1,"b":{"c":1}}`); inner != outer {
		t.Errorf("Tidy allocates %v times for an object that begins with an early name, %v times with a late one", inner, outer)
	}
	equal := false
	if spent := cost.Allocated(func() { equal = rawjson.Equal(orders, spaced) }); spent > 5<<16 || !equal {
		t.Errorf("Equal allocates %d bytes for two documents of 64 KiB, and is %t", spent, equal)
	}
}

func TestCompactAnyAndIsNull(t *testing.T) {
	if got := string(rawjson.Compact([]byte(` { "a" : [ 1.0 , "\u0061 b" ] } `))); got != `{"a":[1.0,"\u0061 b"]}` {
		t.Errorf("Compact = %s", got)
	}
	if got := rawjson.Compact([]byte(`{`)); got != nil {
		t.Errorf("Compact of no JSON = %s", got)
	}
	for text, want := range map[string]string{
		` [ 12345678901234567890.10 , -1e5,{"a\u0062":"\ud800\n","b" : {},"a":1,"a":[ ]} ,true,false , null,""] `: `[12345678901234567890.10 -1e5 map[a:[] ab:` +
			"\ufffd\n" + ` b:map[]] true false <nil> ]`,
		`"x"`: "x", `7`: "7", ` `: "<nil>", ``: "<nil>",
	} {
		if got := fmt.Sprint(rawjson.Any(json.RawMessage(text))); got != want {
			t.Errorf("Any of %s = %s, want %s", text, got, want)
		}
	}
	var std any
	doc := testkit.Kinds[0].Document(4000)
	decoder := json.NewDecoder(strings.NewReader(doc))
	decoder.UseNumber()
	if err := decoder.Decode(&std); err != nil || !reflect.DeepEqual(rawjson.Any(json.RawMessage(doc)), std) {
		t.Errorf("Any differs from encoding/json (%v)", err)
	}
	for text, want := range map[string]bool{"": true, " ": true, "null": true, " null ": true, "0": false, "{}": false, `"null"`: false, "false": false} {
		if got := rawjson.IsNull(json.RawMessage(text)); got != want {
			t.Errorf("IsNull(%q) = %t", text, got)
		}
	}
}
