// Package jsontext_test compares package rawjson with another strict reader of JSON, which becomes
// package encoding/json/jsontext.
package jsontext_test

import (
	"slices"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/testkit"
)

// accepted says what the other reader accepts in a mode. It has one option for escapes of half a
// surrogate pair and for bytes that are not UTF-8. Package rawjson accepts the former only, so the
// bytes are looked at apart from it.
func accepted(doc []byte, mode rawjson.Mode) bool {
	v := jsontext.Value(doc)
	switch mode {
	case rawjson.Unique:
		return utf8.Valid(doc) && v.IsValid(jsontext.AllowInvalidUTF8(true))
	case rawjson.Liberal:
		return utf8.Valid(doc) && v.IsValid(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	}
	return v.IsValid()
}

func value(r *rawjson.Reader) error { _, err := r.Value(); return err }

// members reads objects member by member and all else whole.
func members(r *rawjson.Reader) error {
	if r.Kind() == '{' {
		return r.Object(nil, func(string) error { return members(r) })
	}
	return value(r)
}

// FuzzAgreement checks that both accept the same documents and write them in the same form.
func FuzzAgreement(f *testing.F) {
	for _, kind := range slices.Concat(testkit.Kinds, testkit.MoreKinds) {
		f.Add([]byte(kind.Document(400)))
	}
	for _, s := range []string{
		`[1,-0.5e+10,"a\u00e9\ud83d\ude00\n\u001f\u007f\u2028</",true,false,null,{"b":{},"a":[]}]`, `{"a":1,"\u0061":2}`, `"\ud800\u0041"`,
		"\"\xc3\x28\"", "\"\xed\xa0\x80\"", `{"\ud800":1,"\udfff":2}`, `{"12345678":1,"123456789":2,"1234567":3,"\u0031234567":4}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		for _, mode := range []rawjson.Mode{rawjson.Strict, rawjson.Unique, rawjson.Liberal} {
			limits := rawjson.Limits{Depth: 9000, Mode: mode}
			want := accepted(doc, mode)
			for _, walk := range []func(*rawjson.Reader) error{value, members} {
				if err := rawjson.Read(doc, limits, walk); (err == nil) != want {
					t.Fatalf("mode %d, document %.200q: err = %v; the other reader accepts it: %t", mode, doc, err, want)
				}
			}
		}
		if !accepted(doc, rawjson.Unique) {
			return
		}
		same := jsontext.Value(slices.Clone(doc))
		if err := same.Compact(jsontext.PreserveRawStrings(false), jsontext.AllowInvalidUTF8(true)); err != nil {
			t.Fatal(err)
		}
		if got := rawjson.Parse(doc).Append(nil); string(got) != string(same) {
			t.Fatalf("%.200q is written as %.200q; the other writes %.200q", doc, got, same)
		}
	})
}

// BenchmarkValid checks documents of 64 KiB, strictly and in the liberal mode, beside
// jsontext.Value.IsValid. Neither makes a copy.
func BenchmarkValid(b *testing.B) {
	for _, kind := range slices.Concat(testkit.Kinds, testkit.MoreKinds) {
		doc := []byte(kind.Document(64 << 10))
		for _, mode := range []struct {
			name string
			mode rawjson.Mode
		}{{"strict", rawjson.Strict}, {"liberal", rawjson.Liberal}} {
			for _, way := range []struct {
				name  string
				valid func() bool
			}{
				{"jsontext", func() bool { return jsontext.Value(doc).IsValid() }},
				{"toolwire", func() bool { return rawjson.Read(doc, rawjson.Limits{Mode: mode.mode}, value) == nil }},
			} {
				b.Run(kind.Name+"/"+mode.name+"/"+way.name, func(b *testing.B) {
					b.ReportAllocs()
					for b.Loop() {
						if !way.valid() {
							b.Fatal("not valid")
						}
					}
				})
			}
		}
	}
}
