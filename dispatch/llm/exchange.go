package llm

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/toolwire/toolwire/dispatch"
)

// Bounds of what is kept of one exchange, in bytes.
const (
	maxRequest = 16 << 20
	maxAnswer  = 8 << 20
)

// An exchange is one request to a model and its response.
type exchange struct {
	dialect *dialect
	run     *dispatch.Run
	state   *runState
	ctx     context.Context // of the request, with the label
	request atomic.Pointer[capture]

	asked  bool    // the request has been read
	begun  bool    // the request has a conversation
	thread *thread // of the request; nil if it is not known
	turn   int     // see thread
	ended  bool

	answer   answer
	events   *events      // of a stream; nil otherwise
	body     bytes.Buffer // of a response that is not streamed
	gzipped  bool
	tooLarge bool
}

func newExchange(ctx context.Context, d *dialect, run *dispatch.Run, state *runState) *exchange {
	return &exchange{dialect: d, run: run, state: state, ctx: ctx, answer: d.answer()}
}

// watchRequest returns a request that is sent in place of r. Its body is read along.
func (x *exchange) watchRequest(r *http.Request) *http.Request {
	watch := func(body io.ReadCloser) io.ReadCloser {
		c := &capture{ReadCloser: body}
		x.request.Store(c)
		return c
	}
	sent := r.WithContext(r.Context()) // a copy
	sent.Body = watch(r.Body)
	if r.GetBody != nil {
		sent.GetBody = func() (io.ReadCloser, error) {
			body, err := r.GetBody()
			if err != nil {
				return nil, err
			}
			return watch(body), nil
		}
	}
	return sent
}

// watchResponse reads the body of a response along.
func (x *exchange) watchResponse(resp *http.Response) {
	encoding := resp.Header.Get("Content-Encoding")
	x.gzipped = strings.EqualFold(encoding, "gzip")
	if mediaType, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); mediaType == "text/event-stream" {
		x.events = &events{}
	}
	x.ask()
	resp.Body = &watched{ReadCloser: resp.Body, x: x}
}

// ask reports the conversation of the request. If the request has not been sent whole by now, it is
// read at the end of the response.
func (x *exchange) ask() {
	if x.asked {
		return
	}
	request := x.request.Load()
	body, tooLarge := request.bytes()
	if tooLarge {
		x.asked = true
		x.state.unclear(x.ctx, x.run.Transcript(), "a request of more than 16 MiB was not read")
		return
	}
	if validate(body) != nil {
		return
	}
	x.asked = true
	request.forget()
	p := x.dialect.request(body)
	if !p.found {
		return // something else under the same path
	}
	x.begun = true
	x.thread, x.turn = x.state.begin(x.ctx, x.run, x.dialect, p)
}

// feed takes the next bytes of the response.
func (x *exchange) feed(p []byte) {
	if x.ended {
		return
	}
	if x.events == nil || x.gzipped {
		if x.body.Len()+len(p) > maxAnswer {
			x.tooLarge, x.body = true, bytes.Buffer{}
		}
		if !x.tooLarge {
			x.body.Write(p)
		}
		return
	}
	x.events.feed(p, x.event)
	if x.answer.common().ended {
		x.end(true)
	}
}

// event takes the data of an event.
func (x *exchange) event(data []byte) {
	if string(data) == "[DONE]" {
		x.answer.common().ended = true
		return
	}
	if validate(data) == nil {
		x.answer.read(data)
	}
	if known := *x.answer.common(); known.kept > maxAnswer { // from here on, only the tokens count
		known.kept, x.tooLarge = 0, true
		x.answer = x.dialect.answer()
		*x.answer.common() = known
	}
}

// end reports the response, once. whole reports whether its end has come.
func (x *exchange) end(whole bool) {
	if x.ended {
		return
	}
	x.ended = true
	x.ask()
	if x.gzipped {
		x.unzip()
	}
	switch {
	case x.events == nil:
		if body := x.body.Bytes(); validate(body) == nil {
			x.answer.read(body)
		}
	case whole:
		x.events.end(x.event)
	}
	x.tooLarge = x.tooLarge || x.events != nil && x.events.tooLarge
	x.body = bytes.Buffer{}
	if !x.begun {
		return
	}
	var elements []json.RawMessage
	if !x.tooLarge {
		elements = x.answer.elements()
	} else {
		report(x.run.Transcript(), codeUnclear, "a response of more than 8 MiB was not read")
	}
	x.state.finish(x, elements)
}

// unzip reads a compressed response, as far as it has come.
func (x *exchange) unzip() {
	compressed := x.body
	x.body = bytes.Buffer{}
	r, err := gzip.NewReader(&compressed)
	if err != nil {
		return
	}
	n, _ := io.Copy(&x.body, io.LimitReader(r, maxAnswer+1)) // what has come of a broken stream counts
	if n > maxAnswer {
		x.tooLarge, x.body = true, bytes.Buffer{}
	}
	if x.events != nil {
		x.events.feed(x.body.Bytes(), x.event)
	}
}

// watched is the body of a response. Reading it reads for the exchange too.
type watched struct {
	io.ReadCloser
	x  *exchange
	mu sync.Mutex // an SDK may close the body while it reads
}

// Read implements [io.Reader].
func (w *watched) Read(p []byte) (int, error) {
	n, err := w.ReadCloser.Read(p)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.x.feed(p[:n])
	if err != nil {
		w.x.end(err == io.EOF)
	}
	return n, err
}

// Close implements [io.Closer].
func (w *watched) Close() error {
	err := w.ReadCloser.Close()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.x.end(false)
	return err
}

// capture is the body of a request, of which it keeps what is read.
type capture struct {
	io.ReadCloser
	mu       sync.Mutex // the transport may still write the request when the response begins
	read     []byte
	tooLarge bool
}

// Read implements [io.Reader].
func (c *capture) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.read)+n > maxRequest {
		c.read, c.tooLarge = nil, true
	}
	if !c.tooLarge {
		c.read = append(c.read, p[:n]...)
	}
	return n, err
}

// bytes returns what has been read so far.
func (c *capture) bytes() (body []byte, tooLarge bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.read, c.tooLarge
}

// forget drops what has been read of a whole request.
func (c *capture) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.read = nil
}
