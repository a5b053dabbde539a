package timeline

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/toolwire/toolwire/internal/bounded"
	"github.com/toolwire/toolwire/internal/redact"
	"github.com/toolwire/toolwire/internal/terminal"
)

// mostShown is how many bytes of a text are shown if Texts.Most is 0.
const mostShown = 6 << 10

// Text is a text of any length. Before [Texts] prepares it, Shown is the whole of it, and JSON reports
// that it may be JSON.
type Text struct {
	Key   string // unique in the page
	Shown string
	JSON  bool
	Cut   bool
	Link  string // of the whole text; "" if it is not cut, or cannot be shown whole
	Size  string // of the whole, for people
	Tall  bool   // it may need scrolling
}

// Empty reports whether the text has no content.
func (t Text) Empty() bool { return t.Shown == "" }

// Excerpt returns the beginning of the text on one line, in at most n characters.
func (t Text) Excerpt(n int) string {
	return terminal.Cut(strings.Join(strings.Fields(bounded.Prefix(t.Shown, 4*n)), " "), n)
}

// Texts prepares texts from outside for the page of one run. The zero value can be used.
type Texts struct {
	Secrets *redact.Set // are hidden; it may be nil
	Most    int         // bytes of each text that are shown; defaults to 6 KiB
	Budget  int         // bytes of all texts, after which 100 of each are shown; 0 for no limit
	Prefix  string      // of ids and keys, so that they are unique in a page of several runs

	// Links is the URL before the key at which the whole of a text that is cut is served. If it is
	// not "", Whole has these texts by their key.
	Links string
	Whole map[string]string

	Bytes int // of all texts that are kept
}

// Line prepares a short text, such as a name or a reason. At most 500 bytes are shown.
func (t *Texts) Line(s string) string {
	s, cut := cutText(t.Secrets.Redact(s), 500)
	s, longer := cutText(Visible(s), 500)
	if cut || longer {
		return s + "…"
	}
	return s
}

// Text prepares a text of any length. Keys are unique in a run and do not change.
func (t *Texts) Text(key, s string) Text { return t.show(key, t.Secrets.Redact(s), nil) }

// JSON prepares JSON of any length. It is indented if it does not fit on one line.
func (t *Texts) JSON(key string, raw json.RawMessage) Text {
	if raw == nil {
		return Text{}
	}
	whole := t.Secrets.Redact(string(raw))
	return t.show(key, whole, indented(whole))
}

func (t *Texts) show(key, whole string, pretty []byte) Text {
	shown, isJSON := whole, pretty != nil
	if isJSON {
		shown = string(pretty)
	}
	text := Text{Key: t.Prefix + key, JSON: isJSON, Size: Size(len(whole))}
	most := cmp.Or(t.Most, mostShown)
	if t.Budget > 0 && t.Bytes > t.Budget {
		most = min(most, 100)
	}
	shown, text.Cut = cutText(shown, most)
	if text.Cut && t.Links != "" {
		if t.Whole == nil {
			t.Whole = map[string]string{}
		}
		text.Link, t.Whole[key] = t.Links+key, whole
		t.Bytes += len(whole)
	}
	text.Shown = Visible(shown)
	t.Bytes += len(text.Shown)
	text.Tall = len(text.Shown) > 1000 || strings.Count(text.Shown, "\n") > 14
	return text
}

// cutText cuts a text to at most n bytes, between two characters.
func cutText(s string, n int) (string, bool) {
	shown := bounded.Prefix(s, n)
	return shown, len(shown) < len(s)
}

// Visible replaces characters that are not visible by their code points: control characters, those
// that change the direction of writing, and those that hide text from people but not from a model.
func Visible(s string) string {
	if !strings.ContainsFunc(s, acts) && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case acts(r):
			fmt.Fprintf(&b, "⟨U+%04X⟩", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func acts(r rune) bool {
	if r == '\n' || r == '\t' || r == '\r' {
		return false
	}
	if r == '\u200C' || r == '\u200D' { // Persian and emoji need them
		return false
	}
	return unicode.IsControl(r) || unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) ||
		unicode.Is(unicode.Cf, r) && !unicode.Is(unicode.Prepended_Concatenation_Mark, r)
}

// width is the most characters of a line of JSON. Longer values are laid out over several lines.
const width = 64

// indented formats JSON and keeps on one line what fits there. It returns nil if the text is not
// JSON or is too long.
func indented(s string) []byte {
	if len(s) > 256<<10 || depth(s) > 64 { // each level indents everything inside it
		return nil
	}
	var compact bytes.Buffer
	if json.Compact(&compact, []byte(s)) != nil {
		return nil
	}
	return layOut(nil, compact.Bytes(), "")
}

// layOut appends a compact value. Strings and numbers stay as they are written.
func layOut(out, value []byte, indent string) []byte {
	if len(indent)+len(value) <= width || value[0] != '{' && value[0] != '[' {
		return append(out, value...)
	}
	deeper := indent + "  "
	out = append(out, value[0])
	for i, member := range members(value[1 : len(value)-1]) {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(out, '\n'), deeper...)
		if n := nameLength(member); value[0] == '{' && n > 0 {
			out = append(append(out, member[:n]...), ' ')
			member = member[n:]
		}
		out = layOut(out, member, deeper)
	}
	out = append(append(out, '\n'), indent...)
	return append(out, value[len(value)-1])
}

// members splits the inside of an object or array at the commas of its top level.
func members(inside []byte) [][]byte {
	var parts [][]byte
	start, level, quoted := 0, 0, false
	for i := 0; i < len(inside); i++ {
		switch c := inside[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			level++
		case c == '}' || c == ']':
			level--
		case c == ',' && level == 0:
			parts, start = append(parts, inside[start:i]), i+1
		}
	}
	return append(parts, inside[start:])
}

// nameLength returns the length of the name and the colon of a member.
func nameLength(member []byte) int {
	for i := 1; i < len(member); i++ {
		switch member[i] {
		case '\\':
			i++
		case '"':
			return i + 2
		}
	}
	return 0
}

// depth returns an upper bound of the nesting.
func depth(s string) int {
	most, now := 0, 0
	for i := range len(s) {
		switch s[i] {
		case '{', '[':
			now++
			most = max(most, now)
		case '}', ']':
			now--
		}
	}
	return most
}

// Size formats a number of bytes for people.
func Size(n int) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d bytes", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}
