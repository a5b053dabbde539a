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
	var names []string
	for _, e := range ordered {
		for _, name := range e.scoreNames() {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	t := reportTable{Head: append([]string{"version", "started", "cases", "rate, 95 % interval", "points since the version before", ""}, names...)}
	for i, e := range ordered {
		name, stats := e.version(), e.Stats()
		rate, points, change := "", "", ""
		if stats.Counted != nil {
			rate = stats.Counted.Rate.String()
		}
		changes := map[string]ScoreChange{}
		if i > 0 {
			c, err := Compare(ordered[i-1], e)
			if err != nil {
				return fmt.Errorf("%s after %s: %w", shown(name), shown(ordered[i-1].version()), err)
			}
			points, change = c.Counted.points(), string(c.Change)
			for _, s := range c.Scores {
				changes[s.Name] = s
			}
		}
		cells := map[string]string{}
		for _, s := range e.Scores() {
			cell := amount(s.Mean)
			if s.Unknown > 0 {
				cell += fmt.Sprintf(", unknown in %d", s.Unknown)
			}
			if c, known := changes[s.Name]; known && c.Change != CannotTell {
				cell += " (" + string(c.Change) + ")"
			}
			cells[s.Name] = cell
		}
		row := []string{name, e.Started.UTC().Format("2006-01-02 15:04"), fmt.Sprint(stats.Cases), rate, points, change}
		for _, name := range names {
			row = append(row, cells[name])
		}
		t.Rows = append(t.Rows, row)
	}
	if len(ordered) > 2 {
		t.Note = fmt.Sprintf("%d comparisons: one interval in 20 misses the truth, so some may differ by chance", len(ordered)-1)
	}
	var b bytes.Buffer
	writeTables(&b, colour, []reportTable{t})
	_, err := w.Write(b.Bytes())
	return err
}

func (e *Experiment) version() string { return cmp.Or(e.Fingerprint.Agent, e.Name) }
