package timeline

import (
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"slices"
	"strings"
	"time"

	"github.com/toolwire/toolwire/internal/text"
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
	Text
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
		"length": Length,
		"plural": text.Plural,
		"add":    func(a, b int) int { return a + b },
		"named":  func(label string, t Text) block { return block{label, t} },
	}).ParseFS(files, "templates/*.html"))
}

// A Bar is a part of the bar of a row, on a scale from 0 to 1000.
type Bar struct {
	Bad      bool // a request that failed
	X, Width int
}

// minBar is the least width of a bar, so that it can be seen.
const minBar = 6

// Prepare prepares all texts of a run for HTML, and places its rows on the scale of the run.
func (t *Texts) Prepare(r *Run) {
	r.Prefix = t.Prefix
	for i := range r.Rows {
		row := &r.Rows[i]
		if len(row.Adapter) > 0 { // it has these
			row.Notes = slices.DeleteFunc(row.Notes, func(note string) bool { return strings.HasPrefix(note, "ledger_adapter: ") })
		}
		switch {
		case row.Inline:
			row.Request = Text{}
		case row.Kind == Ping, row.Kind == Answer: // a page shows the final response, and has bodies elsewhere
			row.Response = Text{}
		}
	}
	r.change(t.Line, func(s Text) Text {
		switch {
		case s.Empty():
			return Text{}
		case s.JSON:
			return t.JSON(s.Key, json.RawMessage(s.Shown))
		}
		return t.Text(s.Key, s.Shown)
	})
	for i := range r.Rows {
		row := &r.Rows[i]
		row.ID = t.Prefix + row.Key
		row.Link = "#" + row.ID
		row.Since = r.since(row.At)
		for k := range row.Attempts {
			row.Attempts[k].Since = r.since(row.Attempts[k].At)
		}
		end := row.Since
		if row.Kind != Answer { // which took the time before it
			end += row.Took
		}
		r.Took = max(r.Took, end)
	}
	for i := range r.Rows {
		r.Rows[i].Bars = r.bars(&r.Rows[i])
	}
	r.fold()
}

// since returns how long after the start of the run something was. It is 0 for what was before.
func (r *Run) since(at time.Time) time.Duration { return max(at.Sub(r.Began), 0) }

// bars returns the bars of a row: one, or one for each attempt of a call.
func (r *Run) bars(row *Row) []Bar {
	if r.Took <= 0 || row.Kind == Answer { // its dispatch has the bar
		return nil
	}
	bar := func(since, took time.Duration, bad bool) Bar {
		scale := func(d time.Duration) int { return int(min(float64(d)/float64(r.Took), 1) * 1000) }
		width := max(scale(took), minBar)
		return Bar{bad, min(scale(since), 1000-width), width}
	}
	if len(row.Attempts) == 0 {
		return []Bar{bar(row.Since, r.took(row), row.Kind == Model && row.failed())}
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

// Milliseconds returns a duration in milliseconds as a Duration.
func Milliseconds(ms float64) time.Duration { return time.Duration(ms * float64(time.Millisecond)) }

// Length formats a duration for people.
func Length(d time.Duration) string {
	switch {
	case d < 10*time.Microsecond:
		return "0 ms"
	case d < time.Millisecond:
		return fmt.Sprintf("%.2f ms", float64(d)/float64(time.Millisecond))
	case d < 100*time.Millisecond:
		return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond))
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.2f s", d.Seconds())
	}
	return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
}
