package toolbox_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/toolwire/toolwire"
)

// Responses of external tools may be any well-formed JSON.
func TestUnusualAnswers(t *testing.T) {
	for _, answer := range []string{
		`{"n":` + strings.Repeat("1234567890", 10) + `}`, `{"text":"cut \ud83d"}`, `{"a":1,"a":2}`,
		"[" + strings.Repeat("1,", 300_000) + "1]", strings.Repeat("9", 65), `"\ude00"`,
	} {
		box := parse(t, external, options(func(*http.Request) (int, string) { return 200, answer }))
		result, err := box.Call(t.Context(), "check", nil)
		if err != nil || string(result) != answer {
			t.Errorf("the answer %.80s: got %.80s, %v", answer, result, err)
		}
		read, err := box.CallForModel(t.Context(), "check", nil)
		if string(read.JSON) != answer || read.Failed || err != nil {
			t.Errorf("the answer %.80s: the model reads %.80s, %t, %v", answer, read.JSON, read.Failed, err)
		}
	}
	for _, answer := range []string{`{"a":01}`, "\"\xff\"", `{"a":1`, `{}{}`, strings.Repeat("[", 300) +
		strings.Repeat("]", 300)} {
		box := parse(t, external, options(func(*http.Request) (int, string) { return 200, answer }))
		if _, err := box.Call(t.Context(), "check", nil); toolwire.CodeOf(err) != toolwire.CodeBadResponse {
			t.Errorf("the answer %.80q: %v", answer, err)
		}
	}
}
