package runhtml

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/redact"
	"github.com/toolwire/toolwire/internal/text"
	"github.com/toolwire/toolwire/internal/timeline"
)

// mostShown is how many bytes of a text are shown if Texts.Most is 0.
const mostShown = 6 << 10

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

// Line prepares a short text, such as a name or a reason, on one line of at most 500 characters.
func (t *Texts) Line(s string) string {
	const most = 500
	return text.Line(visible(text.Cut(t.Secrets.Redact(s), 4*most)), most)
}

// Text prepares a text of any length. Keys are unique in a run and do not change.
func (t *Texts) Text(key, s string) timeline.Text { return t.show(key, t.Secrets.Redact(s), nil) }

// JSON prepares JSON of any length. It is indented if it does not fit on one line.
func (t *Texts) JSON(key string, raw json.RawMessage) timeline.Text {
	if raw == nil {
		return timeline.Text{}
	}
	whole := t.Secrets.Redact(string(raw))
	return t.show(key, whole, indented(whole))
}

func (t *Texts) show(key, whole string, pretty []byte) timeline.Text {
	shown, isJSON := whole, pretty != nil
	if isJSON {
		shown = string(pretty)
	}
	out := timeline.Text{Key: t.Prefix + key, JSON: isJSON, Size: Size(len(whole))}
	most := cmp.Or(t.Most, mostShown)
	if t.Budget > 0 && t.Bytes > t.Budget {
		most = min(most, 100)
	}
	out.Cut = len(shown) > most
	if out.Cut && t.Links != "" {
		if t.Whole == nil {
			t.Whole = map[string]string{}
		}
		out.Link, t.Whole[key] = t.Links+key, whole
		t.Bytes += len(whole)
	}
	out.Shown = visible(text.Cut(shown, most))
	t.Bytes += len(out.Shown)
	out.Tall = len(out.Shown) > 1000 || strings.Count(out.Shown, "\n") > 14
	return out
}

// visible replaces characters that are not visible by their code points: control characters, those
// that change the direction of writing, and those that hide text from people but not from a model.
func visible(s string) string {
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
// JSON or is too long or too deep: each level indents everything inside it.
func indented(s string) (out []byte) {
	if len(s) > 256<<10 || rawjson.Check([]byte(s), rawjson.Limits{Mode: rawjson.Liberal, Depth: 64}) != nil {
		return nil
	}
	level := 0
	line := func() {
		out = append(out, '\n')
		out = append(out, strings.Repeat("  ", level)...)
	}
	for value := rawjson.Compact([]byte(s)); len(value) > 0; {
		n := 1
		switch value[0] {
		case '"':
			n = rawjson.End(value, 0)
			out = append(out, value[:n]...)
		case '{', '[':
			if n = rawjson.End(value, 0); n <= width-2*level {
				out = append(out, value[:n]...)
				break
			}
			n, level, out = 1, level+1, append(out, value[0])
			line()
		case '}', ']':
			level--
			line()
			out = append(out, value[0])
		case ',':
			out = append(out, ',')
			line()
		case ':':
			out = append(out, ": "...)
		default:
			out = append(out, value[0])
		}
		value = value[n:]
	}
	return out
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
