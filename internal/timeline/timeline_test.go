package timeline

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"
)

// Bars are on one scale, from the beginning of the run to the end of the last row: calls at once overlap,
// each attempt has a bar, and what is open reaches to the end.
func TestBars(t *testing.T) {
	began := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	at := func(ms int) time.Time { return began.Add(time.Duration(ms) * time.Millisecond) }
	run := Run{Began: began, Rows: []Row{
		{Kind: Dispatch, Key: "dispatch", At: at(0), Took: time.Second},
		{Kind: Call, Key: "a", At: at(100), Attempts: []Attempt{{At: at(100), Took: 400 * time.Millisecond, OK: true}}},
		{Kind: Call, Key: "b", At: at(300), Attempts: []Attempt{
			{At: at(300), Took: 100 * time.Millisecond}, {At: at(600), Took: 200 * time.Millisecond, OK: true}}},
		{Kind: Model, Key: "open", At: at(500), Open: true},
		{Kind: Model, Key: "busy", At: at(999), Status: 529},
		{Kind: Trace, Key: "before", At: at(-100)},
		{Kind: Answer, Key: "answer", At: at(1000), Took: time.Second},
	}}
	(&Texts{Prefix: "x/"}).Prepare(&run)
	want := [][]Bar{
		{{false, 0, 1000}}, {{false, 100, 400}}, {{true, 300, 100}, {false, 600, 200}}, {{false, 500, 500}}, {{true, 994, 6}},
		{{false, 0, 6}}, nil,
	}
	for i, row := range run.Rows {
		if !slices.Equal(row.Bars, want[i]) || row.ID != "x/"+row.Key || row.Link != "#x/"+row.Key {
			t.Errorf("%s: %v, want %v", row.ID, row.Bars, want[i])
		}
	}
	if run.Took != time.Second {
		t.Errorf("the scale ends at %s", run.Took)
	}
}

// Rows stand in their sub-agents, and no deeper than can be shown.
func TestDepth(t *testing.T) {
	for _, tt := range []struct {
		kind  Kind
		actor string
		want  int
	}{{Dispatch, "", 0}, {Answer, "", 0}, {Call, "", 1}, {Model, "a", 2}, {Trace, "a/b", 3}, {Call, "a/b/c/d/e/f", 5}} {
		if got := (&Row{Kind: tt.kind, Actor: tt.actor}).Depth(); got != tt.want {
			t.Errorf("%s of %q: %d, want %d", tt.kind, tt.actor, got, tt.want)
		}
	}
}

// What comes from outside is neither markup in a page nor a line or a colour in a terminal, whatever
// field it is in.
func TestHostileTexts(t *testing.T) {
	evil := "</script><x-evil>\u202e\x1b[2J\x00\n" + strings.Repeat("long", 10_000)
	row := Row{
		Actor: evil, Name: evil, Model: evil, Source: evil, Reason: evil, Policy: evil, From: evil, To: evil,
		Request: JSON("request", []byte(evil)), Response: Plain("response", evil), Input: Plain("input", evil),
		Final: Plain("final", evil), Text: Plain("text", evil), Notes: []string{evil}, Adapter: []string{evil},
		Attempts: []Attempt{{Status: 500, Class: evil, Reason: evil}, {OK: true}}, Writes: []Write{{What: evil, Violations: []string{evil}}},
	}
	for _, kind := range []Kind{Ping, Dispatch, Answer, Model, Wait, Call, Trace, Telemetry, RefusedTrace, RefusedPath} {
		run := Run{Rows: []Row{row}}
		run.Rows[0].Kind = kind
		for line := range strings.Lines(Print(run.Rows)) {
			if strings.ContainsAny(line, "\x00\x1b\u202e") || len(line) > 3000 || strings.HasPrefix(line, "long") {
				t.Errorf("%s is printed as %.200q, %d bytes", kind, line, len(line))
			}
		}
		var page bytes.Buffer
		(&Texts{}).Prepare(&run)
		if err := Templates().ExecuteTemplate(&page, "timeline", &run); err != nil {
			t.Fatal(err)
		}
		if strings.ContainsAny(page.String(), "\x00\x1b\u202e") || strings.Contains(page.String(), "<x-evil") || page.Len() > 60_000 {
			t.Errorf("%s has a page of %d bytes with characters or elements from outside", kind, page.Len())
		}
	}
}
