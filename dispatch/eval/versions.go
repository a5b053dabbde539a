package eval

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
)

// WriteVersions writes a table of any number of experiments with the same cases, the oldest first: the rate
// of each, the difference from the one before it, see [Compare], and the scores. Versions are named by
// Options.AgentVersion, or by Experiment.Name. It returns the error of Compare, or the first error
// of w.
func WriteVersions(w io.Writer, colour bool, experiments ...*Experiment) error {
	ordered := slices.Clone(experiments)
	slices.SortStableFunc(ordered, func(a, b *Experiment) int { return a.Started.Compare(b.Started) })
	comparisons, err := steps(ordered)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	writeTables(&b, colour, []table{versions(ordered, comparisons)})
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

// versions returns the table of experiments and their steps.
func versions(ordered []*Experiment, steps []*Comparisons) table {
	t := table{Head: []string{"version", "started", "cases", "rate, 95 % interval"}, Note: many(len(steps), "comparison")}
	if len(ordered) > 1 {
		t.Head = append(t.Head, "points since the version before", "")
	}
	var names []string
	for _, e := range ordered {
		for _, name := range e.scoreNames() {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	t.Head = append(t.Head, names...)
	for i, e := range ordered {
		figures, changes := e.whole(), map[string]Verdict{}
		row := []cell{plain(e.version()), plain(e.Started.UTC().Format("2006-01-02 15:04")), figure(fmt.Sprint(figureOf(figures, "always", "").Cases)), rated(figureOf(figures, "rate", ""))}
		if i > 0 {
			c := steps[i-1]
			row = append(row, figure(c.rates[0].Difference.difference()), changed(c.Verdict))
			for _, s := range c.scores {
				changes[s.Difference.Name] = s.Verdict
			}
		} else if len(ordered) > 1 {
			row = append(row, cell{}, cell{})
		}
		cells := map[string]string{}
		for _, f := range figures {
			line := amount(f.Value)
			if f.Unknown > 0 {
				line += fmt.Sprintf(", unknown in %d", f.Unknown)
			}
			if change := changes[f.Name]; change != "" && change != CannotTell {
				line += " (" + string(change) + ")"
			}
			cells[f.Name] = line
		}
		for _, name := range names {
			row = append(row, figure(cells[name]))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func (e *Experiment) version() string { return cmp.Or(e.fingerprint.Agent, e.Name) }
