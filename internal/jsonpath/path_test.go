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
	"strings"
	"testing"

	library "github.com/PaesslerAG/jsonpath"

	"github.com/toolwire/toolwire/internal/cost"
	"github.com/toolwire/toolwire/internal/jsonpath"
	"github.com/toolwire/toolwire/internal/strictjson"
)

const (
	maxValues = 1_000_000
	maxBytes  = 1 << 20
)

func find(t testing.TB, path, doc string) (string, error) {
	t.Helper()
	p, err := jsonpath.Compile(path)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	m, err := p.Find(jsonpath.NewDocument([]byte(doc), maxValues), maxBytes)
	return string(m.Value), err
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
		{"everything", `$`, `[1, 2]`, `[1, 2]`},
		{"index", `$.items[1].sku`, order, `"B"`},
		{"bytes of the document", `$.items[0]`, order, `{"sku":"A","qty":1}`},
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
		{"slice by zero", `$[::0]`, `[1,2,3]`, ``},
		{"slice of an object", `$[0:2]`, `{"0":1}`, ``},
		{"slice of one", `$[1:2]`, `[1,2]`, `[2]`},
		{"union of indexes", `$.items[2,0].sku`, order, `["A"]`},
		{"union of names, in its order", `$["order_id",'x-y']`, order, `["4521",1]`},
		{"union with a missing name", `$['nothing','x-y']`, order, `[1]`},
		{"union, the same twice", `$[0,0,-1]`, `[5]`, `[5,5,5]`},
		{"union of everything", `$[*,0,'a',1:]`, `[1,2]`, `[1,2,1,2]`},
		{"union on an object", `$[*,0,'a',1:]`, `{"b":2,"a":1}`, `[1,2,1]`},
		{"white space", "$ .to\n[ 'b' ] [\t'n'\r]", order, `2`},
		{"white space in a slice", `$.items[ 0 : 2 : 1 ].sku`, order, `["A","B"]`},
		{"a hyphen in a name", `$.x-y`, order, `1`},
		{"hyphens in a bare name", `x-y`, order, `1`},
		{"a hyphen and on", `$.a-1.b-`, `{"a-1":{"b-":3}}`, `3`},
		{"wildcard descent", `$..*`, `{"b":[1,{"c":2}],"a":{"d":3}}`, `[{"d":3},[1,{"c":2}],3,1,{"c":2},2]`},
		{"descent of a bracket", `$..[-1:]`, `[1,[2,3]]`, `[[2,3],3]`},
		{"descent of names", `$..['a','d']`, `[{"a":1,"d":2},{"d":3,"a":4}]`, `[1,2,4,3]`},
		{"descent, a value before what is inside its siblings", `$..x`, `{"b":{"x":1},"x":2}`, `[2,1]`},

		{"an index does not name a member", `$[0]`, `{"0":1}`, ``},
		{"a name does not index an array", `$["0"]`, `[1]`, ``},
		{"the empty name does not index an array", `$['']`, `[1]`, ``},
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
		{"$.items[?(@.price>10)]", true, "filter"},
		{"$.items[ ?@.price>10].x", true, "filter"},
		{"$.items[0, ?@.price>10]", true, "filter"},
		{"$.items[(@.length-1)]", true, "script"},
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
		{`$["\x"]`, false, "escape"},
		{`$["\'"]`, false, "escape"},
		{`$["\ud800"]`, false, "escape"},
		{`$["\udc00"]`, false, "escape"},
		{`$["\ud800\u0041"]`, false, "escape"},
		{`$["\`, false, "escape"},
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

// The cost of a hostile document is bounded by values and bytes, for every shape.
func TestLimits(t *testing.T) {
	nested := strings.Repeat(`{"a":`, 64) + `1` + strings.Repeat(`}`, 64)
	for _, tt := range []struct {
		name, path, doc  string
		values, maxBytes int
		want             error
	}{
		{"values", `$[*]`, `[1,2,3]`, 3, maxBytes, nil},
		{"too many values", `$[*]`, `[1,2,3,4]`, 3, maxBytes, jsonpath.ErrTooMuch},
		{"too many for a descent", `$..a`, nested, 63, maxBytes, jsonpath.ErrTooMuch},
		{"bytes", `$[*]`, `["ab","cd"]`, maxValues, 11, nil},
		{"too many bytes", `$[*]`, `["ab","cd"]`, maxValues, 10, jsonpath.ErrTooLarge},
		{"objects and values of a descent", `$..a`, nested, 1 + 2*64, maxBytes, nil},
		{"too many for a descent that finds all", `$..a`, nested, 2 * 64, maxBytes, jsonpath.ErrTooMuch},
		{"text passed over", `$[*].a`, `[{"b":"` + strings.Repeat("x", 480) + `"}]`, 3, maxBytes, jsonpath.ErrNotFound},
		{"too much text passed over", `$[*].a`, `[{"b":"` + strings.Repeat("x", 512) + `"}]`, 4, maxBytes,
			jsonpath.ErrTooMuch},
		{"matches inside matches", `$..a`, nested, maxValues, 3000, jsonpath.ErrTooLarge},
		{"names that are not there", `$['a','b','c']`, `{}`, 3, maxBytes, jsonpath.ErrNotFound},
		{"too many names that are not there", `$['a','b','c']`, `{}`, 2, maxBytes, jsonpath.ErrTooMuch},
		{"names compared", `$.z`, `{` + manyNames(128) + `}`, 8, maxBytes, jsonpath.ErrNotFound},
		{"too many names compared", `$.z`, `{` + manyNames(128) + `}`, 7, maxBytes, jsonpath.ErrTooMuch},
		{"every value again and again", `$` + strings.Repeat("[*,*]", 50),
			strings.Repeat("[", 60) + strings.Repeat("]", 60), maxValues, maxBytes, jsonpath.ErrTooMuch},
		{"every descendant again and again", `$..[*,*,::,::-1]` + strings.Repeat("[*,*]", 40),
			strings.Repeat("[", 60) + strings.Repeat("]", 60), maxValues, maxBytes, jsonpath.ErrTooMuch},
		{"children that a descent passes", `$..a`, `[` + strings.Repeat("0,", 159) + `0]`, 1 + 1 + 10 + 1, maxBytes,
			jsonpath.ErrNotFound},
		{"too many children that a descent passes", `$..a`, `[` + strings.Repeat("0,", 159) + `0]`, 1 + 1 + 10, maxBytes,
			jsonpath.ErrTooMuch},
		{"slices far beyond", `$[9007199254740991::-9007199254740991,-9007199254740991::9007199254740991]`, `[1]`, 2,
			maxBytes, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := jsonpath.Compile(tt.path)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := p.Find(jsonpath.NewDocument([]byte(tt.doc), tt.values), tt.maxBytes); err != tt.want {
				t.Errorf("err = %v, want %v", err, tt.want)
			}
		})
	}
}

func manyNames(n int) string {
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf(`"n%d":0`, i))
	}
	return strings.Join(names, ",")
}

// A large flat document costs one allocation per match and a few for each doubling of a list,
// whatever the path.
func TestAllocationsOfLargeDocuments(t *testing.T) {
	doc := []byte("[" + strings.Repeat("0,", 200_000) + "0]")
	for path, most := range map[string]float64{`$[-1]`: 100, `$[200000]`: 100, `$[-1:]`: 100, `$[::100000]`: 100,
		`$[0,-1]`: 100, `$..a`: 100, `$..[100]`: 100} {
		p, err := jsonpath.Compile(path)
		if err != nil {
			t.Fatal(err)
		}
		if n := testing.AllocsPerRun(2, func() { _, _ = p.Find(jsonpath.NewDocument(doc, maxValues), maxBytes) }); n > most {
			t.Errorf("%s: %.0f allocations, want at most %.0f", path, n, most)
		}
	}
}

// A document that is not valid must not end the process.
func TestPanicsAreContained(t *testing.T) {
	for _, doc := range []string{``, `{`, `{"a`, `{"a":`, `[1`} {
		if _, err := find(t, "$.a[0]", doc); err == nil {
			t.Errorf("%q: no error", doc)
		}
		if _, err := find(t, "$..a", doc); err == nil {
			t.Errorf("%q: no error", doc)
		}
	}
	if _, err := find(t, "$.a", `{"a":`); err != jsonpath.ErrFailed {
		t.Errorf("err = %v, want ErrFailed", err)
	}
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

// Each row of the table in the comment of package ledger passes the cases of its kind in the
// JSONPath Compliance Test Suite. Every case of the suite belongs to one row.
func TestComplianceSuite(t *testing.T) {
	type row struct {
		name  string
		cases string // matches their selectors, if no row above does
		least int
		found int
	}
	rows := []row{
		{name: "filters are unsupported", cases: `\?`, least: 382},
		{name: "white space", cases: `^\$[^'"]*[ \n\t\r]|^\$\['a'.?[ \n\t\r]|^\$\['a',[ \n\t\r]|^ `, least: 50},
		{name: "one descent", cases: `\.\.`, least: 9},
		{name: "unions", cases: `,`, least: 9},
		{name: "slices", cases: `\[[-+.\w]*:`, least: 69},
		{name: "indexes", cases: `\[[-+]?\d`, least: 15},
		{name: "wildcards", cases: `\*`, least: 4},
		{name: "names in brackets", cases: `\[["']`, least: 100},
		{name: "names after a dot", cases: `\.`, least: 8},
		{name: "the root", cases: `^\$$`, least: 1},
		{name: "empty brackets", cases: `^\$\[\]$`, least: 1},
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
	for _, tt := range cts.Tests {
		i := slices.IndexFunc(rows, func(r row) bool { return regexp.MustCompile(r.cases).MatchString(tt.Selector) })
		if i < 0 {
			t.Errorf("%s: %q does not belong to a row", tt.Name, tt.Selector)
			continue
		}
		rows[i].found++
		syntax, err := jsonpath.Parse(tt.Selector)
		if i == 0 {
			if problem, ok := errors.AsType[*jsonpath.Error](err); !ok || !problem.Unsupported && !tt.Invalid {
				t.Errorf("%s: %q: err = %v, want unsupported", tt.Name, tt.Selector, err)
			}
			continue
		}
		if problem, ok := errors.AsType[*jsonpath.Error](err); ok != tt.Invalid || ok && problem.Unsupported {
			t.Errorf("%s (%s): %q: err = %v, but the suite says invalid %t", tt.Name, rows[i].name, tt.Selector, err, tt.Invalid)
		}
		if err != nil {
			continue
		}
		got, err := find(t, tt.Selector, string(bytes.TrimSpace(tt.Document)))
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
		if !slices.ContainsFunc(tt.Results, func(want json.RawMessage) bool {
			return reflect.DeepEqual(decode(t, got), decode(t, string(want)))
		}) {
			t.Errorf("%s (%s): %q found %s, want one of %s", tt.Name, rows[i].name, tt.Selector, got, tt.Results)
		}
	}
	for _, row := range rows {
		if row.found < row.least {
			t.Errorf("%s: %d cases, want at least %d: the suite has shrunk", row.name, row.found, row.least)
		}
		t.Logf("%s: %d cases", row.name, row.found)
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
		for _, v := range found {
			for _, sel := range selectors(strings.TrimLeft(seg, ".")) {
				next = append(next, selected(v, sel)...)
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
		for _, name := range slices.Sorted(maps.Keys(object)) {
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

// same fails the test if the result of a path differs from that of the reference.
func same(t *testing.T, path string, doc []byte) {
	t.Helper()
	p, err := jsonpath.Compile(path)
	if err != nil {
		t.Fatalf("%q passed the gate but not the library: %v", path, err)
	}
	m, err := p.Find(jsonpath.NewDocument(doc, maxValues), maxBytes)
	want := reference(decode(t, string(doc)), strings.TrimPrefix(path, "$"))
	if err != nil {
		if len(want) > 0 && err != jsonpath.ErrTooLarge && err != jsonpath.ErrTooMuch {
			t.Fatalf("%s in %s: %v, want %v", path, doc, err, want)
		}
		return
	}
	got := decode(t, string(m.Value))
	if !p.Many() {
		got = []any{got}
	}
	if !reflect.DeepEqual(got, any(want)) {
		t.Fatalf("%s in %s: %v, want %v", path, doc, got, want)
	}
}

// TestRandomPaths compares with the reference. Several paths share a document, as those of an
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
	matched := 0
	for range 1000 {
		doc := value(5)
		shared := jsonpath.NewDocument([]byte(doc), maxValues)
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
			same(t, path, []byte(doc))
			p, err := jsonpath.Compile(path)
			if err != nil {
				t.Fatal(err)
			}
			alone, errAlone := p.Find(jsonpath.NewDocument([]byte(doc), maxValues), maxBytes)
			m, err := p.Find(shared, maxBytes)
			if err != errAlone || !bytes.Equal(m.Value, alone.Value) {
				t.Fatalf("%s in %s: after other paths %s, %v; alone %s, %v", path, doc, m.Value, err, alone.Value, errAlone)
			}
			matched += m.Count
		}
	}
	if matched < 2000 {
		t.Errorf("%d matches: too few to mean anything", matched)
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
		err = strictjson.Read(doc, strictjson.Limits{}, func(r *strictjson.Reader) (err error) {
			doc, err = r.Value()
			return err
		})
		if err != nil {
			return
		}
		m, err := p.Find(jsonpath.NewDocument(doc, maxValues), maxBytes)
		again, errAgain := p.Find(jsonpath.NewDocument(doc, maxValues), maxBytes)
		if err != errAgain || !bytes.Equal(m.Value, again.Value) {
			t.Fatalf("%s: %s, %v and then %s, %v", path, m.Value, err, again.Value, errAgain)
		}
		if plain.MatchString(path) && err != jsonpath.ErrTooMuch {
			same(t, path, doc)
		}
		for _, document := range []func(n int) []byte{cost.List("[", doc, "]"), cost.Members("", doc, "")} {
			cost.Linear(t, path, doc, document, func(doc []byte) {
				_, _ = p.Find(jsonpath.NewDocument(doc, maxValues), maxBytes)
			})
		}
	})
}

// The table has the library's results for whole documents. Each line is a reason for the gate or
// the projection. The test fails if an update of the library changes one.
func TestWhyTheLibraryIsGuarded(t *testing.T) {
	get := func(path, doc string) (any, error) { return library.Get(path, decode(t, doc)) }
	if v, err := get(`"literal"`, `{}`); err != nil || v != "literal" {
		t.Errorf("an expression is no longer a path: %v, %v", v, err)
	}
	if v, err := get(`$["0"]`, `[1]`); err != nil || v != json.Number("1") {
		t.Errorf("a name no longer selects an element: %v, %v", v, err)
	}
	if v, err := get(`$[0]`, `{"0":1}`); err != nil || v != json.Number("1") {
		t.Errorf("an index no longer selects a member: %v, %v", v, err)
	}
	if _, err := get(`$['name']`, `{"name":1}`); err == nil {
		t.Error("single quotes are understood now")
	}
	if _, err := get(`$[-1]`, `[1,2]`); err == nil {
		t.Error("negative indexes are understood now")
	}
	if v, err := get(`$[2:0:-1]`, `[1,2,3]`); err != nil || len(v.([]any)) != 0 {
		t.Errorf("slices go backwards now: %v, %v", v, err)
	}
	if v, err := get(`$["a",*]`, `{"a":1}`); err != nil || len(v.([]any)) != 1 {
		t.Errorf("a wildcard adds to the selectors before it now: %v, %v", v, err)
	}
	if _, err := get(`$.order-id`, `{"order-id":1}`); err == nil {
		t.Error("a hyphen is part of a name now")
	}
	if _, err := get(`$..[0:1]`, `[1]`); err == nil {
		t.Error("a descent can end in a slice now")
	}
	if v, err := get(`$[1:-1]`, `[1,2,3]`); err != nil || len(v.([]any)) != 0 {
		t.Errorf("slices have changed: %v, %v", v, err)
	}
}
