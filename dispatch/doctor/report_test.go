package doctor_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/dispatch/doctor"
	"github.com/toolwire/toolwire/internal/testkit"
)

func sampleReport() *doctor.Report {
	return &doctor.Report{Target: "https://agents.example.com/dispatch", Findings: []doctor.Finding{
		{Name: "reachable", Status: "ok", Seen: "answers"},
		{Name: "tls", Status: "warning", Seen: "plain http", Details: []string{"the URL \x1b[2Jx"}, Do: "Use https."},
		{Name: "ping", Status: "failed", Seen: strings.Repeat("word ", 30), Do: "Answer it."},
		{Name: "method", Status: "skipped", Seen: "needs ping, which failed", Because: "ping"},
		{Name: "dispatch", Status: "skipped", Seen: "needs ping, which failed", Because: "ping"},
		{Name: "proxy", Status: "skipped", Seen: "no proxy base is given"},
		{Name: "unwrap", Status: "skipped", Seen: "the sample called no tool", Do: "Give a task."},
		{Name: "retry_429", Status: "skipped", Seen: "the sample called no tool", Do: "Give a task."},
		{Name: "retry_503", Status: "skipped", Seen: "the sample called no tool"},
	}}
}

func TestReportTable(t *testing.T) {
	want := `https://agents.example.com/dispatch

ok       reachable  answers
warning  tls        plain http
                    - the URL ` + "\uFFFD" + `[2Jx
                    → Use https.
failed   ping       word word word word word word word word word word word word
                    | word word word word word word word word word word word
                    | word word word word word word word
                    → Answer it.
skipped  2 checks   needs ping, which failed: method, dispatch
skipped  proxy      no proxy base is given
skipped  2 checks   the sample called no tool: unwrap, retry_429
                    → Give a task.
skipped  retry_503  the sample called no tool

1 failed, 1 warning, 1 ok, 6 skipped, 12 scenarios not run (the flag -scenarios)
`
	report := sampleReport()
	if got := report.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	var b strings.Builder
	if err := report.WriteTable(&b, true); err != nil || !strings.Contains(b.String(), "\x1b[31mfailed\x1b[0m   ping") ||
		!strings.Contains(b.String(), "\x1b[33m1 warning\x1b[0m") {
		t.Errorf("%v %q", err, b.String())
	}
	many := &doctor.Report{Findings: []doctor.Finding{{Name: "tools_schema", Status: "failed", Details: make([]string, 30)}}}
	if got := many.String(); !strings.Contains(got, "- and 10 more") {
		t.Errorf("%s", got)
	}
	for n := range 3 {
		if err := report.WriteTable(&failAfter{n: n}, false); !errors.Is(err, errFull) {
			t.Errorf("after %d writes: %v", n, err)
		}
	}
}

var errFull = errors.New("full")

type failAfter struct{ n int }

func (f *failAfter) Write(b []byte) (int, error) {
	if f.n--; f.n < 0 {
		return 0, errFull
	}
	return len(b), nil
}

func TestReportJSON(t *testing.T) {
	text, err := json.Marshal(sampleReport())
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{
		`{"target":"https://agents.example.com/dispatch","ok":false,"checks":[{"check":"reachable","status":"ok","seen":"answers","took_ms":0}`,
		`"details":["the URL \u001b[2Jx"],"do":"Use https."`, `{"check":"method","status":"skipped","seen":"needs ping, which failed","because":"ping","took_ms":0}`,
	} {
		if !strings.Contains(string(text), part) {
			t.Errorf("%s is missing in\n%s", part, text)
		}
	}
	var back doctor.Report
	if err := json.Unmarshal(text, &back); err != nil || back.String() != sampleReport().String() {
		t.Errorf("%v\n%s", err, back.String())
	}
	if text, err := json.Marshal(doctor.Report{}); err != nil || string(text) != `{"target":"","ok":true,"checks":[]}` {
		t.Errorf("%s %v", text, err)
	}
}

func TestReportAssertions(t *testing.T) {
	report := sampleReport()
	if report.OK() {
		t.Error("a report with a failed check is OK")
	}
	ok := &doctor.Report{Findings: report.Findings[:2]}
	for _, tt := range []struct {
		name   string
		assert func(t testing.TB)
		want   []string
	}{
		{"failed", report.AssertOK, []string{"ping: failed: word", "→ Answer it."}},
		{"warned", ok.AssertOK, nil},
		{"nothing", (&doctor.Report{}).AssertOK, nil},
	} {
		got := testkit.Failures(t, tt.assert)
		if (got == "") != (tt.want == nil) {
			t.Errorf("%s: %q", tt.name, got)
		}
		for _, part := range tt.want {
			if !strings.Contains(got, part) {
				t.Errorf("%s: %q is not in %q", tt.name, part, got)
			}
		}
	}
}
