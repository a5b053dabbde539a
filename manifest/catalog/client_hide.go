package catalog

import (
	"strings"
	"unicode"

	"github.com/toolwire/toolwire/internal/redact"
)

// quotedBytes is the shortest run of a sent text that counts as repeated, in bytes.
const quotedBytes = 16

// newHider returns a function that puts a text of the server on one line, without the key.
func newHider(key string) func(text string) string {
	secrets := redact.New(key)
	return func(text string) string { return secrets.Text(plain(text)) }
}

// hideSaid removes runs of the sent texts from texts of one line each, in one pass.
func (r *request) hideSaid(texts ...string) []string {
	var said []string
	if r.said != nil {
		said = r.said()
	}
	return strings.Split(hideQuotes(strings.Join(texts, "\n"), said), "\n")
}

// hideQuotes removes every run of quotedBytes or more that also occurs in one of the sources. Each
// source counts as one line.
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
	end := 0 // of the run that is being hidden
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

// plain returns the text on one line of valid UTF-8, without control characters and invisible ones.
func plain(text string) string {
	return strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		switch {
		case unicode.IsControl(r):
			return ' '
		case unicode.Is(unicode.Cf, r): // includes changes of the writing direction
			return -1
		}
		return r
	}, text)), " ")
}
