package rawjson_test

import (
	"encoding/json"
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/internal/rawjson"
)

func TestMembersAndElements(t *testing.T) {
	for _, tt := range []struct{ doc, members, elements string }{
		{` { "a" : 1 , "b\u0022/" : {"c":[1,"]}"]} , "a":"x\\\"" , "":null } `, `a=1 b"/={"c":[1,"]}"]} a="x\\\"" =null `,
			""},
		{`[1,-2.5e+3 , "a,]" ,[[],{}],{"x":[]},true,null]`, "", `1 -2.5e+3 "a,]" [[],{}] {"x":[]} true null `},
		{`{"n":7}`, "n=7 ", ""}, {`{}`, "", ""}, {`[ ]`, "", ""}, {`{ }`, "", ""}, {`"{"`, "", ""}, {`null`, "", ""}, {``,
			"", ""}, {`12`, "", ""},
		{`{"\ud83d":1}`, "\ufffd=1 ", ""},
	} {
		var members, elements strings.Builder
		for name, value := range rawjson.Members(json.RawMessage(tt.doc)) {
			fmt.Fprintf(&members, "%s=%s ", name, value)
			if cap(value) != len(value) {
				t.Errorf("%s: appending to %s would overwrite the document", tt.doc, value)
			}
		}
		for value := range rawjson.Elements(json.RawMessage(tt.doc)) {
			fmt.Fprintf(&elements, "%s ", value)
		}
		if members.String() != tt.members || elements.String() != tt.elements {
			t.Errorf("%s: members %s, elements %s", tt.doc, members.String(), elements.String())
		}
	}
	for range rawjson.Members(json.RawMessage(`{"a":1,"b":2}`)) {
		break // a loop may stop
	}
	for doc, want := range map[string]string{
		`{"a":1,"a":2}`: "1", ` { "b" : {"a":0} , "\u0061" : [ 2 ] } `: "[ 2 ]", `{"aa":1,"A":2,"\\a":3}`: "", `{}`: "", `["a",1]`: "", `null`: "",
	} {
		if got := rawjson.Member(json.RawMessage(doc), "a"); string(got) != want || cap(got) != len(got) {
			t.Errorf("Member of %s: %s, want %s", doc, got, want)
		}
	}
}

func TestKindAndText(t *testing.T) {
	for doc, want := range map[string]string{
		` {}`: "{ ", `[]`: "[ ", ` "a\n\u00e4" `: "\" a\nä", `"\ud83d"`: "\" \ufffd",
		`"\ud800\udc00\uDBFF\uDFFF"`: "\" \U00010000\U0010ffff", `"\ud7ff\ue000\udfff\ud800"`: "\" \xed\x9f\xbf\ue000\ufffd\ufffd", `-1`: "0 ", "\n7": "0 ", `true`: "t ",
		`false`: "f ", `null`: "n ", ` `: "\x00 ",
	} {
		if got := string(rawjson.Kind([]byte(doc))) + " " + rawjson.Unquote(json.RawMessage(doc)); got != want {
			t.Errorf("%q: %q, want %q", doc, got, want)
		}
	}
	if got := rawjson.KindName(rawjson.Kind([]byte(" -1"))); got != "a number" {
		t.Errorf("KindName = %s", got)
	}
}

func TestObject(t *testing.T) {
	var o rawjson.Object
	if !o.Empty() || string(o.Bytes()) != "{}" {
		t.Error("the zero value is not empty")
	}
	o.Put("a<b>", json.RawMessage(`1.00`))
	o.Put("left out", nil)
	o.PutText("left out", "")
	o.PutText("t\n", "<&>\xff\xfe")
	if got, want := string(o.Bytes()), "{\"a<b>\":1.00,\"t\\n\":\"<&>\ufffd\"}"; got != want || !o.Has("a<b>") ||
		o.Has("left out") || o.Empty() {
		t.Errorf("got %s, want %s", got, want)
	}
	got, err := rawjson.Encode(map[string]any{"a": "<&>", "b": json.RawMessage(`[1]`)})
	if err != nil || string(got) != `{"a":"<&>","b":[1]}` {
		t.Errorf("Encode: %s, %v", got, err)
	}
	if got, err := rawjson.Encode(func() {}); err == nil || got != nil {
		t.Errorf("Encode of a func: %s, %v", got, err)
	}
	if got := rawjson.Array([]json.RawMessage{json.RawMessage("1"), json.RawMessage("{}")}); string(got) != "[1,{}]" {
		t.Errorf("Array: %s", got)
	}
	if got := rawjson.Array[json.RawMessage](nil); string(got) != "[]" {
		t.Errorf("Array of nothing: %s", got)
	}
}

func TestPointerTokens(t *testing.T) {
	for name, want := range map[string]string{"": "/", "a": "/a", "a/b~c": "/a~1b~0c", "~1": "/~01", "~0/": "/~00~1"} {
		if got := rawjson.Token(name); got != want || rawjson.Name(got[1:]) != name {
			t.Errorf("Token(%q) = %q, and back %q", name, got, rawjson.Name(got[1:]))
		}
	}
}

func TestEqualAndContains(t *testing.T) {
	for _, tt := range []struct {
		got, want       string
		equal, contains bool
	}{
		{`{"a":1,"b":[1,{"c":2.0}]}`, ` { "b" : [1.0,{"\u0063":2}] , "a":1e0 } `, true, true},
		{`{"a":1,"b":2}`, `{"a":1}`, false, true},
		{`{"a":1}`, `{"a":1,"b":null}`, false, false},
		{`[{"a":1,"b":2}]`, `[{"b":2}]`, false, true},
		{`[1,2]`, `[1]`, false, false},
		{`[1]`, `[1,2]`, false, false},
		{`[1,2]`, `[2,1]`, false, false},
		{`"\u00e4"`, `"ä"`, true, true},
		{`"a"`, `"b"`, false, false},
		{`9007199254740993`, `9007199254740992`, false, false},
		{`"1"`, `1`, false, false},
		{`null`, `false`, false, false},
		{`true`, `true `, true, true},
		{`{"a":1,"a":2}`, `{"a":2}`, true, true},
		{``, `1`, false, false},
	} {
		if got := rawjson.Equal(json.RawMessage(tt.got), json.RawMessage(tt.want)); got != tt.equal {
			t.Errorf("Equal(%s, %s) = %t", tt.got, tt.want, got)
		}
		if got := rawjson.Contains(json.RawMessage(tt.got), json.RawMessage(tt.want)); got != tt.contains {
			t.Errorf("Contains(%s, %s) = %t", tt.got, tt.want, got)
		}
	}
}

// TestNumbers compares with math/big.
func TestNumbers(t *testing.T) {
	literals := []string{"0", "-0", "0.000", "0e5", "1", "-1", "10", "1e1", "100e-1", "0.1", "1e-1", "9007199254740993",
		"9007199254740992", "9007199254740993.0",
		"18446744073709551617", "1.5", "-1.5", "15e-1", "0.015E2", "123.4500", "1e64", "1e63", "1e-63", "1e400", "10e399",
		"-1e400", "0.00000000000000000000000000001"}
	r := rand.New(rand.NewPCG(5, 6))
	for range 150 {
		s := []string{"", "-"}[r.IntN(2)] + fmt.Sprint(r.IntN(200))
		if r.IntN(2) == 0 {
			s += fmt.Sprintf(".%0*d", 1+r.IntN(4), r.IntN(200))
		}
		if r.IntN(2) == 0 {
			s += fmt.Sprintf("e%d", r.IntN(9)-4)
		}
		literals = append(literals, s)
	}
	exact := func(s string) *big.Rat {
		x, ok := new(big.Rat).SetString(s)
		if !ok {
			t.Fatal(s)
		}
		return x
	}
	for _, a := range literals {
		n, x := rawjson.ParseNumber(a), exact(a)
		if n.Integer() != x.IsInt() {
			t.Errorf("Integer of %s = %t", a, n.Integer())
		}
		if text, ok := n.Plain(64); ok && (exact(text).Cmp(x) != 0 || len(text) > 64 || strings.ContainsAny(text, "eE+")) {
			t.Errorf("Plain of %s = %s", a, text)
		}
		if key := rawjson.Key(json.RawMessage(a)); exact(key).Cmp(x) != 0 {
			t.Errorf("Key of %s = %s", a, key)
		}
		for _, b := range literals {
			m, y := rawjson.ParseNumber(b), exact(b)
			if n.Compare(m) != x.Cmp(y) || (n == m) != (x.Cmp(y) == 0) {
				t.Errorf("%s and %s: Compare = %d, equal %t", a, b, n.Compare(m), n == m)
			}
		}
	}
}

// TestFarNumbers orders numbers whose exponents do not fit an integer of Go.
func TestFarNumbers(t *testing.T) {
	beyond := strings.Repeat("9", 1001)
	ordered := []string{
		"-1e" + beyond, "-1e99999999999999999999", "-1e9223372036854775807", "-1", "-1e-99999999999999999999", "0", "1e-" +
			beyond,
		"1e-99999999999999999999", "1e-9223372036854775808", "1e-9223372036854775807", "1", "1e9223372036854775806",
		"1e9223372036854775807",
		"1e9223372036854775808", "1e99999999999999999998", "1e99999999999999999999", "2e99999999999999999999", "1e" + beyond,
	}
	for literal, want := range map[string]bool{"1e99999999999999999999": true, "1e-99999999999999999999": false} {
		if got := rawjson.ParseNumber(literal).Integer(); got != want {
			t.Errorf("Integer of %s = %t", literal, got)
		}
	}
	for i, a := range ordered {
		for j, b := range ordered {
			if got := rawjson.ParseNumber(a).Compare(rawjson.ParseNumber(b)); got != slices.Compare([]int{i}, []int{j}) {
				t.Errorf("%.40s and %.40s: Compare = %d", a, b, got)
			}
		}
	}
	for a, b := range map[string]string{
		"10e99999999999999999998": "1e99999999999999999999", "0.1e-99999999999999999998": "1e-99999999999999999999",
		"100e9223372036854775806": "1e9223372036854775808", "1e0000000000000000000000000000002": "100",
		"1E+99999999999999999999":              "1e99999999999999999999",
		"10e" + strings.Repeat("9", 999) + "8": "1e" + strings.Repeat("9", 1000),
	} {
		n, m := rawjson.ParseNumber(a), rawjson.ParseNumber(b)
		if x, y := rawjson.Key(json.RawMessage(a)), rawjson.Key(json.RawMessage(b)); n != m || x != y {
			t.Errorf("%s is not %s: %s, %s", a, b, x, y)
		}
	}
}

func TestLocal(t *testing.T) {
	for reference, want := range map[string]string{
		"#": "", "#/$defs/order": "/$defs/order", "#/a%20b~1": "/a b~1", "#%2Fa": "/a",
		"": "-", "/a": "-", "#a": "-", "#a/b": "-", "other#/a": "-", "#/%zz": "-",
	} {
		pointer, ok := rawjson.Local(reference)
		if ok != (want != "-") || ok && pointer != want {
			t.Errorf("%q: %q, %t, want %q", reference, pointer, ok, want)
		}
	}
}

func TestAt(t *testing.T) {
	const doc = `{"a":[1,{"b/c":"x"}],"":{"~":2},"0":3}`
	for pointer, want := range map[string]string{
		"": doc, "/a": `[1,{"b/c":"x"}]`, "/a/1/b~1c": `"x"`, "//~0": "2", "/0": "3", "/a/0": "1",
		"a": "", "/b": "", "/a/2": "", "/a/-1": "", "/a/x": "", "/0/0": "", "/a/": "",
	} {
		got, ok := rawjson.At(json.RawMessage(doc), pointer)
		if string(got) != want || ok != (want != "") {
			t.Errorf("%q: %s, %t, want %s", pointer, got, ok, want)
		}
	}
}
