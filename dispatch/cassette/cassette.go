package cassette

import (
	"maps"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/internal/memhttp"
	"github.com/toolwire/toolwire/internal/problem"
	"github.com/toolwire/toolwire/internal/redact"
	"github.com/toolwire/toolwire/internal/text"
	"github.com/toolwire/toolwire/proxy"
)

// A Cassette takes the place of the proxy of one run. It is an http.Handler for agents in any
// language; [Cassette.Wrap] puts it in front of a handler, and [Cassette.Transport] into a client.
// It belongs to one run, of one or more turns: it refuses requests with another run token than the
// first one. It passes a forwarded response on unchanged, after writing it to the tape. A Cassette
// is safe for concurrent use.
type Cassette struct {
	set     *settings
	path    string
	fresh   bool              // an existing tape must not be replaced
	forward http.RoundTripper // to the upstream

	mu       sync.Mutex
	own      *http.Transport // closed with the cassette
	redactor *redact.Redactor
	tokens   redact.Hidden[[]string] // that the redactor removes; the first is the token of the run
	keys     redact.Hidden[[]string] // of models, likewise
	models   bool                    // the run has a transport for models
	open     map[*watchedBody]bool   // responses of models that the agent reads
	started  bool
	playback *playback // the interactions of the tape; nil in the mode Record
	begun    time.Time
	answered int // number of answered requests
	seen     []*seen
	attempts map[string]*seen // the last request of each key
	problems []string
	lost     problem.Bounded[Problem] // what is missing on the new tape
	writer   *writer
	tape     *Tape // the tape that the writer appends to; nil if there was none
	after    int   // number of leading interactions of the new tape that this run has answered
	played   []bool
	closed   bool
	writeErr error // the first
}

// seen is one request of the run.
type seen struct {
	Interaction          // of the run, with the number of its answer
	id          identity // the key for comparisons
	began       int      // After of the first attempt of the call
	answer      *taped   // the interaction on the tape; nil if there is none
	local       bool     // a trace event that is not on the tape and was accepted
	repeated    bool     // answered with the last answer again
	superseded  bool     // the client repeated the attempt; used in the mode Compare

	asked     *asked     // the body of a request to a model, until it is written or compared
	keys      *keys      // of its parts, likewise
	deviation *Deviation // of a request to a model that is not on the tape
}

// New returns a cassette with the tape in the file path. [Replay] and [Compare] need an existing
// tape. If opts is nil, all options have their defaults. Close puts a recording into the file.
// Until then it is in a file whose name ends in .part, which must not exist before in the mode
// [Record]. The error is an [*Error].
func New(path string, opts *Options) (*Cassette, error) {
	s, err := newSettings(path, opts)
	if err != nil {
		return nil, err
	}
	if _, err := os.Lstat(path + partSuffix); s.Mode == Record && err == nil { // the error must come before the run
		return nil, partExists(path)
	}
	c := &Cassette{
		set: s, path: path, redactor: s.redact, begun: time.Now(), attempts: map[string]*seen{}, open: map[*watchedBody]bool{},
	}
	if s.Mode.reads() {
		tape, err := Load(path)
		switch {
		case toolwire.CodeOf(err) == codeMissing && s.Mode == ReplayOrForward:
			c.playback = newPlayback(s, &Tape{})
		case err != nil:
			return nil, err
		default:
			c.tape, c.playback = tape, newPlayback(s, tape)
			c.played = make([]bool, len(tape.Interactions))
		}
	}
	if s.upstream != nil {
		c.forward = s.Transport
		if c.forward == nil {
			c.forward = c.network()
		}
	}
	return c, nil
}

// tb is what [Open] uses of a test. With it programs that have a [Recorder] do not import package
// testing.
type tb interface {
	Helper()
	Cleanup(func())
	Logf(format string, args ...any)
	Error(args ...any)
	Fatal(args ...any)
}

// Open is [New] for a test. An error of New fails the test at once. When the test ends, Open closes
// the cassette and fails the test if there are deviations. It logs how much was recorded. t is a
// *testing.T, *testing.B or testing.TB.
//
//	opts := &cassette.Options{Ignore: []string{"/request_id"}}
//	if *update { // a flag of the test's own
//		opts.Mode = cassette.Record
//	}
//	tape := cassette.Open(t, "testdata/refund.jsonl", opts)
//	dispatchtest.Run(t, target, dispatchtest.Task{Instruction: "…", World: world, WrapProxy: tape.Wrap})
//
// Open records only if Options.Mode is [Record].
func Open(t tb, path string, opts *Options) *Cassette {
	t.Helper()
	c, err := New(path, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		t.Helper()
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		switch n := c.recorded(); {
		case n > 0:
			t.Logf("cassette: recorded %s on %s", text.Plural(n, "interaction"), path)
		case c.set.Mode == Record:
			t.Logf("cassette: recorded nothing on %s: no call came through the cassette", path)
		}
		if r := c.Report(); !r.OK() {
			t.Error(r)
		}
	})
	return c
}

// Wrap returns a handler that puts the cassette in front of a proxy and forwards requests to it. It
// has the type of dispatchtest.Task.WrapProxy.
func (c *Cassette) Wrap(proxy http.Handler) http.Handler {
	forward := memhttp.NewTransport(proxy)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.serve(w, r, func(body []byte) (*http.Request, http.RoundTripper) {
			return uncompressed(again(r, body)), forward
		})
	})
}

// ServeHTTP implements http.Handler for all paths below any proxy base URL: POST
// {base}/tools/{name}, POST {base}/traces/{type} and others such as {base}/telemetry. It forwards
// requests to [Options.Upstream].
func (c *Cassette) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.serve(w, r, func(body []byte) (*http.Request, http.RoundTripper) {
		if c.forward == nil {
			return nil, nil
		}
		return toUpstream(r, body, c.set.upstream), c.forward
	})
}

// Transport returns a transport for proxy.Options.Transport. It forwards requests through next to
// the address that they have, and returns the responses and errors of next unchanged. If next is
// nil, the cassette makes one with proxy.NewTransport. Use [Cassette.Wrap] for a
// dispatchtest.Target with an Agent, which has a transport already.
func (c *Cassette) Transport(next http.RoundTripper) http.RoundTripper {
	if next == nil && c.set.Mode.forwards() {
		next = c.network()
	}
	return &transport{c, next}
}

// network returns the cassette's own transport. It makes it at the first call.
func (c *Cassette) network() http.RoundTripper {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.own == nil {
		c.own = proxy.NewTransport()
	}
	return c.own
}

// Close ends the recording and moves the tape to its path. It returns the first error of the
// recording, which did not affect the run. After Close nothing is recorded.
func (c *Cassette) Close() error {
	c.mu.Lock()
	open := slices.Collect(maps.Keys(c.open))
	c.mu.Unlock()
	for _, body := range open { // the agent has read what it wanted
		body.end()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return c.writeErr
	}
	if c.set.Mode == Record && c.writer == nil && c.writeErr == nil {
		c.begin() // the run has made no call
	}
	c.closed = true
	if c.own != nil {
		c.own.CloseIdleConnections()
	}
	switch {
	case c.writer == nil:
	case c.writeErr != nil:
		c.writer.discard()
	default:
		c.writeErr = c.writer.finish()
	}
	if c.writeErr == nil && c.lost.Len() > 0 {
		c.writeErr = &Error{Code: codeWrite, Path: c.path, Problems: c.lost.Found, More: c.lost.More}
	}
	return c.writeErr
}

// recorded returns how many interactions this cassette has written.
func (c *Cassette) recorded() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.writer == nil {
		return 0
	}
	return c.writer.count - c.writer.had
}
