package text_test

import (
	"testing"

	"github.com/toolwire/toolwire/internal/text"
)

// CI engines take commands from what a program prints: "::name::" at the beginning of a line, "##[name]"
// and "##name[" anywhere, and they ignore characters that cannot be seen.
func TestCleanLeavesNoCommands(t *testing.T) {
	for in, want := range map[string]string{
		"done\n::error::x\n  ::set-output name=a::b\n\n| c": "done\n| ::error::x\n|   ::set-output name=a::b\n| \n| c",
		"::error::x":                  "| ::error::x",
		"\u00a0\u200d:\u200b:debug::": "| \u00a0\u200d:\u200b:debug::",
		"a::b":                        "a::b",
		": ::b":                       ": ::b",
		"x ##[add-mask]a":             "x ## [add-mask]a",
		"###[a] ##vso[b] ##é[c]":      "### [a] ## vso[b] ## é[c]",
		"#\u034f#\u115f[a]":           "#\u034f#\u115f [a]",
		"#\u200d#\u2060\ufe0f[a]":     "#\u200d#\u2060\ufe0f [a]",
		"#[derive] ## [a] ##1 #ff":    "#[derive] ## [a] ##1 #ff",
		"a\r::b\u0085::c\u2028::d":    "a ::b\uFFFD::c ::d",
		"a\r\n::b":                    "a \n| ::b",
		"--- a\n--- PASS: TestA":      "--- a\n| --- PASS: TestA",
	} {
		got := text.Clean(in)
		if got != want {
			t.Errorf("Clean(%q) = %q, want %q", in, got, want)
		}
		if again := text.Clean(got); again != got {
			t.Errorf("Clean(%q) = %q", got, again)
		}
	}
	if got := text.Quote("##[a]", 10) + text.Line("a\n##[b]", 10); got != `"## [a]"a ## [b]` {
		t.Error(got)
	}
}
