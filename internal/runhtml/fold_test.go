package runhtml

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/toolwire/toolwire/internal/timeline"
)

// Bars are on one scale, from the beginning of the run to the end of the last row: calls at once overlap,
// each attempt has a bar, and what is open reaches to the end.
func TestBars(t *testing.T) {
	began := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	at := func(ms int) time.Time { return began.Add(time.Duration(ms) * time.Millisecond) }
	run := (&Texts{Prefix: "x/"}).Prepare(timeline.Run{Began: began, Rows: []timeline.Row{
		{Kind: timeline.Dispatch, Key: "dispatch", At: at(0), Took: time.Second},
		{Kind: timeline.Call, Key: "a", At: at(100), Attempts: []timeline.Attempt{{At: at(100), Took: 400 * time.Millisecond, OK: true}}},
		{Kind: timeline.Call, Key: "b", At: at(300), Attempts: []timeline.Attempt{
			{At: at(300), Took: 100 * time.Millisecond}, {At: at(600), Took: 200 * time.Millisecond, OK: true}}},
		{Kind: timeline.Model, Key: "open", At: at(500), Open: true},
		{Kind: timeline.Model, Key: "busy", At: at(999), Status: 529},
		{Kind: timeline.Trace, Key: "before", At: at(-100)},
		{Kind: timeline.Answer, Key: "answer", At: at(1000), Took: time.Second},
	}})
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

// The rows of a sub-agent are below one row. It ends when an agent above it acts, and is shown at first if
// a request has failed, if sub-agents are in it, if it is the only one, or if the run goes on.
func TestRowsFoldByTheirSubAgents(t *testing.T) {
	for _, tt := range []struct {
		name string
		rows string // kind and label; ! is a failed call
		want string // labels with + if open, and their rows in brackets
	}{
		{"no sub-agents", "dispatch call trace answer", "dispatch call trace answer"},
		{"two that follow", "dispatch call:a call:b trace:b answer", "dispatch -a[call] -b[call trace] answer"},
		{"two at once", "dispatch call:a call:b model:a call:b wait:a answer", "dispatch -a[call model wait] -b[call call] answer"},
		{"a failure", "dispatch call:a call!:b answer", "dispatch -a[call] +b[call] answer"},
		{"the only one", "dispatch call:a answer", "dispatch +a[call] answer"},
		{"below a supervisor", "dispatch trace:s call:s/a model:s call:s/b call!:s/c answer",
			"dispatch +s[trace -s/a[call] model -s/b[call] +s/c[call]] answer"},
		{"consulted twice", "dispatch call:s/a call call:s/a call:b answer", "dispatch -s/a[call] call -s/a[call] -b[call] answer"},
		{"two turns", "dispatch call:a answer dispatch call:a call:b answer", "dispatch -a[call] answer dispatch -a[call] -b[call] answer"},
		{"the one above comes later", "dispatch call:s/a call:s call:s/a answer", "dispatch -s/a[call] +s[call -s/a[call]] answer"},
		{"no such label between", "dispatch call:s call:s/a/b call:s answer", "dispatch +s[call -s/a/b[call] call] answer"},
		{"labels that begin alike", "dispatch call:a call:ab call:a answer", "dispatch -a[call call] -ab[call] answer"},
		{"a run that goes on", "live dispatch call:a call:b", "dispatch +a[call] +b[call]"},
	} {
		var plain timeline.Run
		rest, live := strings.CutPrefix(tt.rows, "live ")
		plain.Live = live
		for i, word := range strings.Fields(rest) {
			kind, actor, _ := strings.Cut(word, ":")
			kind, failed := strings.CutSuffix(kind, "!")
			row := timeline.Row{Kind: timeline.Kind(kind), Key: strconv.Itoa(i), Actor: actor, Status: 200}
			if row.Kind == timeline.Call {
				row.Attempts = []timeline.Attempt{{OK: !failed}}
			}
			plain.Rows = append(plain.Rows, row)
		}
		run := new(Texts).Prepare(plain)
		if got := treeOf(run.Tree); got != tt.want {
			t.Errorf("%s: %s\nwant %s", tt.name, got, tt.want)
		}
	}
}

func treeOf(rows []*Row) string {
	var words []string
	for _, row := range rows {
		word := string(row.Kind)
		if row.Kind == SubAgent {
			word = map[bool]string{false: "-", true: "+"}[row.Unfolded] + row.Actor + "[" + treeOf(row.Rows) + "]"
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

// The row of a sub-agent says how many calls it has made, what failed, its tokens, and how long it took. A
// call that waits for its answer has not failed. No label is nested deeper than can be shown.
func TestTheRowOfASubAgent(t *testing.T) {
	began := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	at := func(ms int) time.Time { return began.Add(time.Duration(ms) * time.Millisecond) }
	run := (&Texts{Prefix: "x/"}).Prepare(timeline.Run{Began: began, Took: time.Second, Rows: []timeline.Row{
		{Kind: timeline.Dispatch, Key: "1", At: began, Took: time.Second},
		{Kind: timeline.Call, Key: "2", Actor: "s/a", At: at(100), Took: 200 * time.Millisecond, Attempts: []timeline.Attempt{{OK: true}}},
		{Kind: timeline.Model, Key: "3", Actor: "s/a", At: at(200), Took: 300 * time.Millisecond, Status: 529},
		{Kind: timeline.Model, Key: "4", Actor: "s/a", At: at(200), Took: time.Millisecond, Status: 200, InputTokens: 7, OutputTokens: 5},
		{Kind: timeline.Call, Key: "5", Actor: "s/b", At: at(900), Open: true, Attempts: []timeline.Attempt{{}}},
		{Kind: timeline.Call, Key: "6", Actor: "s/b", At: at(950), Source: "error", Reason: "no response", Attempts: []timeline.Attempt{{OK: true}}},
		{Kind: timeline.Trace, Key: "7", Actor: "s/b/c/d/e/f/g/h", At: at(990)},
	}})
	first, second := run.Tree[1], run.Tree[2]
	if got := first.Summary(); got != "1 call, 1 failure, 7 tokens in, 5 out, 400 ms" || first.ID != "x/2-agent" || first.Link != "#x/2-agent" {
		t.Errorf("%s %s", first.ID, got)
	}
	if !slices.Equal(first.Bars, []Bar{{false, 100, 400}}) || first.Rows[0].Depth != 2 || first.Depth != 1 {
		t.Errorf("%+v", first)
	}
	if got := second.Summary(); got != "2 calls, 1 failure, 100 ms" {
		t.Error(got)
	}
	plain := timeline.Run{}
	for label := "a"; len(label) < 20; label += "/a" {
		plain.Rows = append(plain.Rows, timeline.Row{Kind: timeline.Call, Actor: label})
	}
	deep := new(Texts).Prepare(plain)
	if last := deep.Rows[len(deep.Rows)-1].Depth; last != 5 {
		t.Errorf("the deepest row is at %d", last)
	}
}

// What comes from outside is neither markup in a page nor a line or a colour in a terminal, whatever
// field it is in.
func TestHostileTexts(t *testing.T) {
	evil := "</script><x-evil>\u202e\x1b[2J\x00\n" + strings.Repeat("long", 10_000)
	row := timeline.Row{
		Actor: evil, Name: evil, Model: evil, Source: evil, Reason: evil, Policy: evil, From: evil, To: evil,
		Request: timeline.JSON("request", []byte(evil)), Response: timeline.Plain("response", evil), Input: timeline.Plain("input", evil),
		Final: timeline.Plain("final", evil), Text: timeline.Plain("text", evil), Notes: []string{evil}, Adapter: []string{evil},
		Attempts: []timeline.Attempt{{Status: 500, Class: evil, Reason: evil}, {OK: true}}, Writes: []timeline.Write{{What: evil, Violations: []string{evil}}},
	}
	for _, kind := range []timeline.Kind{timeline.Ping, timeline.Dispatch, timeline.Answer, timeline.Model, timeline.Wait,
		timeline.Call, timeline.Trace, timeline.Telemetry, timeline.RefusedTrace, timeline.RefusedPath} {
		run := timeline.Run{Rows: []timeline.Row{row}}
		run.Rows[0].Kind = kind
		for line := range strings.Lines(timeline.Print(run.Rows)) {
			if strings.ContainsAny(line, "\x00\x1b\u202e") || len(line) > 3000 || strings.HasPrefix(line, "long") {
				t.Errorf("%s is printed as %.200q, %d bytes", kind, line, len(line))
			}
		}
		var page bytes.Buffer
		if err := Templates().ExecuteTemplate(&page, "timeline", new(Texts).Prepare(run)); err != nil {
			t.Fatal(err)
		}
		if strings.ContainsAny(page.String(), "\x00\x1b\u202e") || strings.Contains(page.String(), "<x-evil") || page.Len() > 60_000 {
			t.Errorf("%s has a page of %d bytes with characters or elements from outside", kind, page.Len())
		}
	}
}
