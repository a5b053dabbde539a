package strictjson_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/toolwire/toolwire/internal/strictjson"
)

type document struct {
	id    *int64
	name  string
	score float64
	raw   json.RawMessage
	inner json.RawMessage
	more  []string
}

// read is a small document type of the kind the packages have: known members, a nested object, unknown members.
func read(doc []byte, limits strictjson.Limits) (d document, err error) {
	err = strictjson.Read(doc, limits, func(r *strictjson.Reader) error {
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
	d, err := read(doc, strictjson.Limits{})
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
		{"duplicate", `{"id":1,"id":2}`, "/id", "stands twice"},
		{"duplicate by escape", `{"id":1,"\u0069d":2}`, "/id", "stands twice"},
		{"duplicate of an unknown member", `{"x":1,"x":2}`, "/x", "stands twice"},
		{"duplicate deep inside a raw value", `{"raw":{"a":[{"b":1,"b":2}]}}`, "/raw/a/0/b", "stands twice"},
		{"upper case", `{"ID":1}`, "/ID", `must be "id"`},
		{"title case", `{"Name":"x"}`, "/Name", `must be "name"`},
		{"Unicode fold", "{\"ne\u017fted\":{}}", "/ne\u017fted", `must be "nested"`},
		{"wrong case inside", `{"nested":{"Inner":1}}`, "/nested/Inner", `must be "inner"`},
		{"invalid UTF-8", "{\"name\":\"\xff\"}", "/name", "invalid UTF-8"},
		{"invalid UTF-8 in a raw value", "{\"raw\":[\"\xc3\x28\"]}", "/raw/0", "invalid UTF-8"},
		{"lone surrogate", `{"raw":"\ud800"}`, "/raw", "surrogate"},
		{"NaN", `{"raw":NaN}`, "/raw", "invalid character"},
		{"leading zero", `{"id":01}`, "/id", "invalid character"},
		{"id is a fraction", `{"id":1.5}`, "/id", "must be an integer"},
		{"id is a string", `{"id":"1"}`, "/id", "must be an integer"},
		{"id is too large", `{"id":9223372036854775808}`, "/id", "at most 64 bits"},
		{"name is an object", `{"name":{}}`, "/name", "must be a string, not an object"},
		{"score out of range", `{"score":1e999}`, "/score", "range of a float64"},
		{"nested is a number", `{"nested":3}`, "/nested", "must be an object, not a number"},
		{"nested is null", `{"nested":null}`, "/nested", "must be an object, not null"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := read([]byte(tt.doc), strictjson.Limits{})
			e, ok := errors.AsType[*strictjson.Error](err)
			if !ok {
				t.Fatalf("err = %v, want a *strictjson.Error", err)
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
		limits    strictjson.Limits
		problem   string // "" means accepted
	}{
		{"default depth", deep(256), strictjson.Limits{}, ""},
		{"over default depth", deep(257), strictjson.Limits{}, "more than 256 levels"},
		{"far over", deep(100_000), strictjson.Limits{}, "more than 256 levels"},
		{"own depth", deep(3), strictjson.Limits{Depth: 3}, ""},
		{"over own depth", deep(4), strictjson.Limits{Depth: 3}, "more than 3 levels"},
		{"brackets in a string", `{"raw":"` + strings.Repeat(`[\"{`, 300) + `"}`, strictjson.Limits{}, ""},
		{"wide is not deep", `{"raw":[` + strings.Repeat("[],", 300) + `[]]}`, strictjson.Limits{}, ""},
		{"values", `{"raw":[1,2,3]}`, strictjson.Limits{Values: 8}, ""},
		{"over values", `{"raw":[1,2,3,4,5,6,7]}`, strictjson.Limits{Values: 8}, "more than 8 values"},
		{"over default values", `{"raw":[` + strings.Repeat("1,", 500_000) + `1]}`, strictjson.Limits{}, "more than 500000 values"},
		{"number", `{"raw":` + strings.Repeat("1", 64) + `}`, strictjson.Limits{}, ""},
		{"over number", `{"raw":` + strings.Repeat("1", 65) + `}`, strictjson.Limits{}, "more than 64 characters"},
		{"over number at the start", `{"score":-` + strings.Repeat("1", 70) + `}`, strictjson.Limits{}, "more than 64 characters"},
		{"digits in a string", `{"name":"` + strings.Repeat("1", 5000) + `"}`, strictjson.Limits{}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := read([]byte(tt.doc), tt.limits)
			if tt.problem == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			e, ok := errors.AsType[*strictjson.Error](err)
			if !ok || !strings.Contains(e.Problem, tt.problem) {
				t.Fatalf("err = %v, want %q", err, tt.problem)
			}
			word := map[strictjson.Limit]string{strictjson.LimitDepth: "levels", strictjson.LimitValues: "values", strictjson.LimitNumberLen: "characters"}[e.Limit]
			if word == "" || !strings.Contains(tt.problem, word) {
				t.Errorf("limit = %q for %q", e.Limit, tt.problem)
			}
		})
	}
}

func TestErrorsOfTheWalkAreReturnedAsTheyAre(t *testing.T) {
	mine := errors.New("mine")
	err := strictjson.Read([]byte(`{"a":1}`), strictjson.Limits{}, func(r *strictjson.Reader) error {
		return r.Object(nil, func(string) error { return mine })
	})
	if err != mine {
		t.Fatalf("err = %v", err)
	}
}

func TestErrorsAreBounded(t *testing.T) {
	name := strings.Repeat("k", 100_000)
	_, err := read([]byte(`{"`+name+`":1,"`+name+`":2}`), strictjson.Limits{})
	if err == nil || len(err.Error()) > 1000 {
		t.Fatalf("error of %d bytes", len(fmt.Sprint(err)))
	}
}

// FuzzRead checks agreement: what this package accepts, encoding/json accepts, and both see the same members.
func FuzzRead(f *testing.F) {
	for _, s := range []string{`{}`, `{"id":1,"raw":[{"a":1e3}]}`, `{"name":"\u00e9","x":{"y":[null,true]}}`, `{"a":1,"a":2}`, "{\"a\":\"\xff\"}", `[[[[`, `{"id":1}x`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		d, err := read(doc, strictjson.Limits{})
		if err != nil {
			if _, ok := errors.AsType[*strictjson.Error](err); !ok {
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

// FuzzAgreement checks against another strict parser that exactly the same documents are accepted.
func FuzzAgreement(f *testing.F) {
	for _, s := range []string{
		`{}`, ` [1,-0.5e+10,"a\u00e9\ud83d\ude00\n",true,false,null,{"a":{},"b":[]}] `, `{"a":1,"\u0061":2}`, "\"\xc3\x28\"", `"\ud800"`, `"\ud800\u0041"`,
		`01`, `1.`, `-`, `1e`, `tru`, `nul`, `[1,]`, `{"a"}`, `{"a":}`, `{,}`, `"\x"`, "\"\x01\"", `"\u12g4"`, "\"\xed\xa0\x80\"", `[[[]]]`, `{"a":"b","c":"12345678","d":"1234567"}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		var got json.RawMessage
		err := strictjson.Read(doc, strictjson.Limits{Depth: 9000, Values: 1 << 30, NumberLen: 1 << 30}, func(r *strictjson.Reader) (err error) {
			got, err = r.Value()
			return err
		})
		if want := jsontext.Value(doc).IsValid(); (err == nil) != want {
			t.Fatalf("err = %v; the other parser accepts it: %t", err, want)
		}
		if err == nil && string(got) != string(bytes.Trim(doc, " \t\r\n")) {
			t.Fatalf("value %q of document %q", got, doc)
		}
	})
}

func TestWideObjects(t *testing.T) {
	for _, n := range []int{15, 16, 17, 32, 33, 1000, 20_000} {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `"n%d":{"n%d":%d},`, i, i, i)
		}
		accept := func(doc string) error {
			return strictjson.Read([]byte(doc), strictjson.Limits{}, func(r *strictjson.Reader) error { _, err := r.Value(); return err })
		}
		if err := accept("{" + b.String() + `"last":0}`); err != nil {
			t.Errorf("%d names: %v", n, err)
		}
		for _, again := range []string{"n0", fmt.Sprintf("n%d", n-1), fmt.Sprintf("n%d", n/2), `\u006e0`} {
			e, ok := errors.AsType[*strictjson.Error](accept("{" + b.String() + `"` + again + `":0}`))
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
		`{"a":[1,]}`:                      "/a/1",
		`{"a~/b":{"":[x]}}`:               "/a~0~1b//0",
		`{"a":"]}[{,:","b":x}`:            "/b",
		`{"a":1}x`:                        "",
		`[[],[[],[x]]]`:                   "/1/1/0",
		`{"a":{"b":1},"c":{"d":1,"d":2}}`: "/c/d",
	} {
		err := strictjson.Read([]byte(doc), strictjson.Limits{}, func(r *strictjson.Reader) error { _, err := r.Value(); return err })
		e, ok := errors.AsType[*strictjson.Error](err)
		if !ok || e.Pointer != want {
			t.Errorf("%s: %v, want pointer %q", doc, err, want)
		}
	}
}

func BenchmarkRead(b *testing.B) {
	for _, size := range []int{400, 64 << 10, 1 << 20} {
		row := `{"sku":"A-1","price":12.5,"tags":["new","red"],"stock":{"helsinki":3,"turku":0}},`
		doc := []byte(`{"id":1,"name":"orders","raw":[` + strings.Repeat(row, max(1, size/len(row))) + `{}]}`)
		b.Run(fmt.Sprintf("%d/strict", size), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := read(doc, strictjson.Limits{}); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("%d/encoding-json", size), func(b *testing.B) {
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
	}
}
