package catalog

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

const (
	hidden = "[hidden]"
	// quotedBytes is how long a piece of a sent text must be to count as repeated.
	quotedBytes = 16
	// maxSearched bounds in bytes what is searched for the key.
	maxSearched = 64 << 10
)

// newHider returns a function that puts what a server says into one line, without the key, however it is escaped.
func newHider(key string) func(text string) string {
	anySpelling := sync.OnceValue(func() *regexp.Regexp { return spellings(key) }) // most clients never need it
	return func(text string) string {
		return anySpelling().ReplaceAllLiteralString(shorten(plain(text), maxSearched), hidden)
	}
}

// spellings matches an ASCII text, each of whose characters may be escaped: with backslashes, as programs' texts in texts
// are, as \u0041, %41, or for a JSON Pointer.
func spellings(text string) *regexp.Regexp {
	var b strings.Builder
	for i := range len(text) {
		fmt.Fprintf(&b, `\\*(?:%s|(?i:%%%02x|u%04x)`, regexp.QuoteMeta(text[i:i+1]), text[i], text[i])
		switch text[i] {
		case '/':
			b.WriteString(`|~1`)
		case '~':
			b.WriteString(`|~0`)
		}
		b.WriteByte(')')
	}
	return regexp.MustCompile(b.String())
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
				b.WriteString(hidden)
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

// shorten cuts a text before it has more than most bytes.
func shorten(text string, most int) string {
	if len(text) <= most {
		return text
	}
	end := most - len("…")
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}
