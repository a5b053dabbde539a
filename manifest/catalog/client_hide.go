package catalog

import (
	"strings"
	"unicode"

	"github.com/toolwire/toolwire/internal/redact"
)

// quotedBytes is how long a piece of a sent text must be to count as repeated.
const quotedBytes = 16

// newHider returns a function that puts what a server says into one line, without the key.
func newHider(key string) func(text string) string {
	secrets := redact.New(key)
	return func(text string) string { return secrets.Text(plain(text)) }
}

// hideSaid takes pieces of the sent texts out of texts that are one line each, in one pass for all of them.
func (r *request) hideSaid(texts ...string) []string {
	var said []string
	if r.said != nil {
		said = r.said()
	}
	return strings.Split(hideQuotes(strings.Join(texts, "\n"), said), "\n")
}

// hideQuotes takes out of a text whatever stretches of it, of quotedBytes and more, stand in one of the sources, taken as
// one line each.
func hideQuotes(text string, sources []string) string {
	if len(text) < quotedBytes || len(sources) == 0 {
		return text
	}
	quoted := make(map[string]bool, len(text))
	for i := range len(text) - quotedBytes + 1 {
		quoted[text[i:i+quotedBytes]] = false
	}
	for _, source := range sources {
		source = plain(source)
		for i := range len(source) - quotedBytes + 1 {
			if _, said := quoted[source[i:i+quotedBytes]]; said {
				quoted[source[i:i+quotedBytes]] = true
			}
		}
	}
	var b strings.Builder
	end := 0 // of the stretch that is being hidden
	for i := range len(text) {
		if i+quotedBytes <= len(text) && quoted[text[i:i+quotedBytes]] {
			if i >= end {
				b.WriteString(redact.Placeholder)
			}
			end = i + quotedBytes
		}
		if i >= end {
			b.WriteByte(text[i])
		}
	}
	return strings.ToValidUTF8(b.String(), "")
}

// plain is a text in one line of valid UTF-8, without characters that steer a terminal or cannot be seen.
func plain(text string) string {
	return strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		switch {
		case unicode.IsControl(r):
			return ' '
		case unicode.Is(unicode.Cf, r): // among them those that change the direction of writing
			return -1
		}
		return r
	}, text)), " ")
}
