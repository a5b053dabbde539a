package rawjson

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestUTF8 tries every pair of bytes, and what may follow, at every place of a word.
func TestUTF8(t *testing.T) {
	check := func(text string) {
		end, ok := stringEnd([]byte(text+`"`), 0, false)
		want := 0
		for want < len(text) {
			r, size := utf8.DecodeRuneInString(text[want:])
			if r == utf8.RuneError && size == 1 {
				break
			}
			want += size
		}
		if ok != (want == len(text)) || end != want {
			t.Fatalf("%q: valid is %t, end %d, want %d of %d", text, ok, end, want, len(text))
		}
	}
	for a := 0x80; a < 256; a++ {
		for b := range 256 {
			if b < ' ' || b == '"' || b == '\\' {
				continue
			}
			for _, tail := range []string{"", "x", "\x80", "\x80x", "\x80\x80", "\x80\x80x", "\x80\x80\x80", "\xbf\xbf", "\xbf\xbfabcdefgh"} {
				for pad := range 9 {
					check("aaaaaaaaa"[:pad] + string([]byte{byte(a), byte(b)}) + tail)
				}
			}
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 200_000 {
		text := make([]byte, r.IntN(30))
		for i := range text {
			text[i] = "a\x7f\x80\x8f\x90\x9f\xa0\xbf\xc0\xc1\xc2\xdf\xe0\xe1\xec\xed\xee\xef\xf0\xf1\xf3\xf4\xf5\xff\x80\x80\x80\x80"[r.IntN(28)]
		}
		check(string(text))
	}
	runes := []string{"a", "bc", "\x7f", "ä", "\u0080", "\u07ff", "–", "\u0800", "\ud7ff", "\ue000", "\uffff", "漢", "ก", "😀", "\U0010ffff"}
	for range 200_000 {
		var text []byte
		for range r.IntN(16) {
			text = append(text, runes[r.IntN(len(runes))]...)
		}
		if len(text) > 0 && r.IntN(2) == 0 {
			if i := r.IntN(len(text)); text[i] >= 0x80 {
				text[i] = "\x80\xbf\xc0\xc3\xe0\xe2\xed\xef\xf0\xf4\xf5\xff"[r.IntN(12)]
			}
		}
		check(string(text))
	}
}

// TestNamesAreUnescapedOnce counts allocations: names with escapes are unescaped into one buffer, not
// each time that they are compared.
func TestNamesAreUnescapedOnce(t *testing.T) {
	for _, perObject := range []int{2, 12, 63, 64, 65, 100, 5000} {
		object := func(escaped bool) string {
			var b strings.Builder
			for i := range perObject {
				name := fmt.Sprintf("xname%05d", i)
				if escaped {
					name = `\u0078` + name[1:]
				}
				fmt.Fprintf(&b, `"%s":0,`, name)
			}
			return "{" + strings.TrimSuffix(b.String(), ",") + "}"
		}
		objects := max(1, 5000/perObject)
		plain := []byte("[" + strings.Repeat(object(false)+",", objects) + "0]")
		escaped := []byte("[" + strings.Repeat(object(true)+",", objects) + "0]")
		allocs := func(doc []byte) float64 {
			return testing.AllocsPerRun(5, func() {
				var s scanner
				s.reset(doc, Limits{})
				if err := s.skip(); err != nil {
					t.Error(err)
				}
			})
		}
		const texts = 16 // growing the one buffer of unescaped names
		if a, b := allocs(plain), allocs(escaped); b > 2*a+texts {
			t.Errorf("%d names in each object: %v allocations, with escapes %v", perObject, a, b)
		}
	}
}
