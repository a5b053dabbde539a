package runhtml

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/internal/redact"
)

func TestIndented(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{`{"a": 1.50, "b": []}`, `{"a":1.50,"b":[]}`},
		{`"x"`, `"x"`},
		{`{"first":"` + strings.Repeat("x", 40) + `","second":{"deep":[1,2,{"a\"b":"c,d"}]}}`,
			"{\n  \"first\": \"" + strings.Repeat("x", 40) + "\",\n  \"second\": {\"deep\":[1,2,{\"a\\\"b\":\"c,d\"}]}\n}"},
		{`<html>`, ""}, {``, ""}, {strings.Repeat("[", 65) + strings.Repeat("]", 65), ""},
	} {
		if got := string(indented(tt.in)); got != tt.want {
			t.Errorf("indented(%.60s) =\n%s\nwant\n%s", tt.in, got, tt.want)
		}
	}
}

// Laying JSON out changes nothing but white space, and never takes long.
func FuzzIndented(f *testing.F) {
	f.Add(`{"a":[1,{"b":"\\\""},"` + strings.Repeat("é,", 50) + `"]}`)
	f.Add(`[` + strings.Repeat(`{"k":[[]],"":{}},`, 20) + `1e400]`)
	f.Fuzz(func(t *testing.T, s string) {
		got := indented(s)
		if got == nil {
			return
		}
		var want, back bytes.Buffer
		if json.Compact(&want, []byte(s)) != nil || json.Compact(&back, got) != nil || want.String() != back.String() {
			t.Errorf("%q became %q", s, got)
		}
	})
}

func TestVisible(t *testing.T) {
	for in, want := range map[string]string{
		"a\nb\tc": "a\nb\tc", "\u202etxt.exe": "⟨U+202E⟩txt.exe", "\x00\x1b[0m": "⟨U+0000⟩⟨U+001B⟩[0m", "שלום": "שלום",
		"a\u200bb":                "a⟨U+200B⟩b",
		"a\U000E0041\u00ad\u2063": "a⟨U+E0041⟩⟨U+00AD⟩⟨U+2063⟩",
		"می\u200cخواهم 👩\u200d💻 \u0600": "می\u200cخواهم 👩\u200d💻 \u0600", "\xff": "\uFFFD",
	} {
		if got := visible(in); got != want {
			t.Errorf("visible(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestSecretsOf(t *testing.T) {
	texts := &Texts{Secrets: redact.New(`Bearer ab"cdefg`)}
	got := texts.JSON("x", json.RawMessage(`{"a":"Bearer ab\"cdefg","b":"ab\"cdefg!"}`))
	if strings.Contains(got.Shown, "cdefg") || strings.Count(got.Shown, redact.Placeholder) != 2 {
		t.Errorf("%s", got.Shown)
	}
	texts = &Texts{Secrets: redact.New(`Basic a/b<c"d\e`)} // in whatever way its JSON is written
	for _, written := range []string{`a/b<c"d\e`, `a/b<c\"d\\e`, `a\/b<c\"d\\e`, `a/b\u003cc\"d\\e`} {
		if got := texts.Line("x " + written + " y"); got != "x "+redact.Placeholder+" y" {
			t.Errorf("%s has become %s", written, got)
		}
	}
	if s := (&Texts{Secrets: redact.New("a")}).Line("banana"); s != "banana" {
		t.Errorf("a value of one letter made it %q", s)
	}
}
