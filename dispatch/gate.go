package dispatch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/internal/httpserve"
	"github.com/toolwire/toolwire/internal/rawjson"
)

// gate counts the runs in progress and the bytes of their bodies. The zero gate accepts any number
// of runs without a body.
type gate struct {
	mu        sync.Mutex
	limit     int // runs; 0 means that there is no limit
	inside    int
	byteLimit int64
	bytes     int64
	answers   int // of runs that have left, which are being written
	closed    bool
	empty     chan struct{} // closed when a closed gate has no run and no answer; nil until a Drain waits

	context    context.Context // of the answers that are being written; nil if there has been none
	endAnswers context.CancelFunc
}

// Errors of the gate: why it refuses a run.
var (
	errDraining = &toolwire.Error{Package: "dispatch", Code: toolwire.CodeBusy, Message: "the agent is shutting down"}
	errRuns     = &toolwire.Error{Package: "dispatch", Code: toolwire.CodeBusy, Message: "Options.MaxRuns runs are in progress; try again, or raise it"}
	errBytes    = &toolwire.Error{Package: "dispatch", Code: toolwire.CodeBusy, Message: "no room for the body within Options.MaxBytesInFlight; try again, or raise it"}
)

// ticket is the place of a run in the gate. The request holds it, and so does the agent, which may
// outlive the request. The place is given up when both have left. The mutex of the gate guards the other
// fields.
type ticket struct {
	gate       *gate
	holders    int   // 0 before enter
	bytes      int64 // of the body, for which there is room in the gate
	unanswered bool  // gate.answers includes the answer to this run
}

// enter takes a place for a run, and counts the bytes of its body that have been read: at most
// [unadmitted], which are never too many. The error is a [*toolwire.Error].
func (t *ticket) enter(bytes int64) error {
	g := t.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.closed:
		return errDraining
	case g.limit > 0 && g.inside >= g.limit:
		return errRuns
	}
	g.inside++
	g.bytes += bytes
	t.holders, t.bytes = 1, bytes
	return nil
}

// room takes room for a body of n bytes, and reports whether there is any.
func (t *ticket) room(n int64) bool {
	g := t.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	more := n - t.bytes
	if more <= 0 {
		return true
	}
	if more > g.byteLimit-g.bytes {
		return false
	}
	g.bytes += more
	t.bytes = n
	return true
}

// hold adds a holder. The caller must be one already.
func (t *ticket) hold() {
	t.gate.mu.Lock()
	defer t.gate.mu.Unlock()
	t.holders++
}

// leave gives up the place if nobody else holds it. Without a place, it does nothing.
func (t *ticket) leave() {
	g := t.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	if t.holders == 0 {
		return
	}
	if t.holders--; t.holders > 0 {
		return
	}
	g.inside--
	g.bytes -= t.bytes
	g.leave()
}

// leave lets Drain return if a run or an answer was the last one. It must be called with g.mu held.
func (g *gate) leave() {
	if g.inside == 0 && g.answers == 0 && g.empty != nil {
		close(g.empty) // once, because nobody enters a closed gate, and only a run is answered
	}
}

// answering lets Drain also wait for the answer of the run, which is written when the run has left.
func (t *ticket) answering() {
	t.gate.mu.Lock()
	defer t.gate.mu.Unlock()
	t.unanswered = true
	t.gate.answers++
}

// answered ends what answering began. It may be called again.
func (t *ticket) answered() {
	g := t.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	if t.unanswered {
		t.unanswered = false
		g.answers--
		g.leave()
	}
}

// writing returns the context of the answers that are being written.
func (g *gate) writing() context.Context {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.context == nil {
		g.context, g.endAnswers = context.WithCancel(context.Background())
	}
	return g.context
}

// cut ends the writing of the present answers.
func (g *gate) cut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.context != nil {
		g.endAnswers()
		g.context = nil
	}
}

// unadmitted is the number of bytes of a body that are read before the dispatch has a place in the
// gate: 64 KiB, and one more to see their end. It is enough for a ping, which is always answered. A ping
// with more white space than that needs a place, as other bodies do.
const unadmitted = 64<<10 + 1

// valueBytes is how many bytes of [Options.MaxBytesInFlight] a value or a name of a body counts at least, because
// an agent that decodes a body of many short values needs much more memory than its bytes.
const valueBytes = 16

func (h *Handler) bodyError(err error) error {
	switch err {
	case httpserve.ErrNoRoom:
		return errBytes
	case httpserve.ErrTooLarge:
		message := fmt.Sprintf("the body has more than %d bytes", h.opts.MaxBodyBytes)
		return &toolwire.Error{Package: "dispatch", Code: toolwire.CodeRequestTooLarge, Message: message}
	case httpserve.ErrTimeout:
		return &toolwire.Error{Package: "dispatch", Code: codeBody, Message: fmt.Sprintf("the body did not arrive within %s", h.opts.BodyTimeout)}
	}
	if limit, ok := errors.AsType[*http.MaxBytesError](err); ok { // of middleware in front of the handler
		message := fmt.Sprintf("the body has more than %d bytes, the limit of an http.MaxBytesReader", limit.Limit)
		return &toolwire.Error{Package: "dispatch", Code: toolwire.CodeRequestTooLarge, Message: message}
	}
	return &toolwire.Error{Package: "dispatch", Code: codeBody, Message: "the body could not be read to its end", Err: err}
}

// isPing reports whether body is {"ping":true} with any white space and nothing else. It is called
// for every request before the body is parsed.
func isPing(body []byte) bool {
	body = rawjson.WithoutMark(body)
	at := 0
	for _, part := range [...]string{"{", `"ping"`, ":", "true", "}"} {
		at = rawjson.Space(body, at)
		if !bytes.HasPrefix(body[at:], []byte(part)) {
			return false
		}
		at += len(part)
	}
	return rawjson.Space(body, at) == len(body)
}

// Drain rejects new runs with 503 and waits until the runs in progress have ended and are answered. A
// peer that does not take 64 KiB of its answer within ten seconds is given up. If ctx ends first, Drain
// gives up the answers that are being written and returns the cause of ctx. Pings are still answered.
// Call Drain before Shutdown of the server.
func (h *Handler) Drain(ctx context.Context) error {
	g := &h.gate
	g.mu.Lock()
	g.closed = true
	if g.inside == 0 && g.answers == 0 {
		g.mu.Unlock()
		return nil
	}
	if g.empty == nil {
		g.empty = make(chan struct{})
	}
	empty := g.empty
	g.mu.Unlock()
	select {
	case <-empty:
		return nil
	case <-ctx.Done():
		g.cut()
		return context.Cause(ctx)
	}
}
