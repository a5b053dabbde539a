package pagecmd

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/examples/toolwire/internal/runfile"
	"github.com/toolwire/toolwire/internal/hook"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/redact"
	"github.com/toolwire/toolwire/internal/runhtml"
	"github.com/toolwire/toolwire/internal/timeline"
	"github.com/toolwire/toolwire/ledger"
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
	Agent    string // its URL or program
	Sample   bool
	Status   string
	Failure  *failure // of a run that failed
	Started  time.Time
	Duration time.Duration
	Calls    int // answered with a result
}

// matches reports whether the run has the status, unless that is "", and all words of the query.
func (s *summary) matches(query, status string) bool {
	text := []string{fmt.Sprintf("#%d", s.ID), s.Title, s.Agent, s.Status}
	if s.Failure != nil {
		text = append(text, s.Failure.Class)
	}
	all := strings.ToLower(strings.Join(text, "\n"))
	for _, word := range strings.Fields(strings.ToLower(query)) {
		if !strings.Contains(all, word) {
			return false
		}
	}
	return status == "" || status == s.Status
}

// page is the page of a run.
type page struct {
	summary
	*runhtml.Run
	Warnings []string
	Doing    string // what a run in progress waits for
	Models   string // what is known of the agent's requests to models
	Missing  string // what the page does not have, and why
	Auth     string // the name of the auth header, if one was sent
	More     int    // the run whose session goes on, if it is known
	Earlier  []said // the turns of the session before the run
	GoesOn   string // how the session can go on: "here", or by the "form", which asks for an auth value
	Again    string // how the task can be dispatched again: as the "sample", or by the "form"
	Timeout  time.Duration
	Strict   bool

	Refused   int
	Traces    int
	Telemetry int // spans
	Failures  []failures

	Before, After timeline.Text // the ledger
	Exchanges     []exchange

	AtPing    bool // the run failed at the ping: nothing was dispatched
	PageToken string
	Judged    bool // the contract was applied to an answer
	Gradeable bool
	Late      int

	whole map[string]string   // the texts that are cut, by key
	saved []byte              // the file of a run that is over, in gzip
	turns []dispatchtest.Turn // of the session: what was said, and the last request
	end   ledger.Snapshot
	bytes int // of all texts
}

// exchange is one request to the agent and the response.
type exchange struct {
	Name    string
	Request timeline.Text
	Status  int
	Answer  timeline.Text
	Took    time.Duration
}

// failure describes why a run failed.
type failure struct {
	Class string
	Error timeline.Text
	advice
}

// said is a turn of the session before the run.
type said struct{ Instruction, Answer timeline.Text }

// failures counts failures of one kind.
type failures struct {
	Class string
	Count int
	Where string
	To    string // what to do
}

func summarize(f facts, t *runhtml.Texts) summary {
	return summary{
		ID: f.id, Title: t.Line(f.task.Instruction), Agent: t.Line(f.task.agent()), Sample: f.task.Sample, Status: inProgress,
		Started: f.started, Duration: f.ended.Sub(f.started), Calls: len(f.log.Calls),
	}
}

// build makes the page of a run, which is in progress if live is set.
func build(f facts, live bool) *page {
	t := &runhtml.Texts{Secrets: f.secrets, Links: fmt.Sprintf("/runs/%d/text/", f.id), Whole: map[string]string{}}
	seconds, _ := strconv.Atoi(f.task.Timeout) // taskOf has checked it
	p := &page{summary: summarize(f, t), Timeout: time.Duration(seconds) * time.Second, Strict: f.task.Strict, Auth: t.Line(f.auth), More: f.task.More}
	result := dispatchtest.Result{}
	if f.result != nil {
		result = *f.result
	}
	result.Log = *f.log // with what came after the answer
	if live {
		p.Doing = f.task.doing(len(result.Turns), len(f.task.turns)+1)
		result.FinalResponse, result.Messages, result.Problems = "", nil, nil // of the turn before
	} else {
		p.take(t, &result)
	}
	run := hook.Of[timeline.Run](&result)
	if live {
		run.Live, run.Took = true, p.Duration
	}
	p.Run = t.Prepare(run)
	if f.refused > 0 {
		p.Faults = append(p.Faults,
			fmt.Sprintf("requests that were refused and not kept: %d; the page keeps %d requests and %s of one run",
				f.refused, f.bounds.requests, runhtml.Size(int(f.bounds.bytes))))
	}
	p.Traces, p.Telemetry = len(f.log.Traces), len(f.log.Telemetry)
	for i := range p.Rows {
		p.count(&p.Rows[i].Row)
	}
	p.explain()
	if f.before.Entities != nil {
		before, _ := json.Marshal(f.before) // a snapshot is JSON
		p.Before = t.JSON("ledger-before", before)
	}
	after, _ := json.Marshal(f.log.State)
	p.After = t.JSON("ledger-after", after)
	for i, turn := range f.task.earlier {
		key := fmt.Sprintf("earlier-%d", i+1)
		p.Earlier = append(p.Earlier, said{t.Text(key, turn.Instruction), t.Text(key+"-answer", turn.FinalResponse)})
		p.turns = append(p.turns, turn)
	}
	for _, turn := range result.Turns {
		p.turns = append(p.turns, dispatchtest.Turn{Instruction: turn.Instruction, FinalResponse: turn.FinalResponse})
		t.Bytes += len(turn.Instruction) + len(turn.FinalResponse)
	}
	if n := len(result.Turns); n > 0 { // whose session id the next turn has
		p.turns[len(p.turns)-1].Request = result.Turns[n-1].Request
	}
	p.end = f.log.State
	p.bytes, p.whole = t.Bytes+len(after), t.Whole
	return p
}

// file returns the file of a run that is over.
func (f *facts) file() (*runfile.File, error) {
	result := *f.result
	result.Log = *f.log
	form, err := rawjson.Encode(f.task.form)
	return &runfile.File{Result: &result, Page: &runfile.Page{
		Form: form, Header: f.auth, Sample: f.task.Sample, Earlier: f.task.earlier, Before: f.before, Started: f.started, Ended: f.ended,
	}}, err
}

// save keeps the file of the run, without secrets.
func (p *page) save(file *runfile.File, secrets *redact.Set) error {
	text, err := file.Encode(secrets)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write(text) // a buffer takes all
	_ = z.Close()
	p.saved = b.Bytes()
	p.bytes += len(p.saved)
	return nil
}

// readRecord returns the run in a file, with this number.
func readRecord(name string, id int, most bounds) (*record, error) {
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() { // opening a pipe waits for a writer
		return nil, errors.New("it is not a regular file")
	}
	file, err := runfile.Read(name)
	if err != nil {
		return nil, err
	}
	log, turns := &file.Result.Log, len(file.Result.Turns)
	if file.Page != nil {
		turns += len(file.Page.Earlier)
	}
	if len(log.Calls)+len(log.Refused)+len(log.Traces) > most.requests || turns > maxTurns {
		return nil, fmt.Errorf("it has more than %d requests to the proxy or than %d turns", most.requests, maxTurns)
	}
	r := &record{facts: facts{id: id, started: file.Result.Dispatch.At}}
	f := r.facts
	f.ended = f.started.Add(timeline.Milliseconds(file.Result.Dispatch.TookMS))
	switch page := file.Page; {
	case page != nil:
		err = json.Unmarshal(page.Form, &f.task.form)
		f.auth, f.before, f.started, f.ended, f.task.Sample, f.task.earlier = page.Header, page.Before, page.Started, page.Ended, page.Sample, page.Earlier
	case len(file.Result.Turns) > 0:
		f.task.Instruction = file.Result.Turns[0].Instruction
	}
	if err != nil {
		return nil, err
	}
	r.started, r.task.form, r.task.Sample, r.auth = f.started, f.task.form, f.task.Sample, f.auth
	f.result, f.log = file.Result, &file.Result.Log
	r.page = build(f, false)
	return r, r.page.save(file, nil)
}

// writeTo writes the file of a run.
func (p *page) writeTo(w io.Writer) error {
	z, err := gzip.NewReader(bytes.NewReader(p.saved))
	if err == nil {
		_, err = io.Copy(w, z)
	}
	return err
}

// Saved reports whether the run can be saved.
func (p *page) Saved() bool { return p.saved != nil }

func (f *form) doing(turn, turns int) string {
	switch {
	case turn == 0 && f.Program == "":
		return "waiting for the answer to the ping"
	case turns == 1:
		return "waiting for the agent's answer"
	}
	return fmt.Sprintf("waiting for the agent's answer to turn %d of %d", turn, turns)
}

// take adds the result of a run that is over.
func (p *page) take(t *runhtml.Texts, result *dispatchtest.Result) {
	p.Status = completed
	if !result.OK() {
		class := cmp.Or(string(result.ErrorClass), string(result.StandIn))
		p.Status, p.Failure = failed, &failure{class, t.Text("error", result.Error), ofRun[class]}
	}
	p.AtPing = p.Failure != nil && len(result.Turns) == 0
	p.Warnings, p.Gradeable = result.Warnings, result.Gradeable
	p.Judged = result.Dispatch.Status >= 200 && result.Dispatch.Status < 300
	if result.Ping.Request != nil { // code mode has no ping
		p.Exchanges = append(p.Exchanges, newExchange(t, "Ping", "ping", result.Ping))
	}
	for i, turn := range result.Turns {
		name := "Dispatch"
		if len(result.Turns) > 1 {
			name = fmt.Sprintf("Dispatch of turn %d", i+1)
		}
		p.Exchanges = append(p.Exchanges, newExchange(t, name, "dispatch-"+strconv.Itoa(i+1), turn.Exchange))
	}
}

func newExchange(t *runhtml.Texts, name, key string, ex dispatchtest.Exchange) exchange {
	answer := t.JSON(key+"-answer", json.RawMessage(ex.Body)) // shown as it is if it is not JSON
	return exchange{name, t.JSON(key+"-request", ex.Request), ex.Status, answer, timeline.Milliseconds(ex.TookMS)}
}

// explain sets what the page says about what it does not show.
func (p *page) explain() {
	answered := slices.ContainsFunc(p.Rows, func(row runhtml.Row) bool { return row.Model != "" || row.Tokens() != "" })
	switch {
	case answered:
		p.Models = "Requests to models do not pass here. What is known about them is in the metadata of the answer."
	case p.Judged:
		p.Models = "Requests to models do not pass here, and the answer has no metadata about them."
	}
	switch {
	case p.Live:
		p.Missing = "Messages, the contract report and the raw requests are shown when the run is over."
	case p.Judged && len(p.Messages) == 0:
		p.Missing = "No messages arrived, so the trace on the platform shows the final response only."
	}
}

// count counts the attempts of a call that failed.
func (p *page) count(row *timeline.Row) {
	for i, a := range row.Attempts {
		status := "status " + strconv.Itoa(a.Status)
		class := cmp.Or(a.Class, status)
		switch {
		case a.OK:
			if to := ofCall[row.Source]; to != "" {
				p.addFailure(row.Source, row.Name, to)
			}
			continue
		case p.Live && row.Open && i == len(row.Attempts)-1:
			continue
		case a.Status == 0:
			class, status = noAnswer, noAnswer
		}
		p.Refused++
		p.addFailure(class, row.Name, cmp.Or(ofCall[a.Class], ofCall[status], otherwise))
	}
}

// addFailure counts a failure.
func (p *page) addFailure(class, where, to string) {
	i := slices.IndexFunc(p.Failures, func(f failures) bool { return f.Class == class && f.Where == where })
	if i < 0 {
		i, p.Failures = len(p.Failures), append(p.Failures, failures{Class: class, Where: where, To: to})
	}
	p.Failures[i].Count++
}
