package catalog

import (
	"encoding/json"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	hidden = "[hidden]"
	// quotedBytes is how long a piece of a sent text must be to count as repeated.
	quotedBytes = 16
)

// newHider returns a function that cleans what a server says: in one line of at most maxSaid bytes, without the key in any
// usual spelling, and without pieces of the sent texts.
func newHider(key string) func(text string, said ...string) string {
	quoted, _ := json.Marshal(key) // a string: cannot fail
	var pairs []string
	for _, spelling := range []string{key, string(quoted[1 : len(quoted)-1]), url.QueryEscape(key), url.PathEscape(key)} {
		pairs = append(pairs, spelling, hidden)
	}
	replacer := strings.NewReplacer(pairs...)
	return func(text string, said ...string) string {
		return shorten(hideQuotes(shorten(replacer.Replace(plain(text)), maxRead), said), maxSaid)
	}
}

// clean makes a text of the server, or one with words of the server in it, fit for an error.
func (a *response) clean(text string) string {
	return a.hide(text, a.request.said...)
}

// hideQuotes takes out of a text whatever stretches of it, of quotedBytes and more, stand in one of the sources. It takes
// one pass over a source, however often the text repeats it.
func hideQuotes(text string, sources []string) string {
	if len(text) < quotedBytes {
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
