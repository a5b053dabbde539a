package redact

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/internal/cost"
)

const jwt = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJydW4tMSJ9.dBjftJeZ4CVP-mBZ_x8"

func TestRedact(t *testing.T) {
	percented := func(s string) string {
		var b strings.Builder
		for _, c := range []byte(s) {
			fmt.Fprintf(&b, "%%%02X", c)
		}
		return b.String()
	}
	quoted := func(s string) string {
		b, _ := json.Marshal(s)
		return string(b[1 : len(b)-1])
	}
	for _, secret := range []string{jwt, "Bearer " + jwt, `p"a\s/s <&> =1`, "schlüssel-ß-🔑",
		"pass phrase of four words"} {
		set := New(secret)
		for name, form := range map[string]string{
			"literal": secret, "JSON": quoted(secret), "JSON in JSON": quoted(quoted(secret)),
			"query": url.QueryEscape(secret), "path": url.PathEscape(secret),
			"query in lower case": percent.ReplaceAllStringFunc(url.QueryEscape(secret), strings.ToLower),
			"percent":             percented(secret), "percent twice": percented(percented(secret)),
			"percent in JSON": quoted(percented(secret)),
			"pointer":         strings.NewReplacer("~", "~0", "/", "~1").Replace(secret),
			"base64":          base64.StdEncoding.EncodeToString([]byte(secret)),
			"base64url":       base64.RawURLEncoding.EncodeToString([]byte("x" + secret + "yz")),
			"base64 percent":  percented(base64.StdEncoding.EncodeToString([]byte("ab" + secret))),
		} {
			if strings.HasPrefix(name, "percent") && strings.Contains(secret, "ß") {
				continue // Text finds the usual escapes of characters that are not ASCII, not escapes of escapes
			}
			got := set.Redact("say (" + form + ") again")
			if !strings.Contains(got, Placeholder) || !strings.HasPrefix(got, "say (") ||
				!strings.HasSuffix(got, ") again") {
				t.Errorf("%s of %s: %s", name, secret, got)
			}
			if again := set.Redact(got); again != got {
				t.Errorf("%s of %s changes again: %s", name, secret, again)
			}
			for _, part := range []string{jwt[:12], "phrase", "schl", percented(jwt[:8]),
				base64.StdEncoding.EncodeToString([]byte(secret))[8:]} {
				if strings.Contains(got, part) {
					t.Errorf("%s of %s leaves %s: %s", name, secret, part, got)
				}
			}
		}
	}
}

func TestRedactIsExact(t *testing.T) {
	for _, test := range []struct {
		secrets    []string
		text, want string
	}{
		{nil, `a \ b`, `a \ b`},
		{[]string{"", "a", "the"}, "the cat", "the cat"},
		{[]string{"hunter2"}, `say "\u0068unter2" \n%20 ~1`, `say "[redacted]" \n%20 ~1`},
		{[]string{"hunter2", "hunter2-and-more"}, "hunter2-and-more, hunter2", "[redacted], [redacted]"},
		{[]string{"hunter21", "hunter2"}, "aHVudGVyMjE aHVudGVyMg", "[redacted] aHVudGVyMg"}, // 8 bytes in base64, and 7
		{[]string{"abcabc"}, "abcabcabc.", "[redacted]."},
		{[]string{"abcdef", "defghi"}, "abcdefghi", "[redacted]"},
		{[]string{"Bearer hunter2"}, "hunter2 or Bearer hunter2", "[redacted] or [redacted]"},
		{[]string{"1234abcd"}, "is %41234abcd1 good?", "is %4[redacted]1 good?"},
		{[]string{"1234abcd"}, "is ~1234abcd1 good?", "is ~[redacted]1 good?"},
		{[]string{"hunter2"}, "~2 hunter~2", "~2 hunter~2"},
		{[]string{"\x8fabcdefg"}, `\u008fabcdefg`, `\u008fabcdefg`}, // of U+008F, which has two bytes
		{[]string{"secret/1"}, "at /x/secret~11", "at /x/[redacted]"},
		{[]string{"%a4bcdefgh"}, "äbcdefgh", "äbcdefgh"},
		{[]string{`\\\\`}, `a \\\\ b`, "a [redacted] b"},
		{[]string{"secret/1"}, "ä 100% of secret%2F1, secret~11 ~ü", "ä 100% of [redacted], [redacted] ~ü"},
	} {
		set := New(test.secrets...)
		if got, bytes := set.Redact(test.text), set.RedactBytes(test.text); got != test.want || string(bytes) != test.want {
			t.Errorf("%q hidden in %s: got %s and bytes %s, want %s", test.secrets, test.text, got, bytes, test.want)
		}
	}
	var none *Set
	if got, bytes := none.Redact("text"), none.RedactBytes("text"); got != "text" || string(bytes) != "text" {
		t.Errorf("the nil set: got %s and bytes %s", got, bytes)
	}
}

// Whichever way each character is escaped, and escaped again, nothing of the secret is left; nor
// where the secret looks like escapes itself.
func TestRedactFindsEverySpelling(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	spell := func(text string) string {
		var b strings.Builder
		for _, c := range []byte(text) {
			b.WriteString(strings.Repeat(`\`, random.IntN(3)))
			switch form := random.IntN(6); {
			case form == 0:
				fmt.Fprintf(&b, "%%%02x", c)
			case form == 1:
				fmt.Fprintf(&b, "%%%02X", c)
			case form == 2:
				fmt.Fprintf(&b, `\%c%04x`, "uU"[random.IntN(2)], c)
			case form == 3 && c == '/':
				b.WriteString("~1")
			case form == 3 && c == '~':
				b.WriteString("~0")
			default:
				b.WriteByte(c)
			}
		}
		return b.String()
	}
	for _, secret := range []string{jwt, "/~/~", `%2541\u0042~01`, `a\\b"c\d`, "~1~0~01", "%%%%", "u00u0041"} {
		set := New(secret)
		for range 500 {
			once, twice := spell(secret), spell(spell(secret))
			const want = "ä 100% of [redacted], not [redacted] ~ü"
			if got := set.Redact("ä 100% of " + once + ", not " + twice + " ~ü"); got != want {
				t.Fatalf("secret %s, spelled %s and %s: got %s", secret, once, twice, got)
			}
			if !Has([]byte(once), secret) || !Has([]byte("ä "+twice+" ~ü"), secret) {
				t.Fatalf("secret %s, spelled %s and %s: Has does not find it", secret, once, twice)
			}
		}
	}
}

// A secret is found however it and the text repeat themselves.
func TestSecretsThatRepeatThemselves(t *testing.T) {
	var words strings.Builder // in an order that hardly repeats itself
	for i := range uint(4096) {
		words.WriteByte("/~"[bits.OnesCount(i)%2])
	}
	secrets := []string{words.String(), "open-sesame"}
	for _, unit := range []string{"a", "/~", "%4", "u00", `\`, "ab"} {
		for _, length := range []int{63, 4095} {
			secrets = append(secrets, strings.Repeat(unit, length)[:length], strings.Repeat(unit, length)[:length]+"b")
		}
	}
	for _, secret := range secrets {
		set := New(secret)
		escaped := fmt.Sprintf("%%%02X", secret[0]) + secret[1:]
		for _, unit := range []string{"a", "/~", "%4", "u00", `\`, "ab", secret, escaped} {
			text := strings.Repeat(unit, 40_000/len(unit)) + secret
			if got := set.Redact(text); !strings.Contains(got, Placeholder) || strings.Contains(got, secret) {
				t.Errorf("%.8s… is not hidden behind %.8s…", secret, unit)
			}
		}
	}
}

// Redact takes memory for a few copies of the text, however many secrets and escapes it contains.
func TestRedactOfALongTextTakesLittleMemory(t *testing.T) {
	for unit, secret := range map[string]string{
		strings.Repeat("a line of text ", 6) + `\n`: jwt, `\n`: jwt, "aaaab": "aaaa", `aaaa\n`: "aaaa", `%61a\u0061a,`: "aaaa", "~1~0": "/~/~",
		`\\\"`: jwt, "%" + strings.Repeat("25", 300) + "41": jwt,
	} {
		set, text := New(secret), strings.Repeat(unit, 1_000_000/len(unit))+secret
		cost.Within(t, unit, len(text), 8, func() {
			if got := set.Redact(text); !strings.HasSuffix(got, Placeholder) {
				t.Errorf("%s: the text ends in %s", unit, got[len(got)-20:])
			}
		})
	}
}

// An escape of any length is hidden whole.
func TestRedactOfLongEscapes(t *testing.T) {
	for _, depth := range []int{100, 126, 127, 128, 1000} {
		nested := "%" + strings.Repeat("25", depth) + "75"
		text := "a" + nested + `h\u0075nter22` + nested + "b, h" + nested + "nter22!"
		if got, want := New("hunter22").Redact(text), "a"+nested+Placeholder+nested+"b, "+Placeholder+"!"; got != want {
			t.Errorf("%d: %s", depth, got)
		}
	}
}

func TestURL(t *testing.T) {
	for text, want := range map[string][]string{
		"https://user:pass@example.com/p?key=s%65cret&x=y": {"//user:pass@", "key=s%65cret&x=y", "pass", "secret", "y"},
		"https://us%40er:p%40ss@example.com":               {"", "//us@er:p@ss@", "p@ss"},
		"https://token@example.com":                        {"", "//token@", "token"},
		"https://example.com/a@b":                          {""},
		"/relative path":                                   {""},
		"%zz":                                              {"%zz"},
		"user:pass@example.com/p":                          {"user:pass@example.com/p"},
	} {
		got := URL(text)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}

// An error of net/url quotes the URL as Go does, and a key that was read from a file often ends in a line break.
func TestControlCharactersInAURL(t *testing.T) {
	for _, end := range []string{"\n", "\r\n", "\x7f", "\a", "\"\x01"} {
		text := "https://example.com/?key=hunter22" + end
		_, err := url.Parse(text)
		if shown := New(URL(text)...).Redact(err.Error()); strings.Contains(shown, "hunter22") {
			t.Errorf("%q: %s", end, shown)
		}
	}
}

func FuzzText(f *testing.F) {
	f.Add("hunter22", "say \\u0068unter22 %68unter22")
	f.Add("~1~1", "~01~01")
	f.Fuzz(func(t *testing.T, secret, text string) {
		set := New(secret)
		got := set.Redact(text)
		if set.Redact(text+"\n"+secret) == text+"\n"+secret && len(secret) >= minSecret {
			t.Errorf("%q stays after %q", secret, text)
		}
		if len(secret) >= minSecret && strings.Contains(strings.ReplaceAll(got, Placeholder, "\n"), secret) &&
			!strings.Contains(secret, "\n") {
			t.Errorf("%q stays in %q", secret, got)
		}
	})
}
