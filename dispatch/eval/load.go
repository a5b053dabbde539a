package eval

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
)

// experiment returns an experiment of these trials.
func (h *header) experiment(trials []Trial) *Experiment {
	e := &Experiment{
		Name: "eval", Started: h.Started, perCase: h.Trials, firstFailure: h.FirstFailure, fingerprint: h.Fingerprint, trialBudget: h.TrialBudget, repeat: h.Command, checks: h.Checks, trials: h.Trials, added: h.Added, Trials: trials,
	}
	for _, n := range h.Own {
		e.perCase = max(e.perCase, n)
	}
	for i := range trials {
		e.Took += trials[i].Took
		trials[i].Case.Trials = h.Own[trials[i].ID]
	}
	return e
}

// Load reads an experiment from its files of results: one file, or the files of all shards. The
// results stay in the files; [Experiment.WriteJSON] and [Experiment.WriteJUnit] read them from
// there. Took is the time of all trials together.
//
// The error is an [*Error] with invalid_results that names every shard that is missing, duplicate or
// of another experiment, and every missing trial, so that a lost shard cannot look like a success.
// [Run] with the same options completes a file.
func Load(files ...string) (*Experiment, error) {
	h, trials, err := load(files)
	if err != nil {
		return nil, err
	}
	return h.experiment(trials), nil
}

// Merge writes the results of all shards as one file of results, with the cases in the order of the
// dataset. It returns the errors of [Load], and the first error of w.
func Merge(w io.Writer, files ...string) error {
	h, trials, err := load(files)
	if err != nil {
		return err
	}
	line, err := encodeLine(h)
	if err != nil {
		return err
	}
	if _, err := w.Write(line); err != nil {
		return err
	}
	open := map[string]*os.File{}
	defer func() {
		for _, f := range open {
			_ = f.Close()
		}
	}()
	for _, t := range trials {
		f := open[t.at.file]
		if f == nil {
			if f, err = os.Open(t.at.file); err != nil {
				return fmt.Errorf("eval: %w", err)
			}
			open[t.at.file] = f
		}
		line = append(slices.Grow(line[:0], t.at.size+1)[:t.at.size], '\n')
		if _, err := f.ReadAt(line[:t.at.size], t.at.offset); err != nil {
			return fmt.Errorf("eval: %w", err)
		}
		if _, err := w.Write(line); err != nil {
			return err
		}
	}
	return nil
}

// load reads the files and checks that they are one whole experiment. It returns the header of the whole.
func load(files []string) (*header, []Trial, error) {
	c := collector{
		trials: map[string]map[int]*Trial{},
		shards: map[shard]string{}, texts: map[string]string{}, cases: map[string]*Case{},
	}
	if len(files) == 0 {
		c.problems.member(incomplete, "files", "no file of results is given")
	}
	for _, file := range files {
		c.read(file)
	}
	c.complete()
	if err := c.problems.err(); err != nil {
		return nil, nil, err
	}
	c.first.Shard = shard{1, 1}.String()
	return &c.first, c.sorted(), nil
}

// collector collects the trials of shards.
type collector struct {
	problems problems
	first    header // of the first file, with the cases of all
	from     string // the first file
	trials   map[string]map[int]*Trial
	shards   map[shard]string  // the file of each
	texts    map[string]string // equal texts once
	cases    map[string]*Case  // once for all trials
}

// read reads one file.
func (c *collector) read(file string) {
	f, err := os.Open(file)
	if err != nil {
		c.problems.file(unreadable, file, 0, "the file cannot be read: %v", err)
		return
	}
	defer func() { _ = f.Close() }()
	before := c.problems.Len()
	own := map[string]map[int]*Trial{}
	h, _ := scan(file, f, &c.problems, func(r *record, at span) {
		t := r.trial(nil, at)
		c.share(&t)
		if own[t.ID] == nil {
			own[t.ID] = map[int]*Trial{}
		}
		own[t.ID][t.Number] = &t
	})
	switch {
	case h.Format != "":
		c.take(file, &h, own)
	case c.problems.Len() == before: // what is wrong has not been said
		c.problems.file(incomplete, file, 0, "the file has no results: run the shard")
	}
}

// take adds a file to those before it.
func (c *collector) take(file string, h *header, own map[string]map[int]*Trial) {
	if c.from == "" {
		c.from, c.first = file, *h
		c.first.Cases, c.first.Own = map[string]int{}, map[string]int{}
	}
	part, _ := parseShard(h.Shard)
	whole, _ := parseShard(c.first.Shard)
	differ := h.unlike(&c.first)
	if part.n != whole.n {
		differ = append(differ, fmt.Sprintf("the shard is %s, one of %d and not of %d", h.Shard, part.n, whole.n))
	}
	if len(differ) > 0 {
		c.problems.file(foreignShard, file, 1, "shard %s is of another experiment than %s: %s",
			h.Shard, c.from, strings.Join(differ, ", "))
		return
	}
	if other, is := c.shards[part]; is {
		c.problems.file(doubledShard, file, 1, "shard %s is in %s too", h.Shard, other)
		return
	}
	c.shards[part] = file
	c.first.Added = max(c.first.Added, h.Added)
	if h.Started.Before(c.first.Started) {
		c.first.Started = h.Started
	}
	for _, id := range slices.Sorted(maps.Keys(h.Cases)) {
		if _, is := c.first.Cases[id]; is { // of another shard
			c.problems.file(foreignResult, file, 1, "case %s does not belong to shard %s", shown(id), h.Shard)
			continue
		}
		c.first.Cases[id] = h.Cases[id]
		if n := h.Own[id]; n > 0 {
			c.first.Own[id] = n
		}
		c.trials[id] = own[id]
		if missing := h.missing(id, own[id]); len(missing) > 0 {
			c.problems.file(incomplete, file, 0, "shard %s is not complete: case %s has no trial %s; run the shard again with this file",
				h.Shard, shown(id), ranges(missing))
		}
	}
}

// missing returns the trials of a case that are missing.
func (h *header) missing(id string, trials map[int]*Trial) (list []int) {
	for k := 1; k <= h.trialsOf(id); k++ {
		t := trials[k]
		if t == nil {
			list = append(list, k)
		} else if t.Verdict == Skipped || h.FirstFailure && t.Verdict != Passed {
			break
		}
	}
	return list
}

// ranges writes numbers as 1-3, 5.
func ranges(numbers []int) string {
	var list []string
	for begin := 0; begin < len(numbers); {
		end := begin + 1
		for end < len(numbers) && numbers[end] == numbers[end-1]+1 {
			end++
		}
		text := fmt.Sprint(numbers[begin])
		if end > begin+1 {
			text += fmt.Sprintf("-%d", numbers[end-1])
		}
		list, begin = append(list, text), end
	}
	return strings.Join(list, ", ")
}

// complete names the shards that are missing.
func (c *collector) complete() {
	whole, ok := parseShard(c.first.Shard)
	if c.from == "" || !ok {
		return
	}
	missing := 0
	for i := 1; i <= whole.n; i++ {
		if _, is := c.shards[shard{i, whole.n}]; !is {
			c.problems.member(missingShard, "files", "shard %d/%d is missing", i, whole.n)
			missing++
		}
	}
	if missing == 0 && len(c.first.Cases) != c.first.Total && len(c.problems.Found) == 0 {
		c.problems.member(foreignShard, "files", "the shards have %d cases and not %d", len(c.first.Cases), c.first.Total)
	}
}

// sorted returns the trials of all files, with the cases in the order of the dataset.
func (c *collector) sorted() (list []Trial) {
	for _, trials := range c.trials {
		for _, t := range trials {
			list = append(list, *t)
		}
	}
	slices.SortFunc(list, func(a, b Trial) int {
		return cmp.Or(cmp.Compare(c.first.Cases[a.ID], c.first.Cases[b.ID]), cmp.Compare(a.ID, b.ID), cmp.Compare(a.Number, b.Number))
	})
	return list
}

// share keeps equal texts and cases once.
func (c *collector) share(t *Trial) {
	if same := c.cases[t.ID]; same != nil {
		t.Case = same
	}
	c.cases[t.ID] = t.Case
	once := func(text *string) {
		if _, is := c.texts[*text]; !is {
			c.texts[*text] = *text
		}
		*text = c.texts[*text]
	}
	for _, text := range []*string{&t.ID, &t.Name, &t.Reason, &t.ended, (*string)(&t.Verdict), &t.Cause} {
		once(text)
	}
	for i := range t.notes {
		once(&t.notes[i])
	}
}

// present returns the experiments that are not nil.
func present(list []*Experiment) []*Experiment {
	return slices.DeleteFunc(slices.Clone(list), func(e *Experiment) bool { return e == nil })
}
