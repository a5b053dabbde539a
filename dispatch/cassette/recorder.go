package cassette

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"regexp"
	"sync"
	"time"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/proxy"
)

// RecorderOptions configures a [Recorder]. The zero value of every field is its default.
type RecorderOptions struct {
	// Transport sends the requests. If Transport is nil, the recorder makes one with
	// proxy.NewTransport.
	Transport http.RoundTripper

	// Redact is as in [Options].
	Redact func(pointer, name string) bool
}

// A Recorder records the runs of an agent, each on a separate tape. The run tokens distinguish
// them. It is an http.RoundTripper for dispatch.Options.Proxy.Transport: it sends requests to the
// proxy of each run, and returns responses and errors unchanged. A recording that fails does not
// affect the run: the end function of [Recorder.Begin] or [Recorder.Close] returns the error. A
// Recorder is safe for concurrent use.
type Recorder struct {
	dir  string
	opts RecorderOptions
	own  *http.Transport

	mu     sync.Mutex
	runs   map[tokenHash]*recording
	tapes  int // written
	closed bool
	errs   []error
}

// tokenHash stands for a run token: a recorder lives as long as the program and keeps no token.
type tokenHash [sha256.Size]byte

var none tokenHash

// recording is the tape of one run.
type recording struct {
	recorder *Recorder
	task     Task
	once     sync.Once
	cassette *Cassette
	err      error

	token tokenHash // guarded by Recorder.mu, like those below
	begun bool      // Begin has named the run, so its end function ends the run
	ended bool
	used  time.Time
}

// maxUnbegun is how many runs without [Recorder.Begin] stay open. The recorder does not learn when
// they end.
const maxUnbegun = 256

// NewRecorder returns a recorder that writes into the folder dir. It makes the folder if it does
// not exist. If opts is nil, all options have their defaults. The error is an [*Error] with
// [toolwire.CodeInvalidOptions].
//
// A run that Begin names is in the file {name}.jsonl. Other files are named by time and number,
// such as 20261121-201500.000-1.jsonl. The name of an unfinished tape ends in .part. A run without
// Begin ends with Close, or when 256 other runs without Begin are open and it has been idle for
// longest. Existing files are not replaced: such a run is not recorded.
func NewRecorder(dir string, opts *RecorderOptions) (*Recorder, error) {
	r := &Recorder{dir: dir, runs: map[tokenHash]*recording{}}
	if opts != nil {
		r.opts = *opts
	}
	if dir == "" {
		return nil, newError(toolwire.CodeInvalidOptions, ruleOption, "", nil, "the folder for the tapes is empty")
	}
	if r.opts.Transport == nil {
		r.own = proxy.NewTransport()
		r.opts.Transport = r.own
	}
	return r, nil
}

type contextKey struct{ recorder *Recorder }

// names matches the names that a file may have on every system.
var names = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$`)

// Begin names a run. Requests with the context that it returns, and all others with the same run
// token, are recorded on one tape with this task in its header. Call end when the run is over: it
// finishes the tape and moves it to its path. Requests that are not answered by then, and later
// ones, are forwarded and not recorded. In an agent:
//
//	task := cassette.Task{Name: "run-" + run.RunID, Instruction: run.Instruction, Input: run.Input}
//	ctx, end, err := recorder.Begin(ctx, task)
//	if err != nil { … }
//	defer end()
//
// Each turn of a session is a run. Task.Name may be "", or at most 128 letters, digits, _ . and -,
// beginning with a letter or digit. The error is an [*Error] with [toolwire.CodeInvalidOptions] if the task is not
// valid. The error of end is the first error of the recording.
func (r *Recorder) Begin(ctx context.Context, task Task) (_ context.Context, end func() error, err error) {
	if task.Name != "" && !names.MatchString(task.Name) {
		return ctx, nil, newError(toolwire.CodeInvalidOptions, ruleOption, "", nil,
			"Task.Name names a file: use at most 128 letters, digits, _ . and -")
	}
	if task.Input != nil {
		if err := rawjson.Check(task.Input, rawjson.Limits{}); err != nil {
			return ctx, nil, newError(toolwire.CodeInvalidOptions, ruleOption, "", err, "Task.Input: %s", err)
		}
	}
	run := &recording{recorder: r, task: task.clone(), begun: true}
	end = func() error {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.end(run)
	}
	return context.WithValue(ctx, contextKey{r}, run), end, nil
}

// RoundTrip implements http.RoundTripper.
func (r *Recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	transport := r.opts.Transport
	kind, name, _ := split(req.URL.EscapedPath())
	if tokens := credentials(req.Header); len(tokens) > 0 && !(kind == kindTool && name == probe) {
		if run := r.find(req.Context(), tokens[0]); run != nil {
			if tape := run.open(); tape != nil {
				transport = tape.Transport(transport)
			}
		}
	}
	return transport.RoundTrip(req)
}

// find returns the run that a request belongs to; nil if it is not recorded.
func (r *Recorder) find(ctx context.Context, runToken string) *recording {
	token := tokenHash(sha256.Sum256([]byte(runToken)))
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil
	}
	run := r.runs[token]
	if begun, ok := ctx.Value(contextKey{r}).(*recording); ok {
		switch {
		case begun.token != none && begun.token != token: // the token decides, not the context
			begun = run
		case begun.ended:
			return nil
		case begun.token == none && (run == nil || !run.begun):
			if run != nil {
				r.close(run) // it has the requests before Begin
			}
			begun.token, r.runs[token] = token, begun
		case begun.token == none && run != begun:
			return run // Begin was called twice for one run
		}
		run = begun
	}
	if run == nil {
		run = &recording{recorder: r, token: token}
		r.runs[token] = run
		r.limit()
	}
	r.touch(run)
	return run
}

// touch names the tape of a run that makes a request. The caller must hold r.mu.
func (r *Recorder) touch(run *recording) {
	run.used = time.Now()
	if run.task.Name == "" {
		r.tapes++
		run.task.Name = fmt.Sprintf("%s-%d", run.used.UTC().Format("20060102-150405.000"), r.tapes)
	}
}

// named returns the tape of the run that Begin has named in a context; nil if there is none.
func (r *Recorder) named(ctx context.Context) *Cassette {
	run, _ := ctx.Value(contextKey{r}).(*recording)
	r.mu.Lock()
	recorded := run != nil && !run.ended && !r.closed
	if recorded {
		r.touch(run)
	}
	r.mu.Unlock()
	if !recorded {
		return nil
	}
	return run.open()
}

// limit ends the run that has been idle for longest if too many runs without Begin are open. The
// caller must hold r.mu.
func (r *Recorder) limit() {
	open := 0
	var oldest *recording
	for _, run := range r.runs {
		if !run.begun {
			open++
			if !run.used.IsZero() && (oldest == nil || run.used.Before(oldest.used)) {
				oldest = run
			}
		}
	}
	if open > maxUnbegun && oldest != nil {
		r.close(oldest)
	}
}

// close ends the tape of a run whose end the caller does not learn. The caller must hold r.mu.
func (r *Recorder) close(run *recording) {
	if err := r.end(run); err != nil && len(r.errs) < maxProblems {
		r.errs = append(r.errs, err)
	}
}

// Close finishes all tapes. It returns the errors that end did not return, at most 100. After
// Close, requests are forwarded and not recorded.
func (r *Recorder) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, run := range r.runs {
		r.close(run)
	}
	r.closed = true
	if r.own != nil {
		r.own.CloseIdleConnections()
	}
	return errors.Join(r.errs...)
}

// end ends the tape of a run. A run without requests has no tape. The caller must hold r.mu.
func (r *Recorder) end(run *recording) error {
	run.ended = true
	if r.runs[run.token] == run {
		delete(r.runs, run.token)
	}
	run.once.Do(func() {})
	if run.cassette == nil {
		return run.err
	}
	return run.cassette.Close()
}

// open makes the tape at the first request of the run. It returns nil if the tape cannot be made or
// the run has ended.
func (run *recording) open() *Cassette {
	run.once.Do(func() {
		opts := run.recorder.opts
		run.cassette, run.err = New(filepath.Join(run.recorder.dir, run.task.Name+".jsonl"), &Options{
			Mode: Record, Task: run.task, Redact: opts.Redact,
		})
		if run.err == nil {
			run.cassette.fresh = true
		}
	})
	return run.cassette
}
