package eval

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"time"
)

// Version is one of several experiments with the same cases.
type Version struct {
	Name    string      `json:"name"` // of the agent's version, or of the experiment
	Started time.Time   `json:"started"`
	Stats   Stats       `json:"stats"`
	Scores  []Score     `json:"scores,omitempty"`
	Change  *Comparison `json:"change,omitempty"` // from the version before; nil for the first
}

// Versions compares any number of experiments, the oldest first: each with the one before it. The error
// is that of [Compare].
func Versions(experiments ...*Experiment) ([]Version, error) {
	ordered := slices.Clone(experiments)
	slices.SortStableFunc(ordered, func(a, b *Experiment) int { return a.Started.Compare(b.Started) })
	list := make([]Version, len(ordered))
	for i, e := range ordered {
		list[i] = Version{Name: cmp.Or(e.Fingerprint.Agent, e.Name), Started: e.Started, Stats: e.Stats(), Scores: e.Scores()}
		if i > 0 {
			c, err := Compare(ordered[i-1], e)
			if err != nil {
				return nil, fmt.Errorf("%s after %s: %w", list[i].Name, list[i-1].Name, err)
			}
			list[i].Change = c
		}
	}
	return list, nil
}

// WriteVersions writes the versions as a table for people: the rate of each, the difference from the
// version before it, and the scores. It returns the first error of w.
func WriteVersions(w io.Writer, versions []Version, colour bool) error {
	t := reportTable{Head: []string{"version", "started", "cases", "rate, 95 % interval", "points since the version before", ""}}
	var names []string
	for _, v := range versions {
		for _, s := range v.Scores {
			if !slices.Contains(names, s.Name) {
				names = append(names, s.Name)
			}
		}
	}
	t.Head = append(t.Head, names...)
	for _, v := range versions {
		rate, points, change := "", "", ""
		if v.Stats.Counted != nil {
			rate = v.Stats.Counted.Rate.String()
		}
		changes := map[string]ScoreChange{}
		if v.Change != nil {
			points, change = v.Change.Counted.points(), string(v.Change.Change)
			for _, s := range v.Change.Scores {
				changes[s.Name] = s
			}
		}
		row := []string{v.Name, v.Started.UTC().Format("2006-01-02 15:04"), fmt.Sprint(v.Stats.Cases), rate, points, change}
		for _, name := range names {
			cell := ""
			if i := slices.IndexFunc(v.Scores, func(s Score) bool { return s.Name == name }); i >= 0 {
				cell = amount(v.Scores[i].Mean)
				if n := v.Scores[i].Unknown; n > 0 {
					cell += fmt.Sprintf(", unknown in %d", n)
				}
			}
			if s, known := changes[name]; known && s.Change != CannotTell {
				cell += " (" + string(s.Change) + ")"
			}
			row = append(row, cell)
		}
		t.Rows = append(t.Rows, row)
	}
	if len(versions) > 2 {
		t.Note = fmt.Sprintf("%d comparisons: one interval in 20 misses the truth, so some may differ by chance", len(versions)-1)
	}
	var b bytes.Buffer
	writeTables(&b, colour, []reportTable{t})
	_, err := w.Write(b.Bytes())
	return err
}
