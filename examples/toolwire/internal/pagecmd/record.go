package pagecmd

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/internal/httpcall"
	"github.com/toolwire/toolwire/internal/httpserve"
	"github.com/toolwire/toolwire/internal/redact"
	"github.com/toolwire/toolwire/internal/runctx"
	"github.com/toolwire/toolwire/internal/runhtml"
	"github.com/toolwire/toolwire/ledger"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

// bounds limits what is kept.
type bounds struct {
	requests int   // to the proxy, of one run
	bytes    int64 // likewise
	kept     int   // bytes of all runs that are over, except for the last
}

// record is one run, in progress or over. It is safe for concurrent use.
type record struct {
	mu sync.Mutex
	facts
	platform *proxytest.Platform // nil when the run is over
	run      *proxytest.Run      // likewise
	runID    string              // in the URL of its proxy
	token    httpserve.Secrets   // of the run, kept after the run ends
	requests int
	received int64
	late     int   // requests after the end
	page     *page // of a run that is over
}

// facts has what a page is built from.
type facts struct {
	id      int
	auth    string // the header, if one was sent
	task    task
	started time.Time
	bounds  bounds
	before  ledger.Snapshot
	result  *dispatchtest.Result // so far; nil before the ping
	refused int                  // requests over the bounds

	// Set by now.
	ended   time.Time
	log     *proxytest.Log
	secrets *redact.Set
}

// now returns the facts of a run in progress. It must be called with r.mu held.
func (r *record) now() facts {
	f := r.facts
	f.ended, f.log, f.secrets = time.Now(), r.run.Log(), redact.New(append(redact.Env(r.task.target.Env), r.task.target.AuthValue, r.run.Token)...)
	if len(r.task.flags) > 0 { // the run has not set these flags
		f.log.Changes = ledger.Diff(r.before, f.log.State)
	}
	return f
}

// over reports whether the run is over, and how many bytes its page then takes.
func (r *record) over() (bytes int, over bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.page == nil {
		return 0, false
	}
	return r.page.bytes, true
}

// dispatch executes the run, from the ping to the page that is kept. It sends nil to staged when
// the run has begun, or the error if it cannot begin.
func (r *record) dispatch(ctx context.Context, base string, staged chan<- error) {
	ctx = runctx.With(ctx, func(now *dispatchtest.Result) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.result = now
	})
	var talk *dispatchtest.Conversation
	if r.task.Stateful || len(r.task.turns)+len(r.task.earlier) > 0 {
		talk = &dispatchtest.Conversation{UserTurns: r.task.turns, MaxTurns: len(r.task.turns) + 1, Stateful: r.task.Stateful}
	}
	ctx = runctx.With(ctx, r.task.earlier)
	result, err := dispatchtest.Dispatch(ctx, r.task.target, dispatchtest.Task{
		ID: int64(r.id), Instruction: r.task.Instruction, Input: r.task.input, Conversation: talk,
		Platform: r.platform, ProxyURL: base, OnRun: func(run *proxytest.Run) { r.begin(run); staged <- nil },
	})
	if err != nil {
		staged <- err
		return
	}
	r.mu.Lock()
	r.platform = nil // later requests are late
	facts := r.now()
	r.mu.Unlock()
	facts.result = result
	page := build(facts, false)
	if file, err := facts.file(); err == nil {
		_ = page.save(file, facts.secrets) // Saved says whether there is a file
	}

	r.mu.Lock()
	defer r.mu.Unlock()
	r.page, r.run, r.before, r.result = page, nil, ledger.Snapshot{}, nil
	r.task.target, r.task.input, r.task.earlier = dispatchtest.Target{}, nil, nil
}

// begin keeps the run.
func (r *record) begin(run *proxytest.Run) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.started, r.run, r.runID = time.Now(), run, run.ID
	r.token = httpserve.NewSecrets([]string{run.Token}, nil)
	for _, flag := range r.task.flags {
		run.Ledger().Apply(ledger.Update{Op: ledger.OpSetFlag, Flag: flag})
	}
	r.before = run.Ledger().Snapshot()
}

// goOn returns the form for the next turn of the session of a run that is over.
func (r *record) goOn() form {
	f := r.task.form
	state, _ := json.MarshalIndent(r.view().end.Entities, "", "  ") // they are JSON
	f.Instruction, f.UserTurns, f.State, f.More = "", "", string(state), r.id
	return f
}

// view returns the page of the run as it is now.
func (r *record) view() *page {
	r.mu.Lock()
	if r.page == nil {
		facts := r.now()
		r.mu.Unlock()
		return build(facts, true)
	}
	defer r.mu.Unlock()
	now := *r.page
	now.Late = r.late
	return &now
}

// summary returns the entry of the list of runs.
func (r *record) summary() summary {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.page != nil {
		return r.page.summary
	}
	f := r.now()
	return summarize(f, &runhtml.Texts{Secrets: f.secrets})
}

// serveProxy serves the run's proxy.
func (r *record) serveProxy(w http.ResponseWriter, req *http.Request) {
	platform, status, class, message := r.admit(req)
	if platform == nil {
		refuse(w, req, status, class, message)
		return
	}
	platform.ServeHTTP(w, req)
}

// admit counts a request of the run. If the request is refused, p is nil and the rest is the
// answer. A request without the run's token is refused and not counted.
func (r *record) admit(req *http.Request) (p *proxytest.Platform, status int, class, message string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if tokens, _ := httpserve.Tokens(req.Header, "X-Pipelines-Run-Token"); !slices.ContainsFunc(tokens, r.token.Has) {
		return nil, http.StatusUnauthorized, "run_token_invalid", "the run token is missing or not the run's"
	}
	if r.platform == nil {
		r.late++
		return nil, http.StatusUnauthorized, "run_token_expired", "the run is over"
	}
	r.requests++
	r.received += httpserve.Announced(req.ContentLength, httpcall.BodyBytes) // the proxy accepts no more
	if r.requests > r.bounds.requests || r.received > r.bounds.bytes {
		r.refused++
		return nil, http.StatusTooManyRequests, "rate_limited", "the run has sent more than the page keeps of one run"
	}
	return r.platform, 0, "", ""
}

// refuse answers as the proxy does. It first reads a body of up to 2 MiB that arrives within a
// second, because a client that is still writing may not read the answer.
func refuse(w http.ResponseWriter, req *http.Request, status int, class, message string) {
	body := httpserve.OpenBody(w, req, 2<<20, time.Now().Add(httpserve.RefusalTime))
	_, _ = io.Copy(io.Discard, &body)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"detail": map[string]string{"error_class": class, "message": message}})
}
