package eval

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"io"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toolwire/toolwire/internal/redact"
	"github.com/toolwire/toolwire/internal/runhtml"
	"github.com/toolwire/toolwire/internal/timeline"
)

// maxRuns is how many runs a page of HTML shows in full.
const maxRuns = 200

//go:embed html
var htmlFiles embed.FS

var htmlTemplates = template.Must(runhtml.Templates().Funcs(template.FuncMap{
	"percent": percent,
	"points":  func(f Figure) string { return minus(f.difference()) },
	"time":    shortTime,
	"symbol": func(v Verdict) string {
		return map[Verdict]string{Passed: "✓", Failed: "✕", Errored: "!", Cancelled: "–", Skipped: "–"}[v]
	},
	"scale": func(v float64) string { return digits(100*min(max(v, 0), 1)) + "%" },
	"span":  func(f *Figure) string { return digits(100*(min(f.High, 1)-max(f.Low, 0))) + "%" },
}).ParseFS(htmlFiles, "html/*.html"))

// minus gives numbers the sign that is as wide as their digits.
func minus(numbers string) string { return strings.ReplaceAll(numbers, "-", "−") }

// WriteHTML writes the experiment as one HTML file that needs nothing else. before are earlier
// versions with the same cases, the oldest first, and the last of them is the baseline; those that are
// nil do not count. The page begins with the gates of e.GateBy, see [Compare], and the rate of each version. Then it
// shows the cases, the worst regression first, with the first 200 bytes of each cell of their rows, except for the
// columns without slices, see Experiment.SliceBy. After them it shows the warnings, the scores, the slowest and the
// dearest trials, and the parts by each column with few values. At most 200 runs are shown in full: their
// timeline, messages and changes of the ledger, and how their tool calls differ from the same trial of
// the baseline. The runs of trials that did not pass come first. Without a baseline, a trial that did
// not pass is compared with the first trial of its case that passed.
//
// The file can be read without scripts. Its script adds a filter, sorting and keys: j and k go to the next
// and the previous case, o opens and closes it, and / goes to the filter. Each case has the address
// #case/, and each run that is shown in full has #case/trial. Each text shows at most 2 KiB. Each run
// shows at most 100 events, 50 messages, 100 changes of the ledger and 100 findings. Each call shows at
// most 20 attempts, notes and updates. The page says how many more there are, and the file of results
// contains them. The page contains what the agent and the tools said, escaped; invisible characters
// are shown as ⟨U+202E⟩. Its content security policy allows its own style and script only. Equal
// experiments give equal bytes. Results that are in files are read one at a time.
//
// WriteHTML returns the error of [Compare], the first error of w, or an error that names the result
// that cannot be read.
func (e *Experiment) WriteHTML(w io.Writer, before ...*Experiment) error {
	page, err := newHTMLPage(e, present(before))
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
	*Experiment
	baseline map[string][]Trial // by case
	hidden   []*redact.Set      // secrets of all versions

	Name       string
	CaseCount  int
	Many       bool // there are several trials of a case
	Counts     []htmlCount
	Comparison *Comparisons
	Gates      []string
	Decision   Verdict // of all gates
	Conclusion string  // of a comparison
	Versions   table
	Changes    []string // counts of cases that changed
	Facts      []string
	Tables     []table
	Parts      []table // by columns
	About      []fact
	Notes      []note
	MoreNotes  int
	Shown, Ran int  // runs in full, and trials that could be
	Costs      bool // are known

	cases []htmlCase
	full  map[*Trial]bool // those whose run is shown in full
	names []string        // of scores

	columns []string // that have tables
}

// htmlCount is how many trials something is true of.
type htmlCount struct {
	Verdict Verdict
	Count   int
	Text    string
}

// htmlCase is a case in the list.
type htmlCase struct {
	caseResult
	Anchor      string // with a slash at its end
	Title       string
	Instruction string        // if a run is shown in full, and the title does not have it
	Cells       string        // of the columns, a line each
	Place       int           // in the dataset, from 0
	Took        time.Duration // of all trials
	Cost        float64       // likewise
	Many        bool          // the experiment has several trials of each case
	Open        bool          // a run is shown in full
	Diff        *Comparison
	List        []*htmlTrial
	Others      string // what became of the trials that are not listed

	trials []Trial
	rank   int
}

// Mixed reports whether the trials of the case ended in different ways.
func (c *htmlCase) Mixed() bool {
	return slices.ContainsFunc(c.trials, func(t Trial) bool { return t.Verdict != c.trials[0].Verdict })
}

// Dots are the first trials.
func (c *htmlCase) Dots() []Trial { return c.trials[:min(len(c.trials), maxListed)] }

// Bar is the rate of the case, beside the baseline's. If all trials of both ended alike, the numbers say
// as much: a bar in each of 10,000 rows makes the page slow.
func (c *htmlCase) Bar() cell {
	switch {
	case c.Diff != nil && c.Diff.Difference.Value != 0:
		return cell{Rate: &c.Diff.Candidate, Before: &c.Diff.Baseline}
	case c.Many && c.Mixed():
		return cell{Rate: c.Rate}
	}
	return cell{}
}

// Drawn reports whether a case has a bar.
func (p *htmlPage) Drawn() bool {
	return slices.ContainsFunc(p.cases, func(c htmlCase) bool { return c.Bar().Rate != nil })
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

func newHTMLPage(e *Experiment, before []*Experiment) (*htmlPage, error) {
	p := &htmlPage{Experiment: e, hidden: []*redact.Set{e.secrets}, full: map[*Trial]bool{}, names: e.scoreNames()}
	for _, b := range before {
		p.hidden = append(p.hidden, b.secrets)
	}
	p.Name, p.Many, p.Costs = p.line(e.Name), e.trialsPerCase() > 1, slices.Contains(p.names, scoreCost)
	sliced, columns := *e, e.columns()
	p.columns, sliced.SliceBy = columns, columns
	ordered, changes := append(slices.Clone(before), &sliced), map[string]*Comparison{}
	comparisons, err := steps(ordered)
	if err != nil {
		return nil, err
	}
	var tables []table
	if n := len(before); n == 0 {
		tables = sliced.tables()
	} else {
		p.Comparison, p.baseline = comparisons[n-1], map[string][]Trial{}
		for i := range p.Comparison.cases {
			changes[p.Comparison.cases[i].Difference.Slice] = &p.Comparison.cases[i]
		}
		tables = p.Comparison.tables()
		for _, trials := range caseTrials(before[n-1].Trials) {
			p.baseline[trials[0].ID] = trials
		}
	}
	for i, trials := range caseTrials(e.Trials) {
		p.cases = append(p.cases, p.newCase(i, trials, changes[trials[0].ID]))
	}
	p.CaseCount = len(p.cases)
	slices.SortStableFunc(p.cases, func(a, b htmlCase) int {
		return cmp.Or(cmp.Compare(a.effect(), b.effect()), a.rank-b.rank, cmp.Compare(a.rate(), b.rate()))
	})
	slowest := e.slowest()
	p.choose(slowest)
	for _, v := range verdicts {
		if n := e.count(v.verdict); n > 0 {
			p.Counts = append(p.Counts, htmlCount{v.verdict, n, v.word})
		}
	}
	own := versions(ordered, comparisons)
	p.Versions = p.clean(own[0])
	if len(ordered) > 2 { // the comparison has the scores of two
		tables = append(own[1:], tables...)
	}
	for _, t := range slices.Concat(tables, []table{powers(e.whole()), e.causeTable()}, slowest) {
		t.Folded = t.Column != "" && !slices.Contains(e.SliceBy, t.Column)
		switch t = p.clean(t); {
		case len(t.Rows) == 0:
		case t.Column != "":
			p.Parts = append(p.Parts, t)
		default:
			p.Tables = append(p.Tables, t)
		}
	}
	p.addFacts()
	p.Notes, p.MoreNotes = timeline.First(e.noted(), maxListed)
	for i := range p.Notes {
		p.Notes[i].Text, p.Notes[i].Link = p.line(p.Notes[i].Text), p.link(p.Notes[i].first)
	}
	return p, nil
}

// named is between a column and a cell. A text that line has prepared contains no tab, so no other column
// and cell read alike.
const named = ":\t"

// line prepares a short text, without the secrets of any version.
func (p *htmlPage) line(text string) string {
	for _, secrets := range p.hidden {
		text = secrets.Redact(text)
	}
	return new(runhtml.Texts).Line(text)
}

// clean prepares a table. A value of a column links to the cases that have it.
func (p *htmlPage) clean(t table) table {
	t.Column, t.Title = p.line(t.Column), p.line(t.Title)
	for i, head := range t.Head {
		t.Head[i] = p.line(head)
	}
	for _, row := range t.Rows {
		for i := range row {
			c := &row[i]
			if c.Number {
				c.Text = minus(c.Text)
			}
			switch c.Text = p.line(c.Text); {
			case t.Column != "" && i == 0 && c.Text != noValue:
				c.Link, c.By = "#cases", t.Column+named+c.Text
			case c.trial != nil:
				c.Link = p.link(c.trial)
			}
		}
	}
	return t
}

// link returns the address of a trial, or of its case if the run is not shown in full.
func (p *htmlPage) link(t *Trial) string {
	link := "#" + anchor(t.ID) + "/"
	if p.full[t] {
		link += strconv.Itoa(t.Number)
	}
	return link
}

// addFacts adds what is about the experiment and the comparison as a whole. Gates have a place of their own.
func (p *htmlPage) addFacts() {
	own, changes := p.Experiment.facts(), []fact(nil)
	if p.Comparison != nil {
		changes, p.Decision = p.Comparison.facts(), p.Comparison.Gate
	} else if p.MinRate > 0 {
		p.Decision, _ = p.Bar()
	}
	for i, f := range slices.Concat(changes, own) {
		line := p.line(f.String())
		switch {
		case f.Property == "conclusion":
			p.Conclusion = p.line(f.Text)
		case f.Property == "min_rate":
			p.Gates = append(p.Gates, line)
		case i < len(changes) && f.Name == "":
			p.Changes = append(p.Changes, line)
		case f.Property != "gate":
			p.Facts = append(p.Facts, line)
		case strings.HasPrefix(f.Name, "gate, margin"):
			p.Gates = append(p.Gates, strings.Replace(line, "gate, ", "rate, ", 1))
		default:
			p.Gates = append(p.Gates, strings.TrimPrefix(line, "gate, "))
		}
	}
	if p.Experiment.firstFailure {
		p.Facts = append(p.Facts, "cases were stopped at their first failure: there are verdicts and no rates")
	}
	f := p.Experiment.fingerprint
	for _, about := range [][2]string{{"Graders", f.Graders}, {"Simulated user", f.User}, {"Models", listed(models(p.Trials...), 5)}, {"Dataset", f.Dataset}, {"World", f.World}} {
		if about[1] != "" {
			p.About = append(p.About, fact{Name: about[0], Text: p.line(about[1])})
		}
	}
}

func (p *htmlPage) newCase(place int, trials []Trial, change *Comparison) htmlCase {
	c := htmlCase{
		caseResult: p.Experiment.together(trials), Place: place, Many: p.Many, Diff: change, trials: trials, Anchor: anchor(trials[0].ID) + "/",
	}
	c.Title = cmp.Or(p.line(c.Name), p.line(c.ID))
	c.rank = slices.Index([]Verdict{Failed, Errored, Cancelled, Passed, Skipped}, c.Verdict)
	for _, t := range trials {
		c.Took, c.Cost = c.Took+t.Took, c.Cost+t.Scores[scoreCost]
	}
	return c
}

// cells returns the cells of a row, a line each.
func (p *htmlPage) cells(row *row) string {
	if row == nil {
		return ""
	}
	cells := row.shown(nil)
	for _, column := range []string{"id", "name"} { // the title has them
		delete(cells, column)
	}
	for _, column := range p.columns { // their tables link to the cells
		if value := row.sliced(column); value != "" {
			cells[column] = value
		}
	}
	var lines []string
	for _, column := range slices.Sorted(maps.Keys(cells)) {
		lines = append(lines, p.line(column)+named+p.line(cells[column]))
	}
	return strings.Join(lines, "\n")
}

// effect is 0 without a baseline.
func (c *htmlCase) effect() float64 {
	if c.Diff == nil {
		return 0
	}
	return c.Diff.Difference.Value
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
	return begin + "!" + hex.EncodeToString(sum[:16]) // QueryEscape writes no !
}

// choose decides which runs are shown in full: those that did not pass, of regressed cases first, and
// those that the page links to; then the first trial that passed of the same cases; then the others.
func (p *htmlPage) choose(links []table) {
	linked := map[*Trial]bool{}
	for _, t := range links {
		for _, row := range t.Rows {
			for _, c := range row {
				linked[c.trial] = true
			}
		}
	}
	type run struct {
		of   *htmlCase
		t    *Trial
		rank int
	}
	var runs []run
	for i := range p.cases {
		c, contrast := &p.cases[i], false
		for k := range c.trials {
			t := &c.trials[k]
			if t.Result == nil && t.at.file == "" || !t.counts() {
				continue
			}
			rank := 3
			switch {
			case t.Verdict != Passed && c.Diff != nil && c.Diff.Verdict == Regressed:
				rank = 0
			case t.Verdict != Passed || linked[t]:
				rank = 1
			case !contrast && c.rank < 2:
				rank, contrast = 2, true
			}
			runs = append(runs, run{c, t, rank})
		}
	}
	slices.SortStableFunc(runs, func(a, b run) int { return a.rank - b.rank })
	p.Ran, p.Shown = len(runs), min(len(runs), maxRuns)
	for _, r := range runs[:p.Shown] {
		p.full[r.t], r.of.Open = true, true
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
	_, _ = w.WriteString(runhtml.Head(runhtml.Style+string(style), string(script))) // a bufio.Writer keeps its error
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
		c.List, c.Cells = nil, ""
	}
	if err := htmlTemplates.ExecuteTemplate(w, "end", p); err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "<script>%s</script>\n</body>\n</html>\n", script)
	return err
}
