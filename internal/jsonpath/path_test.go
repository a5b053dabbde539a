package jsonpath_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	library "github.com/PaesslerAG/jsonpath"

	"github.com/toolwire/toolwire/internal/cost"
	"github.com/toolwire/toolwire/internal/jsonpath"
	"github.com/toolwire/toolwire/internal/rawjson"
)

const (
	maxSteps = 2_000_000
	maxBytes = 1 << 20
)

func find(t testing.TB, path, doc string) (string, error) {
	t.Helper()
	p, err := jsonpath.Compile(path)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	value, err := p.Find(jsonpath.NewDocument([]byte(doc), maxSteps), maxBytes)
	return string(value), err
}

func TestFind(t *testing.T) {
	const order = `{"order_id":"4521", "items" : [ {"sku":"A","qty":1},{"sku":"B"} ,7], ` +
		`"to":{"b":{"n":2},"a":{"n":1}},"x-y":1,"":0}`
	for _, tt := range []struct{ name, path, doc, want string }{
		{"member", `$.order_id`, order, `"4521"`},
		{"bare name", `order_id`, order, `"4521"`},
		{"double quotes", `$["order_id"]`, order, `"4521"`},
		{"single quotes", `$['order_id']`, order, `"4521"`},
		{"a name with a dash", `$['x-y']`, order, `1`},
		{"the empty name", `$['']`, order, `0`},
		{"a name that is a number", `$.data['1'].quote["2023"]`, `{"data":{"1":{"quote":{"2023":5.50}}}}`, `5.50`},
		{"names that look like numbers", `$['+1']['-1']['1e5']['0x1p4'].NaN`, `{"+1":{"-1":{"1e5":{"0x1p4":{"NaN":"x"}}}}}`, `"x"`},
		{"a number as a bare name", `inf`, `{"inf":1}`, `1`},
		{"a name in an array", `$['0']`, `[1,2]`, ``},
		{"a name in a scalar", `$.a['0'].b`, `{"a":"x"}`, ``},
		{"a missing name", `$['1'].b`, `{"2":{}}`, ``},
		{"a number in each", `$.items[*]['1']`, `{"items":[{"1":"a"},["x","y"],{"2":1},{"1":null}]}`, `["a",null]`},
		{"a number before others", `$.to.*['1'][0:2].n`, `{"to":{"b":{"1":[{"n":3}]},"a":{"1":[{"n":1},{"n":2},{"n":9}]}}}`, `[1,2,3]`},
		{"a number after a descent", `$..a['7']`, `{"a":{"7":1,"a":{"7":2}},"b":[{"a":{"7":3}},{"a":[0]}]}`, `[1,2,3]`},
		{"a number before a descent", `$['7']..n`, `{"7":{"n":1,"m":{"n":2}},"n":3}`, `[1,2]`},
		{"everything", `$`, `[1, 2]`, `[1,2]`},
		{"index", `$.items[1].sku`, order, `"B"`},
		{"an object, by name", `$.items[0]`, order, `{"qty":1,"sku":"A"}`},
		{"missing", `$.nothing`, order, ``},
		{"missing inside a scalar", `$.order_id.x`, order, ``},
		{"missing index", `$.items[3]`, order, ``},
		{"null is a value", `$.a`, `{"a":null}`, `null`},
		{"null has no members", `$.a.b`, `{"a":null}`, ``},

		{"wildcard over an array", `$.items[*].sku`, order, `["A","B"]`},
		{"wildcard over an object, by name", `$.to.*.n`, order, `[1,2]`},
		{"wildcard over a scalar", `$.order_id.*`, order, ``},
		{"wildcard over nothing", `$.*`, `{}`, ``},
		{"one match is a list too", `$[*]`, `[5]`, `[5]`},
		{"descent", `$..sku`, order, `["A","B"]`},
		{"descent, by name", `$..n`, order, `[1,2]`},
		{"descent, outer first", `$..a`, `{"z":{"a":4},"a":[{"a":{"a":3}},2]}`, `[[{"a":{"a":3}},2],{"a":3},3,4]`},
		{"descent and on", `$..a[0].b`, `{"x":[{"a":[{"b":1}]},{"a":[]},{"a":[{"b":2}]}]}`, `[1,2]`},
		{"wildcards after a descent", `$..a.*`, `{"a":{"a":{"b":1}}}`, `[{"b":1},1]`},
		{"descent over nothing", `$..zz`, order, ``},

		{"negative index", `$.items[-1]`, order, `7`},
		{"negative index and on", `$.items[-2].sku`, order, `"B"`},
		{"the first from the end", `$.items[-3].sku`, order, `"A"`},
		{"before the first", `$.items[-4]`, order, ``},
		{"slice", `$.items[0:2].sku`, order, `["A","B"]`},
		{"slice from the end", `$.items[-2:]`, order, `[{"sku":"B"},7]`},
		{"slice backwards", `$[::-1]`, `[1,2,3]`, `[3,2,1]`},
		{"slice of an object", `$[0:2]`, `{"0":1}`, ``},
		{"slice to the end but one", `$[:-1]`, `[1,2,3]`, `[1,2]`},
		{"slice from the end to an index", `$[-2:2]`, `[1,2,3]`, `[2]`},
		{"slice that is empty", `$[-1:-3]`, `[1,2,3]`, ``},
		{"slice of one", `$[1:2]`, `[1,2]`, `[2]`},
		{"union of indexes", `$.items[2,0].sku`, order, `["A"]`},
		{"union of names, in its order", `$["order_id",'x-y']`, order, `["4521",1]`},
		{"union with a missing name", `$['nothing','x-y']`, order, `[1]`},
		{"white space", "$ .to\n[ 'b' ] [\t'n'\r]", order, `2`},
		{"white space in a slice", `$.items[ 0 : 2 : 1 ].sku`, order, `["A","B"]`},
		{"a hyphen in a name", `$.x-y`, order, `1`},
		{"hyphens in a bare name", `x-y`, order, `1`},
		{"a hyphen and on", `$.a-1.b-`, `{"a-1":{"b-":3}}`, `3`},
		{"wildcard descent", `$..*`, `{"b":[1,{"c":2}],"a":{"d":3}}`, `[{"d":3},[1,{"c":2}],3,1,{"c":2},2]`},
		{"descent, a value before what is inside its siblings", `$..x`, `{"b":{"x":1},"x":2}`, `[2,1]`},

		{"white space in a filter", "$.items[ ? ( ! @ .none [\t0 ] && @ .sku\n=='B' ) ] .sku", order, `["B"]`},
		{"filter by a text", `$.items[?@.sku == 'B'].sku`, order, `["B"]`},
		{"filter of the older syntax", `$.items[?(@.qty)].sku`, order, `["A"]`},
		{"filter of an object, by name", `$.to[?@.n >= 1].n`, order, `[1,2]`},
		{"filter after a descent", `$..[?@.n].n`, order, `[1,2]`},
		{"filter that nothing passes", `$.items[?@.sku == "C"]`, order, ``},
		{"filter of a scalar", `$.order_id[?@ == 1]`, order, ``},
		{"filter by an element", `$[?@.tags[0] == "x" && @.tags[-1] == "y"].n`,
			`[{"n":1,"tags":["x","y"]},{"n":2,"tags":["x"]},{"n":3,"tags":{"0":"x"}},{"n":4,"tags":[]}]`, `[1]`},
		{"filters one after the other", `$[?@.a].b[?@ > 1]`, `[{"a":0,"b":[1,2,3]},{"b":[9]}]`, `[2,3]`},
		{"filter, then a name that is a number", `$[?@.a]['1']`, `[{"a":0,"1":"x"},{"1":"y"},{"a":0}]`, `["x"]`},
		{"filter after a name that is a number", `$['1'][?@.a == null].b`, `{"1":[{"a":null,"b":1},{"b":2}]}`, `[1]`},
		{"a missing member is unequal to a value", `$[?@.a != 1].b`, `[{"b":1},{"a":1,"b":2},{"a":"1","b":3}]`, `[1,3]`},
		{"missing members are equal", `$[?@.a == @.c].b`, `[{"b":1},{"a":1,"b":2},{"a":[1.0,{"x":null}],"c":[1,{"x":null}],"b":3}]`, `[1,3]`},
		{"values of different kinds are not ordered", `$[?@.a < "2" || @.a >= 2].a`, `[{"a":"1"},{"a":1},{"a":2},{"a":true},{"a":null},{}]`, `["1",2]`},
		{"large numbers are exact", `$[?@ == 9007199254740993 || @ > 1e400]`, `[9007199254740992,9007199254740993,1e401]`, `[9007199254740993,1e401]`},
		{"numbers written otherwise", `$[?@ <= -0.5e1 && @ >= -5.0]`, `[-5,-4.9,-50e-1]`, `[-5,-50e-1]`},
		{"texts by code point", `$[?@ > "\uFFFD"]`, `["a","😀","\uFFFD"]`, `["😀"]`},
		{"texts with quotes", `$[?@ == 'a"\'' || @ == "~\"@"]`, `["a\"'","~\"@","b"]`, `["a\"'","~\"@"]`},
		{"precedence", `$[?!(@.a == 1) && @.b || !@.b]`, `[{"a":1,"b":0},{"a":2,"b":0},{"a":1}]`, `[{"a":2,"b":0},{"a":1}]`},
		{"what is false is there", `$[?@.a == false || @.a && @.b != true].n`, `[{"n":1,"a":false},{"n":2,"b":true},{"n":3,"a":null,"b":true},{"n":4,"a":0}]`, `[1,4]`},
		{"values alone", `$[?1 == 1.0]`, `[0]`, `[0]`},

		{"an index does not name a member", `$[0]`, `{"0":1}`, ``},
		{"the empty name does not index an array", `$['']`, `[1]`, ``},
		{"an index from the end does not name a member", `$[-1]`, `{"0":1,"-1":2}`, ``},
		{"a name that only looks like a number", `$.inf-1["0x"]`, `{"inf-1":{"0x":1}}`, `1`},
		{"names that are numbers, by number", `$.*`, `{"b":5,"10":4,"9":3,"01":6,"0":1,"2":2,"":7}`, `[1,2,3,4,7,6,5]`},
		{"elements, by number", `$..*`, `[0,1,2,3,4,5,6,7,8,9,[10]]`, `[0,1,2,3,4,5,6,7,8,9,[10],10]`},
		{"objects in arrays", `$..a[*].b`, `{"y":[{"a":[{"b":1},{"b":2}]}],"x":{"a":{"z":{"b":4},"c":{"b":3}}}}`, `[3,4,1,2]`},
		{"names with quotes and brackets", `$.*.*`, `{"\"]":{"[\"":1},"\n":{"é😀":0}}`, `[0,1]`},
		{"half of a surrogate pair", `$.a`, `{"a":"\ud83d"}`, "\"\ufffd\""},
		{"digits as they were", `$[*]`, `[1.50,1E400,-0.0,1e-7]`, `[1.50,1E400,-0.0,1e-7]`},
		{"text as it was", `$`, `"<&>\/\u2028"`, `"<&>/\u2028"`},
		{"large integers", `$.id`, `{"id":12345678901234567890123}`, `12345678901234567890123`},
		{"large integers in lists", `$[*].id`, `[{"id":9007199254740993}]`, `[9007199254740993]`},
		{"escaped names", `$.order_id`, `{"order\u005fid":1}`, `1`},
		{"escaped names in wildcards", `$.*`, `{"b":2,"\u0061":1}`, `[1,2]`},
		{"escaped quotes", `$.b`, `{"a\"b":"\\","b":"\\\""}`, `"\\\""`},
		{"quotes in the path", `$["a\"\u0062"]`, `{"a\"b":1}`, `1`},
		{"beyond the basic plane", `$["\uD83D\uDE00"]`, `{"😀":1}`, `1`},
		{"brackets in strings", `$.b`, `{"a":"}]{[\"","b":1}`, `1`},
		{"a largest index", `$[9007199254740991]`, `[1]`, ``},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := find(t, tt.path, tt.doc)
			if got != tt.want {
				t.Errorf("%s = %q, want %q", tt.path, got, tt.want)
			}
			if (err != nil) != (tt.want == "") || err != nil && err != jsonpath.ErrNotFound {
				t.Errorf("%s: err = %v", tt.path, err)
			}
		})
	}
}

func TestGateRefuses(t *testing.T) {
	for _, tt := range []struct {
		path        string
		unsupported bool
		problem     string
	}{
		{"", false, "is empty"},
		{"$." + strings.Repeat("a", 255), true, "more than 256"},
		{strings.Repeat("$[", 1<<20), true, "more than 256"},
		{"$.\xff", false, "UTF-8"},
		{"$.items[0, ?@.price>10]", true, "in one bracket"},
		{"$.items[?@.a]['x','y']", true, "together"},
		{"$.items[?length(@.name) > 3]", true, `calls a function, which is not evaluated here; the platform may evaluate it; write`},
		{"$.items[?@.id == $.main]", true, "begins a query with $"},
		{"$.items[?@.tags[*]]", true, "any of several values"},
		{"$.items[?!@..tags]", true, "any of several values"},
		{"$.items[?@.tags[?@ == 1]]", true, "contains a filter"},
		{"$.items[?@['1'] == 1]", true, "looks like a number"},
		{"$.items[?@.a[1:-1]]", true, "negative index"},
		{"$.items[?@.a[01]]", false, "plain number"},
		{"$.items[?@.tags[*] == 1]", false, "compares several values"},
		{"$.items[?1 == @.a.*]", false, "compares several values"},
		{"$.items[?'a']", false, "is not compared"},
		{"$.items[?@.a && 1]", false, "is not compared"},
		{"$.items[?!@.a == 1]", false, "put the comparison in parentheses"},
		{"$.items[?(@.a]", false, "( that is not closed"},
		{"$.items[?@.a == 'x]", false, "a text that is not closed"},
		{"$.items[?@.a = 1]", false, "not closed"},
		{"$.items[?@.a == ]", false, "not a query such as @.id"},
		{"$.items[?@.a == 01]", false, "not closed"},
		{"$.items[?@.a == 1.]", false, "not closed"},
		{"$.items[?price > 10]", false, "not a query such as @.id"},
		{"$.items[?@.a =~ 'x']", false, "not closed"},
		{"$.items[?", false, "not a query such as @.id"},
		{"$.items[(@.length-1)]", true, "script"},
		{"$[0,0]", true, "repeats"},
		{`$["a",'a']`, true, "repeats"},
		{"$[*,0]", true, "in one bracket"},
		{"$[0,1:2]", true, "in one bracket"},
		{"$[0,-1]", true, "in one bracket"},
		{"$..[0:1]", true, "directly after"},
		{"$..[-1]", true, "directly after"},
		{"$..['a','b']", true, "together"},
		{"$.*['a','b']", true, "together"},
		{"$[0,1].*", true, "together"},
		{"$[::-1]..a", true, "together"},
		{"$[1:-1]", true, "negative index"},
		{"$[2:0:-1]", true, "backwards"},
		{"$[::0]", true, "step 0"},
		{`$..["0"]`, true, "looks like a number"},
		{`$["a","1e3"]`, true, "looks like a number"},
		{`$['1',0]`, true, "looks like a number"},
		{"$" + strings.Repeat("[0,1]", 7), true, "combinations"},
		{"$..a..b", true, "more than one"},
		{"$..a.b..[0]", true, "more than one"},
		{"$[01]", false, "plain number"},
		{"$[-0]", false, "plain number"},
		{"$[-]", false, "plain number"},
		{"$[9007199254740992]", false, "plain number"},
		{"$[-9007199254740992]", false, "plain number"},
		{"$[99999999999999999999]", false, "plain number"},
		{"$[2000:3000:9223372036854774784]", false, "plain number"},
		{"$[1.0]", false, "not closed"},
		{"$[1", false, "not closed"},
		{"$[1:2:3:4]", false, "not closed"},
		{"$[1 2]", false, "not closed"},
		{"$[0,]", false, "something"},
		{"$[]", false, "something"},
		{"$[", false, "not closed"},
		{"$[" + strings.Repeat("[", 200), false, "something"},
		{"$[a]", false, "something"},
		{"$['a]", false, "not closed"},
		{"$['\x01']", false, "control character"},
		{`$['\"']`, false, "with an escape that JSON does not know"},
		{`$["\x"]`, false, "escape"},
		{`$["\'"]`, false, "escape"},
		{`$["\ud800"]`, false, "escape"},
		{`$["\udc00"]`, false, "escape"},
		{`$["\ud800\u0041"]`, false, "escape"},
		{`$["\`, false, "not closed"},
		{"$.", false, "plain name"},
		{"$.1a", false, "plain name"},
		{"$.-a", false, "plain name"},
		{"$. a", false, "plain name"},
		{"$.total*2", false, "operators"},
		{"$.length()", false, "operators"},
		{"$..", false, "without a name"},
		{"$.. a", false, "without a name"},
		{" $.a", false, "does not start with $"},
		{"$.a ", false, "operators"},
		{"1+1", false, "does not start with $"},
		{`"literal"`, false, "does not start with $"},
		{"a.b", false, "does not start with $"},
		{"-a", false, "does not start with $"},
		{"date('2020-01-01')", false, "does not start with $"},
		{"true ? 1 : 2", false, "does not start with $"},
		{`{"a":$.total}`, false, "does not start with $"},
		{"@.a", false, "does not start with $"},
		{"$argsx", false, "operators"},
		{strings.Repeat("(", 100), false, "does not start with $"},
	} {
		_, err := jsonpath.Parse(tt.path)
		if problem, ok := errors.AsType[*jsonpath.Error](err); !ok || !strings.Contains(err.Error(), tt.problem) ||
			problem.Unsupported != tt.unsupported {
			t.Errorf("Parse(%.80q): %v, want %q, unsupported %t", tt.path, err, tt.problem, tt.unsupported)
		}
	}
}

// The longest path, and one with as many combinations as are allowed.
func TestGateAcceptsItsBounds(t *testing.T) {
	for _, path := range []string{"$." + strings.Repeat("a", 254), "$" + strings.Repeat("[0,1]", 6), "$[-9007199254740991]"} {
		if _, err := jsonpath.Compile(path); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestSteps(t *testing.T) {
	for path, want := range map[string]string{
		"$": "[]", "order-id": "[{order-id false}]", "$.a['b'][-1].c[*].d": "[{a false} {b false} { true} {c false}]",
		"$args.a": "[{a false}]", "$..a": "[]", "$.a[0,1].b": "[{a false}]",
	} {
		s, err := jsonpath.Parse(path)
		if got := fmt.Sprint(s.Steps()); err != nil || got != want {
			t.Errorf("%s: %s, %v, want %s", path, got, err, want)
		}
	}
}

func TestRoots(t *testing.T) {
	for _, tt := range []struct {
		path string
		root jsonpath.Root
	}{
		{"$args.order_id", jsonpath.Args},
		{"$args['order_id'][0]", jsonpath.Args},
		{"$args", jsonpath.Args},
		{"$args ['a']", jsonpath.Args},
		{"$.args", jsonpath.Response},
		{"args", jsonpath.Response},
	} {
		s, err := jsonpath.Parse(tt.path)
		if err != nil || s.Root != tt.root {
			t.Errorf("%s: root %d, %v", tt.path, s.Root, err)
		}
	}
}

func zeros(n int) string { return "[" + strings.Repeat("0,", n-1) + "0]" }

func deep(levels int, inner string) string {
	return strings.Repeat(`{"x":[`, levels/2) + inner + strings.Repeat(`]}`, levels/2)
}

// The price of a path is known before anything is selected. These have 10,000 steps.
func TestPrices(t *testing.T) {
	for _, tt := range []struct {
		name, path, doc string
		want            error
	}{
		{"a name beside many values", `$.a`, `{"a":1,"b":` + zeros(100_000) + `}`, nil},
		{"an index far in", `$[99999]`, zeros(100_000), nil},
		{"a wildcard above many values", `$[*].x`, `[{"x":1,"y":{"z":` + zeros(100_000) + `}}]`, nil},
		{"a wildcard", `$[*]`, zeros(1000), nil},
		{"a wildcard over many values", `$[*]`, zeros(10_000), jsonpath.ErrTooMuch},
		{"a wildcard that finds nothing", `$[*].a`, zeros(10_000), jsonpath.ErrTooMuch},
		{"a descent in a flat document", `$..a`, zeros(1000), jsonpath.ErrNotFound},
		{"a descent in a deep document", `$..a`, deep(20, zeros(1000)), jsonpath.ErrTooMuch},
		{"a descent in the deepest document", `$..x`, deep(64, `1`), jsonpath.ErrTooMuch},
		{"two names for each element", `$[0:]["a","b"]`, zeros(1000), jsonpath.ErrNotFound},
		{"sixteen names for each element", `$[0:]["a","b","c","d"][0,1,2,3]`, zeros(1000), jsonpath.ErrTooMuch},
		{"members of an object", `$.*`, `{` + manyNames(1000) + `}`, nil},
		{"members of a wide object", `$.*`, `{` + manyNames(10_000) + `}`, jsonpath.ErrTooMuch},
		{"a filter", `$[?@ == 1]`, zeros(1000), jsonpath.ErrNotFound},
		{"a filter with many conditions", `$[?` + strings.Repeat("@.a == 1 || ", 10) + `@.b]`, zeros(1000), jsonpath.ErrTooMuch},
		{"a filter with many values", `$[?` + strings.Repeat("@ == 1 || ", 10) + `@]`, zeros(1000), jsonpath.ErrTooMuch},
		{"a filter that looks far in", `$[?@.a.b.c.d.e.f.g.h.i.j]`, zeros(1000), jsonpath.ErrTooMuch},
		{"values compared with a number", `$[?@.a == 1 || @.b == 1]`, `[{"a":` + zeros(4000) + `,"b":` + zeros(4000) + `}]`, jsonpath.ErrNotFound},
		{"values compared with each other", `$[?@.a == @.b]`, `[{"a":` + zeros(4000) + `,"b":` + zeros(4000) + `}]`, nil},
		{"often", `$[?@.a == @.b && @.b == @.a]`, `[{"a":` + zeros(4000) + `,"b":` + zeros(4000) + `}]`, jsonpath.ErrTooMuch},
		{"a long name above many values", `$.*.*`, `{"` + strings.Repeat("x", 10_000) + `":` + zeros(1000) + `}`, jsonpath.ErrTooMuch},
	} {
		p, err := jsonpath.Compile(tt.path)
		if err != nil {
			t.Fatal(err)
		}
		var found error
		document := jsonpath.NewDocument([]byte(tt.doc), 10_000)
		spent := cost.Allocated(func() { _, found = p.Find(document, maxBytes) })
		if found != tt.want || tt.want == jsonpath.ErrTooMuch && spent > 64<<10 { // the runtime allocates a little meanwhile
			t.Errorf("%s: err = %v, want %v; %d bytes allocated", tt.name, found, tt.want, spent)
		}
	}
}

func manyNames(n int) string {
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf(`"n%d":0`, i))
	}
	return strings.Join(names, ",")
}

func TestBytes(t *testing.T) {
	for _, tt := range []struct {
		path, doc string
		maxBytes  int
		want      error
	}{
		{`$[*]`, `["ab","cd"]`, 11, nil},
		{`$[*]`, `["ab","cd"]`, 10, jsonpath.ErrTooLarge},
		{`$[1]`, `["ab","cd"]`, 4, nil},
		{`$[1]`, `["ab","cd"]`, 3, jsonpath.ErrTooLarge},
		{`$..x`, deep(64, `1`), 1000, jsonpath.ErrTooLarge}, // matches inside matches
	} {
		p, err := jsonpath.Compile(tt.path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Find(jsonpath.NewDocument([]byte(tt.doc), maxSteps), tt.maxBytes); err != tt.want {
			t.Errorf("%s in %s: err = %v, want %v", tt.path, tt.doc, err, tt.want)
		}
	}
}

// All paths into one document share its steps; what they select and what they write counts.
func TestStepsAreShared(t *testing.T) {
	for _, tt := range []struct {
		name, path, doc string
		maxBytes        int
		least, most     int // how many times the path is evaluated
	}{
		{"selected", `$[*]`, zeros(1000), maxBytes, 5, 20},
		{"written", `$[0]`, `["` + strings.Repeat("x", 10_000) + `"]`, maxBytes, 10, 50},
		{"too large to be written", `$[0]`, `["` + strings.Repeat("x", 10_000) + `"]`, 100, 10, 50},
	} {
		p, err := jsonpath.Compile(tt.path)
		if err != nil {
			t.Fatal(err)
		}
		document, times := jsonpath.NewDocument([]byte(tt.doc), 50_000), 0
		for err != jsonpath.ErrTooMuch && times < 1000 {
			_, err = p.Find(document, tt.maxBytes)
			times++
		}
		if times < tt.least || times > tt.most {
			t.Errorf("%s: evaluated %d times, want %d to %d", tt.name, times, tt.least, tt.most)
		}
	}
}

// FuzzCost checks that no path allocates more than its document and its steps allow, whatever the
// shape of the document.
func FuzzCost(f *testing.F) {
	f.Add(`$..*`, []byte(`[[[1,2],[3]],{"a":{"b":[]}}]`))
	f.Add(`$[*][0:]["a","b","c"]`, []byte(`{"a":[1,2,{"b":3}]}`))
	f.Add(`$.*.*..b.*`, []byte(`{"a":{"b":{"b":"x"}}}`))
	f.Add(`$..x[*]..*`, []byte(`0`))
	f.Add(`$..[?@.a == @.b || @["a"][0] >= 'x' && !@]`, []byte(`{"a":["x",{"c":1e5}],"b":["x",{"c":1e5}]}`))
	f.Add(`$.*.*.*`, []byte(`{"`+strings.Repeat("x", 1000)+`":[[1,2],[3]]}`))
	f.Fuzz(func(t *testing.T, text string, piece []byte) {
		path, err := jsonpath.Compile(text)
		if err != nil || len(piece) > 1<<10 {
			return
		}
		limits := rawjson.Limits{Mode: rawjson.Unique, Depth: 32}
		if rawjson.Check(piece, limits) != nil {
			return
		}
		const steps, times = 10_000, 3
		for _, doc := range [][]byte{
			piece, cost.List("[", piece, "]")(200), cost.Members("", piece, "")(200), []byte(deep(30, string(piece))),
			[]byte(deep(30, string(cost.List("[", piece, "]")(200)))),
		} {
			cost.Within(t, text, len(doc)+steps, 1<<10, func() {
				document := jsonpath.NewDocument(doc, steps)
				for range times {
					_, _ = path.Find(document, 1<<20)
				}
			})
		}
	})
}

func suite(t *testing.T, file string) []byte {
	root := os.Getenv("TOOLWIRE_SUITES")
	if root == "" {
		root = filepath.Join("..", "..", "..", "shared", "suites")
	}
	data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
	if errors.Is(err, os.ErrNotExist) {
		t.Skipf("the conformance suite %s is not here; put the suites beside the project or name their folder in "+
			"TOOLWIRE_SUITES", file)
	}
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Of each case of the JSONPath Compliance Test Suite, a path is evaluated or refused as the suite
// says, or it is outside. The sums of the rows are in docs/design.md.
func TestComplianceSuite(t *testing.T) {
	type row struct {
		name           string
		cases          string // matches their selectors, if no row above does
		right, outside int
	}
	rows := []row{
		{"filters", `\?`, 236, 147},
		{"white space", `^\$[^'"]*[ \n\t\r]|^\$\['a'.?[ \n\t\r]|^\$\['a',[ \n\t\r]|^ `, 59, 0},
		{"descents", `\.\.`, 9, 2},
		{"unions", `,`, 5, 7},
		{"slices", `\[[-+.\w]*:`, 56, 13},
		{"indexes", `\[[-+]?\d`, 18, 0},
		{"wildcards", `\*`, 4, 0},
		{"names in brackets", `\[["']`, 132, 0},
		{"names after a dot", `\.`, 13, 0},
		{"the root", `^\$$`, 1, 0},
		{"empty brackets", `^\$\[\]$`, 1, 0},
	}
	var cts struct {
		Tests []struct {
			Name     string            `json:"name"`
			Selector string            `json:"selector"`
			Document json.RawMessage   `json:"document"`
			Result   json.RawMessage   `json:"result"`
			Results  []json.RawMessage `json:"results"`
			Invalid  bool              `json:"invalid_selector"`
		} `json:"tests"`
	}
	if err := json.Unmarshal(suite(t, "jsonpath/cts.json"), &cts); err != nil {
		t.Fatal(err)
	}
	found := make([]row, len(rows))
	for _, tt := range cts.Tests {
		i := slices.IndexFunc(rows, func(r row) bool { return regexp.MustCompile(r.cases).MatchString(tt.Selector) })
		if i < 0 {
			t.Errorf("%s: %q does not belong to a row", tt.Name, tt.Selector)
			continue
		}
		syntax, err := jsonpath.Parse(tt.Selector)
		switch problem, _ := errors.AsType[*jsonpath.Error](err); {
		case problem != nil && problem.Unsupported:
			found[i].outside++
			continue
		case problem != nil != tt.Invalid:
			t.Errorf("%s (%s): %q: err = %v, but the suite says invalid %t", tt.Name, rows[i].name, tt.Selector, err, tt.Invalid)
			continue
		case tt.Invalid:
			found[i].right++
			continue
		}
		got, err := find(t, tt.Selector, string(tt.Document))
		if errors.Is(err, jsonpath.ErrNotFound) {
			got, err = "[]", nil
		} else if !syntax.Many() {
			got = "[" + got + "]"
		}
		if err != nil {
			t.Errorf("%s: %q: %v", tt.Name, tt.Selector, err)
		}
		if tt.Result != nil {
			tt.Results = append(tt.Results, tt.Result)
		}
		found[i].right++
		if !slices.ContainsFunc(tt.Results, func(want json.RawMessage) bool {
			return reflect.DeepEqual(decode(t, got), decode(t, string(want)))
		}) {
			t.Errorf("%s (%s): %q found %s, want one of %s", tt.Name, rows[i].name, tt.Selector, got, tt.Results)
		}
	}
	for i, row := range rows {
		if found[i].right != row.right || found[i].outside != row.outside {
			t.Errorf("%s: %d right and %d outside, want %d and %d", row.name, found[i].right, found[i].outside, row.right, row.outside)
		}
	}
}

func decode(t testing.TB, doc string) any {
	dec := json.NewDecoder(strings.NewReader(doc))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("%s: %v", doc, err)
	}
	return v
}

// plain is the syntax that reference reads.
var (
	plainNumber   = `(-?[1-9]\d{0,2}|0)`
	plainSelector = `(\*|'\w*'|` + plainNumber + `|` + plainNumber + `?:` + plainNumber + `?(:` + plainNumber + `?)?)`
	plainBracket  = `\[` + plainSelector + `(,` + plainSelector + `)*\]`
	plainSegment  = regexp.MustCompile(`^(\.{1,2}([A-Za-z_][\w-]*|\*)|(\.\.)?` + plainBracket + `)`)
	plain         = regexp.MustCompile(`^\$(` + plainSegment.String()[1:] + `)*$`)
)

// reference evaluates a path of the plain syntax on a decoded document as RFC 9535 describes it,
// without the code under test.
func reference(v any, path string) []any {
	found := []any{v}
	for path != "" {
		seg := plainSegment.FindString(path)
		path = path[len(seg):]
		if strings.HasPrefix(seg, "..") {
			var all []any
			for _, v := range found {
				all = append(all, descendants(v)...)
			}
			found = all
		}
		var next []any
		sels := selectors(strings.TrimLeft(seg, "."))
		for _, v := range found {
			for _, sel := range sels {
				next = append(next, selected(v, sel)...)
				// The one deviation, which the comment of package ledger names.
				object, _ := v.(map[string]any)
				if v, ok := object[sel]; ok && (len(sels) > 1 || strings.HasPrefix(seg, "..")) {
					next = append(next, v)
				}
			}
		}
		found = next
	}
	return found
}

// descendants returns a value and everything in it.
func descendants(v any) []any {
	all := []any{v}
	for _, child := range selected(v, "*") {
		all = append(all, descendants(child)...)
	}
	return all
}

func selectors(seg string) []string {
	if inner, ok := strings.CutPrefix(seg, "["); ok {
		return strings.Split(strings.TrimSuffix(inner, "]"), ",")
	}
	if seg != "*" {
		seg = "'" + seg + "'"
	}
	return []string{seg}
}

// selected returns the children that a selector selects.
func selected(v any, sel string) (found []any) {
	object, _ := v.(map[string]any)
	array, _ := v.([]any)
	number := func(text string, omitted int) int {
		if text != "" {
			fmt.Sscan(text, &omitted)
		}
		return omitted
	}
	switch {
	case sel == "*":
		names := slices.Collect(maps.Keys(object))
		slices.SortFunc(names, func(a, b string) int { return strings.Compare(sortable(a), sortable(b)) })
		for _, name := range names {
			found = append(found, object[name])
		}
		return append(found, array...)
	case sel[0] == '\'':
		if v, ok := object[strings.Trim(sel, "'")]; ok {
			found = append(found, v)
		}
	case !strings.Contains(sel, ":"):
		if i := number(sel, 0); i >= 0 && i < len(array) {
			found = append(found, array[i])
		} else if i < 0 && -i <= len(array) {
			found = append(found, array[len(array)+i])
		}
	default:
		parts := append(strings.Split(sel, ":"), "")
		step := number(parts[2], 1)
		normal := func(text string, omitted int) int {
			if i := number(text, omitted); text != "" && i < 0 {
				return len(array) + i
			} else {
				return i
			}
		}
		for i := normal(parts[0], 0); step > 0 && i < min(normal(parts[1], len(array)), len(array)); i += step {
			if i < 0 {
				i -= step // the first index is 0
				i = max(i, -step)
				continue
			}
			found = append(found, array[i])
		}
		for i := min(normal(parts[0], len(array)-1), len(array)-1); step < 0 && i > max(normal(parts[1], -1), -1); i += step {
			if i >= 0 {
				found = append(found, array[i])
			}
		}
	}
	return found
}

// sortable is a text in whose order names are sorted: numbers come first.
func sortable(name string) string {
	if n, err := strconv.ParseUint(name, 10, 60); err == nil && strconv.FormatUint(n, 10) == name {
		return fmt.Sprintf("0 %20d", n)
	}
	return "1" + name
}

// same fails the test if the result of a path differs from the result of the reference.
func same(t *testing.T, path string, doc []byte) {
	t.Helper()
	p, err := jsonpath.Compile(path)
	if err != nil {
		t.Fatalf("%q passed the gate but not the library: %v", path, err)
	}
	value, err := p.Find(jsonpath.NewDocument(doc, maxSteps), maxBytes)
	want := reference(decode(t, string(doc)), strings.TrimPrefix(path, "$"))
	if err != nil {
		if len(want) > 0 && err != jsonpath.ErrTooLarge && err != jsonpath.ErrTooMuch {
			t.Fatalf("%s in %s: %v, want %v", path, doc, err, want)
		}
		return
	}
	got := decode(t, string(value))
	if !p.Many() {
		got = []any{got}
	}
	if !reflect.DeepEqual(got, any(want)) {
		t.Fatalf("%s in %s: %v, want %v", path, doc, got, want)
	}
}

// TestRandomPaths compares with the reference. Several paths share a document, like the paths of an
// adapter do.
func TestRandomPaths(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 11))
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	var value func(depth int) string
	value = func(depth int) string {
		var parts []string
		switch n := r.IntN(5); {
		case depth == 0 || r.IntN(4) == 0:
			return pick(`1`, `"x"`, `null`, `-2.5e1`, `{}`, `[]`)
		case r.IntN(2) == 0:
			for range n {
				parts = append(parts, value(depth-1))
			}
			return "[" + strings.Join(parts, " ,") + "]"
		default:
			names := []string{`"a"`, `"b"`, `"c-d"`, `""`}
			r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
			for _, name := range names[:min(n, 4)] {
				parts = append(parts, name+": "+value(depth-1))
			}
			return "{" + strings.Join(parts, ", ") + "}"
		}
	}
	number := func() string { return pick("0", "1", "2", "3", "-1", "-2", "-3", "9", "-9") }
	selector := func() string {
		switch r.IntN(5) {
		case 0:
			return "*"
		case 1:
			return pick("", number()) + ":" + pick("", number())
		case 2:
			return pick("", number()) + ":" + pick("", number()) + ":" + pick("", number())
		case 3:
			return number()
		}
		return pick("'a'", "'b'", "''")
	}
	segment := func() string {
		switch r.IntN(4) {
		case 0:
			return pick(".a", ".b", ".c-d")
		case 1:
			return ".*"
		case 2:
			return "[" + selector() + "]"
		}
		return "[" + selector() + "," + selector() + "]"
	}
	evaluated := 0
	for range 1000 {
		doc := []byte(value(5))
		shared := jsonpath.NewDocument(doc, maxSteps)
		for range 8 {
			path := "$"
			for range r.IntN(4) {
				path += segment()
			}
			if r.IntN(3) == 0 {
				path += strings.Replace(".."+pick("a", "*", segment()), "...", "..", 1) + pick("", segment())
			}
			if !plain.MatchString(path) {
				t.Fatalf("%s is not in the syntax of the reference", path)
			}
			p, err := jsonpath.Compile(path)
			if problem, ok := errors.AsType[*jsonpath.Error](err); ok && problem.Unsupported {
				continue
			}
			same(t, path, doc)
			alone, errAlone := p.Find(jsonpath.NewDocument(doc, maxSteps), maxBytes)
			found, err := p.Find(shared, maxBytes)
			if err != errAlone || !bytes.Equal(found, alone) {
				t.Fatalf("%s in %s: after other paths %s, %v; alone %s, %v", path, doc, found, err, alone, errAlone)
			}
			evaluated++
		}
	}
	if evaluated < 4000 {
		t.Errorf("%d paths: too few to mean anything", evaluated)
	}
}

// FuzzFind checks that the result agrees with the reference on any document and is the same every
// time.
func FuzzFind(f *testing.F) {
	f.Add(`$.a.b[0]`, []byte(`{"a":{"b":[1]}}`))
	f.Add(`$..a[*].b`, []byte(`{"z":{"a":[{"b":1},{"b":[2]}]},"a":{"a":{"b":3}}}`))
	f.Add(`$[*][1]`, []byte(`{"b":["\"",{"x":"\\"}],"a":[1,2.50]}`))
	f.Add(`$.a`, []byte(`{"\u0061":1e3}`))
	f.Add(`$..[0,'a',-1][::-1]`, []byte(`{"a":[[1,2],3]}`))
	f.Fuzz(func(t *testing.T, path string, doc []byte) {
		if _, err := jsonpath.Parse(path); err != nil {
			return
		}
		p, err := jsonpath.Compile(path)
		if err != nil {
			t.Fatalf("%q passed the gate but not the library", path)
		}
		err = rawjson.Read(doc, rawjson.Limits{}, func(r *rawjson.Reader) (err error) {
			doc, err = r.Value()
			return err
		})
		if err != nil {
			return
		}
		value, err := p.Find(jsonpath.NewDocument(doc, maxSteps), maxBytes)
		again, errAgain := p.Find(jsonpath.NewDocument(doc, maxSteps), maxBytes)
		if err != errAgain || !bytes.Equal(value, again) {
			t.Fatalf("%s: %s, %v and then %s, %v", path, value, err, again, errAgain)
		}
		if plain.MatchString(path) && err != jsonpath.ErrTooMuch {
			same(t, path, doc)
		}
		for _, document := range []func(n int) []byte{cost.List("[", doc, "]"), cost.Members("", doc, "")} {
			cost.Linear(t, path, doc, document, func(doc []byte) {
				_, _ = p.Find(jsonpath.NewDocument(doc, maxSteps), maxBytes)
			})
		}
	})
}

// What the library alone makes of a path. Each line is a reason for the gate, or for the way in which
// it writes a path. The test fails if an update of the library changes one.
func TestWhyTheLibraryIsGuarded(t *testing.T) {
	const failure = "an error"
	for _, tt := range []struct{ path, doc, want string }{
		{`"literal"`, `{}`, `"literal"`},
		{`$[name]`, `{"name":1,"1":2}`, `2`},
		{`$["0"]`, `[1]`, `1`},
		{`$["1e0"]`, `[1,2]`, `2`},
		{`$[0]`, `{"0":1}`, `1`},
		{`$[0,1]`, `{"0":1}`, `[1]`},
		{`$..[0]`, `{"0":1}`, `[1]`},
		{`$['name']`, `{"name":1}`, failure},
		{`$.order-id`, `{"order-id":1}`, failure},
		{`$[-1]`, `[1,2]`, failure},
		{`$[0,-1]`, `[1,2]`, `[1]`},
		{`$[2:0:-1]`, `[1,2,3]`, `[]`},
		{`$[0:2:-1]`, `[1,2,3]`, `[2,1]`},
		{`$[::0]`, `[1,2,3]`, `[1,2,3]`},
		{`$[1:-1]`, `[1,2,3]`, `[]`},
		{`$[:-1]`, `[1,2,3]`, `[]`},
		{`$["a",*]`, `{"a":1}`, `[1]`},
		{`$[0,1:2]`, `[1,2]`, failure},
		{`$..[0:1]`, `[1]`, failure},
	} {
		got := failure
		if v, err := library.Get(tt.path, decode(t, tt.doc)); err == nil {
			text, _ := json.Marshal(v)
			got = string(text)
		}
		if got != tt.want {
			t.Errorf("%s in %s: %s, and it was %s", tt.path, tt.doc, got, tt.want)
		}
	}
}
