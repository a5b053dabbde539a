package text_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/internal/text"
)

func TestPlural(t *testing.T) {
	for want, tt := range map[string]struct {
		n    int
		noun string
	}{
		"0 cases": {0, "case"}, "1 case": {1, "case"}, "2 cases": {2, "case"}, "-1 cases": {-1, "case"},
		"1 dispatch": {1, "dispatch"}, "2 dispatches": {2, "dispatch"}, "1 property": {1, "property"}, "3 properties": {3, "property"},
	} {
		if got := text.Plural(tt.n, tt.noun); got != want {
			t.Errorf("%d %s: %s, want %s", tt.n, tt.noun, got, want)
		}
	}
}

func TestNearest(t *testing.T) {
	known := []string{strings.Repeat("x", 301), "get_order", "get_orders", "refund_order", "state", "order"}
	for name, want := range map[string]string{
		"get_oder": "get_order", "get_orderz": "get_order", "refund_ordr": "refund_order", "getOrder": "get_order",
		"GET-ORDERS": "get_orders", "get_order": "get_orders", "orders": "order", "stage": "", "delete": "", "": "", "oder": "order",
		strings.Repeat("x", 300): "", // would take long
	} {
		if got := text.Nearest(name, known); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestUndeclared(t *testing.T) {
	many := strings.Split("a1 a2 a3 a4 a5 a6 a7 a8 a9 a10 a11 a12", " ")
	for _, tt := range []struct {
		name     string
		declared []string
		want     string
	}{
		{"get_orders", []string{"get_order"}, "get_orders is not declared; did you mean get_order?"},
		{"delete_all", []string{"get_order", "refund"}, "delete_all is not declared; declared: get_order, refund"},
		{"x", nil, ""},
		{"a", []string{"b", "a"}, ""},
		{"delete_all", many, "delete_all is not declared; declared: a1, a2, a3, a4, a5, a6, a7, a8, a9, a10 and 2 more"},
		{"delete_all", many[:11], "delete_all is not declared; declared: a1, a2, a3, a4, a5, a6, a7, a8, a9, a10 and 1 more"},
		{"delete_all", many[:10], "delete_all is not declared; declared: a1, a2, a3, a4, a5, a6, a7, a8, a9, a10"},
		{strings.Repeat("a", 65), []string{"b"}, `"` + strings.Repeat("a", 64) + `"… (65 bytes) is not declared; declared: b`},
		{strings.Repeat("a/", 33), []string{"b"}, `"` + strings.Repeat("a/", 32) + `"… (66 bytes) is not declared; declared: b`},
		{"a\x1bb\n", []string{"c d"}, `"a\x1bb\n" is not declared; declared: "c d"`},
	} {
		if got := text.Undeclared(tt.name, tt.declared); got != tt.want {
			t.Errorf("got  %s\nwant %s", got, tt.want)
		}
	}
}

func TestCode(t *testing.T) {
	long := strings.Repeat("a", 64)
	for _, s := range []string{"", "rate_limited", "pydantic.missing", "a:b-C9", long} {
		if text.Code(s) != s {
			t.Errorf("%q is not taken", s)
		}
	}
	for _, s := range []string{" a", "a b", "a/b", "é", "a\nb", "[redacted]", long + "a"} {
		if text.Code(s) != "" {
			t.Errorf("%q is taken", s)
		}
	}
}

func TestMisspelt(t *testing.T) {
	for _, tt := range []struct {
		known string
		names string
		want  bool
	}{
		{"abcdefg", "abcdefx xbcdefg axcdeyg abcdefghi abcde cdefg bacdefg badcefg abcdegf", true},
		{"abcdefg", "abcdefg xxxdefg abcdefghij abcd badcfeg", false},
		{"abcdef", "abcde bcdef abcdefx xabcdef bacdef abcdfe", true},
		{"abcdef", "abcdef abcdex abcd abcdefxx bacdfe abcxed", false},
	} {
		for name := range strings.FieldsSeq(tt.names) {
			if text.Misspelt(name, tt.known) != tt.want {
				t.Errorf("Misspelt(%q, %q) = %t", name, tt.known, !tt.want)
			}
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	word := func() string {
		b := make([]byte, 7+r.IntN(4))
		for i := range b {
			b[i] = "abc"[r.IntN(3)]
		}
		return string(b)
	}
	for range 5000 {
		name, known := word(), word()
		if n := distance(name, known); text.Misspelt(name, known) != (n == 1 || n == 2) {
			t.Errorf("Misspelt(%q, %q) at a distance of %d", name, known, n)
		}
	}
}

// distance is the definition: the least number of insertions, deletions, replacements and swaps of
// neighbours, none of which touches a letter again.
func distance(a, b string) int {
	row := map[[2]int]int{}
	for i := range len(a) + 1 {
		for j := range len(b) + 1 {
			best := i + j
			if i > 0 {
				best = min(best, row[[2]int{i - 1, j}]+1)
			}
			if j > 0 {
				best = min(best, row[[2]int{i, j - 1}]+1)
			}
			if i > 0 && j > 0 {
				cost := 1
				if a[i-1] == b[j-1] {
					cost = 0
				}
				best = min(best, row[[2]int{i - 1, j - 1}]+cost)
			}
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				best = min(best, row[[2]int{i - 2, j - 2}]+1)
			}
			row[[2]int{i, j}] = best
		}
	}
	return row[[2]int{len(a), len(b)}]
}
