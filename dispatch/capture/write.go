package capture

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/strictjson"
)

// writer makes lines of messages and writes them. Only one goroutine uses it at a time.
type writer struct {
	capture *Capture
	names   placeholders
	started bool
	open    bool // the last line may be incomplete
	written int64
}

func newWriter(c *Capture) *writer {
	return &writer{capture: c, names: newPlaceholders(), open: true} // a killed process may have left half a line
}

// write writes a message. A panic, of the writer or of this package, is an error: it must not end
// the process.
func (w *writer) write(m *message) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic of type %T", r) // its text may be content
		}
	}()
	if !w.started {
		first := &Record{Kind: kindStart, Time: w.capture.began, Version: version, Content: w.capture.content}
		if err := w.line(first); err != nil {
			return err
		}
		w.started = true
	}
	if m.exchange != nil {
		w.fill(m)
	}
	return w.line(&m.record)
}

// line writes one line with one call.
func (w *writer) line(r *Record) error {
	r.Time = r.Time.UTC().Truncate(time.Millisecond)
	text, err := rawjson.Encode(r)
	if err != nil {
		return err
	}
	text = append(text, '\n')
	if w.open {
		text = slices.Insert(text, 0, '\n')
	}
	if w.written += int64(len(text)); w.written > w.capture.bounds.written && r.Kind != kindEnd {
		return errFull
	}
	w.open = true
	n, err := w.capture.w.Write(text)
	if err == nil && n < len(text) {
		err = io.ErrShortWrite
	}
	w.open = err != nil
	return err
}

// fill sets the fields of a record whose values may have secrets or content.
func (w *writer) fill(m *message) {
	x, r := m.exchange, &m.record
	header := x.header
	if r.Kind == kindResponse {
		header = m.header.Reveal()
	}
	var data []byte
	var valid bool
	if m.body != nil {
		data = m.body.data
		valid = len(data) > 0 && !m.body.full &&
			strictjson.Read(data, liberal, func(r *strictjson.Reader) error { _, err := r.Value(); return err }) == nil
	}
	if x.hide == nil {
		var body []byte
		if valid && r.Kind == kindRequest {
			body = data
		}
		w.classify(x, body)
		unread := body == nil && (r.Kind == kindResponse || m.body.bytes > 0 || !m.body.whole())
		x.unread = x.server && unread
	}
	x.hide.addHeaders(header)
	p := &printer{names: &w.names, content: w.capture.content && !x.hide.more, hide: x.hide}
	if r.Kind == kindResponse && x.unread { // it may repeat a run token that is not known
		p.content = false
	}
	r.Side, r.Run = x.side, x.run
	if r.Kind == kindRequest {
		r.Method, r.Target = p.method(x.method), p.target(x)
		if m.peer != "" {
			r.Connection = w.names.of("conn", m.peer)
		}
	}
	r.Protocol = p.plain(r.Protocol)
	r.Headers = p.headers(header)
	if m.body == nil || m.body.bytes == 0 && m.body.whole() {
		return
	}
	r.Body = &Body{Bytes: m.body.bytes, Cut: m.body.full || !m.body.whole(), Decompressed: m.body.decompressed}
	p.body(r.Body, data, valid, header, x.layout(r.Kind, r.Status))
}

// liberal is how bodies are read.
var liberal = strictjson.Limits{Mode: strictjson.Liberal}

// body fills b in.
func (p *printer) body(b *Body, data []byte, valid bool, header http.Header, l *layout) {
	switch media, params, _ := mime.ParseMediaType(header.Get("Content-Type")); {
	case valid:
		b.JSON = p.value(nil, data, l, "", 0)
	case media == "multipart/form-data" && !b.Cut:
		b.Form = p.form(data, params["boundary"])
	case p.content && !b.Cut && isText(data, media, header):
		b.Text = p.text(string(data))
	default:
		b.Text = shapeOfText(data)
	}
}

// isText reports whether credentials can be found in a body that is not JSON. They cannot if it is
// compressed or in UTF-16. If it is JSON with a mistake, or has members in another form, the values
// of members with names of secrets cannot be told.
func isText(data []byte, media string, header http.Header) bool {
	start := bytes.TrimLeft(data, "\ufeff \t\r\n")
	return strings.HasPrefix(media, "text/") && media != "text/event-stream" &&
		len(header["Content-Encoding"]) == 0 && utf8.Valid(data) && bytes.IndexByte(data, 0) < 0 &&
		!bytes.HasPrefix(start, []byte("{")) && !bytes.HasPrefix(start, []byte("["))
}

func shapeOfText(data []byte) string {
	if utf8.Valid(data) {
		return fmt.Sprintf("<text %d>", utf8.RuneCount(data))
	}
	return fmt.Sprintf("<binary %d>", len(data))
}

// maxParts bounds the parts of a form and the elements of a list that are written.
const maxParts = 200

// form returns the parts of a multipart form.
func (p *printer) form(data []byte, boundary string) [][2]string {
	list := [][2]string{}
	parts := multipart.NewReader(bytes.NewReader(data), boundary)
	for len(list) < maxParts {
		part, err := parts.NextRawPart()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				list = append(list, [2]string{"", "<malformed>"})
			}
			break
		}
		value, _ := io.ReadAll(part)
		name := part.FormName()
		text := shapeOfText(value)
		switch l := restLayout.members[name]; {
		case part.FileName() != "" && !p.content:
			text = "<file " + text[1:]
		case !utf8.Valid(value):
		case p.content || l != nil:
			quoted := p.value(nil, rawjson.Quote(string(value)), l, name, 0)
			text = rawjson.Text(quoted)
		}
		list = append(list, [2]string{p.name(name), text})
	}
	return list
}
