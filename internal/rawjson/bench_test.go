package rawjson_test

import (
	"slices"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/testkit"
)

func value(r *rawjson.Reader) error { _, err := r.Value(); return err }

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
