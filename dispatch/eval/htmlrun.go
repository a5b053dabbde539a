package eval

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/internal/hook"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/runhtml"
	"github.com/toolwire/toolwire/internal/text"
	"github.com/toolwire/toolwire/internal/timeline"
)

// Bounds of a run that is shown in full.
const (
	maxText     = 2 << 10  // bytes of each text
	maxTexts    = 48 << 10 // bytes of all texts, see runhtml.Texts.Budget
	maxRows     = 100      // of the timeline
	maxMessages = 50
	maxEntries  = 100 // changes of the ledger, findings
	maxOfCall   = 20  // attempts, notes, updates and steps of the adapter
	maxPath     = 60  // calls of a difference of trajectories
)

// htmlTrial is the record of a trial in its case, without the outcome of its run.
type htmlTrial struct {
	record
	Took     time.Duration
	Measured string // the scores and the models, of a run that is shown in full
	Anchor   string
	Link     string
	Run      *htmlRun // nil if it is not shown in full
}

// Short returns why the trial did not pass, in at most 200 characters.
func (t *htmlTrial) Short() string {
	return why(t.Cause, text.Line(t.Reason, 200))
}

// htmlRun is a run that is shown in full.
type htmlRun struct {
	*runhtml.Run
	Why          timeline.Text // the whole reason
	Differ       []htmlMismatch
	AgentError   timeline.Text
	Path         *htmlPath
	MoreRows     int
	MoreMessages int
	MoreChanges  int
	MoreProblems int
	MoreFaults   int
}

// htmlMismatch is a mismatch.
type htmlMismatch struct {
	Reason           string
	Expected, Actual timeline.Text
}

// fill prepares the row and the trials of a case: those that are shown in full, and the first others
// that did not pass.
func (p *htmlPage) fill(c *htmlCase) error {
	c.Cells = p.cells(c.trials[0].data())
	others, more, left := map[Verdict]int{}, []string(nil), maxListed
	for i := range c.trials {
		t := &c.trials[i]
		full := p.full[t]
		if !full && (t.Verdict == Passed || left == 0) {
			others[t.Verdict]++
			continue
		} else if !full {
			left--
		}
		shown := &htmlTrial{record: t.known(p.secrets), Took: t.Took, Anchor: c.Anchor + strconv.Itoa(t.Number)}
		shown.Link, shown.Repeat = "#"+shown.Anchor, p.Experiment.repeated(t)
		for _, text := range []*string{&shown.Cause, &shown.Reason, &shown.Expected, &shown.Ended, &shown.Repeat} {
			*text = p.line(*text)
		}
		c.List = append(c.List, shown)
		if !full {
			continue
		}
		var measured []string
		for _, name := range p.names {
			if v, known := t.Scores[name]; known {
				measured = append(measured, p.line(name)+" "+amount(v))
			}
		}
		for _, model := range models(*t) {
			measured = append(measured, "model "+p.line(model))
		}
		shown.Measured = strings.Join(measured, ", ")
		var err error
		if shown.Run, err = p.run(c, t, shown.Anchor); err != nil {
			return err
		}
	}
	for _, v := range verdicts {
		if n := others[v.verdict]; n > 0 {
			more = append(more, fmt.Sprintf("%d %s", n, v.word))
		}
	}
	c.Others = strings.Join(more, ", ")
	return nil
}

// run prepares the run of a trial; nil if nothing was dispatched.
func (p *htmlPage) run(c *htmlCase, t *Trial, anchor string) (*htmlRun, error) {
	result, differ, err := t.graded()
	if result == nil || err != nil {
		return nil, err
	}
	texts := &runhtml.Texts{Secrets: p.secrets, Most: maxText, Budget: maxTexts, Prefix: anchor + "/"}
	r := &htmlRun{Why: texts.Text("reason", t.Reason), AgentError: texts.Text("agent-error", result.AgentError)}
	for i, m := range differ {
		r.Differ = append(r.Differ, htmlMismatch{
			p.line(m.Reason), texts.Text(fmt.Sprintf("expected-%d", i+1), m.Expected), texts.Text(fmt.Sprintf("actual-%d", i+1), m.Actual),
		})
	}
	if r.Path, err = p.path(c, t, result); err != nil {
		return nil, err
	}
	run := hook.Of[timeline.Run](result)
	if slices.ContainsFunc(differ, func(m mismatch) bool { return m.Actual == text.Cut(p.secrets.Redact(result.FinalResponse), maxText) }) {
		run.Final = timeline.Text{} // the page shows it as what was not expected
	}
	if len(result.Turns) > 0 && c.Instruction == "" {
		if s := text.Line(p.line(result.Turns[0].Instruction), 300); !strings.HasSuffix(c.Title, s) {
			c.Instruction = s
		}
	}
	run.Rows, r.MoreRows = timeline.First(run.Rows, maxRows)
	for i := range run.Rows {
		run.Rows[i].Bound(maxOfCall)
	}
	run.Messages, r.MoreMessages = timeline.First(run.Messages, maxMessages)
	run.Changes, r.MoreChanges = timeline.First(run.Changes, maxEntries)
	run.Problems, r.MoreProblems = timeline.First(run.Problems, maxEntries)
	run.Faults, r.MoreFaults = timeline.First(run.Faults, maxListed)
	r.Run = texts.Prepare(run)
	return r, nil
}

// htmlPath is how the calls of a run differ from the calls of another run.
type htmlPath struct {
	Of      string // which other
	Link    string // to it; "" if it is not in the page
	Verdict Verdict
	Same    bool
	Steps   []htmlStep
	More    int
}

// htmlStep is a call of one of the runs, or several that are equal.
type htmlStep struct {
	Kind    string // same, removed, added or changed
	Count   int    // of calls that are equal and not shown
	Call    string
	Changes []string // of the arguments
}

// path compares a run with the same trial of the baseline, or else with one of its case that passed.
func (p *htmlPage) path(c *htmlCase, t *Trial, result *dispatchtest.Result) (*htmlPath, error) {
	path, other := &htmlPath{}, (*Trial)(nil)
	if i := slices.IndexFunc(p.baseline[t.ID], func(b Trial) bool { return b.Number == t.Number }); i >= 0 {
		other, path.Of = &p.baseline[t.ID][i], "the baseline"
		if c.Many {
			path.Of = fmt.Sprintf("trial %d of the baseline", t.Number)
		}
	} else if t.Verdict != Passed {
		if i := slices.IndexFunc(c.trials, func(b Trial) bool { return b.Verdict == Passed }); i >= 0 {
			other, path.Of = &c.trials[i], fmt.Sprintf("trial %d", c.trials[i].Number)
			path.Link = "#" + c.Anchor + strconv.Itoa(other.Number)
		}
	}
	if other == nil {
		return nil, nil
	}
	before, err := other.result()
	if before == nil || err != nil {
		return nil, err
	}
	path.Verdict = other.Verdict
	from, to := TrajectoryOf(before), TrajectoryOf(result)
	d := from.difference(to)
	path.Same = len(d) == 0
	path.add(p.line, from, d)
	if n := len(path.Steps); n > maxPath {
		path.Steps, path.More = path.Steps[:maxPath], n-maxPath
	}
	return path, nil
}

// add adds the steps from one trajectory to the other.
func (p *htmlPath) add(line func(string) string, from Trajectory, d difference) {
	next := 0
	until := func(at int) {
		// Of many calls that are equal the first and the last are shown.
		for ; next < at; next++ {
			if left := at - next; left > 3 && next > 0 {
				p.Steps = append(p.Steps, htmlStep{Kind: "same", Count: left - 1})
				next = at - 1
			}
			p.Steps = append(p.Steps, htmlStep{Kind: "same", Call: line(from[next].String())})
		}
	}
	for _, e := range d {
		until(e.at)
		switch {
		case e.removed == nil:
			p.Steps = append(p.Steps, htmlStep{Kind: "added", Call: line(e.added.String())})
		case e.added == nil:
			p.Steps = append(p.Steps, htmlStep{Kind: "removed", Call: line(e.removed.String())})
			next = e.at + 1
		default:
			step := htmlStep{Kind: "changed", Call: line(e.added.Tool)}
			changes := rawjson.Diff(e.removed.Arguments, e.added.Arguments)
			for _, diff := range changes[:min(len(changes), maxListed)] {
				step.Changes = append(step.Changes, line(fmt.Sprintf("%s: %s → %s", diff.Pointer, orNothing(diff.Before), orNothing(diff.After))))
			}
			if n := len(changes) - maxListed; n > 0 {
				step.Changes = append(step.Changes, fmt.Sprintf("and %d more", n))
			}
			p.Steps = append(p.Steps, step)
			next = e.at + 1
		}
	}
	until(len(from))
}
