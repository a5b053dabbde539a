package bounded_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/toolwire/toolwire/internal/bounded"
)

func TestCut(t *testing.T) {
	for _, tt := range []struct {
		s    string
		most int
		want string
	}{
		{"", 0, ""}, {"abc", 3, "abc"}, {"abcdef", 5, "ab…"}, {"abcdef", 6, "abcdef"}, {"äöü", 6, "äöü"}, {"äöüß", 7, "äö…"}, {"äöüß", 6, "ä…"},
		{"漢字仮名", 11, "漢字…"}, {"a😀b😀", 8, "a😀…"}, {"a😀b😀", 7, "a…"}, {"abc", 2, "…"}, {"\x80\x80\x80\x80\x80", 4, "…"},
	} {
		if got := bounded.Cut(tt.s, tt.most); got != tt.want {
			t.Errorf("Cut(%q, %d) = %q, want %q", tt.s, tt.most, got, tt.want)
		}
	}
}

func TestPrefix(t *testing.T) {
	const s = "aä漢😀z"
	for most := -1; most < len(s)+2; most++ {
		got := bounded.Prefix(s, most)
		if len(got) > max(most, 0) || s[:len(got)] != got || !utf8.ValidString(got) || len(got) < min(most, len(s))-3 {
			t.Errorf("Prefix(%q, %d) = %q", s, most, got)
		}
	}
}

func TestCode(t *testing.T) {
	long := strings.Repeat("a", 64)
	for _, s := range []string{"", "rate_limited", "pydantic.missing", "a:b-C9", long} {
		if bounded.Code(s) != s {
			t.Errorf("%q is not taken", s)
		}
	}
	for _, s := range []string{" a", "a b", "a/b", "é", "a\nb", "[redacted]", long + "a"} {
		if bounded.Code(s) != "" {
			t.Errorf("%q is taken", s)
		}
	}
}
