package eval

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/internal/problem"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/redact"
	"github.com/toolwire/toolwire/internal/text"
)

// record is a trial as it is stored and reported: a line of a file of results, an element of the JSON
// report, and what the other reports show. It has no secrets of the target.
type record struct {
	ID       string            `json:"id"`
	Name     string            `json:"name"`
	Trial    int               `json:"trial"`
	Row      int               `json:"row,omitempty"`
	Line     int               `json:"line,omitempty"`
	Verdict  Verdict           `json:"verdict"`
	Cause    string            `json:"cause,omitempty"`
	Reason   string            `json:"reason,omitempty"`
	TookMS   float64           `json:"took_ms"`
	Expected string            `json:"expected_outcome,omitempty"`
	Group    string            `json:"group,omitempty"`
	Columns  map[string]string `json:"columns,omitempty"`
	Retries  int               `json:"retries,omitempty"`
	Status   int               `json:"fault_status,omitempty"` // of the endpoint, of a trial that is a fault because of it
	outcome
	stored

	Scores map[string]float64 `json:"scores,omitempty"`
	Usage  []usage            `json:"usage,omitempty"`

	Repeat string `json:"repeat,omitempty"` // the command that runs the case again; only in reports
}

// outcome is what a record shows of the result of a run.
type outcome struct {
	Turns         int                `json:"turns"`
	Ended         string             `json:"ended,omitempty"` // who ended the session, and why
	FinalResponse string             `json:"final_response,omitempty"`
	Calls         []callRecord       `json:"calls"`
	Warnings      []string           `json:"warnings,omitempty"`
	Problems      []dispatch.Problem `json:"problems,omitempty"` // that are not fatal
}

type callRecord struct {
	Tool       string `json:"tool"`
	Source     string `json:"source,omitempty"` // of a call that was answered with a result
	Status     int    `json:"status,omitempty"` // of one that was refused; 0 if there was no whole answer
	ErrorClass string `json:"error_class,omitempty"`
}

// stored is what only a file of results has.
type stored struct {
	Fingerprint *fingerprint      `json:"fingerprint,omitempty"`
	Started     time.Time         `json:"started,omitzero"` // of the run
	Timeline    string            `json:"timeline,omitempty"`
	Mismatches  []mismatch        `json:"mismatches,omitempty"`
	Judged      map[string]string `json:"judged,omitempty"` // answers of judges, by the hash of model and prompt
	Result      json.RawMessage   `json:"result,omitempty"` // a dispatchtest.Result
}

// report returns the record of a trial for reports.
func (e *Experiment) report(t *Trial) (record, error) {
	r, err := t.record(e.secrets)
	r.Repeat = e.repeated(t)
	return r, err
}

// repeated returns the command that runs the case of a trial again, or "" if it passed.
func (e *Experiment) repeated(t *Trial) string {
	if e.repeat == "" || t.Verdict == Passed || t.Verdict == Skipped || t.Verdict == Cancelled {
		return ""
	}
	command := string(e.repeat)
	if !strings.Contains(command, "$CASE") { // of an older file
		command += " -case $CASE"
	}
	return strings.ReplaceAll(command, "$CASE", "'"+strings.ReplaceAll(t.ID, "'", `'\''`)+"'")
}

// record returns the record of the trial, with its timeline.
func (t *Trial) record(secrets *redact.Set) (record, error) {
	r := t.known(secrets)
	switch {
	case t.Result != nil:
		r.outcome = outcomeOf(t.Result, secrets)
		r.Timeline = text.Cut(secrets.Redact(t.Result.String()), maxOutput)
	case t.at.file != "":
		known, err := t.at.read()
		if err != nil {
			return r, err
		}
		r.outcome, r.Timeline, r.Result = known.outcome, known.Timeline, known.Result
	}
	return r, nil
}

// known returns what the record has without the result.
func (t *Trial) known(secrets *redact.Set) record {
	r := record{
		ID: t.ID, Name: t.Name, Trial: t.Number, Verdict: t.Verdict, Cause: t.Cause, Reason: t.Reason, TookMS: milliseconds(t.Took),
		Group: t.Group, Retries: t.retries, Status: t.status, Scores: t.Scores, Usage: t.usage,
		outcome: outcome{Ended: t.whoEnded(), Calls: []callRecord{}}, stored: stored{Started: t.began.UTC(), Mismatches: t.differ, Judged: maps.Clone(t.judged)},
	}
	for key, answer := range r.Judged {
		r.Judged[key] = secrets.Redact(answer)
	}
	if row := t.data(); row != nil {
		r.Row, r.Line, r.Expected, r.Columns = row.Number, row.Line, row.cell("expected_outcome"), row.shown(nil)
	}
	return r
}

func outcomeOf(result *dispatchtest.Result, secrets *redact.Set) outcome {
	o := outcome{
		Turns: len(result.Turns), Ended: secrets.Redact(result.Ended), FinalResponse: secrets.Redact(result.FinalResponse), Calls: []callRecord{},
	}
	for _, text := range result.Warnings {
		o.Warnings = append(o.Warnings, secrets.Redact(text))
	}
	for _, p := range result.Problems {
		if !p.Fatal {
			p.Pointer, p.Message = secrets.Redact(p.Pointer), secrets.Redact(p.Message)
			o.Problems = append(o.Problems, p)
		}
	}
	for _, c := range result.Requests() {
		switch {
		case c.Trace:
		case c.Source != "":
			o.Calls = append(o.Calls, callRecord{Tool: secrets.Redact(c.Tool), Source: string(c.Source)})
		default:
			o.Calls = append(o.Calls, callRecord{Tool: secrets.Redact(c.Tool), Status: c.Status, ErrorClass: c.ErrorClass})
		}
	}
	return o
}

// notes returns what the platform would warn of, and one text for each kind of problem that changed
// an answer.
func notes(warnings []string, problems []dispatch.Problem) []string {
	texts := slices.Clone(warnings)
	for _, p := range problems {
		if p.Fatal {
			continue
		}
		text := "the answer misses the response contract: " + p.Code
		if p.Code == problem.MessagesRepaired || p.Code == problem.MessagesRemoved {
			text = "the handler has changed what the agent answered: " + p.Code
		}
		if !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	return texts
}

// line returns the trial as a line of a file of results.
func (t *Trial) line(f fingerprint, secrets *redact.Set) ([]byte, error) {
	r, err := t.record(secrets)
	if err != nil {
		return nil, err
	}
	r.Fingerprint = &f
	if t.Result != nil {
		if r.Result, err = rawjson.Encode(once(t.Result)); err != nil {
			return nil, fmt.Errorf("eval: %s, trial %d: the result cannot be written: %w", t.ID, t.Number, err)
		}
		r.Result = hide(r.Result, secrets)
	}
	return encodeLine(r)
}

// once returns a result without what its last turn has too.
func once(result *dispatchtest.Result) *dispatchtest.Result {
	stored := *result
	if len(stored.Turns) > 0 {
		stored.Dispatch, stored.FinalResponse = dispatchtest.Exchange{}, ""
	}
	return &stored
}

// complete adds what [once] has left out. Files of older versions have it.
func complete(result *dispatchtest.Result) {
	if n := len(result.Turns); n > 0 && rawjson.IsNull(result.Dispatch.Request) {
		result.Dispatch, result.FinalResponse = result.Turns[n-1].Exchange, result.Turns[n-1].FinalResponse
	}
}

// hide returns JSON without the secrets in its strings. Names of members that consist of lower-case
// letters and underscores stay: all names of this format do.
func hide(raw json.RawMessage, secrets *redact.Set) json.RawMessage {
	out, done := make([]byte, 0, len(raw)), 0
	rawjson.Strings(raw, func(from, to int, name bool) {
		said := string(raw[from:to])
		if !name || strings.Trim(said, formatLetters) != "" {
			said = secrets.Redact(said)
		}
		out, done = append(append(out, raw[done:from]...), said...), to
	})
	return append(out, raw[done:]...)
}

// formatLetters are the letters of names in a file of results.
const formatLetters = "abcdefghijklmnopqrstuvwxyz_"

func encodeLine(v any) ([]byte, error) {
	text, err := rawjson.Encode(v)
	if err != nil {
		return nil, fmt.Errorf("eval: %w", err)
	}
	return append(text, '\n'), nil
}

// decode reads a line of a file of results.
func (r *record) decode(line []byte) error {
	if err := rawjson.DecodeOwn(line, r); err != nil {
		return err
	}
	if r.Result != nil {
		if err := rawjson.CheckNames(r.Result, dispatchtest.Result{}); err != nil {
			return err
		}
	}
	return r.check()
}

// maxTook is the most milliseconds that a trial can have taken: more is no time.Duration.
const maxTook = math.MaxInt64 / 1e6

// check returns what no line of a trial that ended has.
func (r *record) check() error {
	for name, value := range r.Scores {
		if !(value >= 0 && value <= 1) && (!slices.Contains(measures, name) || value < 0 || value > maxMeasure) {
			return fmt.Errorf("the score %s is not from 0 to 1", shown(name))
		}
	}
	switch {
	case slices.ContainsFunc(r.Usage, func(u usage) bool { return u.Input < 0 || u.Output < 0 }), r.Retries < 0, r.Turns < 0, r.Row < 0, r.Line < 0:
		return errors.New("it has a negative number")
	case r.Status != 0 && (r.Status < 400 || r.Status > 599 || r.Verdict != Failed):
		return errors.New("fault_status is not a status of an error")
	case r.ID == "" || r.Trial < 1:
		return errors.New("it names no trial")
	case r.Fingerprint == nil:
		return errors.New("it has no fingerprint")
	case !(r.TookMS >= 0 && r.TookMS <= maxTook):
		return errors.New("took_ms is not a time")
	case !slices.Contains([]Verdict{Passed, Failed, Errored, Skipped}, r.Verdict):
		return fmt.Errorf("the verdict %s is not one that this version writes", shown(string(r.Verdict)))
	}
	return nil
}

// causes lists the causes that a line of a file of results may have.
var causes = []string{
	"", causeFault, causeGrader, causeLimit, causeNotGraded, causeNotStaged, causePanic, causeUser,
	string(dispatchtest.NoAnswer), string(dispatchtest.OutOfTime), string(dispatchtest.AgentFailed),
	string(dispatchtest.AuthFailed), string(dispatchtest.AgentTimeout), string(dispatchtest.Agent5xx),
	string(dispatchtest.Agent4xx), string(dispatchtest.AgentBadResponse), string(dispatchtest.AgentUnreachable),
	string(dispatchtest.ContractViolation),
}

// trial returns the trial of a line at a place of a file. If c is nil, the case is the line's.
func (r *record) trial(c *Case, at span) Trial {
	if c == nil {
		c = &Case{ID: r.ID, Name: r.Name, Group: r.Group}
		if r.Row > 0 || len(r.Columns) > 0 { // a row of the caller's may have no number
			c.row = &row{Number: r.Row, Line: r.Line, ExpectedOutcome: r.Expected, cells: r.Columns}
		}
	}
	return Trial{
		Case: c, Number: r.Trial, Verdict: r.Verdict, Cause: r.Cause, Reason: r.Reason,
		Took: time.Duration(math.Round(r.TookMS*1000)) * time.Microsecond, Scores: r.Scores,
		kept: kept{retries: r.Retries, began: r.Started, status: r.Status, at: at, notes: notes(r.Warnings, r.Problems), ended: r.Ended, usage: r.Usage, judged: r.Judged},
	}
}

// remarks returns the notes of the trial.
func (t *Trial) remarks() []string {
	if t.Result == nil {
		return t.notes
	}
	return notes(t.Result.Warnings, t.Result.Problems)
}

// whoEnded returns who ended the session of the trial and why; "" if it was none.
func (t *Trial) whoEnded() string {
	if t.Result == nil {
		return t.ended
	}
	return t.Result.Ended
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
	if err := r.decode(text); err != nil {
		return nil, fmt.Errorf("eval: the stored result cannot be read: %s has changed: %w", s.file, err)
	}
	return &r, nil
}

// result returns the result of the trial, which may be in a file. It is nil if nothing was dispatched.
func (t *Trial) result() (*dispatchtest.Result, error) {
	result, _, err := t.graded()
	return result, err
}

// graded returns the result of the trial, and what its grader expected.
func (t *Trial) graded() (*dispatchtest.Result, []mismatch, error) {
	if t.Result != nil || t.at.file == "" {
		return t.Result, t.differ, nil
	}
	r, err := t.at.read()
	if err != nil || r.Result == nil {
		return nil, nil, err
	}
	result := new(dispatchtest.Result)
	if err := rawjson.DecodeOwn(r.Result, result); err != nil {
		return nil, nil, fmt.Errorf("eval: %s: the result of case %s, trial %d cannot be read: %w", t.at.file, shown(t.ID), t.Number, err)
	}
	complete(result)
	if t.differ != nil { // it was graded again
		r.Mismatches = t.differ
	}
	return result, r.Mismatches, nil
}
