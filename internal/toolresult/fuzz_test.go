package toolresult_test

import (
	"testing"
	"unicode/utf8"

	"github.com/toolwire/toolwire/internal/cost"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/toolresult"
)

// FuzzForModel: whatever a tool answers, the model reads valid UTF-8 that is not much longer.
func FuzzForModel(f *testing.F) {
	for _, result := range []string{`{"error":"no such order"}`, `"a text"`, `{"error":null}`, `[1,2]`, "null", `"\ud83d"`, `{"error":{"message":"x"}}`, "\xff", ""} {
		f.Add([]byte(result), true)
	}
	f.Fuzz(func(t *testing.T, result []byte, failed bool) {
		if rawjson.Check(result, rawjson.Limits{Mode: rawjson.Liberal}) != nil {
			return // results are JSON
		}
		got := toolresult.ForModel(result, failed)
		if !utf8.ValidString(got.Text) || len(got.Text) > 6*len(result)+200 {
			t.Errorf("%q: %q", result, got.Text)
		}
		toolresult.Failed(result)
		cost.Linear(t, "a result", result, cost.List("[", result, "]"), func(doc []byte) {
			toolresult.ForModel(doc, failed)
			toolresult.Failed(doc)
		})
	})
}
