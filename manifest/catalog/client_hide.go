package catalog

import (
	"bytes"
	"encoding/hex"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	hidden = "[hidden]"
	// quotedBytes is how long a piece of a sent text must be to count as repeated.
	quotedBytes = 16
)

// newHider returns a function that puts what a server says into one line, without the key, however it is escaped.
func newHider(key string) func(text string) string {
	bare, _ := unescape(key)
	return func(text string) string {
		text = plain(text)
		if bare != "" {
			text = hideSpellings(text, bare)
		}
		return strings.ReplaceAll(text, key, hidden) // if it and what is beside it look like an escape
	}
}

// hideSpellings takes a key, unescaped, out of a text in which any of its characters may be escaped. Its time is linear.
func hideSpellings(text, key string) string {
	bare, starts := unescape(text)
	var b strings.Builder
	shown := 0 // so much of the text is done
	for at := 0; ; at += len(key) {
		found := strings.Index(bare[at:], key)
		if found < 0 {
			return b.String() + text[shown:]
		}
		at += found
		b.WriteString(text[shown:starts[at]])
		b.WriteString(hidden)
		shown = starts[at+len(key)]
	}
}

// unescape undoes the escapes of ASCII characters: backslashes, as programs' texts in texts have them, u0041 after one,
// %41, and those of a JSON Pointer. What comes of one may end another, which is undone too. No escape begins within another,
// so their order makes no difference. It returns where each byte began in the text, and where the last one ended.
func unescape(text string) (string, []int) {
	bare := make([]byte, 0, len(text))
	starts := make([]int, 0, len(text)+1)
	start := 0
	for i := range len(text) {
		for c := text[i]; c != '\\'; {
			bare, starts = append(bare, c), append(starts, start)
			meant, size := lastEscape(bare)
			if size == 0 {
				start = i + 1
				break
			}
			n := len(bare) - size
			c, start = meant, starts[n]
			bare, starts = bare[:n], starts[:n]
		}
	}
	return string(bare), append(starts, start)
}

// lastEscape reads the escape at the end of a text without backslashes; its size is 0 if there is none.
func lastEscape(text []byte) (meant byte, size int) {
	n := len(text)
	switch {
	case bytes.HasSuffix(text, []byte("~0")):
		return '~', 2
	case bytes.HasSuffix(text, []byte("~1")):
		return '/', 2
	case n >= 3 && text[n-3] == '%':
		size = 3
	case n >= 5 && bytes.EqualFold(text[n-5:n-2], []byte("u00")):
		size = 5
	default:
		return 0, 0
	}
	var code [1]byte
	if _, err := hex.Decode(code[:], text[n-2:]); err != nil || code[0] >= utf8.RuneSelf {
		return 0, 0
	}
	return code[0], size
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
