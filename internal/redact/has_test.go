package redact

import (
	"encoding/base64"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

func TestHas(t *testing.T) {
	for text, want := range map[string]bool{
		"": false, "hunter2": false, "say hunter22!": true, `h\u0075nter22`: true, `h\\u0075nt\er22`: true, "%68unter2%32": true, "%2568unter22": true,
		`\n%~`: false, "aHVudGVyMjI": true, "x=aHVudGVyMjI%3d": true, "%61HVudGVyMjI": true, "aHVudGVyMg": false, `hunter2\n2`: false, "h~unter22": false,
		`\U0068UNTER22`: false, `\U0068unter22`: true, `%5cu0068unter22`: true, `u0068unter22`: false, `\n u0068unter22`: true,
	} {
		if got := Has([]byte(text), "hunter22"); got != want || New("hunter22").Redact(text) == text && want {
			t.Errorf("%s: %t", text, got)
		}
	}
	for _, test := range []struct{ text, secret string }{
		{`a%2Fb`, "a/b"}, {`a~1b`, "a/b"}, {"x%2541y", `x\%41y`},
		{`U004aHh4e\Hg`, "SM8hxxxx"}, // its form in base64 looks like an escape
		{"Pz8_aHVudGVyMjI", "???hunter22"}, {"Pj4-aHVudGVyMjI", ">>>hunter22"},
		{"XFxcXFx%63XFw", `\\\\\\\\`},
	} {
		if !Has([]byte(test.text), test.secret) {
			t.Errorf("%s is not found in %s", test.secret, test.text)
		}
	}
	if Has([]byte(`a\b`), `\\\\`) {
		t.Error("backslashes without a secret are found")
	}
}

// Wherever a form stands in a long text, it is found.
func TestHasInALongText(t *testing.T) {
	filler := strings.Repeat("an innocent text, hunter2 or aHVudGVyM ", 200)
	for _, form := range []string{"hunter22-and-more", "%68unter22-and-more", `hunter22\u002Dand-more`,
		base64.StdEncoding.EncodeToString([]byte("hunter22-and-more")), base64.URLEncoding.EncodeToString([]byte("xhunter22-and-more")),
		base64.StdEncoding.EncodeToString([]byte("xyhunter22-and-more!")), `aHVudGVyMjItYW5kLW1vcmU%3d`} {
		for before := range 100 {
			text := strings.Repeat("-", before) + filler + strings.Repeat(".", before) + form
			for _, text := range []string{text, text + filler, text[len(text)-len(form)-before:] + filler} {
				if !Has([]byte(text), "hunter22-and-more") {
					t.Fatalf("%s is not found behind %d bytes", form, len(text)-len(form))
				}
			}
		}
		if Has([]byte(filler+form[:len(form)-8]+filler), "hunter22-and-more") {
			t.Errorf("a part of %s is found", form)
		}
	}
}

// A dispatch looks for the token in each body.
func TestHasDoesNotAllocate(t *testing.T) {
	for name, text := range map[string]string{"short": "a text", "long": strings.Repeat("a text ", 10_000), "escapes": strings.Repeat(`a "text\n" of \u00e9`, 10_000)} {
		if n := testing.AllocsPerRun(10, func() { Has([]byte(text), jwt) }); n > 1 { // 1 for the bytes of text
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

var escaped = regexp.MustCompile(`\\|%[0-7][0-9a-fA-F]|[uU]00[0-7][0-9a-fA-F]|~[01]`)

// undone undoes the escapes of a text one level after the other.
func undone(text string) string {
	for {
		next := escaped.ReplaceAllStringFunc(text, func(escape string) string {
			switch escape[0] {
			case '\\':
				return ""
			case '~':
				return map[string]string{"~0": "~", "~1": "/"}[escape]
			}
			c, _ := strconv.ParseUint(escape[len(escape)-2:], 16, 8)
			return string(rune(c))
		})
		if next == text {
			return text
		}
		text = next
	}
}

func FuzzHas(f *testing.F) {
	f.Add("hunter22", `say \u0068unter22 %68unter22`, uint16(0))
	f.Add("hunter22", `%61HVudGVyMjI`, uint16(5000))
	f.Add("aud?>hunter22", `xYXVkPz5odW50ZXIyMg`, uint16(4100))
	f.Add("~1~1", "~01~01", uint16(9))
	f.Add(`\unter22`, `\n unter22`, uint16(9))
	f.Add(`\\\\\\\\`, "XFxcXFx%63XFw", uint16(0))
	f.Add("SM8hxxxx", `U004aHh4e\Hg %%3`, uint16(1))
	f.Fuzz(func(t *testing.T, secret, text string, before uint16) {
		secret = strings.Map(func(c rune) rune { return c & 0x7f }, secret)
		text = strings.Repeat("an innocent text, ", int(before%8192)/18) + strings.Repeat("-", int(before%64)) + text
		forms := []string{secret}
		if len(secret) >= minBase64 {
			for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
				for shift := range 3 {
					encoded := encoding.EncodeToString([]byte("???"[:shift] + secret + "?"))
					forms = append(forms, encoded[(shift*8+5)/6:(shift+len(secret))*8/6])
				}
			}
		}
		want, escapes, bare := false, strings.ContainsAny(text, `\%~`), undone(text)
		for _, form := range forms {
			plain := undone(form)
			want = want || strings.Contains(text, form) || escapes && plain != "" && strings.Contains(bare, plain)
		}
		if got := Has([]byte(text), secret); got != want {
			t.Errorf("%q in %q: %t", secret, text, got)
		}
		if want && len(secret) >= minSecret && New(secret).Redact(text) == text {
			t.Errorf("%q is not hidden in %q", secret, text)
		}
	})
}
