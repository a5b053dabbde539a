package llm

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/runctx"
	"github.com/toolwire/toolwire/internal/text"
)

// Bounds of what is kept of one exchange, in bytes.
const (
	maxRequest = 16 << 20
	maxAnswer  = 8 << 20
)

// An exchange is one request to a model and its response.
type exchange struct {
	dialect *dialect
	state   *runState
	path    string          // of the request
	ctx     context.Context // of the request, with the label
	request atomic.Pointer[requestBody]

	observer func(runctx.ModelRequest) // of a test kit; nil in production
	status   int                       // of the response; 0 if there is none

	asked bool   // the request has been read
	begun bool   // the request has a conversation
	reply *reply // the place of the answer; nil if there is none
	ended bool

	answer   answer
	usage    usage
	form     form         // of the response
	encoding string       // its Content-Encoding
	events   splitter     // of a stream
	garbled  bool         // an event was damaged or not JSON
	body     bytes.Buffer // of a response that is not a stream
	tooLarge bool
}

// A form is what the body of a response is. Its first bytes tell, as they do for SDKs, which do not
// look at its media type.
type form uint8

const (
	unknown  form = iota // nothing has come yet
	document             // JSON
	stream               // server-sent events
	framed               // Amazon's binary events
	zipped               // gzip, of one of these
	foreign              // anything else
)

// formOf returns the form of a body, and what has come of the body without the byte order mark and
// the white space before it.
func formOf(body []byte) (form, []byte) {
	const mark = "\ufeff"
	if len(body) < len(mark) && strings.HasPrefix(mark, string(body)) {
		return unknown, body
	}
	body = bytes.TrimLeft(bytes.TrimPrefix(body, []byte(mark)), " \t\r\n")
	if len(body) == 0 {
		return unknown, nil
	}
	switch body[0] {
	case '{', '[':
		return document, body
	case 'd', 'e', 'i', 'r', ':': // data, event, id, retry or a comment
		return stream, body
	case 0x1f:
		return zipped, body
	case 0: // the length of a frame
		return framed, body
	}
	return foreign, body
}

// A splitter cuts a stream into the data of its events.
type splitter interface {
	// feed takes the next bytes of the stream and calls event with the data of each event that they
	// complete, and with nil for one that is too large. event must not keep the data.
	feed(p []byte, event func(data []byte))

	// end ends the stream. It calls event for what is left.
	end(event func(data []byte))
}

func newExchange(ctx context.Context, d *dialect, state *runState) *exchange {
	return &exchange{dialect: d, state: state, ctx: ctx, answer: d.answer()}
}

// watchRequest returns a request that is sent in place of r. Its body is read along.
func (x *exchange) watchRequest(r *http.Request) *http.Request {
	watch := func(body io.ReadCloser) io.ReadCloser {
		c := &requestBody{ReadCloser: body}
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
	x.status, x.encoding = resp.StatusCode, resp.Header.Get("Content-Encoding")
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
		x.asked, x.begun = true, true // its tokens count
		x.state.note("a request of more than 16 MiB was not read")
		return
	}
	if validate(body) != nil {
		return
	}
	x.asked = true
	request.forget()
	p := x.dialect.request(body)
	if !p.found || strings.Contains(x.path, "/invoke") && member(body, "anthropic_version") == nil { // something else under the same path
		x.state.see(x.path, false)
		return
	}
	x.begun = true
	x.reply = x.state.begin(x.ctx, x.dialect, p)
}

// feed takes the next bytes of the response.
func (x *exchange) feed(p []byte) {
	if x.form == unknown {
		var start []byte
		x.form, start = formOf(append(x.body.Bytes(), p...))
		x.body = bytes.Buffer{}
		if p = start; x.form == unknown {
			x.body.Write(p)
			return
		}
		switch {
		case x.form == framed:
			x.form, x.events = stream, &frames{}
		case x.form == document && x.dialect.lines:
			x.form, x.events = stream, &lines{}
		case x.form == stream:
			x.events = &events{data: []byte{}} // not nil, for events without data
		}
	}
	switch x.form {
	case stream:
		x.events.feed(p, x.event)
		if x.answer.common().ended {
			x.end(true)
		}
	case document, zipped:
		if x.body.Len()+len(p) > maxAnswer {
			x.tooLarge, x.body = true, bytes.Buffer{}
		}
		if !x.tooLarge {
			x.body.Write(p)
		}
	}
}

// event takes the data of an event.
func (x *exchange) event(data []byte) {
	switch {
	case data == nil:
		x.tooLarge = true
	case x.answer.common().ended: // nothing counts after the last event
	case bytes.HasPrefix(data, []byte("[DONE]")):
		x.answer.common().ended = true
	case rawjson.Kind(data) != '{' && rawjson.Kind(data) != '[': // it keeps the connection open
	case validate(data) != nil:
		x.garbled = true
	default:
		x.read(data)
	}
}

// read reads a document or the data of an event.
func (x *exchange) read(doc json.RawMessage) {
	x.usage.read(doc, &x.dialect.tokens)
	x.answer.read(doc)
	if known := *x.answer.common(); known.kept > maxAnswer { // from here on, only the tokens count
		x.tooLarge, x.answer = true, x.dialect.answer()
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
	if x.form == zipped {
		x.unzip()
	}
	problem := x.readRest(whole)
	x.body = bytes.Buffer{}
	x.observe()
	if !x.begun {
		return
	}
	if x.garbled && problem == "" {
		x.state.note("an event in a response of the model was not read: it is damaged or not valid JSON")
	}
	if x.answer.common().untold && problem == "" {
		x.state.note("the tokens of a response are missing: its stream was read or sent only up to the event before them")
	}
	if name := x.answer.common().strange; name != "" && problem == "" {
		x.state.note("the member %s of a response of the model is not read", name)
	}
	if x.usage.wrong {
		x.state.note("the tokens of a response are not all counted: a counter is not a number of tokens")
	}
	x.state.finish(x, problem)
}

// observe reports the end of the exchange to a test kit. A response that failed does not name its model,
// but its request may.
func (x *exchange) observe() {
	if x.observer == nil {
		return
	}
	known := x.answer.common()
	name := known.model
	if request := x.request.Load(); name == "" && request != nil {
		if body, _ := request.bytes(); validate(body) == nil {
			name = textOf(body, "model")
		}
	}
	input, output := x.usage.total(&x.dialect.tokens, known.known)
	x.observer(runctx.ModelRequest{
		Model: text.Cut(name, maxModelLen), Status: x.status, InputTokens: input, OutputTokens: output,
	})
}

// readRest reads what is only read at the end, and returns why the response cannot be read. A
// response that breaks off can.
func (x *exchange) readRest(whole bool) (problem string) {
	switch x.form {
	case unknown:
		problem = "it is empty, or its compression is broken"
	case document:
		body := x.body.Bytes()
		if err := rawjson.Check(body, readable); err == nil {
			x.answer.common().ended = true
			x.read(body)
			whole, problem = true, "it is not a response of this API" // an SDK may not wait for the end
		} else {
			whole, problem = !breaksOff(body), "it is "+err.Error()
		}
	case stream:
		if garbled := x.garbled; whole {
			x.garbled = false
			x.events.end(x.event)
			whole, x.garbled = !x.garbled, garbled // an event without an end may have broken off
		}
		problem = "it has no event of this API"
	default:
		whole, problem = true, "it is neither JSON nor a stream of events"
		if x.encoding != "" {
			problem += ", in the Content-Encoding " + text.Cut(x.encoding, maxShown)
		}
	}
	switch known := x.answer.common(); {
	case x.tooLarge:
		return "it has more than 8 MiB, or more than 4096 parts"
	case known.unread:
		return "it has arguments that do not belong together"
	case !whole, known.known:
		return ""
	}
	return problem
}

// breaksOff reports whether a document is only the beginning of one.
func breaksOff(doc []byte) bool {
	err := json.NewDecoder(bytes.NewReader(doc)).Decode(new(json.RawMessage))
	return errors.Is(err, io.ErrUnexpectedEOF)
}

// unzip reads a compressed response, as far as it has come.
func (x *exchange) unzip() {
	compressed := x.body
	x.form, x.body = unknown, bytes.Buffer{}
	r, err := gzip.NewReader(&compressed)
	if err != nil {
		return
	}
	var body bytes.Buffer
	n, _ := io.Copy(&body, io.LimitReader(r, maxAnswer+1)) // what has come of a broken stream counts
	if n > maxAnswer {
		x.tooLarge = true
		return
	}
	x.feed(body.Bytes())
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
	if !w.x.ended {
		w.x.feed(p[:n])
	}
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

// requestBody is the body of a request, of which it keeps what is read.
type requestBody struct {
	io.ReadCloser
	mu       sync.Mutex // the transport may still write the request when the response begins
	read     []byte
	tooLarge bool
}

// Read implements [io.Reader].
func (c *requestBody) Read(p []byte) (int, error) {
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
func (c *requestBody) bytes() (body []byte, tooLarge bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.read, c.tooLarge
}

// forget drops what has been read of a whole request.
func (c *requestBody) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.read = nil
}
