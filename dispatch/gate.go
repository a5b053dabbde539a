package dispatch

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"github.com/toolwire/toolwire/internal/httpserve"
)

// gate counts the runs in progress and the bytes of their bodies. The zero gate accepts any number
// of runs without a body.
type gate struct {
	mu        sync.Mutex
	limit     int // runs; 0 means that there is no limit
	inside    int
	byteLimit int64
	bytes     int64
	closed    bool
	empty     chan struct{} // closed when the last run leaves a closed gate; nil until a Drain waits
}

// Errors of the gate: why it refuses a run.
var (
	errDraining = &Error{Code: CodeBusy, Message: "the agent is shutting down"}
	errRuns     = &Error{Code: CodeBusy, Message: "Options.MaxRuns runs are in progress; try again, or raise it"}
	errBytes    = &Error{Code: CodeBusy, Message: "no room for the body within Options.MaxBytesInFlight; try again, or raise it"}
)

// enter takes a place for a run, and counts the bytes of its body that have been read: at most
// [unadmitted], which are never too many. The error is an [*Error].
func (g *gate) enter(bytes int64) (ticket, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.closed:
		return ticket{}, errDraining
	case g.limit > 0 && g.inside >= g.limit:
		return ticket{}, errRuns
	}
	g.inside++
	g.bytes += bytes
	return ticket{gate: g, bytes: bytes}, nil
}

// expand takes room for more bytes of a run that has entered.
func (g *gate) expand(more int64) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if more > g.byteLimit-g.bytes {
		return false
	}
	g.bytes += more
	return true
}

// ticket is the place of a run in the gate.
type ticket struct {
	gate  *gate
	bytes int64 // of the body, for which there is room in the gate
}

// leave gives up the place.
func (t ticket) leave() {
	g := t.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	g.inside--
	g.bytes -= t.bytes
	if g.inside == 0 && g.empty != nil {
		close(g.empty)
		g.empty = nil
	}
}

// read reads the rest of the body. If that fails or panics, the place is given up.
func (t *ticket) read(in *httpserve.Body, head []byte) (body []byte, err error) {
	whole := false
	defer func() {
		if !whole {
			t.leave()
		}
	}()
	body, err = in.Rest(head, t.room)
	whole = err == nil
	return body, err
}

// room reports whether the ticket has room for n bytes, and takes it. It must not be called after
// the body was read.
func (t *ticket) room(n int64) bool {
	if n <= t.bytes {
		return true
	}
	ok := t.gate.expand(n - t.bytes)
	if ok {
		t.bytes = n
	}
	return ok
}

// unadmitted is the number of bytes of a body that are read before the dispatch has a place in the
// gate: 64 KiB, and one more to see their end. It is enough for a ping, which is always answered. A ping
// with more white space than that needs a place, as other bodies do.
const unadmitted = 64<<10 + 1

func (h *Handler) bodyError(err error) error {
	switch err {
	case httpserve.ErrNoRoom:
		return errBytes
	case httpserve.ErrTooLarge:
		message := fmt.Sprintf("the body has more than %d bytes", h.opts.MaxBodyBytes)
		return &Error{Code: CodeTooLarge, Message: message}
	case httpserve.ErrTimeout:
		return &Error{Code: CodeBody, Message: fmt.Sprintf("the body did not arrive within %s", h.opts.BodyTimeout)}
	}
	if limit, ok := errors.AsType[*http.MaxBytesError](err); ok { // of middleware in front of the handler
		message := fmt.Sprintf("the body has more than %d bytes, the limit of an http.MaxBytesReader", limit.Limit)
		return &Error{Code: CodeTooLarge, Message: message}
	}
	return &Error{Code: CodeBody, Message: "the body could not be read to its end", Err: err}
}

// isPing reports whether body is {"ping":true} with any white space and nothing else. It is called
// for every request before the body is parsed.
func isPing(body []byte) bool {
	rest := body
	for _, part := range [...]string{"{", `"ping"`, ":", "true", "}"} {
		rest = skipSpace(rest)
		if len(rest) < len(part) || string(rest[:len(part)]) != part {
			return false
		}
		rest = rest[len(part):]
	}
	return len(skipSpace(rest)) == 0
}

func skipSpace(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\n' || b[0] == '\t' || b[0] == '\r') {
		b = b[1:]
	}
	return b
}

// Drain rejects new runs with 503 and waits until the runs in progress have ended. If ctx ends
// first, Drain returns the cause of ctx. Pings are still answered. Call Drain before Shutdown of
// the server.
func (h *Handler) Drain(ctx context.Context) error {
	g := &h.gate
	g.mu.Lock()
	g.closed = true
	if g.inside == 0 {
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
		return context.Cause(ctx)
	}
}
