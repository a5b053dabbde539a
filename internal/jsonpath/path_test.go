package jsonpath_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	library "github.com/PaesslerAG/jsonpath"

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
	const order = `{"order_id":"4521", "items" : [ {"sku":"A","qty":1},{"sku":"B"} ,7], "to":{"b":{"n":2},"a":{"n":1}},"x-y":1,"":0}`
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
	for _, tt := range []struct{ path, problem string }{
		{"", "is empty"},
		{"$." + strings.Repeat("a", 255), "at most 256"},
		{"$.\xff", "UTF-8"},
		{"$.items[?(@.price>10)]", "filter"},
		{"$.items[?@.price>10]", "filter"},
		{"$[1:2]", "slice"},
		{"$[:2]", "none of"},
		{"$[2000:3000:9223372036854774784]", "slice"},
		{"$[0,1]", "several"},
		{"$['a','b']", "several"},
		{"$[-1]", "negative"},
		{"$[01]", "plain number"},
		{"$[9007199254740992]", "plain number"},
		{"$[99999999999999999999]", "plain number"},
		{"$[1.0]", "none of"},
		{"$[1", "none of"},
		{"$[", "not closed"},
		{"$[" + strings.Repeat("[", 200), "none of"},
		{"$[a]", "none of"},
		{"$['a]", "not closed"},
		{"$['\x01']", "control character"},
		{`$["\x"]`, "escape"},
		{`$["\'"]`, "escape"},
		{`$["\ud800"]`, "escape"},
		{`$["\udc00"]`, "escape"},
		{`$["\ud800\u0041"]`, "escape"},
		{`$["\`, "escape"},
		{"$.", "plain name"},
		{"$.1a", "plain name"},
		{"$.x-y", "operators"},
		{"$.total*2", "operators"},
		{"$..*", "only ..name"},
		{"$..[0]", "only ..name"},
		{"$..", "only ..name"},
		{"$..a..b", "more than one"},
		{"$ .a", "operators"},
		{" $.a", "does not start with $"},
		{"$.a ", "operators"},
		{"1+1", "does not start with $"},
		{`"literal"`, "does not start with $"},
		{"a.b", "does not start with $"},
		{"date('2020-01-01')", "does not start with $"},
		{"true ? 1 : 2", "does not start with $"},
		{`{"a":$.total}`, "does not start with $"},
		{"@.a", "does not start with $"},
		{"$argsx", "operators"},
		{strings.Repeat("(", 100), "does not start with $"},
		{strings.Repeat("$[", 1<<20), "at most 256"},
	} {
		if _, err := jsonpath.Parse(tt.path); err == nil || !strings.Contains(err.Error(), tt.problem) {
			t.Errorf("Parse(%q): %v, want %q", tt.path, err, tt.problem)
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
		{"text passed over", `$[*].a`, `[{"b":"` + strings.Repeat("x", 480) + `"}]`, 4, maxBytes, jsonpath.ErrNotFound},
		{"too much text passed over", `$[*].a`, `[{"b":"` + strings.Repeat("x", 512) + `"}]`, 4, maxBytes, jsonpath.ErrTooMuch},
		{"matches inside matches", `$..a`, nested, maxValues, 3000, jsonpath.ErrTooLarge},
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

// gateSyntax is a second implementation of the gate's syntax.
var gateSyntax = regexp.MustCompile(`^\$(args)?(` + strings.Join([]string{
	`\.[A-Za-z_\x{80}-\x{10ffff}][0-9A-Za-z_\x{80}-\x{10ffff}]*`,
	`\["([^"\\\x00-\x1f]|\\["\\/bfnrt]|` + unicodeEscape + `)*"\]`,
	`\['([^'\\\x00-\x1f]|\\['\\/bfnrt]|` + unicodeEscape + `)*'\]`,
	`\[(0|[1-9][0-9]{0,14}|[1-8][0-9]{15}|900719925474099[01])\]`, `\.\*`, `\[\*\]`,
	`\.\.[A-Za-z_\x{80}-\x{10ffff}][0-9A-Za-z_\x{80}-\x{10ffff}]*`,
}, "|") + `)*$`)

const unicodeEscape = `\\u[0-9A-CEFa-cef][0-9A-Fa-f]{3}|\\u[dD][0-7][0-9A-Fa-f]{2}|` +
	`\\u[dD][89abAB][0-9A-Fa-f]{2}\\u[dD][c-fC-F][0-9A-Fa-f]{2}`

func suite(t *testing.T, file string) []byte {
	root := os.Getenv("TOOLWIRE_SUITES")
	if root == "" {
		root = filepath.Join("..", "..", "..", "shared", "suites")
	}
	data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
	if errors.Is(err, os.ErrNotExist) {
		t.Skipf("the conformance suite %s is not here; put the suites beside the project or name their folder in TOOLWIRE_SUITES", file)
	}
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// The cases of the JSONPath Compliance Test Suite that the gate accepts pass; all others are
// rejected.
func TestComplianceSuite(t *testing.T) {
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
	inside, refused := 0, 0
	for _, tt := range cts.Tests {
		syntax, err := jsonpath.Parse(tt.Selector)
		if (err == nil) != gateSyntax.MatchString(tt.Selector) {
			t.Errorf("%s: %q: err = %v, but the gate's syntax says otherwise", tt.Name, tt.Selector, err)
			continue
		}
		if err != nil {
			refused++
			continue
		}
		inside++
		if tt.Invalid {
			t.Errorf("%s: %q is invalid but passed the gate", tt.Name, tt.Selector)
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
		ok := false
		for _, want := range tt.Results {
			ok = ok || reflect.DeepEqual(decode(t, got), decode(t, string(want)))
		}
		if !ok {
			t.Errorf("%s: %q found %s, want one of %s", tt.Name, tt.Selector, got, tt.Results)
		}
	}
	if inside < 27 || refused < 247 {
		t.Errorf("%d cases inside the gate, %d refused: the suite or the gate has shrunk", inside, refused)
	}
	t.Logf("%d cases inside the gate, %d refused", inside, refused)
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

// reference evaluates a path of the gate's plain syntax on a decoded document, without the code
// under test.
func reference(v any, path string) []any {
	if path == "" {
		return []any{v}
	}
	object, _ := v.(map[string]any)
	array, _ := v.([]any)
	names := slices.Sorted(maps.Keys(object))
	var found []any
	switch {
	case strings.HasPrefix(path, ".."):
		name := regexp.MustCompile(`^\w+`).FindString(path[2:])
		rest := path[2+len(name):]
		for _, n := range names {
			if n == name {
				found = append(found, reference(object[n], rest)...)
			}
			found = append(found, reference(object[n], path)...)
		}
		for _, e := range array {
			found = append(found, reference(e, path)...)
		}
	case strings.HasPrefix(path, "[*]"):
		for _, n := range names {
			found = append(found, reference(object[n], path[3:])...)
		}
		for _, e := range array {
			found = append(found, reference(e, path[3:])...)
		}
	case strings.HasPrefix(path, "["):
		end := strings.IndexByte(path, ']')
		i := 0
		if _, err := fmt.Sscan(path[1:end], &i); err == nil && i < len(array) {
			found = reference(array[i], path[end+1:])
		}
	default:
		name := regexp.MustCompile(`^\w+`).FindString(path[1:])
		if inner, ok := object[name]; ok {
			found = reference(inner, path[1+len(name):])
		}
	}
	return found
}

// FuzzFind checks that the result agrees with the reference on any document and is the same every
// time.
func FuzzFind(f *testing.F) {
	f.Add(`$.a.b[0]`, []byte(`{"a":{"b":[1]}}`))
	f.Add(`$..a[*].b`, []byte(`{"z":{"a":[{"b":1},{"b":[2]}]},"a":{"a":{"b":3}}}`))
	f.Add(`$[*][1]`, []byte(`{"b":["\"",{"x":"\\"}],"a":[1,2.50]}`))
	f.Add(`$.a`, []byte(`{"\u0061":1e3}`))
	plain := regexp.MustCompile(`^\$(\.[A-Za-z_]\w*|\[(0|[1-9]\d?)\]|\[\*\]|\.\.[A-Za-z_]\w*)*$`)
	f.Fuzz(func(t *testing.T, path string, doc []byte) {
		syntax, err := jsonpath.Parse(path)
		if err != nil {
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
		if !plain.MatchString(path) {
			return
		}
		want := reference(decode(t, string(doc)), strings.TrimPrefix(path, "$"))
		if err != nil {
			if len(want) > 0 && err != jsonpath.ErrTooLarge {
				t.Fatalf("%s in %s: %v, want %v", path, doc, err, want)
			}
			return
		}
		got := decode(t, string(m.Value))
		if !syntax.Many() {
			got = []any{got}
		}
		if !reflect.DeepEqual(got, any(want)) {
			t.Fatalf("%s in %s: %v, want %v", path, doc, got, want)
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
	if v, err := get(`$[1:-1]`, `[1,2,3]`); err != nil || len(v.([]any)) != 0 {
		t.Errorf("slices have changed: %v, %v", v, err)
	}
}
