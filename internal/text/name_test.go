package text_test

import (
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
		"GET-ORDERS": "get_orders", "orders": "order", "stage": "", "delete": "", "": "", "oder": "order",
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
