package registration

import (
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// A Secret is a text that is sent and never shown: fmt, log/slog and encoding/json do not reach it, at any depth of any
// value that holds it. The zero Secret is none.
type Secret struct{ text *string }

// NewSecret hides a text; "" is no secret.
func NewSecret(text string) Secret {
	if text == "" {
		return Secret{}
	}
	return Secret{&text}
}

// String is "[redacted]", or "" if there is no secret.
func (s Secret) String() string {
	if s.text == nil {
		return ""
	}
	return redacted
}

const redacted = "[redacted]"

func (s Secret) reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// secrets are what of a registration must not be shown, wherever the platform repeats it.
func (r *Registration) secrets() []string {
	var secrets []string
	for _, value := range []string{r.AuthValue.reveal(), text(members(r.Extra).first(authValueMember))} {
		_, credential, _ := strings.Cut(value, " ")
		secrets = append(secrets, value, credential)
	}
	if u, err := url.Parse(r.EndpointURL); err == nil {
		secrets = append(secrets, u.RawQuery)
	}
	return secrets
}

// scrubber cleans what the platform says.
type scrubber struct{ secrets *strings.Replacer }

func newScrubber(secrets []string) scrubber {
	var all []string
	for _, s := range secrets {
		if s != "" {
			quoted := string(quote(s))
			all = append(all, s, quoted[1:len(quoted)-1], pointerEscape.Replace(s))
		}
	}
	slices.SortFunc(all, func(a, b string) int { return len(b) - len(a) }) // a whole value before its parts
	var pairs []string
	for _, s := range all {
		pairs = append(pairs, s, redacted)
	}
	return scrubber{strings.NewReplacer(pairs...)}
}

// text is s without secrets and control characters, valid UTF-8 (strings.Map sees to that) and bounded. If a secret shows
// only when JSON's escapes are undone, they stay undone.
func (c scrubber) text(s string) string {
	s = c.secrets.Replace(s)
	for plain, level := s, 0; level < maxEscaping && strings.Contains(plain, `\`); level++ {
		plain = unescape(plain)
		if clean := c.secrets.Replace(plain); clean != plain {
			s, plain = clean, clean
		}
	}
	return cut(strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, s)), maxText)
}

const maxEscaping = 4 // JSON as a text in JSON, and so on

var jsonEscapes = regexp.MustCompile(`(?:\\u[0-9a-fA-F]{4})+|\\["\\/bfnrt]`) // pairs of surrogates stay together

// unescape undoes JSON's escapes in any text, whole JSON or not.
func unescape(s string) string {
	return jsonEscapes.ReplaceAllStringFunc(s, func(escapes string) string { return text(json.RawMessage(`"` + escapes + `"`)) })
}
