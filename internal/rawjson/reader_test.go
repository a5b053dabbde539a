package rawjson_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/toolwire/toolwire/internal/cost"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/testkit"
)

type document struct {
	id    *int64
	name  string
	score float64
	raw   json.RawMessage
	inner json.RawMessage
	more  []string
}

// read is a small document type of the kind the packages have: known members, a nested object,
// unknown members.
func read(doc []byte, limits rawjson.Limits) (d document, err error) {
	err = rawjson.Read(doc, limits, func(r *rawjson.Reader) error {
		return r.Object([]string{"id", "name", "score", "raw", "nested"}, func(name string) (err error) {
			switch name {
			case "id":
				d.id, err = r.Int()
			case "name":
				d.name, err = r.String()
			case "score":
				d.score, err = r.Float()
			case "raw":
				d.raw, err = r.Value()
			case "nested":
				return r.Object([]string{"inner"}, func(name string) (err error) {
					if name == "inner" {
						d.inner, err = r.Value()
						return err
					}
					_, err = r.Value()
					return err
				})
			default:
				d.more = append(d.more, name)
				_, err = r.Value()
			}
			return err
		})
	})
	return d, err
}

func TestReadKeepsEverything(t *testing.T) {
	doc := []byte(` {"id":9007199254740993, "name":"é\"x", "score":1.5,
		"raw" : {"big": 12345678901234567890.000 ,"a":[1 , 2]}, "nested":{"inner":[true],"other":null},
		"unknown":1, "n\u0061me2":2} `)
	d, err := read(doc, rawjson.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if d.id == nil || *d.id != 9007199254740993 || d.name != `é"x` || d.score != 1.5 {
		t.Errorf("scalars: %+v", d)
	}
	if got, want := string(d.raw), `{"big": 12345678901234567890.000 ,"a":[1 , 2]}`; got != want {
		t.Errorf("raw = %s, want the bytes of the document, %s", got, want)
	}
	if &d.raw[0] != &doc[bytes.Index(doc, []byte(`{"big"`))] {
		t.Error("raw was copied; it must be a sub-slice of the document")
	}
	if cap(d.raw) != len(d.raw) {
		t.Error("appending to raw would overwrite the document")
	}
	if string(d.inner) != "[true]" {
		t.Errorf("inner = %s", d.inner)
	}
	if fmt.Sprint(d.more) != "[unknown name2]" {
		t.Errorf("unknown members = %q", d.more)
	}
}

func TestReadRefuses(t *testing.T) {
	for _, tt := range []struct {
		name, doc string
		pointer   string
		problem   string
	}{
		{"empty", ``, "", "ends before"},
		{"blank", "  \n", "", "ends before"},
		{"text", `hello`, "", "invalid character"},
		{"byte order mark", "\ufeff{}", "", "invalid character"},
		{"array", `[]`, "", "must be an object, not an array"},
		{"null", `null`, "", "must be an object, not null"},
		{"string", `"x"`, "", "must be an object, not a string"},
		{"truncated", `{"id":1`, "", "ends before"},
		{"second value", `{"id":1} {}`, "", "after top-level value"},
		{"trailing comma", `{"id":1,}`, "", "invalid character"},
		{"comment", `{/**/}`, "", "invalid character"},
		{"duplicate", `{"id":1,"id":2}`, "/id", "occurs twice"},
		{"duplicate by escape", `{"id":1,"\u0069d":2}`, "/id", "occurs twice"},
		{"duplicate of an unknown member", `{"x":1,"x":2}`, "/x", "occurs twice"},
		{"duplicate deep inside a raw value", `{"raw":{"a":[{"b":1,"b":2}]}}`, "/raw/a/0/b", "occurs twice"},
		{"upper case", `{"ID":1}`, "/ID", `must be "id"`},
		{"title case", `{"Name":"x"}`, "/Name", `must be "name"`},
		{"Unicode fold", "{\"ne\u017fted\":{}}", "/ne\u017fted", `must be "nested"`},
		{"wrong case inside", `{"nested":{"Inner":1}}`, "/nested/Inner", `must be "inner"`},
		{"control character at the end", "{\"name\":\"\x01", "/name", "in a string"},
		{"score is a string", `{"score":"1"}`, "/score", "range of a float64"},
		{"score is true", `{"score":true}`, "/score", "range of a float64"},
		{"invalid UTF-8", "{\"name\":\"\xff\"}", "/name", "invalid UTF-8"},
		{"invalid UTF-8 in a raw value", "{\"raw\":[\"\xc3\x28\"]}", "/raw/0", "invalid UTF-8"},
		{"lone surrogate", `{"raw":"\ud800"}`, "/raw", "surrogate"},
		{"NaN", `{"raw":NaN}`, "/raw", "invalid character"},
		{"leading zero", `{"id":01}`, "", "invalid character"},
		{"id is a fraction", `{"id":1.5}`, "/id", "must be an integer"},
		{"id is a string", `{"id":"1"}`, "/id", "must be an integer"},
		{"id is too large", `{"id":9223372036854775808}`, "/id", "at most 64 bits"},
		{"name is an object", `{"name":{}}`, "/name", "must be a string, not an object"},
		{"score out of range", `{"score":1e999}`, "/score", "range of a float64"},
		{"nested is a number", `{"nested":3}`, "/nested", "must be an object, not a number"},
		{"nested is null", `{"nested":null}`, "/nested", "must be an object, not null"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := read([]byte(tt.doc), rawjson.Limits{})
			e, ok := errors.AsType[*rawjson.Error](err)
			if !ok {
				t.Fatalf("err = %v, want a *rawjson.Error", err)
			}
			if e.Pointer != tt.pointer || !strings.Contains(e.Problem, tt.problem) {
				t.Errorf("got pointer %q, problem %q; want %q, %q", e.Pointer, e.Problem, tt.pointer, tt.problem)
			}
		})
	}
}

func TestLimits(t *testing.T) {
	deep := func(n int) string { return `{"raw":` + strings.Repeat("[", n-1) + strings.Repeat("]", n-1) + `}` }
	for _, tt := range []struct {
		name, doc string
		limits    rawjson.Limits
		problem   string // "" means accepted
	}{
		{"default depth", deep(256), rawjson.Limits{}, ""},
		{"over default depth", deep(257), rawjson.Limits{}, "more than 256 levels"},
		{"far over", deep(100_000), rawjson.Limits{}, "more than 256 levels"},
		{"own depth", deep(3), rawjson.Limits{Depth: 3}, ""},
		{"over own depth", deep(4), rawjson.Limits{Depth: 3}, "more than 3 levels"},
		{"brackets in a string", `{"raw":"` + strings.Repeat(`[\"{`, 300) + `"}`, rawjson.Limits{}, ""},
		{"wide is not deep", `{"raw":[` + strings.Repeat("[],", 300) + `[]]}`, rawjson.Limits{}, ""},
		{"a million values", `{"raw":[` + strings.Repeat("1,", 1_000_000) + `1]}`, rawjson.Limits{}, ""},
		{"a long number", `{"raw":` + strings.Repeat("1", 100_000) + `}`, rawjson.Limits{}, ""},
		{"digits in a string", `{"name":"` + strings.Repeat("1", 5000) + `"}`, rawjson.Limits{}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := read([]byte(tt.doc), tt.limits)
			if tt.problem == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			e, ok := errors.AsType[*rawjson.Error](err)
			if !ok || !strings.Contains(e.Problem, tt.problem) {
				t.Fatalf("err = %v, want %q", err, tt.problem)
			}
			if e.Limit != rawjson.LimitDepth {
				t.Errorf("Limit = %q: %v", e.Limit, err)
			}
		})
	}
}

func TestBoundOfValues(t *testing.T) {
	count := func(doc string, most int, walk func(*rawjson.Reader) error) (values int, err error) {
		err = rawjson.Read([]byte(doc), rawjson.Limits{Values: most}, func(r *rawjson.Reader) error {
			err := walk(r)
			values = r.Values()
			return err
		})
		return values, err
	}
	whole := func(r *rawjson.Reader) error {
		_, err := r.Value()
		return err
	}
	members := func(r *rawjson.Reader) error {
		return r.Object([]string{"known"}, func(name string) error {
			switch name {
			case "known":
				return r.Object(nil, func(string) error { return nil })
			case "left": // in the middle, and then skipped
				_ = r.Object(nil, func(string) error { return errors.New("stop") })
			}
			return nil
		})
	}
	for doc, want := range map[string]int{
		`1`: 1, ` [ ] `: 1, `{}`: 1, `[[],{}]`: 3, `{"a":1}`: 3,
		`{"a":[1,"x",true,false,null,{"b":{}},[]]}`:             12,
		` [ "a,[1,2]\"{}" , "\\" ] `:                            3,
		`{"known":{"a":[],"b":{"c":0}},"x":{"y":[1,2]},"z":-1}`: 17,
		`{"left":{"a":{"b":[1,2]},"c":3},"known":{}}`:           13,
	} {
		for name, walk := range map[string]func(*rawjson.Reader) error{"whole": whole, "members": members} {
			if name == "members" && doc[0] != '{' {
				continue
			}
			if got, err := count(doc, want, walk); err != nil || got != want {
				t.Errorf("%s, %s: %d values, %v, want %d", doc, name, got, err, want)
			}
			_, err := count(doc, want-1, walk)
			if e, ok := errors.AsType[*rawjson.Error](err); want > 1 && (!ok || e.Limit != rawjson.LimitValues || e.Pointer != "") {
				t.Errorf("%s, %s, most %d: %v", doc, name, want-1, err)
			}
		}
	}
}

func TestBoundOfNumbers(t *testing.T) {
	long := strings.Repeat("7", 65)
	for _, tt := range []struct {
		doc     string
		length  int
		limit   rawjson.Limit
		pointer string
	}{
		{`[false,12]`, 1, rawjson.LimitNumberLen, "/1"},
		{`{"a":[1,` + long[:64] + `]}`, 64, "", ""},
		{`{"a":[1,` + long + `]}`, 64, rawjson.LimitNumberLen, "/a/1"},
		{`-` + long[:64], 64, rawjson.LimitNumberLen, ""},
		{`{"a":"` + long + `"}`, 64, "", ""},
		{`{"\ud800":"\ud800","a":` + long + `,"a":1}`, 64, rawjson.LimitNumberLen, "/a"},
		{`[` + long + `,1,1]`, 65, "", ""},
		{`{"a":[1e400,1E-400,1e+400,0.5e00,"1e999",1e0000400]}`, 64, "", ""},
		{`{"a":[1e400,1e401]}`, 64, rawjson.LimitExponent, "/a/1"},
		{`[0.` + long + `e401]`, 100, rawjson.LimitExponent, "/0"},
		{`[1E-401]`, 64, rawjson.LimitExponent, "/0"},
		{`1e99999999999999999999`, 64, rawjson.LimitExponent, ""},
		{`[1234]`, 3, rawjson.LimitNumberLen, "/0"},
	} {
		err := rawjson.BoundNumbers([]byte(tt.doc), tt.length, 400)
		e, _ := errors.AsType[*rawjson.Error](err)
		if (err == nil) != (tt.limit == "") || err != nil && (e.Limit != tt.limit || e.Pointer != tt.pointer) {
			t.Errorf("%s: %v, want limit %q at %q", tt.doc, err, tt.limit, tt.pointer)
		}
	}
}

func TestErrorsOfTheWalkAreReturnedAsTheyAre(t *testing.T) {
	mine := errors.New("mine")
	err := rawjson.Read([]byte(`{"a":1}`), rawjson.Limits{}, func(r *rawjson.Reader) error {
		return r.Object(nil, func(string) error { return mine })
	})
	if err != mine {
		t.Fatalf("err = %v", err)
	}
}

func TestErrorsAreBounded(t *testing.T) {
	name := strings.Repeat("k", 100_000)
	_, err := read([]byte(`{"`+name+`":1,"`+name+`":2}`), rawjson.Limits{})
	if err == nil || len(err.Error()) > 1000 {
		t.Fatalf("error of %d bytes", len(fmt.Sprint(err)))
	}
}

// A name that a peer chose is safe to print.
func TestErrorsAreClean(t *testing.T) {
	const name = `a\n::b\u001b[2J ##[c] d`
	_, err := read([]byte(`{"`+name+`":1,"`+name+`":2}`), rawjson.Limits{})
	if want := "/a ::b\uFFFD[2J ## [c] d occurs twice in its object"; err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("%q, want %q", err, want)
	}
}

// FuzzRead checks agreement: what this package accepts, encoding/json accepts, and both see the
// same members.
func FuzzRead(f *testing.F) {
	for _, s := range []string{`{}`, `{"id":1,"raw":[{"a":1e3}]}`, `{"name":"\u00e9","x":{"y":[null,true]}}`, `{"a":1,"a":2}`, "{\"a\":\"\xff\"}", `[[[[`, `{"id":1}x`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		d, err := read(doc, rawjson.Limits{})
		if err != nil {
			if _, ok := errors.AsType[*rawjson.Error](err); !ok {
				t.Fatalf("untyped error %T: %v", err, err)
			}
			return
		}
		var std map[string]json.RawMessage
		if err := json.Unmarshal(doc, &std); err != nil {
			t.Fatalf("accepted what encoding/json refuses: %v", err)
		}
		if d.raw != nil && !bytes.Equal(d.raw, std["raw"]) {
			t.Fatalf("raw = %s, encoding/json has %s", d.raw, std["raw"])
		}
		for _, name := range d.more {
			if _, ok := std[name]; !ok {
				t.Fatalf("member %q is not in encoding/json's reading", name)
			}
		}
	})
}

// accepted says by encoding/json what a mode accepts. That package takes any bytes as text, lets
// names repeat and accepts half of a surrogate pair, so these are looked at apart from it.
func accepted(doc []byte, mode rawjson.Mode) bool {
	switch {
	case !utf8.Valid(doc) || !json.Valid(doc):
		return false
	case mode == rawjson.Liberal:
		return true
	case mode == rawjson.Strict && halfPair.Match(wholePair.ReplaceAll(doc, []byte("."))):
		return false
	}
	tokens := json.NewDecoder(bytes.NewReader(doc)) // of each name and value, and of each end
	tokens.UseNumber()
	count := 0
	for token, err := tokens.Token(); err == nil; token, err = tokens.Token() {
		if token != json.Delim('}') && token != json.Delim(']') {
			count++
		}
	}
	values := json.NewDecoder(bytes.NewReader(doc))
	values.UseNumber()
	var v any
	if err := values.Decode(&v); err != nil {
		panic(err)
	}
	return size(v) == count // else a name has stood twice
}

// size counts the names and values in a value.
func size(v any) int {
	n := 1
	switch v := v.(type) {
	case map[string]any:
		for _, member := range v {
			n += 1 + size(member)
		}
	case []any:
		for _, element := range v {
			n += size(element)
		}
	}
	return n
}

// An escaped backslash is a whole of its own, so that no u after it is read as an escape.
var (
	wholePair = regexp.MustCompile(`(?i)\\\\|\\ud[89ab]..\\ud[c-f]..`)
	halfPair  = regexp.MustCompile(`(?i)\\ud[89a-f]..`)
)

var modes = []rawjson.Mode{rawjson.Strict, rawjson.Unique, rawjson.Liberal}

// agree checks that every mode accepts exactly what encoding/json accepts, whole and member by
// member.
func agree(t *testing.T, doc []byte) {
	t.Helper()
	for _, mode := range modes {
		limits := rawjson.Limits{Depth: 9000, Mode: mode}
		want := accepted(doc, mode)
		var got json.RawMessage
		err := rawjson.Read(doc, limits, func(r *rawjson.Reader) (err error) {
			got, err = r.Value()
			return err
		})
		if (err == nil) != want {
			t.Fatalf("mode %d, document %.200q: err = %v; encoding/json accepts it: %t", mode, doc, err, want)
		}
		if err == nil && string(got) != string(bytes.Trim(doc, " \t\r\n")) {
			t.Fatalf("mode %d: value %.200q of document %.200q", mode, got, doc)
		}
		if err := rawjson.Read(doc, limits, members); (err == nil) != want {
			t.Fatalf("mode %d, document %.200q: err of the walk = %v; encoding/json accepts it: %t", mode, doc, err, want)
		}
	}
}

// members reads objects member by member and all else whole.
func members(r *rawjson.Reader) error {
	if r.Kind() == '{' {
		return r.Object(nil, func(string) error { return members(r) })
	}
	return value(r)
}

// FuzzAgreement checks against encoding/json that exactly the same documents are accepted.
func FuzzAgreement(f *testing.F) {
	for _, s := range []string{
		`{}`, ` [1,-0.5e+10,"a\u00e9\ud83d\ude00\n",true,false,null,{"a":{},"b":[]}] `, `{"a":1,"\u0061":2}`, "\"\xc3\x28\"", `"\ud800"`, `"\ud800\u0041"`,
		`01`, `1.`, `-`, `1e`, `tru`, `nul`, `[1,]`, `{"a"}`, `{"a":}`, `{,}`, `"\x"`, "\"\x01\"", `"\u12g4"`, "\"\xed\xa0\x80\"", `[[[]]]`, `{"a":"b","c":"12345678","d":"1234567"}`,
		`{"a":1,"b":{"a":1},"a":2}`, `{"\ud800":1,"\udfff":2}`, `{"\ufffd":1,"\ud800":2}`, `{"12345678":1,"123456789":2,"1234567":3,"\u0031234567":4}`,
		`{"a\u0000":1,"a":2,"\u0000a":{"b":1,"b":2}}`, "{\n        \"ä\" : 1 }", `"\udc00\ud800\udc00\ud800"`, `"\ud800\ud800\udc00"`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		agree(t, doc)
		for _, mode := range modes {
			limits := rawjson.Limits{Mode: mode}
			read := func(doc []byte) { _ = rawjson.Read(doc, limits, members) }
			cost.Within(t, "Read", len(doc), 200, func() { read(doc) })
			cost.Linear(t, "Read", doc, cost.List("[", doc, "]"), read)
			cost.Linear(t, "Read", doc, cost.Members("", doc, ""), read)
		}
	})
}

// TestMutations changes bytes of the benchmark's documents and moves parts of them about.
func TestMutations(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, size := range []int{60, 400, 4000} {
		for _, kind := range slices.Concat(testkit.Kinds, testkit.MoreKinds) {
			from := []byte(kind.Document(size))
			for range testkit.Size(160_000, 400_000) / size {
				doc := bytes.Clone(from)
				for range r.IntN(3) {
					i, j := r.IntN(len(doc)), r.IntN(len(doc))
					switch n := min(r.IntN(12), len(doc)-i, len(doc)-j); r.IntN(4) {
					case 0:
						doc[i] = byte(r.IntN(256))
					case 1:
						doc[i] = "\"\\{}[],: \n0-.eEtfnud\x1f\x7f\x80\xc3\xed\xff"[r.IntN(26)]
					case 2:
						doc = slices.Delete(doc, i, min(len(doc)-1, i+1+n))
					case 3:
						copy(doc[i:i+n], doc[j:j+n])
					}
				}
				agree(t, doc)
			}
		}
	}
}

// TestNames makes objects of few and many names, which repeat, have escapes, or have equal keys in
// the scanner.
func TestNames(t *testing.T) {
	names := []string{
		"", "a", "a\x00", "\x00a", "1234567", "1234567\x00", "12345678", "123456789", "ä", "日本", "a😀b", "a\nb", "\ufffd",
		"tgfllmze###@###@", "--,JHFUFo<[x9Ezt", "jmvhenbc########", "J+(l=*AGL`5$vHPD", // two pairs with equal keys
	}
	r := rand.New(rand.NewPCG(5, 6))
	text := func(name string) string {
		var b strings.Builder
		for _, c := range name {
			if c < ' ' || c < 0x10000 && r.IntN(6) == 0 {
				fmt.Fprintf(&b, `\u%04x`, c)
			} else {
				b.WriteRune(c)
			}
		}
		return b.String()
	}
	for n := range 5_000 {
		count := 2 + r.IntN(4)
		if n%5 == 0 {
			count = 40 + r.IntN(60)
		}
		var b strings.Builder
		for i := range count {
			name := names[r.IntN(len(names))]
			if r.IntN(count) > 4 {
				name = fmt.Sprintf("n%d%s", i, "xxxxxxxxxxxx"[:r.IntN(12)])
			}
			fmt.Fprintf(&b, `,"%s":{"%s":0}`, text(name), text(names[0]))
		}
		agree(t, []byte("{"+b.String()[1:]+"}"+"         "[:r.IntN(9)]))
	}
}

// TestDepthOfAWalk checks that the limit holds for objects that are read member by member.
func TestDepthOfAWalk(t *testing.T) {
	for depth, want := range map[int]bool{3: true, 4: false} {
		doc := strings.Repeat(`{"a":`, depth) + "0" + strings.Repeat("}", depth)
		err := rawjson.Read([]byte(doc), rawjson.Limits{Depth: 3}, members)
		e, _ := errors.AsType[*rawjson.Error](err)
		if (err == nil) != want || err != nil && (e == nil || e.Limit != rawjson.LimitDepth) {
			t.Errorf("depth %d: %v", depth, err)
		}
	}
}

func TestModes(t *testing.T) {
	const S, U, L = rawjson.Strict, rawjson.Unique, rawjson.Liberal
	for _, tt := range []struct {
		name, doc string
		accepted  []rawjson.Mode
	}{
		{"plain", `{"id":1,"x":{"y":2},"z":{"y":2}}`, []rawjson.Mode{S, U, L}},
		{"many long numbers", `{"raw":[` + strings.Repeat(strings.Repeat("7", 100)+",", 1000) + `7]}`, []rawjson.Mode{S, U, L}},
		{"the first and the last pair", `{"x":"\ud800\udc00\udbff\udfff\ud7ff\ue000"}`, []rawjson.Mode{S, U, L}},
		{"the last half of a pair", `{"x":"\udfff"}`, []rawjson.Mode{U, L}},
		{"first half of a pair", `{"x":"\ud83d"}`, []rawjson.Mode{U, L}},
		{"second half of a pair", `{"x":"\ude00 a"}`, []rawjson.Mode{U, L}},
		{"two first halves", `{"x":"\ud83d\ud83d\ude00"}`, []rawjson.Mode{U, L}},
		{"half a pair in a name", `{"\ud83d":1}`, []rawjson.Mode{U, L}},
		{"unknown member twice", `{"x":1,"x":2}`, []rawjson.Mode{L}},
		{"twice, by an escape", `{"x":1,"\u0078":2}`, []rawjson.Mode{L}},
		{"twice inside a value", `{"x":[{"id":1,"id":2}]}`, []rawjson.Mode{L}},
		{"names that decode to the same text", `{"x":{"\ud800":1,"\ud801":2}}`, []rawjson.Mode{L}},
		{"known member twice", `{"id":1,"id":2}`, nil},
		{"known member twice, by an escape", `{"id":1,"\u0069d":2}`, nil},
		{"known member in another case", `{"ID":1}`, nil},
		{"a byte that is not UTF-8", "{\"x\":\"\xff\"}", nil},
		{"half a pair as bytes", "{\"x\":\"\xed\xa0\xbd\"}", nil},
		{"truncated escape", `{"x":"\ud83"}`, nil},
	} {
		for _, mode := range modes {
			_, err := read([]byte(tt.doc), rawjson.Limits{Mode: mode})
			if want := slices.Contains(tt.accepted, mode); (err == nil) != want {
				t.Errorf("%s, mode %d: %v, accepted should be %t", tt.name, mode, err, want)
			}
		}
	}
}

func TestAmbiguousNamesAreMarked(t *testing.T) {
	for doc, want := range map[string]bool{
		`{"x":1,"x":2}`: true, `{"id":1,"id":2}`: true, `{"raw":{"a":1,"\u0061":2}}`: true, `{"x":1,"x"`: true, `{"x":1,}`: false, `{"ID":1}`: false,
	} {
		_, err := read([]byte(doc), rawjson.Limits{})
		if e, ok := errors.AsType[*rawjson.Error](err); !ok || e.Ambiguous != want {
			t.Errorf("%s: %v; Ambiguous should be %t", doc, err, want)
		}
	}
}

func TestExactNames(t *testing.T) {
	for doc, want := range map[string]string{
		`{"input":1,"Input":2,"INPUT":3,"Input":4}`: "input=1 Input=2 INPUT=3 Input=4 ",
		`{"input":1,"x":2,"input":3}`:               "",
		`{"token":1,"Token":2}`:                     "",
	} {
		got := ""
		err := rawjson.Read([]byte(doc), rawjson.Limits{Mode: rawjson.Liberal}, func(r *rawjson.Reader) error {
			return r.Object([]string{"token"}, func(name string) error {
				v, err := r.Value()
				got += name + "=" + string(v) + " "
				return err
			}, "input")
		})
		if (err == nil) != (want != "") || want != "" && got != want {
			t.Errorf("%s: %s, %v", doc, got, err)
		}
	}
}

func TestManyKnownNames(t *testing.T) {
	for _, count := range []int{1, 64, 65, 100} {
		var known []string
		var doc strings.Builder
		for i := range count {
			known = append(known, fmt.Sprint("n", i))
			fmt.Fprintf(&doc, `"n%d":%d,`, i, i)
		}
		for i := range count + 1 {
			again := fmt.Sprintf(`{%s"n%d":0}`, doc.String(), i)
			err := rawjson.Read([]byte(again), rawjson.Limits{Mode: rawjson.Liberal}, func(r *rawjson.Reader) error {
				return r.Object(known[1:], func(string) error { return nil }, known[0])
			})
			if (err == nil) != (i == count) {
				t.Errorf("n%d of %d again: %v", i, count, err)
			}
		}
	}
}

// TestReadChecksWhatWalkIgnores gives a walk that ignores errors, or stops, documents that are not
// valid.
func TestReadChecksWhatWalkIgnores(t *testing.T) {
	mine := errors.New("mine")
	walks := map[string]func(*rawjson.Reader) error{
		"reads nothing":           func(r *rawjson.Reader) error { return nil },
		"ignores errors":          func(r *rawjson.Reader) error { _, _ = r.Value(); return nil },
		"ignores them in objects": func(r *rawjson.Reader) error { _ = r.Object(nil, func(string) error { return nil }); return nil },
		"ignores them in members": func(r *rawjson.Reader) error {
			return r.Object(nil, func(string) error { _ = members(r); return nil })
		},
		"stops in the first member": func(r *rawjson.Reader) error {
			_ = r.Object(nil, func(string) error { return mine })
			return nil
		},
		"stops after the first member": func(r *rawjson.Reader) error {
			_ = r.Object(nil, func(string) error { _, _ = r.Value(); return mine })
			return nil
		},
		"stops in a member of a member": func(r *rawjson.Reader) error {
			return r.Object(nil, func(string) error { _ = r.Object(nil, func(string) error { return mine }); return nil })
		},
		"goes on after errors": func(r *rawjson.Reader) error {
			for range 3 {
				_ = r.Object(nil, func(string) error { _, _ = r.Value(); _, _ = r.Value(); return nil })
				_, _ = r.Value()
			}
			return nil
		},
	}
	const whole = `{"a":{"b":[1,"x"]},"c":{"d":2}}`
	for name, walk := range walks {
		for n := range len(whole) {
			if err := rawjson.Read([]byte(whole[:n]), rawjson.Limits{}, walk); err == nil {
				t.Errorf("a walk that %s: %s is accepted", name, whole[:n])
			}
		}
		for _, doc := range []string{`{"a":1}x`, `{"a":1,"a":2}`, `{"a":{"b":1},"c":tru}`, `{"a":1 "b":2}`, `{"a":[1}`} {
			if err := rawjson.Read([]byte(doc), rawjson.Limits{}, walk); err == nil {
				t.Errorf("a walk that %s: %s is accepted", name, doc)
			}
		}
		if name == "goes on after errors" {
			continue // it reads beyond the document
		}
		err := rawjson.Read([]byte(whole), rawjson.Limits{Depth: 3}, walk) // none of it is counted twice
		if _, ok := errors.AsType[*rawjson.Error](err); ok {
			t.Errorf("a walk that %s: %v", name, err)
		}
	}
}

func TestWideObjects(t *testing.T) {
	for _, n := range []int{15, 16, 17, 63, 64, 65, 127, 128, 129, 1000, 20_000} {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `"n%d":{"n%d":%d},`, i, i, i)
		}
		accept := func(doc string) error {
			return rawjson.Check([]byte(doc), rawjson.Limits{})
		}
		if err := accept("{" + b.String() + `"last":0}`); err != nil {
			t.Errorf("%d names: %v", n, err)
		}
		if err := accept(`{"last":{` + b.String() + `"last":0}}`); err != nil {
			t.Errorf("%d names and the last is also the name of their object: %v", n, err)
		}
		for _, again := range []string{"n0", fmt.Sprintf("n%d", n-1), fmt.Sprintf("n%d", n/2), `\u006e0`} {
			e, ok := errors.AsType[*rawjson.Error](accept("{" + b.String() + `"` + again + `":0}`))
			if want := "/" + strings.Replace(again, `\u006e`, "n", 1); !ok || e.Pointer != want || !strings.Contains(e.Problem, "twice") {
				t.Errorf("%d names and %s again: %v", n, again, e)
			}
		}
	}
}

func TestPointers(t *testing.T) {
	for doc, want := range map[string]string{
		`{"a":[1,{"b":x}]}`:               "/a/1/b",
		`{"a":[1,{"b":1 x}]}`:             "/a/1",
		`{"a":[1,{"b":"\q"}]}`:            "/a/1/b",
		`{"a":[1,{"\q":1}]}`:              "/a/1",
		`{"a":[1,{"b":[]},{"c":tru}]}`:    "/a/2/c",
		`{"a":[1,2 3]}`:                   "/a",
		`{"a":[1,]}`:                      "/a",
		`{"a":}`:                          "/a",
		`{"a" 1}`:                         "/a",
		`[{"a":1,"b":2`:                   "/0",
		`[1]]`:                            "",
		`{"a~/b":{"":[x]}}`:               "/a~0~1b//0",
		`{"a":"]}[{,:","b":x}`:            "/b",
		`{"a":1}x`:                        "",
		`[[],[[],[x]]]`:                   "/1/1/0",
		`{"a":{"b":1},"c":{"d":1,"d":2}}`: "/c/d",
	} {
		err := rawjson.Check([]byte(doc), rawjson.Limits{})
		e, ok := errors.AsType[*rawjson.Error](err)
		if !ok || e.Pointer != want {
			t.Errorf("%s: %v, want pointer %q", doc, err, want)
		}
	}
}

// BenchmarkRead reads three members of a document, one of them as it is written. The floor is
// Unmarshal of encoding/json.
func BenchmarkRead(b *testing.B) {
	for _, size := range []struct {
		name  string
		bytes int
	}{{"400B", 400}, {"64KB", 64 << 10}, {"1MB", 1 << 20}} {
		doc := []byte(`{"id":1,"name":"orders","raw":` + testkit.Kinds[0].Document(size.bytes) + `}`)
		b.Run(size.name+"/floor", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				var d struct {
					ID   *int64          `json:"id"`
					Name string          `json:"name"`
					Raw  json.RawMessage `json:"raw"`
				}
				if err := json.Unmarshal(doc, &d); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(size.name+"/toolwire", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := read(doc, rawjson.Limits{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// Known reads what String reads, whatever known is.
func TestKnown(t *testing.T) {
	for _, tt := range []struct{ doc, known, want string }{
		{`"abc"`, "abc", "abc"},
		{`"abc"`, "ab", "abc"},
		{`""`, "abc", ""},
		{`null`, "null", ""},
		{`"\u0061"`, "a", "a"},
		{`"\u0061"`, `\u0061`, "a"},
		{`"\\"`, `\\`, `\`},
	} {
		err := rawjson.Read([]byte(tt.doc), rawjson.Limits{}, func(r *rawjson.Reader) error {
			got, err := r.Known(tt.known)
			if got != tt.want {
				t.Errorf("Known(%q) of %s is %q, want %q", tt.known, tt.doc, got, tt.want)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
	err := rawjson.Read([]byte(`1`), rawjson.Limits{}, func(r *rawjson.Reader) error {
		_, err := r.Known("1")
		return err
	})
	if err == nil {
		t.Error("a number was read as a string")
	}
}

func value(r *rawjson.Reader) error { _, err := r.Value(); return err }
