package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"sync"
	"time"

	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/ledger"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

// task is what the form says, but for the secret once the run is over.
type task struct {
	URL         string
	AuthHeader  string
	AuthValue   string
	Instruction string
	Input       json.RawMessage // an object
	UserTurns   []string
	Timeout     time.Duration
	Strict      bool
	Sample      bool // dispatched to the built-in agent
}

// script is what the user says, turn by turn.
func (t *task) script() []string { return append([]string{t.Instruction}, t.UserTurns...) }

// bounds are how much a run may send to the proxy before it is cut off: everything is kept to be shown.
type bounds struct {
	requests int
	bytes    int64
}

// record is one run, in progress or over. It is safe for concurrent use.
type record struct {
	id      int
	started time.Time
	bounds  bounds

	mu       sync.Mutex
	task     task
	platform *proxytest.Platform // nil when the run is over
	run      *proxytest.Run      // nil before it is staged and when it is over
	before   ledger.Snapshot
	beats    []beat
	waiting  bool // for the first byte of an answer
	requests int
	received int64
	refused  int   // requests over the bounds
	late     int   // requests after the end
	page     *page // of a run that is over
}

// beat is the beginning of an exchange with the agent: the ping, then a dispatch per turn.
type beat struct {
	at   time.Time
	last int // the order of the last event before it
}

func newRecord(id int, task task, platform *proxytest.Platform, bounds bounds) *record {
	return &record{id: id, task: task, started: time.Now(), platform: platform, bounds: bounds}
}

func (r *record) over() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.page != nil
}

// dispatch is the run, from the ping to the page that is kept of it.
func (r *record) dispatch(ctx context.Context, base string) {
	// The agent is asked once per exchange, but a connection that went stale is replaced without a word: only what comes
	// after an answer is a new exchange.
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn:              func(string) { r.beat() },
		GotFirstResponseByte: func() { r.answered() },
	})
	var talk *dispatchtest.Conversation
	if len(r.task.UserTurns) > 0 {
		talk = &dispatchtest.Conversation{UserTurns: r.task.UserTurns, MaxTurns: len(r.task.UserTurns) + 1}
	}
	result, err := dispatchtest.Dispatch(ctx, dispatchtest.Target{
		URL: r.task.URL, AuthHeader: r.task.AuthHeader, AuthValue: r.task.AuthValue,
		RunTimeout: r.task.Timeout, Strict: r.task.Strict,
	}, dispatchtest.Task{
		ID: int64(r.id), Instruction: r.task.Instruction, Input: r.task.Input, Conversation: talk,
		Platform: r.platform, ProxyURL: base + "/runs/" + strconv.Itoa(r.id), OnRun: r.begin,
	})
	page := build(r.facts(), result, err)

	r.mu.Lock()
	defer r.mu.Unlock()
	r.page, r.platform, r.run, r.before, r.beats = page, nil, nil, ledger.Snapshot{}, nil
	r.task.AuthValue = ""
}

// begin keeps the run to be looked at. Every run has a platform of its own, so that it can be forgotten, and would be the
// first of it: the agent is told its number here instead.
func (r *record) begin(run *proxytest.Run) {
	r.mu.Lock()
	defer r.mu.Unlock()
	run.ID = strconv.Itoa(r.id)
	r.run, r.before = run, run.Ledger().Snapshot()
}

func (r *record) beat() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.waiting || r.run == nil {
		return
	}
	r.waiting = true
	r.beats = append(r.beats, beat{time.Now(), r.run.Record().Last()})
}

func (r *record) answered() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waiting = false
}

// facts are what a page is built of.
type facts struct {
	id       int
	task     task
	started  time.Time
	ended    time.Time
	before   ledger.Snapshot
	beats    []beat
	secrets  []string
	refused  int
	bounds   bounds
	requests *proxytest.Record // nil before the run is staged
}

func (r *record) facts() facts {
	r.mu.Lock()
	defer r.mu.Unlock()
	f := facts{
		id: r.id, task: r.task, started: r.started, ended: time.Now(), before: r.before, beats: r.beats[:len(r.beats):len(r.beats)],
		refused: r.refused, bounds: r.bounds, secrets: secretsOf(r.task.AuthValue),
	}
	if r.run != nil {
		f.requests = r.run.Record()
		f.secrets = append(f.secrets, r.run.Token)
	}
	return f
}

// view is the page of the run as it is now.
func (r *record) view() *page {
	r.mu.Lock()
	done, late := r.page, r.late
	r.mu.Unlock()
	if done == nil {
		return build(r.facts(), nil, nil)
	}
	now := *done
	now.Late = late
	return &now
}

// serveProxy is the run's proxy.
func (r *record) serveProxy(w http.ResponseWriter, req *http.Request) {
	platform, class := r.admit(req)
	req.Body = http.MaxBytesReader(w, req.Body, 2<<20) // above the proxy's own limit, which answers better
	if platform != nil {
		platform.ServeHTTP(w, req)
		return
	}
	_, _ = io.Copy(io.Discard, req.Body) // or the connection would break before the answer arrives
	if class == "run_token_expired" {
		proxyError(w, http.StatusUnauthorized, class, "the run is over")
	} else {
		proxyError(w, http.StatusTooManyRequests, class, "the run has sent more than localplatform keeps of one run")
	}
}

// admit counts a request of the run, and returns nil and an error class if it may not go on.
func (r *record) admit(req *http.Request) (*proxytest.Platform, string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.platform == nil {
		r.late++
		return nil, "run_token_expired"
	}
	r.requests++
	r.received += max(req.ContentLength, 0)
	if req.ContentLength < 0 {
		r.received += 1 << 20 // of unknown length: as much as the proxy takes
	}
	if r.requests > r.bounds.requests || r.received > r.bounds.bytes {
		r.refused++
		return nil, "rate_limited"
	}
	return r.platform, ""
}

// proxyError answers as the proxy does.
func proxyError(w http.ResponseWriter, status int, class, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"detail": map[string]string{"error_class": class, "message": message}})
}
