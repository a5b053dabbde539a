package eval

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/redact"
	"github.com/toolwire/toolwire/ledger"
)

// resultsFormat is the first member of a file of results.
const resultsFormat = "toolwire eval results 1"

// header is the first line of a file of results.
type header struct {
	Format       string         `json:"format"`
	Fingerprint  Fingerprint    `json:"fingerprint"`
	Shard        string         `json:"shard"`
	Trials       int            `json:"trials"` // of each case
	FirstFailure bool           `json:"first_failure"`
	Started      time.Time      `json:"started"`
	Total        int            `json:"total"` // cases of all shards
	Cases        map[string]int `json:"cases"` // ids of this shard, and the place of each in the dataset
}

// record is one trial, a line of a file of results.
type record struct {
	Case        string      `json:"case"`
	Trial       int         `json:"trial"`
	Name        string      `json:"name"`
	Row         int         `json:"row,omitempty"`
	Line        int         `json:"line,omitempty"`
	Expected    string      `json:"expected_outcome,omitempty"`
	Fingerprint Fingerprint `json:"fingerprint"`
	Verdict     Verdict     `json:"verdict"`
	Cause       Cause       `json:"cause,omitempty"`
	Reason      string      `json:"reason,omitempty"`
	Started     time.Time   `json:"started,omitzero"` // of the run
	TookMS      float64     `json:"took_ms"`
	Notes       []string    `json:"notes,omitempty"`
	Ended       string      `json:"ended,omitempty"`
	Timeline    string      `json:"timeline,omitempty"`

	Result json.RawMessage `json:"result,omitempty"` // a storedResult
}

// storedResult is a result with what its JSON leaves out.
type storedResult struct {
	*dispatchtest.Result
	State  ledger.Snapshot `json:"state"`
	Orders orders          `json:"order"`
}

// orders are the places of the events in the run, in the order of the lists of a log.
type orders struct {
	Calls     []int `json:"calls,omitempty"`
	Refused   []int `json:"refused,omitempty"`
	Traces    []int `json:"traces,omitempty"`
	Telemetry []int `json:"telemetry,omitempty"`

	Turns []int `json:"turns,omitempty"` // the last event of each turn
}

func ordersOf(result *dispatchtest.Result) (o orders) {
	log := &result.Log
	for i := range log.Calls {
		o.Calls = append(o.Calls, log.Calls[i].Order)
	}
	for i := range log.Refused {
		o.Refused = append(o.Refused, log.Refused[i].Order)
	}
	for i := range log.Traces {
		o.Traces = append(o.Traces, log.Traces[i].Order)
	}
	for i := range log.Telemetry {
		o.Telemetry = append(o.Telemetry, log.Telemetry[i].Order)
	}
	for _, turn := range result.Turns {
		if turn.Log == nil { // a stored result
			return o
		}
		o.Turns = append(o.Turns, turn.Log.LastOrder())
	}
	return o
}

// line writes the trial as a line of a file of results, without secrets.
func (t *Trial) line(f Fingerprint, secrets *redact.Set) ([]byte, error) {
	r := record{
		Case: t.ID, Trial: t.Number, Name: t.Name, Fingerprint: f, Verdict: t.Verdict, Cause: t.Cause,
		Reason: t.Reason, Started: t.began.UTC(), TookMS: milliseconds(t.Took), Notes: t.remarks(), Ended: t.whoEnded(),
	}
	for i, note := range r.Notes {
		r.Notes[i] = secrets.Text(note)
	}
	if t.Row != nil {
		r.Row, r.Line, r.Expected = t.Row.Number, t.Row.Line, t.Row.ExpectedOutcome
	}
	if t.Result != nil {
		var err error
		if r.Result, err = rawjson.Encode(storedResult{t.Result, t.Result.State, ordersOf(t.Result)}); err != nil {
			return nil, fmt.Errorf("eval: %s, trial %d: the result cannot be written: %w", t.ID, t.Number, err)
		}
		r.Result = hide(r.Result, secrets)
		r.Timeline = cutBytes(secrets.Text(t.Result.String()), maxOutput)
	}
	return encodeLine(r)
}

// hide returns compact JSON without the secrets in its strings. Names of members that consist of
// lower-case letters and underscores stay: all names of this format do.
func hide(raw json.RawMessage, secrets *redact.Set) json.RawMessage {
	out := make([]byte, 0, len(raw))
	for {
		begin := bytes.IndexByte(raw, '"') + 1
		if begin == 0 {
			return append(out, raw...)
		}
		end := begin
		for raw[end] != '"' {
			if raw[end] == '\\' {
				end++
			}
			end++
		}
		out = append(out, raw[:begin]...)
		if text := string(raw[begin:end]); raw[end+1] == ':' && strings.Trim(text, formatLetters) == "" {
			out = append(out, text...)
		} else {
			out = append(out, secrets.Text(text)...)
		}
		raw = raw[end:]
		out, raw = append(out, '"'), raw[1:]
	}
}

// formatLetters are those of the names in a file of results.
const formatLetters = "abcdefghijklmnopqrstuvwxyz_"

func encodeLine(v any) ([]byte, error) {
	text, err := rawjson.Encode(v)
	if err != nil {
		return nil, fmt.Errorf("eval: %w", err)
	}
	return append(text, '\n'), nil
}

// trial returns what the line holds, without the result.
func (r *record) trial(c Case) Trial {
	if c.ID == "" {
		c = Case{ID: r.Case, Name: r.Name}
		if r.Row > 0 {
			c.Row = &Row{Number: r.Row, Line: r.Line, ExpectedOutcome: r.Expected}
		}
	}
	return Trial{
		Case: c, Number: r.Trial, Verdict: r.Verdict, Cause: r.Cause, Reason: r.Reason,
		Took: time.Duration(r.TookMS * float64(time.Millisecond)), began: r.Started, notes: r.Notes, ended: r.Ended,
	}
}

// stored decodes the result with the places of its events; nil if nothing was dispatched.
func (r *record) stored() (*storedResult, error) {
	if r.Result == nil {
		return nil, nil
	}
	stored := &storedResult{Result: &dispatchtest.Result{}}
	if err := json.Unmarshal(r.Result, stored); err != nil {
		return nil, err
	}
	log := &stored.Log
	log.State = stored.State
	for i := range min(len(log.Calls), len(stored.Orders.Calls)) {
		log.Calls[i].Order = stored.Orders.Calls[i]
	}
	for i := range min(len(log.Refused), len(stored.Orders.Refused)) {
		log.Refused[i].Order = stored.Orders.Refused[i]
	}
	for i := range min(len(log.Traces), len(stored.Orders.Traces)) {
		log.Traces[i].Order = stored.Orders.Traces[i]
	}
	for i := range min(len(log.Telemetry), len(stored.Orders.Telemetry)) {
		log.Telemetry[i].Order = stored.Orders.Telemetry[i]
	}
	return stored, nil
}

// span is where a line is: in a file, from a byte on.
type span struct {
	file   string
	offset int64
	size   int
}

// read returns the trial's line.
func (s span) read() (*record, error) {
	f, err := os.Open(s.file)
	if err != nil {
		return nil, fmt.Errorf("eval: the stored result cannot be read: %w", err)
	}
	defer func() { _ = f.Close() }()
	text := make([]byte, s.size)
	if _, err := f.ReadAt(text, s.offset); err != nil {
		return nil, fmt.Errorf("eval: the stored result cannot be read: %s, byte %d: %w", s.file, s.offset, err)
	}
	var r record
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, fmt.Errorf("eval: the stored result cannot be read: %s has changed: %w", s.file, err)
	}
	return &r, nil
}

// read returns the line of a trial whose result is in a file, and the result, which is nil if nothing
// was dispatched.
func (t *Trial) read() (*record, *storedResult, error) {
	r, err := t.at.read()
	if err != nil {
		return nil, nil, err
	}
	result, err := r.stored()
	if err != nil {
		return nil, nil, fmt.Errorf("eval: %s: the result of case %s, trial %d cannot be read: %w", t.at.file, shown(t.ID), t.Number, err)
	}
	return r, result, nil
}

// lines reads a file of results.
type lines struct {
	file   string
	header header
	end    int64 // after the last whole line
	torn   bool  // bytes follow that are not a whole line
}

// scan reads the file and calls see with each trial. A torn end, as of a program that was killed
// while it wrote, is not an error. The errors are problems with the file and the line.
func scan(file string, in io.Reader, problems *problems, see func(h *header, n int, r *record, at span)) (l lines) {
	l.file = file
	bad := func(n int, code, format string, args ...any) {
		problems.add(Problem{Code: code, File: file, Line: n, Message: fmt.Sprintf(format, args...)})
	}
	reader := newLineReader(in)
	for n := 1; ; n++ {
		text, err := reader.next()
		if err != nil && !errors.Is(err, io.EOF) {
			bad(n, invalidResults, "%v", err)
			return l
		}
		if err != nil { // the last line is not terminated, or there is none
			l.torn = len(text) > 0
			if n == 1 && !beginsAsHeader(text) {
				bad(n, invalidResults, "the file does not begin as a file of results")
			}
			return l
		}
		if n == 1 {
			if err := json.Unmarshal(text, &l.header); err != nil || !l.header.valid() {
				l.header = header{}
				bad(n, invalidResults, "the line is not the header of a file of results that this version reads")
				return l
			}
		} else {
			var r record
			if err := json.Unmarshal(text, &r); err != nil || r.Case == "" || r.Trial < 1 || !slices.Contains(stored, r.Verdict) {
				if !reader.more() { // what a machine that lost power may leave
					l.torn = true
					return l
				}
				bad(n, invalidResults, "the line is not a result: remove it to run its trial again")
			} else if !slices.Contains(causes, r.Cause) {
				bad(n, invalidResults, "the cause %s is not one that this version writes", shown(string(r.Cause)))
			} else {
				see(&l.header, n, &r, span{file, l.end, len(text)})
			}
		}
		l.end += int64(len(text)) + 1
	}
}

// stored are the verdicts of trials that ended, and causes why they did not pass.
var (
	stored = []Verdict{Passed, Failed, Errored, Skipped}
	causes = []Cause{
		"", CauseFault, CauseGrader, CauseNotGraded, CauseNotStaged, CausePanic, CauseUser,
		Cause(dispatchtest.NoAnswer), Cause(dispatchtest.OutOfTime), Cause(dispatchtest.AgentFailed),
		Cause(dispatchtest.AuthFailed), Cause(dispatchtest.AgentTimeout), Cause(dispatchtest.Agent5xx),
		Cause(dispatchtest.Agent4xx), Cause(dispatchtest.AgentBadResponse), Cause(dispatchtest.AgentUnreachable),
		Cause(dispatchtest.ContractViolation),
	}
)

func (h *header) valid() bool {
	_, ok := parseShard(h.Shard)
	return ok && h.Format == resultsFormat && h.Trials >= 1 && h.Trials <= maxTrials
}

// header returns the first line of the file of results of an experiment.
func (o *Options) header(cases []Case, f Fingerprint, started time.Time) header {
	part, _ := parseShard(o.Shard)
	h := header{
		Format: resultsFormat, Fingerprint: f, Shard: part.String(), Trials: o.Trials, FirstFailure: o.FirstFailure,
		Started: started.UTC().Round(0), Total: len(cases), Cases: map[string]int{},
	}
	own := part.ids(cases)
	for i := range cases {
		if own[cases[i].ID] {
			h.Cases[cases[i].ID] = i
		}
	}
	return h
}

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
		return nil, fmt.Errorf("eval: Options.Results: %w", err)
	}
	defer func() {
		if err != nil {
			_ = file.Close()
		}
	}()
	l, err := readResults(name, file, &h, see)
	if err != nil {
		return nil, err
	}
	s := &results{file: file, name: name, header: h, end: l.end}
	if err := file.Truncate(l.end); err != nil {
		return nil, fmt.Errorf("eval: Options.Results: %w", err)
	}
	if _, err := file.Seek(l.end, io.SeekStart); err != nil {
		return nil, fmt.Errorf("eval: Options.Results: %w", err)
	}
	if l.end == 0 {
		line, err := encodeLine(h)
		if err != nil {
			return nil, err
		}
		if _, err := s.write(line); err != nil {
			return nil, err
		}
	} else {
		s.header.Started = l.header.Started
	}
	return s, nil
}

// inUse is the error for a file that a run has open for writing, in this process or another.
func inUse(name string) error {
	return fmt.Errorf("another run is writing %s: wait until it ends, or use another file", name)
}

// readResults reads a file and checks that it is a part of the experiment with the header h. It calls
// see with each trial.
func readResults(name string, in io.Reader, h *header, see func(r *record, at span)) (lines, error) {
	problems := problems{most: defaultLimits.problems}
	seen := map[string]int{}
	l := scan(name, in, &problems, func(_ *header, n int, r *record, at span) {
		key := fmt.Sprintf("%s/%d", r.Case, r.Trial)
		_, known := h.Cases[r.Case]
		bad := func(format string, args ...any) {
			problems.add(Problem{Code: foreignResult, File: name, Line: n, Message: fmt.Sprintf(format, args...)})
		}
		switch differ := r.Fingerprint.differences(h.Fingerprint); {
		case seen[key] > 0:
			bad("case %s, trial %d is in line %d too", shown(r.Case), r.Trial, seen[key])
		case len(differ) > 0:
			bad("the result is of another experiment: %s", strings.Join(differ, ", "))
		case !known || r.Trial > h.Trials:
			bad("case %s, trial %d is not part of this experiment", shown(r.Case), r.Trial)
		default:
			see(r, at)
		}
		seen[key] = n
	})
	if l.header.Format != "" {
		for _, text := range l.header.differences(h) {
			problems.add(Problem{Code: foreignResult, File: name, Line: 1, Message: "the file has results of another experiment: " + text +
				"; use another file, or remove this one"})
		}
	}
	return l, problems.err()
}

// differences names what differs in two headers of one shard.
func (h *header) differences(other *header) []string {
	list := h.unlike(other)
	if h.Shard != other.Shard {
		list = append(list, "the shard is "+h.Shard+" and not "+other.Shard)
	}
	return list
}

// unlike names what differs in the experiments of two shards.
func (h *header) unlike(other *header) []string {
	list := h.Fingerprint.differences(other.Fingerprint)
	if h.Total != other.Total && h.Fingerprint == other.Fingerprint {
		list = append(list, fmt.Sprintf("the experiment has %s and not %d", plural(h.Total, "case"), other.Total))
	}
	if h.Trials != other.Trials {
		list = append(list, fmt.Sprintf("each case has %s and not %d", plural(h.Trials, "trial"), other.Trials))
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
	if s.err != nil {
		return span{}, s.err
	}
	at := span{s.name, s.end, len(line) - 1}
	n, err := s.file.Write(line)
	s.end += int64(n)
	if err != nil {
		s.err = fmt.Errorf("eval: Options.Results: %w", err)
	}
	return at, s.err
}

// close closes the file. An error of write has been returned already.
func (s *results) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.file.Close()
}

// maxLine is the limit of a line in bytes.
const maxLine = 256 << 20

// lineReader reads lines into one buffer.
type lineReader struct {
	in   *bufio.Reader
	line []byte
}

func newLineReader(r io.Reader) *lineReader { return &lineReader{in: bufio.NewReaderSize(r, 64<<10)} }

// next returns the next line without its end, until the following call. At the end of the file it
// returns what is left, and io.EOF.
func (l *lineReader) next() ([]byte, error) {
	l.line = l.line[:0]
	for {
		part, err := l.in.ReadSlice('\n')
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

// more reports whether anything follows.
func (l *lineReader) more() bool {
	_, err := l.in.Peek(1)
	return err == nil
}
