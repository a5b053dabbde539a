// Package capture records what an agent and the real platform send to each other, without secrets
// and, by default, without content. The command examples/firstcontact says which assumptions about
// the wire a capture confirms and which it contradicts ("[First contact]").
//
//	file, err := os.OpenFile("capture.jsonl", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
//	…
//	record := capture.New(file, nil)
//	handler, err := dispatch.New(agent, &dispatch.Options{
//		Tokens: []string{token}, Proxy: &proxy.Options{Transport: record.Transport(nil)},
//	})
//	…
//	http.Handle("/dispatch", record.Middleware(handler))
//
// A [Capture] writes one line of JSON for each request and one for each response. Lines are about a
// dispatch, a webhook, a call to the proxy of a [run], or another request of a client, such as
// those of the packages registration, catalog and toolbox. A [Record] is one line; [Read] reads
// them. The member run joins a dispatch with its calls: all have the same run token.
//
// # What is written
//
// Of each message: time, status, protocol, TLS, the connection and whether it was used before,
// headers, and the body. Bodies are copied while they pass. At most 4 MiB of a body are kept; the
// line says if there is more.
//
// Credentials are never written. A placeholder such as token-1 replaces each, and the same
// credential has the same placeholder everywhere in one capture: the run token in a header and that
// in a body can be compared. The same holds for URLs (url-1), for ids that no document calls safe
// to log (id-1) and for names of tool records (name-1). Placeholders are numbers in the order of
// appearance and tell nothing about the values.
//
// By default a shape replaces each value that users or tools have written: "<string 55>" has 55
// characters, "<integer 2>" two digits, and "<object 3>" three members. Instructions, arguments,
// results, final responses and messages are such values. So are the values of headers that are not
// in a list of known ones. Only these are written as they are: names of members of the platform's
// own objects, numbers and booleans that the documents describe, ids that the documents call safe
// to log, names of tools, and words of the protocol such as an error class. Labels of sub-agents
// become patterns: aaaaaa/999.
//
// With [Options.Content] the values are written. Members with the usual names of secrets are hidden
// then too, and the credentials of a run in any text, but not secrets elsewhere: read such a file
// before you pass it on. Of bodies that are not JSON, multipart forms are written, and whole texts
// of a media type text/* except text/event-stream. Others have their shape, because credentials
// cannot be found in them: they are cut, compressed, not in UTF-8, or JSON with a mistake. The
// response to a request with such a body has its shape, too.
//
// # Runs are not affected
//
// A capture never changes, delays or fails a request. Lines are made and written on a separate
// goroutine. If the writer fails, panics or blocks, lines are lost: they are counted, the logger
// receives the first failure, and [Capture.Close] returns an [*Error]. Of messages that wait, a
// Capture holds at most 80 MiB of targets, headers and bodies, and 4,096 messages. It writes at most
// 256 MiB. Requests that the handler rejects are recorded too. It is safe for concurrent use.
//
// [run]: https://github.com/toolwire/toolwire/blob/main/docs/glossary.md#run
// [First contact]: https://github.com/toolwire/toolwire/blob/main/docs/first-contact.md
package capture

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolwire/toolwire/internal/redact"
	"github.com/toolwire/toolwire/internal/report"
)

// bounds are those of what a capture holds in memory, and of what it writes.
type bounds struct {
	body    int   // bytes of one body
	held    int64 // bytes of all bodies; with headers and targets a quarter more
	queue   int   // messages that are not written yet
	written int64 // bytes of one capture
}

var defaultBounds = bounds{body: 4 << 20, held: 64 << 20, queue: 4096, written: 256 << 20}

var errFull = errors.New("the capture has 256 MiB")

// Options configures a [Capture]. The zero value of every field is its default. [New] copies the
// options.
type Options struct {
	// Content writes the values of arguments, results, instructions and messages. By default their
	// shapes are written.
	Content bool

	// Logger receives one record for the first line that cannot be written. If nil, nothing is
	// logged.
	Logger *slog.Logger
}

// A Capture writes a capture. [Capture.Middleware] and [Capture.Transport] feed it. It is safe for
// concurrent use.
type Capture struct {
	w       io.Writer
	content bool
	log     *slog.Logger
	began   time.Time

	numbers atomic.Int64 // of exchanges
	held    atomic.Int64 // bytes of bodies, headers and targets

	mu      sync.Mutex
	queue   redact.Hidden[[]*message]
	writing chan struct{} // closed when the goroutine that writes ends; nil if there is none
	closed  bool
	lost    int64
	err     error // the first failure

	out    *writer // of the goroutine that writes
	bounds bounds  // the default ones, but in tests
}

// Error is the error of [Capture.Close], the only one of this package.
type Error struct {
	Lost int64 // messages that are not in the capture
	Err  error // the first failure, or the error of the context of Close; nil if there was not enough memory
}

// Error implements error.
func (e *Error) Error() string {
	text := fmt.Sprintf("capture: %d messages are not in the capture", e.Lost)
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// New returns a capture that writes to w, which must not be nil. Each line is one call of Write. A
// file should be opened with O_APPEND, and may have captures already: each begins with an empty
// line, which ends a line that a killed process left incomplete. If opts is nil, all options have
// their defaults.
func New(w io.Writer, opts *Options) *Capture {
	if opts == nil {
		opts = &Options{}
	}
	c := &Capture{w: w, content: opts.Content, log: report.Logger(opts.Logger), began: time.Now(),
		bounds: defaultBounds}
	c.out = newWriter(c)
	return c
}

// Close waits until all messages that have ended are written, or until ctx ends. Later ones are not
// recorded. It does not close the writer. The error is an [*Error] if messages are not in the
// capture.
func (c *Capture) Close(ctx context.Context) error {
	c.mu.Lock()
	if !c.closed {
		c.enqueue(&message{record: Record{Kind: kindEnd, Time: time.Now()}})
	}
	c.closed = true
	writing := c.writing
	c.mu.Unlock()
	if writing != nil {
		select {
		case <-writing:
		case <-ctx.Done():
			c.mu.Lock()
			defer c.mu.Unlock()
			return &Error{Lost: c.lost + int64(len(c.queue.Reveal())), Err: context.Cause(ctx)}
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lost > 0 {
		return &Error{Lost: c.lost, Err: c.err}
	}
	return nil
}

// add queues a message, which must not be changed any more.
func (c *Capture) add(m *message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		m.release()
		return
	}
	if len(c.queue.Reveal()) >= c.bounds.queue || c.held.Add(m.hold()) > c.bounds.held*5/4 {
		m.release()
		c.lose(nil)
		return
	}
	c.enqueue(m)
}

// enqueue needs c.mu.
func (c *Capture) enqueue(m *message) {
	c.queue = redact.Hide(append(c.queue.Reveal(), m))
	if c.writing == nil {
		c.writing = make(chan struct{})
		go c.write(c.writing)
	}
}

// lose counts a message that is not written. It needs c.mu.
func (c *Capture) lose(err error) {
	c.lost++
	if c.err == nil {
		c.err = err
	}
	if c.lost == 1 {
		attrs := []any{}
		if err != nil {
			attrs = append(attrs, report.Error, err.Error())
		}
		go func() {
			defer func() { _ = recover() }() // a logger may block, or panic
			c.log.Warn("a message is not in the capture", attrs...)
		}()
	}
}

// write writes the queue until it is empty.
func (c *Capture) write(done chan struct{}) {
	defer close(done)
	for {
		c.mu.Lock()
		queue := c.queue.Reveal()
		if len(queue) == 0 {
			c.queue, c.writing = redact.Hide[[]*message](nil), nil
			c.mu.Unlock()
			return
		}
		m := queue[0]
		queue[0] = nil
		c.queue = redact.Hide(queue[1:])
		m.record.Lost = c.lost
		c.mu.Unlock()
		err := c.out.write(m)
		m.release()
		if err != nil {
			c.mu.Lock()
			c.lose(err)
			c.mu.Unlock()
		}
	}
}
