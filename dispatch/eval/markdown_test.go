package eval_test

import (
	"strings"
	"testing"

	"github.com/toolwire/toolwire/dispatch/eval"
)

// What agents and rows say is code in Markdown: it neither links, mentions anyone, nor leaves its cell.
func TestMarkdownOfTextsOfOthers(t *testing.T) {
	for text, want := range map[string]string{
		"refund order 1001":            "| refund order 1001 |",
		"@octocat":                     "| `@octocat` |",
		"[a](https://example.com)":     "| `[a](https://example.com)` |",
		"a [1](2)":                     "| `a [1](2)` |",
		"www.example.com":              "| `www.example.com` |",
		"a|b":                          "| `a\\|b` |",
		"`x` and ``y``":                "| ``` `x` and ``y`` ``` |",
		"<img src=x>":                  "| `<img src=x>` |",
		"*bold* _it_":                  "| `*bold* _it_` |",
		"#12":                          "| `#12` |",
		"see GH-12":                    "| `see GH-12` |",
		"WWW.example.com":              "| `WWW.example.com` |",
		"high-5":                       "| high-5 |",
		"two\n\n# lines":               "| `two # lines` |",
		"a\u202e*":                     "| `a\ufffd*` |",
		"| --- |\n":                    "| `\\| --- \\|` |",
		"54.4 % [1, 2] of (3) a: b; c": "| 54.4 % [1, 2] of (3) a: b; c |",
	} {
		e := &eval.Experiment{Trials: []eval.Trial{{Case: &eval.Case{ID: "a", Name: text}, Number: 1, Verdict: eval.Failed, Cause: "grader", Reason: text}}}
		var b strings.Builder
		if err := e.WriteMarkdown(&b); err != nil || !strings.Contains(b.String(), want) {
			t.Errorf("%q, error %v:\n%s", text, err, b.String())
		}
	}
}

// The decision comes first, then what changed, then what failed.
func TestMarkdownOfAComparison(t *testing.T) {
	baseline, candidate := scripted(strings.Split("......", "")...), scripted(strings.Split("....xx", "")...)
	candidate.Name, candidate.GateBy = "refunds", map[string]float64{"": 0.05}
	var b strings.Builder
	if err := candidate.WriteMarkdown(&b, nil, baseline); err != nil {
		t.Fatal(err)
	}
	at := 0
	for _, want := range []string{
		"### refunds\n\n6 cases in ", "\n- gate, margin 5 points: undecided: the interval contains the margin: run more cases\n", "\n- 6 cases: 0 improved, 0 regressed, 4 the same, 2 undecided\n",
		"\n- cannot tell: -33.3 points in 6 cases, p = ", "**Cases that changed**\n\n| case | baseline | candidate | points, 95 % interval |  |\n| --- | --- | --- | --- | --- |\n", "| failed |",
	} {
		next := strings.Index(b.String()[at:], want)
		if next < 0 {
			t.Fatalf("%q is missing, or not in its place:\n%s", want, b.String())
		}
		at += next
	}
	other := scripted(".")
	other.Trials[0].ID = "other"
	if err := candidate.WriteMarkdown(&b, other); err == nil {
		t.Error("experiments without common cases are compared")
	}
}
