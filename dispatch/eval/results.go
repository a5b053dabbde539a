package eval

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/runctx"
	"github.com/toolwire/toolwire/internal/text"
)

// resultsFormat is the first member of a file of results: its name and version.
const (
	formatName    = "toolwire eval results "
	resultsFormat = formatName + "2"
)

// header is the first line of a file of results.
type header struct {
	Format       string         `json:"format"`
	Fingerprint  fingerprint    `json:"fingerprint"`
	Shard        string         `json:"shard"`
	Trials       int            `json:"trials"`                // of each case
	Own          map[string]int `json:"case_trials,omitempty"` // of cases that have a number of their own
	Added        int            `json:"added,omitempty"`       // how often trials were added after the last had ended
	FirstFailure bool           `json:"first_failure"`
	Started      time.Time      `json:"started"`
	Command      runctx.Repeat  `json:"command,omitempty"`
	Total        int            `json:"total"` // cases of all shards
	TrialBudget  Budget         `json:"trial_budget,omitzero"`
	Checks       *checks        `json:"checks,omitempty"`
	Tasks        string         `json:"tasks,omitempty"` // a hash of the cases without what they expect
	Cases        map[string]int `json:"cases"`           // ids of this shard, and the place of each in the dataset
}

// scan reads a file of results and calls see with each trial. A torn end, as of a program that was
// killed while it wrote, is not an error. Trials that do not fit the header of the file are problems
// too. scan returns the header, and where the last whole line ends.
func scan(file string, in io.Reader, problems *problems, see func(r *record, at span)) (h header, end int64) {
	type trial struct {
		id     string
		number int
	}
	type place struct{ line, retries int }
	seen := map[trial]place{}
	lines := lineReader{Reader: bufio.NewReaderSize(in, 64<<10)}
	for n := 1; ; n++ {
		bad := func(code, format string, args ...any) { problems.file(code, file, n, format, args...) }
		line, err := lines.next()
		switch {
		case errors.Is(err, io.EOF): // the last line is not terminated, or there is none
			if n == 1 && !beginsAsHeader(line) {
				bad(invalidResults, "the file does not begin as a file of results")
			}
			return h, end
		case err != nil:
			bad(invalidResults, "%v", err)
			return h, end
		case n == 1:
			err := rawjson.DecodeOwn(line, &h)
			if err == nil {
				err = h.check()
			}
			if err != nil {
				if f := h.Format; f != resultsFormat && strings.HasPrefix(f, formatName) {
					bad(invalidResults, "the file has the format %s and this version reads %s: run the experiment again", shown(f), shown(resultsFormat))
				} else {
					bad(invalidResults, "the line is not the header of a file of results that this version reads%s", because(line, err))
				}
				return header{}, end
			}
		case beginsAsHeader(line):
			var more added
			err := rawjson.DecodeOwn(line, &more)
			if err == nil && (more.Trials <= h.Trials || more.Trials > maxTrials || h.FirstFailure) {
				err = errors.New("it does not add trials")
			}
			if err != nil {
				bad(invalidResults, "the line does not add trials%s", because(line, err))
				break
			}
			h.Trials, h.Added = more.Trials, h.Added+1
		default:
			var r record
			if err := r.decode(line); err != nil {
				if _, over := lines.Peek(1); over != nil && torn(line) { // what a machine that lost power may leave
					return h, end
				}
				bad(invalidResults, "the line is not a result%s: remove it to run its trial again", because(line, err))
				break
			}
			if !slices.Contains(causes, r.Cause) {
				bad(invalidResults, "the cause %s is not one that this version writes", shown(r.Cause))
				break
			}
			if _, own := h.Cases[r.ID]; !own || r.Trial > h.trialsOf(r.ID) {
				bad(foreignResult, "case %s, trial %d is not part of shard %s, whose cases have %s",
					shown(r.ID), r.Trial, h.Shard, text.Plural(h.trialsOf(r.ID), "trial"))
				break
			}
			one := trial{r.ID, r.Trial}
			if before, twice := seen[one]; twice && r.Retries <= before.retries {
				bad(doubledResult, "case %s, trial %d is in line %d too", shown(r.ID), r.Trial, before.line)
			} else if differ := r.Fingerprint.differences(h.Fingerprint); len(differ) > 0 {
				bad(foreignResult, "the result is of another experiment: %s", strings.Join(differ, ", "))
			}
			seen[one] = place{n, r.Retries}
			see(&r, span{file, end, len(line)})
		}
		end += int64(len(line)) + 1
	}
}

// added is a line that adds trials to each case.
type added struct {
	Format string `json:"format"`
	Trials int    `json:"trials"` // of each case from here on
}

// check returns what no header of this format has.
func (h *header) check() error {
	places := map[int]bool{}
	for _, place := range h.Cases {
		if place < 0 || place >= maxTogether || places[place] {
			return errors.New("two cases have one place, or a case has none")
		}
		places[place] = true
	}
	for id, n := range h.Own {
		if _, is := h.Cases[id]; !is || n < 1 || n > maxTrials {
			return fmt.Errorf("a case has %d trials, or there is no such case", n)
		}
	}
	switch _, ok := parseShard(h.Shard); {
	case h.Format != resultsFormat:
		return errors.New("it names no format")
	case !ok:
		return errors.New("it names no shard")
	case h.TrialBudget.Calls < 0 || h.TrialBudget.Tokens < 0 || h.TrialBudget.Time < 0 || !(h.TrialBudget.Cost >= 0 && h.TrialBudget.Cost <= maxMeasure):
		return errors.New("a limit of a trial is negative")
	case h.Added < 0:
		return errors.New("added is negative")
	case h.Trials < 1 || h.Trials > maxTrials:
		return fmt.Errorf("it has %d trials of each case", h.Trials)
	}
	return nil
}

// torn reports whether a line is not whole JSON.
func torn(line []byte) bool { return rawjson.Check(line, rawjson.Limits{Mode: rawjson.Liberal}) != nil }

// because says why a line that is whole JSON cannot be used.
func because(line []byte, err error) string {
	if torn(line) {
		return ""
	}
	if bad, is := errors.AsType[*rawjson.Error](err); is {
		return " (" + strings.TrimSpace(bad.Pointer+" "+bad.Problem) + ")"
	}
	return " (" + err.Error() + ")"
}

// header returns the first line of the file of results of an experiment.
func (o *Options) header(cases []Case, f fingerprint, started time.Time) header {
	part, _ := parseShard(o.Shard)
	h := header{
		Format: resultsFormat, Fingerprint: f, Shard: part.String(), Trials: o.Trials, FirstFailure: o.FirstFailure, TrialBudget: o.TrialBudget,
		Started: started.UTC().Round(0), Total: len(cases), Checks: o.checks(cases), Tasks: tasks(cases), Own: map[string]int{}, Cases: map[string]int{},
	}
	own := part.ids(cases)
	for i := range cases {
		if own[cases[i].ID] {
			h.Cases[cases[i].ID] = i
			if n := cases[i].Trials; n > 0 {
				h.Own[cases[i].ID] = n
			}
		}
	}
	return h
}

// trialsOf returns how many trials a case has.
func (h *header) trialsOf(id string) int { return cmp.Or(h.Own[id], h.Trials) }

// beginsAsHeader reports whether a file that ends in its first line is one of results, or empty.
func beginsAsHeader(text []byte) bool {
	begin := []byte(`{"format":"` + resultsFormat + `",`)
	return bytes.HasPrefix(begin, text) || bytes.HasPrefix(text, begin)
}

// results is a file of results that grows.
type results struct {
	mu     sync.Mutex
	file   *os.File
	name   string
	header header
	end    int64
	err    error // the first of a write
}

// openResults opens a file for the results of an experiment, or makes it. It calls see with each
// trial that the file has already, and removes a torn end.
func openResults(name string, h header, see func(r *record, at span)) (_ *results, err error) {
	file, err := openExclusive(name)
	if err != nil {
		return nil, fmt.Errorf("eval: Options.ResultsFile: %w", err)
	}
	defer func() {
		if err != nil {
			_ = file.Close()
		}
	}()
	own, end, err := readResults(name, file, &h, see)
	if err != nil {
		return nil, err
	}
	if err := file.Truncate(end); err != nil {
		return nil, fmt.Errorf("eval: Options.ResultsFile: %w", err)
	}
	s := &results{file: file, name: name, header: own, end: end}
	var first any
	switch {
	case end == 0:
		s.header, first = h, h
	case own.Trials < h.Trials:
		s.header.Trials, s.header.Added = h.Trials, own.Added+1
		first = added{resultsFormat, h.Trials}
	default:
		return s, nil
	}
	line, err := encodeLine(first)
	if err == nil {
		_, err = s.write(line)
	}
	return s, err
}

// inUse is the error for a file that a run has open for writing, in this process or another.
func inUse(name string) error {
	return fmt.Errorf("another run is writing %s: wait until it ends, or use another file", name)
}

// readResults reads a file and checks that it is a part of the experiment with the header h. It calls
// see with each trial.
func readResults(name string, in io.Reader, h *header, see func(r *record, at span)) (own header, end int64, err error) {
	problems := problems{}
	own, end = scan(name, in, &problems, see)
	if own.Format != "" {
		same := own
		if same.Trials < h.Trials && !h.FirstFailure { // trials are added
			same.Trials = h.Trials
		}
		for _, text := range same.differences(h) {
			problems.file(foreignResult, name, 1, "the file has results of another experiment: %s; use another file, or remove this one", text)
		}
	}
	return own, end, problems.err()
}

// differences names what differs in two headers of one shard.
func (h *header) differences(other *header) []string {
	list := h.unlike(other)
	if h.Shard != other.Shard {
		list = append(list, "the shard is "+h.Shard+" and not "+other.Shard)
	}
	if len(list) == 0 && !maps.Equal(h.Own, other.Own) {
		list = append(list, "some cases have another number of trials of their own")
	}
	if len(list) == 0 && !slices.Equal(slices.Sorted(maps.Keys(h.Cases)), slices.Sorted(maps.Keys(other.Cases))) {
		list = append(list, "the cases of the shard are others") // somebody has changed the header
	}
	return list
}

// unlike names what differs in the experiments of two shards.
func (h *header) unlike(other *header) []string {
	list := h.Fingerprint.differences(other.Fingerprint)
	if h.Total != other.Total && h.Fingerprint == other.Fingerprint {
		list = append(list, fmt.Sprintf("the experiment has %s and not %d", text.Plural(h.Total, "case"), other.Total))
	}
	if h.Trials != other.Trials {
		list = append(list, fmt.Sprintf("each case has %s and not %d", text.Plural(h.Trials, "trial"), other.Trials))
	}
	a, b := h.TrialBudget, other.TrialBudget
	if a.Time == 0 || b.Time == 0 { // older files do not have it
		a.Time, b.Time = 0, 0
	}
	if a != b {
		list = append(list, "the limits of a trial are others")
	}
	if h.FirstFailure != other.FirstFailure {
		list = append(list, fmt.Sprintf("FirstFailure is %t and not %t", h.FirstFailure, other.FirstFailure))
	}
	return list
}

// write appends a line with one call of the system.
func (s *results) write(line []byte) (span, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = s.unchanged()
	}
	if s.err != nil {
		return span{}, s.err
	}
	at := span{s.name, s.end, len(line) - 1}
	n, err := s.file.WriteAt(line, s.end)
	s.end += int64(n)
	if err != nil {
		s.err = fmt.Errorf("eval: Options.ResultsFile: %w", err)
	}
	return at, s.err
}

// close closes the file. An error of write has been returned already.
func (s *results) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return s.file.Close()
	}
	return errors.Join(s.unchanged(), s.file.Close())
}

// unchanged returns an error if another program has removed or changed the file: its results are not what was written.
func (s *results) unchanged() error {
	own, err := s.file.Stat()
	there, gone := os.Stat(s.name)
	switch {
	case err != nil:
	case gone != nil || !os.SameFile(own, there):
		err = fmt.Errorf("another program has removed or replaced %s while the trials ran: their results are lost", s.name)
	case own.Size() != s.end:
		err = fmt.Errorf("another program has changed %s while the trials ran: it has %d bytes and not %d", s.name, own.Size(), s.end)
	}
	if err != nil {
		return fmt.Errorf("eval: Options.ResultsFile: %w", err)
	}
	return nil
}

// maxLine is the limit of a line in bytes.
const maxLine = 256 << 20

// lineReader reads lines into one buffer.
type lineReader struct {
	*bufio.Reader
	line []byte
}

// next returns the next line without its end, until the following call. At the end of the file it
// returns what is left, and io.EOF.
func (l *lineReader) next() ([]byte, error) {
	l.line = l.line[:0]
	for {
		part, err := l.ReadSlice('\n')
		l.line = append(l.line, part...)
		switch {
		case len(l.line) > maxLine:
			return nil, fmt.Errorf("the line has more than %d bytes", maxLine)
		case err == nil:
			return l.line[:len(l.line)-1], nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return l.line, err
		}
	}
}
