package pagecmd

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/internal/runpage"
	"github.com/toolwire/toolwire/ledger"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

// The status of a run.
const (
	inProgress = "in progress"
	completed  = "completed"
	failed     = "failed"
)

// summary is a run in the list.
type summary struct {
	ID       int
	Title    string // the instruction on one line
	URL      string
	Sample   bool
	Status   string
	Failure  *failure // of a run that failed
	Started  time.Time
	Duration time.Duration
	Calls    int // answered with a result
}

// page is the page of a run.
type page struct {
	summary
	*runpage.Run
	Warnings []string
	Doing    string // what a run in progress waits for
	Auth     string // the name of the auth header, if one was sent
	Timeout  time.Duration
	Strict   bool

	Refused   int
	Traces    int
	Telemetry int // spans
	Failures  []failures

	Before, After runpage.Text // the ledger

	Judged    bool // the contract was applied to an answer
	Gradeable bool
	Late      int

	whole map[string]string // the texts that are cut, by key
	bytes int               // of all texts
}

// failure describes why a run failed.
type failure struct {
	Class    string
	Severity severity
	Error    runpage.Text
	Advice   string
}

// failures counts failures of one kind.
type failures struct {
	Class string
	Count int
	Where string
	To    string // what to do
}

func summarize(f facts, t *runpage.Texts) summary {
	return summary{
		ID: f.id, Title: t.Line(f.task.Instruction), URL: t.Line(f.task.URL), Sample: f.task.Sample, Status: inProgress,
		Started: f.started, Duration: f.ended.Sub(f.started), Calls: len(f.record.Calls),
	}
}

// build makes the page of a run. If result is nil, the run is in progress.
func build(f facts, result *dispatchtest.Result) *page {
	t := &runpage.Texts{Secrets: f.secrets, Links: fmt.Sprintf("/runs/%d/text/", f.id), Whole: map[string]string{}}
	p := &page{summary: summarize(f, t), Timeout: f.task.Timeout, Strict: f.task.Strict, whole: t.Whole}
	if f.task.AuthValue != "" {
		p.Auth = cmp.Or(f.task.AuthHeader, "Authorization")
	}
	legs := f.legs
	if result == nil {
		p.Doing = doing(len(legs), len(f.task.UserTurns)+1)
	} else {
		p.take(t, result)
		legs = legsOf(result)
	}
	p.Run = runpage.Build(t, runpage.Source{
		Instruction: f.task.Instruction, Input: f.task.Input, UserTurns: f.task.UserTurns,
		Started: f.started, Log: f.record, Legs: legs, Result: result,
	})
	if f.refused > 0 {
		p.Faults = append(p.Faults,
			fmt.Sprintf("requests that were refused and not kept: %d; the page keeps %d requests and %s of one run",
				f.refused, f.bounds.requests, runpage.Size(int(f.bounds.bytes))))
	}
	p.Traces, p.Telemetry = len(f.record.Traces), len(f.record.Telemetry)
	for _, c := range runpage.Requests(f.record) {
		p.count(t, c)
	}
	p.Before, p.After = snapshot(t, "ledger-before", f.before), snapshot(t, "ledger-after", f.record.State)
	p.bytes = t.Bytes
	return p
}

// legsOf returns the exchanges of a run that is over.
func legsOf(result *dispatchtest.Result) []runpage.Leg {
	var last []int
	for _, turn := range result.Turns {
		last = append(last, turn.Log.LastOrder())
	}
	return runpage.LegsOf(result, last)
}

func doing(legs, turns int) string {
	switch {
	case legs < 2:
		return "waiting for the answer to the ping"
	case turns == 1:
		return "waiting for the agent's answer"
	}
	return fmt.Sprintf("waiting for the agent's answer to turn %d of %d", legs-1, turns)
}

// take adds the result of a run that is over.
func (p *page) take(t *runpage.Texts, result *dispatchtest.Result) {
	p.Status = completed
	if !result.OK() {
		p.fail(t, cmp.Or(string(result.ErrorClass), string(result.StandIn)), result.Error)
	}
	p.Warnings, p.Gradeable = result.Warnings, result.Gradeable
	p.Judged = result.Dispatch.Status >= 200 && result.Dispatch.Status < 300
}

func (p *page) fail(t *runpage.Texts, class, reason string) {
	a, ok := ofRun[class]
	if !ok {
		a = advice{danger, "See the raw exchange below."}
	}
	p.Status, p.Failure = failed, &failure{class, a.severity, t.Text("error", reason), a.text}
	p.Failures = append(p.Failures, failures{class, 1, "the run", a.text})
}

func snapshot(t *runpage.Texts, key string, s ledger.Snapshot) runpage.Text {
	raw, err := json.Marshal(s)
	if err != nil {
		return runpage.Text{}
	}
	return t.JSON(key, raw)
}

// count counts a request and its failure.
func (p *page) count(t *runpage.Texts, c proxytest.Call) {
	if c.Status == 200 && c.Source != "" {
		if to := bySource[string(c.Source)]; to != "" {
			p.addFailure(string(c.Source), t.Line(c.Tool), to)
		}
		return
	}
	if runpage.Waiting(c) && p.Status == inProgress {
		return
	}
	p.Refused++
	class, to := c.ErrorClass, ofProxy[c.ErrorClass]
	if to == "" {
		to = byStatus(c.Status)
	}
	if class == "" {
		class = "status " + strconv.Itoa(c.Status)
	}
	if c.Status == 0 {
		class = "no answer"
	}
	p.addFailure(t.Line(class), t.Line(c.Tool), to)
}

// addFailure counts a failure.
func (p *page) addFailure(class, where, to string) {
	i := slices.IndexFunc(p.Failures, func(f failures) bool { return f.Class == class && f.Where == where })
	if i < 0 {
		p.Failures = append(p.Failures, failures{Class: class, Where: where, To: to})
		i = len(p.Failures) - 1
	}
	p.Failures[i].Count++
}
