package eval

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"html/template"
	"io"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/toolwire/toolwire/internal/redact"
	"github.com/toolwire/toolwire/internal/timeline"
)

// maxRuns is how many runs a page of HTML shows in full.
const maxRuns = 200

//go:embed html
var htmlFiles embed.FS

var htmlTemplates = template.Must(timeline.Templates().Funcs(template.FuncMap{
	"percent": percent,
	"points":  Rate.points,
	"bounds":  func(r Rate) string { return fmt.Sprintf("[%s, %s]", number(100*r.Low), number(100*r.High)) },
	"time":    shortTime,
	"symbol": func(v Verdict) string {
		return map[Verdict]string{Passed: "✓", Failed: "✕", Errored: "!", Cancelled: "–", Skipped: "–"}[v]
	},
	"scale":  func(v float64) string { return fmt.Sprintf("%.1f", 100*min(max(v, 0), 1)) },
	"around": func(v float64) string { return fmt.Sprintf("%.1f", 50+50*min(max(v, -1), 1)) },
}).ParseFS(htmlFiles, "html/*.html"))

// WriteHTML writes the experiment as one HTML file that needs nothing else: the estimates, each case
// with its trials, and at most 200 runs with their timeline, messages and changes of the ledger. The
// runs of trials that did not pass come first. If baseline is not nil, the file contains the
// comparison too, see [Compare]. The cases are sorted by regression, and each run shows how its
// tool calls differ from the same trial of the baseline. Without a baseline, a trial that did not
// pass is compared with the first trial of its case that passed.
//
// The file can be read without scripts. Its script adds a filter, sorting and keys: j and k go to the next
// and the previous case, o opens and closes it, and / goes to the filter. Each trial has the address
// #case/trial. Each text shows at most 2 KiB. Each run shows at most 100 events, 50 messages, 100
// changes of the ledger and 100 findings. Each call shows at most 20 attempts, notes and updates.
// The page says how many more there are, and the file of results contains them. The page contains
// what the agent and the tools said, escaped; invisible characters are shown as ⟨U+202E⟩. Its
// content security policy allows its own style and script only. Equal experiments give equal bytes.
// Results that are in files are read one at a time.
//
// WriteHTML returns the error of [Compare], the first error of w, or an error that names the result
// that cannot be read.
func (e *Experiment) WriteHTML(w io.Writer, baseline *Experiment) error {
	page, err := newHTMLPage(e, baseline)
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(w, 64<<10)
	if err := page.write(out); err != nil {
		return err
	}
	return out.Flush()
}

// htmlPage is the page of an experiment: what is written before and after the cases.
type htmlPage struct {
	e        *Experiment
	baseline map[string][]Trial // by case
	texts    *timeline.Texts
	before   *redact.Set // secrets of the baseline

	Name, Title   string
	Started       time.Time
	Took          time.Duration
	TrialsPerCase int
	Stopped       bool // at first failures
	Fingerprint   Fingerprint
	Before        *Fingerprint // of the baseline
	OK            bool
	Counts        []htmlCount
	CaseCount     int
	Trials        int
	Stats         Stats
	Untried       string // names the cases without a trial; "" if there are none
	Powers        []htmlPower
	Causes        []causeCount
	Notes         []htmlCount
	MoreNotes     int
	Tables        []reportTable
	Compared      []reportTable
	Comparison    *Comparison
	Changes       map[string]int
	Missing       []string
	MoreMissing   int
	Shown, Ran    int // runs in full, and trials that could be

	cases []htmlCase
	names []string // of scores
}

// htmlCount is how many trials something is true of.
type htmlCount struct {
	Verdict Verdict
	Count   int
	Text    string
}

// htmlPower is what k trials of a case do together.
type htmlPower struct {
	K        int
	All, Any Power
}

// htmlCase is a case in the list.
type htmlCase struct {
	CaseResult
	Anchor string // with a slash at its end
	Link   string
	Title  string
	Place  int           // in the dataset, from 0
	Took   time.Duration // of all trials
	Many   bool          // the experiment has several trials of each case
	Diff   *CaseChange
	Dots   []Verdict // at most maxDots
	List   []*htmlTrial

	trials []Trial
	rank   int
	full   []bool // of the trials
}

// Open reports whether the case can be opened: it has runs in full, or several trials.
func (c *htmlCase) Open() bool {
	return c.Many || slices.ContainsFunc(c.List, func(t *htmlTrial) bool { return t.Run != nil })
}

// Reasons are why the case did not pass: of the first trials, each once.
func (c *htmlCase) Reasons() (list []string) {
	for _, t := range c.List {
		if text := t.Short(); text != "" && !slices.Contains(list, text) && len(list) < 2 {
			list = append(list, text)
		}
	}
	return list
}

// maxDots is how many trials the list shows as dots.
const maxDots = 20

func newHTMLPage(e, baseline *Experiment) (*htmlPage, error) {
	p := &htmlPage{
		e: e, texts: &timeline.Texts{Secrets: e.secrets}, Started: e.Started.UTC(), Took: e.Took, TrialsPerCase: e.TrialsPerCase,
		Stopped: e.FirstFailure, OK: e.OK(), Trials: len(e.Trials), Stats: e.Stats(), Causes: e.causes(), Changes: map[string]int{},
	}
	p.Name, p.Untried = p.texts.Line(oneLine(e.Name)), p.texts.Line(e.untried())
	if baseline != nil {
		p.before = baseline.secrets
	}
	p.Fingerprint = p.fingerprint(e.Fingerprint)
	changes := map[string]*CaseChange{}
	if baseline != nil {
		c, err := Compare(baseline, e)
		if err != nil {
			return nil, err
		}
		p.Comparison, p.Compared = c, p.clean(c.tables())
		before := p.fingerprint(baseline.Fingerprint)
		p.Before = &before
		for i := range c.Cases {
			changes[c.Cases[i].ID] = &c.Cases[i]
			p.Changes[string(c.Cases[i].Change)]++
		}
		for _, id := range c.Missing[:min(len(c.Missing), maxListed)] {
			p.Missing = append(p.Missing, p.texts.Line(id))
		}
		p.MoreMissing = len(c.Missing) - len(p.Missing)
		p.baseline = map[string][]Trial{}
		for _, trials := range caseTrials(baseline.Trials) {
			p.baseline[trials[0].ID] = trials
		}
	}
	for _, v := range verdicts {
		if n := e.Count(v.verdict); n > 0 {
			p.Counts = append(p.Counts, htmlCount{v.verdict, n, v.word})
		}
	}
	p.Tables, p.names = p.clean(e.tables()), e.scoreNames()
	p.addPowers()
	p.addNotes()
	for i, trials := range caseTrials(e.Trials) {
		p.cases = append(p.cases, p.newCase(i, trials, changes[trials[0].ID]))
	}
	p.CaseCount = len(p.cases)
	slices.SortStableFunc(p.cases, func(a, b htmlCase) int {
		return cmp.Or(cmp.Compare(a.effect(), b.effect()), a.rank-b.rank, cmp.Compare(a.rate(), b.rate()))
	})
	p.choose()
	return p, nil
}

func (p *htmlPage) fingerprint(f Fingerprint) Fingerprint {
	line := func(s string) string { return p.texts.Line(p.before.Redact(s)) }
	return Fingerprint{line(f.Dataset), line(f.World), line(f.Graders), line(f.Agent), line(f.User)}
}

// clean prepares the texts of tables.
func (p *htmlPage) clean(tables []reportTable) []reportTable {
	for i := range tables {
		t := &tables[i]
		t.Title = p.texts.Line(t.Title)
		for _, cells := range append(t.Rows, t.Head) {
			for k, text := range cells {
				cells[k] = p.texts.Line(p.before.Redact(text))
			}
		}
	}
	return tables
}

// addPowers adds pass^k and pass@k, for few k if there are many.
func (p *htmlPage) addPowers() {
	if p.Stats.Counted == nil || p.TrialsPerCase < 2 {
		return
	}
	n := len(p.Stats.Counted.AllOf)
	for k := 1; k <= n; k++ {
		if k <= 5 || k == n || k == 10 || k == 100 || k == 1000 {
			p.Powers = append(p.Powers, htmlPower{k, p.Stats.Counted.AllOf[k-1], p.Stats.Counted.AnyOf[k-1]})
		}
	}
}

// addNotes adds the warnings of the platform, and why cases were skipped.
func (p *htmlPage) addNotes() {
	at, more := map[string]int{}, map[string]bool{}
	for i := range p.e.Trials {
		t := &p.e.Trials[i]
		notes := t.remarks()
		if t.Verdict == Skipped {
			notes = append(slices.Clone(notes), "skipped: "+t.Reason)
		}
		for _, note := range notes {
			if _, known := at[note]; !known && len(p.Notes) == maxListed {
				more[note] = true
				continue
			} else if !known {
				at[note] = len(p.Notes)
				p.Notes = append(p.Notes, htmlCount{Text: p.texts.Line(note)})
			}
			p.Notes[at[note]].Count++
		}
	}
	p.MoreNotes = len(more)
}

func (p *htmlPage) newCase(place int, trials []Trial, change *CaseChange) htmlCase {
	c := htmlCase{
		CaseResult: p.e.together(trials), Place: place, Many: p.TrialsPerCase > 1, Diff: change, trials: trials,
		full: make([]bool, len(trials)), Anchor: anchor(trials[0].ID) + "/",
	}
	c.Link = "#" + c.Anchor
	c.Title = cmp.Or(p.texts.Line(oneLine(c.Name)), p.texts.Line(oneLine(c.ID)))
	c.rank = slices.Index([]Verdict{Failed, Errored, Cancelled, Passed, Skipped}, c.Verdict)
	for _, t := range trials {
		c.Took += t.Took
		if len(c.Dots) < maxDots {
			c.Dots = append(c.Dots, t.Verdict)
		}
	}
	return c
}

// effect is 0 without a baseline.
func (c *htmlCase) effect() float64 {
	if c.Diff == nil {
		return 0
	}
	return c.Diff.Effect.Value
}

func (c *htmlCase) rate() float64 {
	if c.Rate == nil {
		return 0
	}
	return c.Rate.Value
}

// anchor returns an id as the part of an address. Different ids have different anchors.
func anchor(id string) string {
	escaped := url.QueryEscape(id)
	if len(escaped) <= 100 {
		return escaped
	}
	begin, sum := escaped[:80], sha256.Sum256([]byte(id))
	if i := strings.LastIndexByte(begin, '%'); i >= 78 { // half of an escape
		begin = begin[:i]
	}
	return begin + "~" + hex.EncodeToString(sum[:8])
}

// choose decides which runs are shown in full: those that did not pass, of regressed cases first;
// then the first trial that passed of the same cases; then the others.
func (p *htmlPage) choose() {
	type run struct{ of, trial, rank int }
	var runs []run
	for i := range p.cases {
		c, contrast := &p.cases[i], false
		for k := range c.trials {
			t := &c.trials[k]
			if t.Result == nil && t.at.file == "" || t.Verdict == Skipped || t.Verdict == Cancelled {
				continue
			}
			rank := 3
			switch {
			case t.Verdict != Passed && c.Diff != nil && c.Diff.Change == Regressed:
				rank = 0
			case t.Verdict != Passed:
				rank = 1
			case !contrast && c.rank < 2:
				rank, contrast = 2, true
			}
			runs = append(runs, run{i, k, rank})
		}
	}
	slices.SortStableFunc(runs, func(a, b run) int { return a.rank - b.rank })
	p.Ran, p.Shown = len(runs), min(len(runs), maxRuns)
	for _, r := range runs[:p.Shown] {
		p.cases[r.of].full[r.trial] = true
	}
}

// write writes the page: the head, one case after the other, and the end.
func (p *htmlPage) write(w *bufio.Writer) error {
	style, err := htmlFiles.ReadFile("html/report.css")
	if err != nil {
		return err
	}
	script, err := htmlFiles.ReadFile("html/report.js")
	if err != nil {
		return err
	}
	sheet := timeline.Style + string(style)
	_, _ = fmt.Fprintf(w, `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src '%s'; script-src '%s'; img-src data:; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<link rel="icon" href="data:,">
<style>%s</style>
`, hashed(sheet), hashed(string(script)), sheet) // a bufio.Writer keeps its error
	if err := htmlTemplates.ExecuteTemplate(w, "begin", p); err != nil {
		return err
	}
	for i := range p.cases {
		c := &p.cases[i]
		if err := p.fill(c); err != nil {
			return err
		}
		if err := htmlTemplates.ExecuteTemplate(w, "case", c); err != nil {
			return err
		}
		c.List = nil
	}
	if err := htmlTemplates.ExecuteTemplate(w, "end", p); err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "<script>%s</script>\n</body>\n</html>\n", script)
	return err
}

// hashed is a source of a content security policy.
func hashed(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}
