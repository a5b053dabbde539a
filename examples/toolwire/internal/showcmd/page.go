package showcmd

import (
	"bufio"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toolwire/toolwire/dispatch/cassette"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/examples/toolwire/internal/runfile"
	"github.com/toolwire/toolwire/internal/hook"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/runhtml"
	"github.com/toolwire/toolwire/internal/text"
	"github.com/toolwire/toolwire/internal/timeline"
)

//go:embed templates
var files embed.FS

//go:embed templates/show.css
var style string

var templates = template.Must(runhtml.Templates().ParseFS(files, "templates/*.html"))

// Bounds of a run on the page.
const (
	maxText  = 32 << 10 // bytes of each text
	maxTexts = 4 << 20  // bytes of all texts, see runhtml.Texts.Budget
	maxRows  = 2000     // of the timeline, and messages
	maxOf    = 100      // changes, findings, attempts
)

// recording is a run that is shown.
type recording struct {
	Kind, File, Title string
	Warning           string // what is wrong with the file
	Facts             []fact
	AgentError        timeline.Text
	Failure           string
	*runhtml.Run
	MoreRows, MoreMessages, MoreChanges, MoreProblems int

	plain timeline.Run // before it was prepared
}

type fact struct{ Name, Text string }

// open reads a tape or a saved run.
func open(ctx context.Context, file, kind string) (*recording, error) {
	r := &recording{Kind: kind, File: filepath.Base(file)}
	var result *dispatchtest.Result
	var recorded time.Time // the beginning of a tape
	var err error
	if kind == aTape {
		tape, problem := cassette.Load(file)
		if tape == nil {
			return nil, problem
		}
		if problem != nil { // it is truncated
			r.Warning = problem.Error()
		}
		r.Title = tape.Task.Instruction
		recorded = tape.Created
		r.fact("Recorded", recorded.UTC().Format("2 Jan 2006, 15:04:05 MST"))
		result, err = resultOf(ctx, tape)
	} else {
		var run *runfile.File
		if run, err = runfile.Read(file); err == nil {
			result = run.Result
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	r.take(result)
	if !recorded.IsZero() {
		r.plain.Began = recorded
	}
	return r, nil
}

// maxTrials is how many trials of a file that is not complete are shown.
const maxTrials = 50

// readTrials returns the first runs of a file of results that is not complete; problem says why.
func readTrials(file string, problem error) (list []*recording) {
	f, err := os.Open(file)
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, runfile.MaxBytes)
	for lines.Scan() && len(list) < maxTrials {
		var trial struct {
			ID      string          `json:"id"`
			Trial   int             `json:"trial"`
			Verdict string          `json:"verdict"`
			Reason  string          `json:"reason"`
			Result  json.RawMessage `json:"result"`
		}
		result := new(dispatchtest.Result)
		if json.Unmarshal(lines.Bytes(), &trial) != nil || trial.Result == nil || rawjson.DecodeOwn(trial.Result, result) != nil {
			continue
		}
		r := &recording{Kind: aResults, File: filepath.Base(file), Title: fmt.Sprintf("%s, trial %d", trial.ID, trial.Trial)}
		r.fact("Verdict", new(runhtml.Texts).Line(strings.TrimSuffix(trial.Verdict+": "+trial.Reason, ": ")))
		if r.take(result); len(list) == 0 {
			r.Warning = problem.Error()
		}
		list = append(list, r)
	}
	return list
}

func (r *recording) fact(name, text string) { r.Facts = append(r.Facts, fact{name, text}) }

// take adds what is known of a run.
func (r *recording) take(result *dispatchtest.Result) {
	if n := len(result.Turns); n > 0 && result.FinalResponse == "" { // as a file of results has it
		result.FinalResponse = result.Turns[n-1].FinalResponse
	}
	r.plain = hook.Of[timeline.Run](result)
	if r.Title == "" && len(result.Turns) > 0 {
		r.Title = result.Turns[0].Instruction
	}
	texts := &runhtml.Texts{}
	r.Title = texts.Line(r.Title)
	if r.Title == "" {
		r.Title = r.File
	}
	if result.ErrorClass != "" {
		r.Failure = texts.Line(string(result.ErrorClass) + ": " + result.Error)
	}
	r.fact("Tool calls", strconv.Itoa(len(result.Calls)))
	if n := len(result.Refused); n > 0 {
		r.fact("Refused", strconv.Itoa(n))
	}
	var models []string
	var in, out int64
	for _, m := range result.ModelRequests {
		in, out = in+m.InputTokens, out+m.OutputTokens
		if name := texts.Line(m.Model); name != "" && !slices.Contains(models, name) {
			models = append(models, name)
		}
	}
	if n := len(result.ModelRequests); n > 0 {
		r.fact("Requests to models", strconv.Itoa(n))
		r.fact("Models", strings.Join(models[:min(len(models), 5)], ", "))
		r.fact("Tokens", fmt.Sprintf("%d in, %d out", in, out))
	}
	var waited time.Duration
	for _, w := range result.Waits {
		waited += w.Duration
	}
	if waited > 0 {
		r.fact("Waits", timeline.Length(waited))
	}
}

// prepare prepares the run for its place on the page.
func (r *recording) prepare(prefix string) {
	texts := &runhtml.Texts{Most: maxText, Budget: maxTexts, Prefix: prefix}
	run := r.plain
	run.Rows, r.MoreRows = timeline.First(run.Rows, maxRows)
	for i := range run.Rows {
		run.Rows[i].Bound(maxOf)
	}
	run.Messages, r.MoreMessages = timeline.First(run.Messages, maxRows)
	run.Changes, r.MoreChanges = timeline.First(run.Changes, maxOf)
	run.Problems, r.MoreProblems = timeline.First(run.Problems, maxOf)
	run.Faults, _ = timeline.First(run.Faults, maxOf)
	for i := range run.Messages {
		run.Messages[i].Content.Key = "message-" + strconv.Itoa(i+1)
	}
	r.Run = texts.Prepare(run)
}

// difference is the first place where two runs differ.
type difference struct {
	What          string
	Before, After timeline.Text
	Links         [2]string
}

// entry is a message, an event, a change or a final response as a text, with its place on the page.
type entry struct{ text, link string }

var sections = [...]string{"Message", "Event", "Change of the ledger", "Final response"}

// outline returns the entries of a run by section, without times and ids of calls.
func outline(r *timeline.Run, prefix string) (list [len(sections)][]entry) {
	add := func(section int, link string, lines ...string) {
		lines = slices.DeleteFunc(lines, func(s string) bool { return s == "" })
		list[section] = append(list[section], entry{strings.Join(lines, "\n"), "#" + prefix + link})
	}
	for _, m := range r.Messages {
		lines := []string{m.Role}
		for _, t := range m.Thinking {
			lines = append(lines, "thinking: "+t.Shown)
		}
		lines = append(lines, m.Content.Shown)
		for _, c := range m.Calls {
			lines = append(lines, c.Name+" "+c.Arguments.Shown)
		}
		add(0, "messages", lines...)
	}
	for _, row := range r.Rows[:min(len(r.Rows), maxRows)] {
		lines := []string{strings.TrimSpace(string(row.Kind) + " " + row.Name), row.Actor, row.Model, row.Request.Shown}
		if row.Kind == timeline.Call {
			lines = append(lines, row.Response.Shown)
		}
		if row.Status != 0 {
			lines = append(lines, strconv.Itoa(row.Status))
		}
		for _, a := range row.Attempts {
			lines = append(lines, strings.TrimSpace(fmt.Sprintf("%d %s", a.Status, a.Class)))
		}
		add(1, row.Key, lines...)
	}
	for _, c := range r.Changes {
		add(2, "changes", c.Kind+" "+c.Where, c.Before.Shown+" → "+c.After.Shown)
	}
	if !r.Final.Empty() {
		add(3, "final", r.Final.Shown)
	}
	return list
}

// differences returns the first entry of each section in which two runs differ.
func differences(a, b *timeline.Run) (list []difference) {
	texts := &runhtml.Texts{Most: maxText, Prefix: "difference/"}
	before, after := outline(a, "1/"), outline(b, "2/")
	for n, what := range sections {
		i, nothing := 0, entry{text: "nothing"}
		for i < min(len(before[n]), len(after[n])) && before[n][i].text == after[n][i].text {
			i++
		}
		if i == len(before[n]) && i == len(after[n]) {
			continue
		}
		one, other := nothing, nothing
		if i < len(before[n]) {
			one = before[n][i]
		}
		if i < len(after[n]) {
			other = after[n][i]
		}
		if n < len(sections)-1 {
			what = fmt.Sprintf("%s %d", what, i+1)
		}
		list = append(list, difference{
			what, texts.Text(what+" before", around(one.text, other.text)), texts.Text(what+" after", around(other.text, one.text)),
			[2]string{one.link, other.link},
		})
	}
	return list
}

// around returns a long text from shortly before the place where it differs from another.
func around(s, other string) string {
	at := 0
	for at < min(len(s), len(other)) && s[at] == other[at] {
		at++
	}
	if at < 300 {
		return s
	}
	head, _, _ := strings.Cut(s, "\n")
	return text.Cut(head, 100) + "\n…" + strings.ToValidUTF8(s[at-100:], "")
}

// writeRuns writes the page of one run, or of two.
func writeRuns(w io.Writer, shown []*recording) error {
	page := struct {
		Title   string
		Runs    []*recording
		Compare bool
		Differ  []difference
	}{shown[0].Title, shown, len(shown) == 2 && shown[0].Kind != aResults, nil}
	if page.Compare {
		page.Title = shown[0].File + " and " + shown[1].File
		page.Differ = differences(&shown[0].plain, &shown[1].plain)
	}
	for i, r := range shown {
		r.prepare(strconv.Itoa(i+1) + "/")
	}
	_, err := io.WriteString(w, runhtml.Head(runhtml.Style+style, ""))
	return errors.Join(err, templates.ExecuteTemplate(w, "show.html", page))
}
