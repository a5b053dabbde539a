package httpcall_test

import (
	"net/http"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/toolwire/toolwire/internal/cost"
	"github.com/toolwire/toolwire/internal/httpcall"
	"github.com/toolwire/toolwire/internal/redact"
)

// FuzzReadRefusal: whatever a server says, its texts are short, on one line, without the secret, and read in linear time.
func FuzzReadRefusal(f *testing.F) {
	const secret = "hunter22-hunter22"
	for _, body := range []string{
		`{"detail":[{"loc":["body","name"],"msg":"is required","type":"missing"}]}`, `{"error":"not_found","message":"hunter22-hunter22"}`,
		`{"detail":{"error_class":"run_over"}}`, `{"error":{"code":7,"message":["a",{"b":1}]}}`, "<html>\x1b[31m\u202e", `[1,[2,[3]]]`, `{"a":1,"a":2}`, "\xff",
	} {
		f.Add([]byte(body), "application/json")
	}
	f.Fuzz(func(t *testing.T, body []byte, media string) {
		header := http.Header{"Content-Type": {media}}
		said := httpcall.ReadRefusal(header, body, redact.New(secret))
		texts := append([]string{said.Class, said.Text, said.Message()}, said.Codes...)
		for _, s := range said.Statements {
			texts = append(texts, s.Code, s.Pointer, s.Message)
		}
		if len(said.Statements) > 100 || len(said.Codes) > 100 {
			t.Errorf("%d statements, %d codes", len(said.Statements), len(said.Codes))
		}
		for _, text := range texts {
			if len(text) > 1100 || !utf8.ValidString(text) || strings.Contains(text, secret) || strings.ContainsFunc(text, unicode.IsControl) {
				t.Errorf("%q of %q", text, body)
			}
		}
		cost.Linear(t, "a refusal", body, cost.List(`{"detail":[`, body, "]}"), func(doc []byte) { httpcall.ReadRefusal(header, doc, nil) })
	})
}
