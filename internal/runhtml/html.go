// Package runhtml shows the run of package timeline in pages: [Texts] bounds and cleans what came from
// outside and hides secrets, [Texts.Prepare] places the rows on the scale of the run and folds those of
// sub-agents, and the templates of [Templates] write them in the style [Style]. html/template escapes the
// rest.
package runhtml

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"slices"
	"strings"
	"time"

	"github.com/toolwire/toolwire/internal/text"
	"github.com/toolwire/toolwire/internal/timeline"
)

// Style is the style sheet of the templates, in light and dark colours. Every colour in it is a
// custom property.
//
//go:embed style.css
var Style string

//go:embed templates
var files embed.FS

// block is the argument of the template "text": a text with a label, which may be "".
type block struct {
	Label string
	timeline.Text
}

// Templates returns the templates, to which the caller adds its pages. The names of others begin with
// "timeline-":
//
//	text       a text with a label, made by the function named
//	timeline   *Run: Rows
//	changes    *Run: Changes
//	messages   *Run: Messages
//	problems   *Run: Problems
//
// The runs and texts must have passed [Texts]. The functions that the templates use are length, plural,
// add and named.
func Templates() *template.Template {
	return template.Must(template.New("").Funcs(template.FuncMap{
		"length": timeline.Length,
		"plural": text.Plural,
		"add":    func(a, b int) int { return a + b },
		"named":  func(label string, t timeline.Text) block { return block{label, t} },
	}).ParseFS(files, "templates/*.html"))
}

// Head returns the beginning of a page that needs nothing else, up to its title: with a style sheet, and
// with a content security policy that allows only this style and the script, which may be "".
func Head(style, script string) string {
	source := func(text string) string {
		if text == "" {
			return "none"
		}
		sum := sha256.Sum256([]byte(text))
		return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
	}
	return fmt.Sprintf(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src '%s'; script-src '%s'; img-src data:; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<link rel="icon" href="data:,">
<style>%s</style>
`, source(style), source(script), style)
}

// A Bar is a part of the bar of a row, on a scale from 0 to 1000.
type Bar struct {
	Bad      bool // a request that failed
	X, Width int
}

// minBar is the least width of a bar, so that it can be seen.
const minBar = 6

// Run is a run that is prepared.
type Run struct {
	timeline.Run        // Took is the scale of the bars
	Rows         []Row  // in place of those of the Run
	Tree         []*Row // Rows, and SubAgent with the rows of each sub-agent
	Prefix       string // of the ids of elements
}

// SubAgent is the kind of a row with the rows of a sub-agent.
const SubAgent timeline.Kind = "agent"

// Row is a row that is prepared.
type Row struct {
	timeline.Row
	Attempts []Attempt // in place of those of the Row

	ID, Link string        // the element, and a link to it
	Since    time.Duration // the beginning of the run
	Bars     []Bar
	Depth    int // how far it is nested

	// Of a sub-agent: its rows, how many of them are calls, how many have a failure, and whether they
	// are shown at first.
	Rows          []*Row
	Calls, Failed int
	Unfolded      bool
	below         map[string]*Row // sub-agents below it that are at work, by their labels
}

// Attempt is an attempt of a call that is prepared.
type Attempt struct {
	timeline.Attempt
	Since time.Duration // the beginning of the run
}

// Prepare prepares all texts of a run for HTML, and places its rows on the scale of the run. The texts of
// plain are replaced.
func (t *Texts) Prepare(plain timeline.Run) *Run {
	for i := range plain.Rows {
		row := &plain.Rows[i]
		if len(row.Adapter) > 0 { // it has these
			row.Notes = slices.DeleteFunc(row.Notes, func(note string) bool { return strings.HasPrefix(note, "ledger_adapter: ") })
		}
		switch {
		case row.Inline:
			row.Request = timeline.Text{}
		case row.Kind == timeline.Ping, row.Kind == timeline.Answer: // a page shows the final response, and has bodies elsewhere
			row.Response = timeline.Text{}
		}
	}
	plain.Change(t.Line, func(s timeline.Text) timeline.Text {
		switch {
		case s.Empty():
			return timeline.Text{}
		case s.JSON:
			return t.JSON(s.Key, json.RawMessage(s.Shown))
		}
		return t.Text(s.Key, s.Shown)
	})
	r := &Run{Run: plain, Prefix: t.Prefix, Rows: make([]Row, len(plain.Rows))}
	for i, from := range plain.Rows {
		row := &r.Rows[i]
		*row = Row{Row: from, ID: t.Prefix + from.Key, Link: "#" + t.Prefix + from.Key, Since: r.since(from.At)}
		for _, a := range from.Attempts {
			row.Attempts = append(row.Attempts, Attempt{a, r.since(a.At)})
		}
		end := row.Since
		if row.Kind != timeline.Answer { // which took the time before it
			end += row.Took
		}
		r.Took = max(r.Took, end)
	}
	for i := range r.Rows {
		r.Rows[i].Bars = r.bars(&r.Rows[i])
	}
	r.fold()
	return r
}

// since returns how long after the start of the run something was. It is 0 for what was before.
func (r *Run) since(at time.Time) time.Duration { return max(at.Sub(r.Began), 0) }

// bars returns the bars of a row: one, or one for each attempt of a call.
func (r *Run) bars(row *Row) []Bar {
	if r.Took <= 0 || row.Kind == timeline.Answer { // its dispatch has the bar
		return nil
	}
	bar := func(since, took time.Duration, bad bool) Bar {
		scale := func(d time.Duration) int { return int(min(float64(d)/float64(r.Took), 1) * 1000) }
		width := max(scale(took), minBar)
		return Bar{bad, min(scale(since), 1000-width), width}
	}
	if len(row.Attempts) == 0 {
		return []Bar{bar(row.Since, r.took(row), row.Kind == timeline.Model && row.failed())}
	}
	var list []Bar
	for i, a := range row.Attempts {
		open := row.Open && i == len(row.Attempts)-1
		if open {
			a.Took = r.Took - a.Since
		}
		list = append(list, bar(a.Since, a.Took, !a.OK && !open))
	}
	return list
}

// took returns how long a row took. What is open reaches to the end of the run.
func (r *Run) took(row *Row) time.Duration {
	if row.Open {
		return r.Took - row.Since
	}
	return row.Took
}
