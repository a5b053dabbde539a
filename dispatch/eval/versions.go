package eval

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
)

// WriteVersions writes tables of any number of experiments with the same cases, the oldest first: the
// rate of each with the difference from the one before it, see [Compare], and then the scores. Versions
// are named by Options.AgentVersion, or by Experiment.Name. It returns the error of Compare, or the
// first error of w.
func WriteVersions(w io.Writer, colour bool, experiments ...*Experiment) error {
	ordered := slices.Clone(experiments)
	slices.SortStableFunc(ordered, func(a, b *Experiment) int { return a.Started.Compare(b.Started) })
	comparisons, err := steps(ordered)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	writeTables(&b, colour, versions(ordered, comparisons))
	_, err = w.Write(b.Bytes())
	return err
}

// steps compares each experiment but the first with the one before it.
func steps(ordered []*Experiment) (list []*Comparisons, err error) {
	for i := 1; i < len(ordered); i++ {
		c, err := Compare(ordered[i-1], ordered[i])
		if err != nil {
			return nil, fmt.Errorf("%s after %s: %w", shown(ordered[i].version()), shown(ordered[i-1].version()), err)
		}
		list = append(list, c)
	}
	return list, nil
}

// versions returns a table of the rates of experiments and their steps, and one of the scores if there
// are any.
func versions(ordered []*Experiment, steps []*Comparisons) (list []table) {
	rates := table{Head: []string{"version", "started", "cases", "rate, 95 % interval"}, Note: many(len(steps), "comparison")}
	if len(ordered) > 1 {
		rates.Head = append(rates.Head, "points since the version before", "")
	}
	scores := table{Title: "Scores by version", Head: []string{"version"}}
	for _, e := range ordered {
		for _, name := range e.scoreNames() {
			if !slices.Contains(scores.Head[1:], name) {
				scores.Head = append(scores.Head, name)
			}
		}
	}
	for i, e := range ordered {
		figures, changes := e.whole(), map[string]Verdict{}
		row := []cell{plain(e.version()), plain(e.Started.UTC().Format("2006-01-02 15:04")), figure(fmt.Sprint(figureOf(figures, "always", "").Cases)), rated(figureOf(figures, "rate", ""))}
		if i > 0 {
			c := steps[i-1]
			row = append(row, figure(c.rates[0].Difference.difference()), changed(c.verdict))
			for _, s := range c.scores {
				changes[s.Difference.Name] = s.Verdict
			}
		} else if len(ordered) > 1 {
			row = append(row, cell{}, cell{})
		}
		rates.Rows = append(rates.Rows, row)
		row = slices.Repeat([]cell{figure("")}, len(scores.Head))
		row[0] = plain(e.version())
		for _, f := range figures {
			line := amount(f.Value)
			if f.Unknown > 0 {
				line += fmt.Sprintf(", unknown in %d", f.Unknown)
			}
			if change := changes[f.Name]; change != "" && change != CannotTell {
				line += " (" + string(change) + ")"
			}
			if at := slices.Index(scores.Head, f.Name); at > 0 && f.Faults == "" {
				row[at].Text = line
			}
		}
		scores.Rows = append(scores.Rows, row)
	}
	if list = []table{rates}; len(scores.Head) > 1 {
		list = append(list, scores)
	}
	return list
}

func (e *Experiment) version() string { return cmp.Or(e.fingerprint.Agent, e.Name) }
