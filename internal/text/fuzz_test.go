package text_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/toolwire/toolwire/internal/text"
)

// FuzzLine: no text of a peer leaves its line, is longer than its limit, or writes a command.
func FuzzLine(f *testing.F) {
	for _, s := range []string{"a\nb", "\x1b[31mred", "##[set-output name=a]b", "::error::x", "\u202eabc\u2066", "\xff\xfe", strings.Repeat("é", 50), "#\u200b#[x]"} {
		f.Add(s, 20)
	}
	f.Fuzz(func(t *testing.T, s string, limit int) {
		limit = 10 + max(limit, -limit)%1000
		line, lines, clean := text.Line(s, limit), text.Lines(s, limit), text.Clean(s)
		for _, got := range []string{line, lines, clean, text.Quote(s, limit)} {
			if !utf8.ValidString(got) || strings.ContainsAny(got, "\x1b\u202e\u2066\r\x00") || strings.Contains(got, "##[") {
				t.Errorf("%q: %q", s, got)
			}
		}
		if strings.Contains(line, "\n") || utf8.RuneCountInString(line) > limit+100 || len(text.Cut(s, limit)) > limit+40 {
			t.Errorf("%q, %d: %q", s, limit, line)
		}
		for part := range strings.SplitSeq(clean, "\n") {
			if strings.HasPrefix(strings.TrimSpace(part), "::") {
				t.Errorf("%q: %q", s, clean)
			}
		}
	})
}
