package cassette

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/toolwire/toolwire/internal/httpcall"
	"github.com/toolwire/toolwire/internal/wireerror"
)

// reply is the answer to one request: from the tape, from the proxy behind the cassette, or the cassette's own.
type reply struct {
	status int
	header http.Header
	body   []byte
	broken Break

	local  bool           // not from the proxy behind
	unsent string         // why the request could not be forwarded
	answer *http.Response // what was forwarded got
	rest   io.ReadCloser  // what follows body, of an answer that is too large
	err    error          // of the transport, or of its body
}

func jsonReply(status int, v any) *reply {
	body, err := json.Marshal(v)
	if err != nil {
		panic("cassette: " + err.Error()) // strings and numbers
	}
	return &reply{status: status, header: jsonHeader(), body: body, local: true}
}

func jsonHeader() http.Header { return http.Header{"Content-Type": {"application/json"}} }

// refusal is an answer in the proxy's error envelope.
func refusal(status int, class, message string) *reply {
	return jsonReply(status, map[string]any{"detail": map[string]string{"error_class": class, "message": "cassette: " + message}})
}

// replayed is the answer that an interaction has on the tape.
func replayed(i *Interaction, limit int) *reply {
	r := &reply{status: i.Status, header: jsonHeader(), body: i.body(), broken: i.Broken, local: true}
	if i.ContentType != "" {
		r.header.Set("Content-Type", i.ContentType)
	}
	if i.RetryAfter != nil {
		r.header.Set("Retry-After", strconv.FormatInt(*i.RetryAfter, 10))
	}
	if i.Broken == Oversize {
		r.body = bytes.Repeat([]byte(" "), limit+httpcall.EnvelopeBytes+1)
	}
	return r
}

// write writes the answer.
func (r *reply) write(w http.ResponseWriter) {
	if r.unsent != "" {
		refusal(http.StatusBadGateway, ClassUnreachable, r.unsent).write(w)
		return
	}
	if r.broken == Reset || r.broken == Abandoned {
		panic(http.ErrAbortHandler)
	}
	w.Header()["Content-Type"] = nil // no guess
	for name, values := range r.header {
		w.Header()[name] = values
	}
	switch {
	case r.broken == Truncate:
		w.Header().Set("Content-Length", strconv.Itoa(len(r.body)+1))
	case r.rest == nil && len(r.body) > 0:
		w.Header().Set("Content-Length", strconv.Itoa(len(r.body)))
	}
	w.WriteHeader(r.status)
	_, err := w.Write(r.body)
	if r.rest != nil {
		defer func() { _ = r.rest.Close() }()
		if err == nil {
			_, err = io.Copy(w, r.rest)
		}
	}
	if err != nil || r.broken == Truncate {
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

// describe puts the answer on the interaction, redacted. It returns what keeps it from being written down.
func (r *reply) describe(i *Interaction, redact *redactor) (problem string) {
	if r.answer == nil {
		return ""
	}
	if encoding := r.answer.Header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return "it is compressed although nobody asked for that, so no secret in it can be found"
	}
	if contentType := redact.text(r.answer.Header.Get("Content-Type")); contentType != "application/json" {
		i.ContentType = contentType
	}
	i.RetryAfter = retryAfter(r.answer.Header.Get("Retry-After"))
	switch {
	case r.broken == Oversize:
	case !utf8.Valid(r.body):
		i.AnswerBytes = []byte(redact.text(string(r.body)))
	default:
		_, i.Answer, i.AnswerText = redact.body(r.body)
	}
	return ""
}

// retryAfter reads the header's two forms. A date is in the past when the tape is replayed, so both become seconds, at most
// as many as a tape can have: 68 years.
func retryAfter(header string) *int64 {
	seconds, err := strconv.ParseInt(header, 10, 32) // the nearest that there is if it is out of range
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		at, err := http.ParseTime(header)
		if err != nil {
			return nil
		}
		seconds = int64(math.Ceil(time.Until(at).Seconds()))
	}
	seconds = min(max(0, seconds), math.MaxInt32)
	return &seconds
}

// send forwards a request and reads the answer, whole if it is not too large.
func send(r *http.Request, body []byte, to sender, limit int) *reply {
	out, by := to(body)
	if by == nil {
		return &reply{unsent: "there is no proxy behind it; set Options.Upstream, or use Wrap or Transport"}
	}
	if out == nil {
		return &reply{unsent: "the path has segments that lead elsewhere"}
	}
	var dialing, wrote atomic.Bool
	out = out.WithContext(httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{
		GetConn:      func(string) { dialing.Store(true) },
		WroteHeaders: func() { wrote.Store(true) },
	}))
	resp, err := by.RoundTrip(out)
	switch {
	case err != nil && r.Context().Err() != nil:
		return &reply{broken: Abandoned, err: err}
	case err != nil && (dialing.Load() && !wrote.Load() || isDial(err)):
		return &reply{unsent: "the proxy behind it: " + wireerror.Text("the proxy", false, err), err: err}
	case err != nil:
		return &reply{broken: Reset, err: err}
	}
	answer := &reply{status: resp.StatusCode, header: resp.Header.Clone(), answer: resp}
	cleanHeader(answer.header)
	if resp.Body == nil {
		return answer
	}
	answer.body, answer.err = io.ReadAll(io.LimitReader(resp.Body, int64(limit)+1))
	if len(answer.body) > limit {
		answer.broken, answer.rest = Oversize, resp.Body
		return answer
	}
	_ = resp.Body.Close()
	switch {
	case answer.err != nil && r.Context().Err() != nil:
		answer.broken = Abandoned
	case answer.err != nil:
		answer.broken = Truncate
	}
	return answer
}
