package eval

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"time"

	"github.com/toolwire/toolwire/internal/rawjson"
)

// experimentJSON is an experiment as JSON. Members may be added. They keep their meaning.
type experimentJSON struct {
	Name     string         `json:"name"`
	Started  time.Time      `json:"started"`
	TookMS   float64        `json:"took_ms"`
	OK       bool           `json:"ok"`
	Counts   map[string]int `json:"counts"`
	Causes   []causeCount   `json:"causes"`
	Checks   *checks        `json:"checks,omitempty"`
	Stats    stats          `json:"stats"`
	Figures  []Figure       `json:"figures"`
	MinRate  float64        `json:"min_rate,omitempty"`
	Bar      Verdict        `json:"bar,omitempty"` // of MinRate
	CaseList []record       `json:"cases"`         // one for each trial; written one by one

	// of an experiment with several trials of each case
	TrialsPerCase int          `json:"trials_per_case,omitempty"`
	FirstFailure  bool         `json:"first_failure,omitempty"`
	Results       []caseResult `json:"case_results,omitempty"`
}

// WriteJSON writes the experiment as one indented JSON document: its counts, and each trial with
// verdict, cause, reason, final response and tool calls. It does not contain arguments and results of
// calls; they are in [Trial].Result and in the file of results. The secrets of the target are hidden as
// in that file. It contains [Experiment.Figures], and if cases have several trials [Experiment.Cases].
// Memory does not grow with the results. It returns the first error of w, or of reading the file of
// results, after which the document is not complete.
func (e *Experiment) WriteJSON(w io.Writer) error {
	doc := experimentJSON{
		Name: e.Name, Started: e.Started.UTC(), TookMS: milliseconds(e.Took), OK: e.OK(), Causes: e.causes(), Checks: e.checks, Stats: e.stats(), Figures: e.Figures(),
		Counts: map[string]int{
			"cases": len(caseTrials(e.Trials)), "trials": len(e.Trials), "passed": e.count(Passed), "failed": e.count(Failed),
			"errors": e.count(Errored), "cancelled": e.count(Cancelled), "skipped": e.count(Skipped),
		},
		CaseList: []record{},
	}
	if doc.MinRate = e.MinRate; e.MinRate > 0 {
		doc.Bar, _ = e.Bar()
	}
	if e.trialsPerCase() > 1 {
		doc.TrialsPerCase, doc.FirstFailure, doc.Results = e.trialsPerCase(), e.firstFailure, e.cases()
	}
	text, err := indented(doc, "")
	if err != nil {
		return err
	}
	if len(e.Trials) == 0 {
		_, err = w.Write(append(text, '\n'))
		return err
	}
	head, tail, _ := bytes.Cut(text, []byte(`"cases": []`)) // quotes in values are escaped
	out := bufio.NewWriter(w)
	_, _ = out.Write(head) // a Writer keeps its first error for Flush
	_, _ = out.WriteString(`"cases": [`)
	for i := range e.Trials {
		trial, err := e.report(&e.Trials[i])
		if err != nil {
			return err
		}
		trial.stored = stored{}
		if text, err = indented(trial, "    "); err != nil {
			return err
		}
		if i > 0 {
			_ = out.WriteByte(',')
		}
		_, _ = out.WriteString("\n    ")
		if _, err := out.Write(text); err != nil {
			return err
		}
	}
	_, _ = out.WriteString("\n  ]")
	_, _ = out.Write(tail)
	_ = out.WriteByte('\n')
	return out.Flush()
}

// indented encodes v with a prefix before each line but the first.
func indented(v any, prefix string) ([]byte, error) {
	text, err := rawjson.Encode(v)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	_ = json.Indent(&b, text, prefix, "  ") // was just written
	return b.Bytes(), nil
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
