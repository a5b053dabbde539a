package bounded_test

import (
	"strings"
	"testing"

	"github.com/toolwire/toolwire/internal/bounded"
)

func TestLines(t *testing.T) {
	for _, tt := range []struct{ in, lines, line, quoted string }{
		{"", "", "", `""`},
		{"four", "four", "four", `"four"`},
		{"éééé", "éééé", "éééé", `"éééé"`},
		{"ééééé", "éééé… (10 bytes)", "éééé… (10 bytes)", `"éééé"… (10 bytes)`},
		{"a\nb", "a\n| b", "a b", `"a\nb"`},
		{"\r\t\u2028\u2029", "    ", "    ", `"\r\t\u2028\u2029"`},
		{"\x1b\u009b\u202e\x00", "\uFFFD\uFFFD\uFFFD\uFFFD", "\uFFFD\uFFFD\uFFFD\uFFFD", `"\x1b\u009b\u202e\x00"`},
		{"a\xffb", "a\uFFFDb", "a\uFFFDb", `"a\xffb"`},
	} {
		if got := bounded.Lines(tt.in, 4); got != tt.lines {
			t.Errorf("Lines(%q) = %q, want %q", tt.in, got, tt.lines)
		}
		if got := bounded.Line(tt.in, 4); got != tt.line {
			t.Errorf("Line(%q) = %q, want %q", tt.in, got, tt.line)
		}
		if got := bounded.Quoted(tt.in, 4); got != tt.quoted {
			t.Errorf("Quoted(%q) = %s, want %s", tt.in, got, tt.quoted)
		}
	}
}

// CI engines take commands from what a program prints: "::name::" at the beginning of a line, "##[name]" and
// "##name[" anywhere, and they ignore characters that cannot be seen.
func TestCleanLeavesNoCommands(t *testing.T) {
	for in, want := range map[string]string{
		"done\n::error::x\n  ::set-output name=a::b\n\n| c": "done\n| ::error::x\n|   ::set-output name=a::b\n| \n| c",
		"::error::x":                  "| ::error::x",
		"\u00a0\u200d:\u200b:debug::": "| \u00a0\u200d:\u200b:debug::",
		"a::b":                        "a::b",
		": ::b":                       ": ::b",
		"x ##[add-mask]a":             "x ## [add-mask]a",
		"###[a] ##vso[b] ##é[c]":      "### [a] ## vso[b] ## é[c]",
		"#\u200d#\u2060\ufe0f[a]":     "#\u200d#\u2060\ufe0f [a]",
		"#[derive] ## [a] ##1 #ff":    "#[derive] ## [a] ##1 #ff",
		"a\r::b\u0085::c\u2028::d":    "a ::b\uFFFD::c ::d",
		"a\r\n::b":                    "a \n| ::b",
		"--- a\n--- PASS: TestA":      "--- a\n| --- PASS: TestA",
	} {
		got := bounded.Clean(in)
		if got != want {
			t.Errorf("Clean(%q) = %q, want %q", in, got, want)
		}
		if again := bounded.Clean(got); again != got {
			t.Errorf("Clean(%q) = %q", got, again)
		}
	}
	if got := bounded.Quoted("##[a]", 10) + bounded.Line("a\n##[b]", 10); got != `"## [a]"a ## [b]` {
		t.Error(got)
	}
}

func TestParagraph(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "a\n": "a", "a\nb: \x1b\n\n": "a\n  | b: \uFFFD", strings.Repeat("x", 11): "xxxxxxxxxx… (11 bytes)",
	} {
		if got := bounded.Paragraph(in, 10); got != want {
			t.Errorf("Paragraph(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestPlural(t *testing.T) {
	for want, tt := range map[string]struct {
		n    int
		noun string
	}{
		"0 cases": {0, "case"}, "1 case": {1, "case"}, "2 cases": {2, "case"}, "-1 cases": {-1, "case"},
		"1 dispatch": {1, "dispatch"}, "2 dispatches": {2, "dispatch"}, "1 property": {1, "property"}, "3 properties": {3, "property"},
	} {
		if got := bounded.Plural(tt.n, tt.noun); got != want {
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
		if got := bounded.Nearest(name, known); got != want {
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
		if got := bounded.Undeclared(tt.name, tt.declared); got != tt.want {
			t.Errorf("got  %s\nwant %s", got, tt.want)
		}
	}
}
