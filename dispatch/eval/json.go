package eval

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"slices"
	"time"

	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/redact"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

// experimentJSON is an experiment as JSON. Members may be added. They keep their meaning.
type experimentJSON struct {
	Name     string       `json:"name"`
	Started  time.Time    `json:"started"`
	TookMS   float64      `json:"took_ms"`
	OK       bool         `json:"ok"`
	Counts   countsJSON   `json:"counts"`
	Causes   []causeCount `json:"causes"`
	Stats    Stats        `json:"stats"`
	CaseList []caseJSON   `json:"cases"` // one for each trial; written one by one

	// of an experiment with several trials of each case
	PerCase      int          `json:"trials_per_case,omitempty"`
	FirstFailure bool         `json:"first_failure,omitempty"`
	Results      []CaseResult `json:"case_results,omitempty"`
}

type countsJSON struct {
	Cases     int `json:"cases"`
	Trials    int `json:"trials"`
	Passed    int `json:"passed"`
	Failed    int `json:"failed"`
	Errors    int `json:"errors"`
	Cancelled int `json:"cancelled"`
	Skipped   int `json:"skipped"`
}

type caseJSON struct {
	ID              string     `json:"id"`
	Name            string     `json:"name"`
	Trial           int        `json:"trial"`
	Row             int        `json:"row,omitempty"`
	Line            int        `json:"line,omitempty"`
	Verdict         Verdict    `json:"verdict"`
	Cause           Cause      `json:"cause,omitempty"`
	Reason          string     `json:"reason,omitempty"`
	TookMS          float64    `json:"took_ms"`
	ExpectedOutcome string     `json:"expected_outcome,omitempty"`
	Turns           int        `json:"turns"`
	Ended           string     `json:"ended,omitempty"` // who ended the session, and why
	FinalResponse   string     `json:"final_response,omitempty"`
	Calls           []callJSON `json:"calls"`
	Warnings        []string   `json:"warnings,omitempty"`
}

type callJSON struct {
	Tool       string `json:"tool"`
	Source     string `json:"source,omitempty"` // of a call that was answered with a result
	Status     int    `json:"status,omitempty"` // of one that was refused; 0 if there was no whole answer
	ErrorClass string `json:"error_class,omitempty"`
}

// WriteJSON writes the experiment as one indented JSON document: its counts, and each trial with
// verdict, cause, reason, final response and tool calls. It does not contain arguments and results
// of calls; they are in [Trial].Result and in the file of results. The secrets of the target are
// hidden as in that file. It contains [Experiment.Stats], and if cases have several trials
// [Experiment.Cases]. Memory does not grow with the results. It returns the first error of w, or of
// reading the file of results, after which the document is not complete.
func (e *Experiment) WriteJSON(w io.Writer) error {
	doc := experimentJSON{
		Name: e.Name, Started: e.Started.UTC(), TookMS: milliseconds(e.Took), OK: e.OK(), Causes: e.causes(), Stats: e.Stats(),
		Counts: countsJSON{
			Cases: len(caseTrials(e.Trials)), Trials: len(e.Trials), Passed: e.Count(Passed), Failed: e.Count(Failed), Errors: e.Count(Errored),
			Cancelled: e.Count(Cancelled), Skipped: e.Count(Skipped),
		},
		CaseList: []caseJSON{},
	}
	if e.PerCase > 1 {
		doc.PerCase, doc.FirstFailure, doc.Results = e.PerCase, e.FirstFailure, e.Cases()
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
		trial, err := e.Trials[i].document(e.secrets)
		if err != nil {
			return err
		}
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

// writeJSON writes an indented document.
func writeJSON(w io.Writer, v any) error {
	text, err := indented(v, "")
	if err != nil {
		return err
	}
	_, err = w.Write(append(text, '\n'))
	return err
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

func (t *Trial) document(secrets *redact.Set) (caseJSON, error) {
	doc := caseJSON{
		ID: t.ID, Name: t.Name, Trial: t.Number, Verdict: t.Verdict, Cause: t.Cause, Reason: t.Reason, TookMS: milliseconds(t.Took),
		Calls: []callJSON{},
	}
	if t.Row != nil {
		doc.Row, doc.Line, doc.ExpectedOutcome = t.Row.Number, t.Row.Line, t.Row.ExpectedOutcome
	}
	result, _, err := t.known(secrets)
	if result == nil || err != nil {
		return doc, err
	}
	doc.Ended = t.whoEnded()
	doc.Turns, doc.FinalResponse, doc.Warnings = len(result.Turns), secrets.Text(result.FinalResponse), slices.Clone(result.Warnings)
	for _, p := range result.Problems {
		if !p.Fatal {
			doc.Warnings = append(doc.Warnings, p.String())
		}
	}
	calls := slices.Concat(result.Calls, result.Refused)
	slices.SortFunc(calls, func(a, b proxytest.Call) int { return cmp.Compare(a.Order, b.Order) })
	for _, call := range calls {
		switch {
		case call.Trace:
		case call.Source != "":
			doc.Calls = append(doc.Calls, callJSON{Tool: call.Tool, Source: string(call.Source)})
		default:
			doc.Calls = append(doc.Calls, callJSON{Tool: call.Tool, Status: call.Status, ErrorClass: call.ErrorClass})
		}
	}
	return doc, nil
}

// known returns the result and its timeline, which may be in a file. The timeline has no secrets. The
// result is nil if nothing was dispatched.
func (t *Trial) known(secrets *redact.Set) (result *dispatchtest.Result, timeline string, err error) {
	if t.Result != nil {
		return t.Result, cutBytes(secrets.Text(t.Result.String()), maxOutput), nil
	}
	if t.at.file == "" {
		return nil, "", nil
	}
	r, stored, err := t.read()
	if stored == nil || err != nil {
		return nil, "", err
	}
	return stored.Result, r.Timeline, nil
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
