package text_test

import (
	"strings"
	"testing"

	"github.com/toolwire/toolwire/internal/text"
)

func TestCut(t *testing.T) {
	for _, tt := range []struct {
		s    string
		most int
		want string
	}{
		{"", 0, ""}, {"abc", 3, "abc"}, {"abcdef", 5, "ab…"}, {"abcdef", 6, "abcdef"}, {"äöü", 6, "äöü"}, {"äöüß", 7, "äö…"}, {"äöüß", 6, "ä…"},
		{"漢字仮名", 11, "漢字…"}, {"a😀b😀", 8, "a😀…"}, {"a😀b😀", 7, "a…"}, {"abcd", 3, "…"}, {"äö", 3, "…"},
		{"\x80\x80\x80\x80\x80", 4, "…"}, {"\x80\x80\x80\x80\x80", 6, "\uFFFD"}, {"a\xffb", 5, "a\uFFFDb"}, {"a\xffb", 4, "a…"}, {"aä\xff", 4, "a…"},
	} {
		if got := text.Cut(tt.s, tt.most); got != tt.want {
			t.Errorf("Cut(%q, %d) = %q, want %q", tt.s, tt.most, got, tt.want)
		}
	}
}

func TestLines(t *testing.T) {
	for _, tt := range []struct{ in, lines, line, quoted string }{
		{"", "", "", `""`},
		{"four", "four", "four", `"four"`},
		{"éééé", "éééé", "éééé", `"éééé"`},
		{"ééééé", "éééé… (10 bytes)", "ééé…", `"éééé"… (10 bytes)`},
		{"a\nb", "a\n| b", "a b", `"a\nb"`},
		{"a\n\n", "a", "a", `"a\n\n"`},
		{" \r\n a \t\n \n", "  \n|  … (9 bytes)", "a", `" \r\n "… (10 bytes)`},
		{"a\nb\nc\nd", "a\n| b\n| … (7 bytes)", "a b…", `"a\nb\n"… (7 bytes)`},
		{"abcd\n\n ", "abcd… (7 bytes)", "abcd", `"abcd"… (7 bytes)`},
		{"abcd\ne", "abcd… (6 bytes)", "abc…", `"abcd"… (6 bytes)`},
		{"a  b", "a  b", "a  b", `"a  b"`},
		{"a\r\t\u2029", "a   ", "a", `"a\r\t\u2029"`},
		{"a\r\tb", "a  b", "a  b", `"a\r\tb"`},
		{"\x1b\u009b\u202e\x00", "\uFFFD\uFFFD\uFFFD\uFFFD", "\uFFFD\uFFFD\uFFFD\uFFFD", `"\x1b\u009b\u202e\x00"`},
		{"a\xffb", "a\uFFFDb", "a\uFFFDb", `"a\xffb"`},
	} {
		if got := text.Lines(tt.in, 4); got != tt.lines {
			t.Errorf("Lines(%q) = %q, want %q", tt.in, got, tt.lines)
		}
		if got := text.Line(tt.in, 4); got != tt.line {
			t.Errorf("Line(%q) = %q, want %q", tt.in, got, tt.line)
		}
		if got := text.Quote(tt.in, 4); got != tt.quoted {
			t.Errorf("Quote(%q) = %s, want %s", tt.in, got, tt.quoted)
		}
	}
}

// A long line has room for the length of the whole.
func TestLongLine(t *testing.T) {
	in := strings.Repeat(strings.Repeat("é", 60)+"\n", 3)
	if got, want := text.Line(in, 99), strings.Repeat("é", 60)+" "+strings.Repeat("é", 37)+"…"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got, want := text.Line(in, 100), strings.Repeat("é", 60)+" "+strings.Repeat("é", 39)+"… (363 bytes)"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got, want := text.Line(in, 182), strings.TrimSpace(strings.ReplaceAll(in, "\n", " ")); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
