package cassette

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/toolwire/toolwire/internal/httpcall"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/redact"
)

// reply is the answer to one request: from the tape, from the proxy, or from the cassette itself.
type reply struct {
	status int
	header http.Header
	body   []byte
	broken string

	local  bool           // the answer is not from the proxy
	unsent string         // why the request could not be forwarded
	answer *http.Response // the response to the forwarded request
	rest   io.ReadCloser  // the rest of a body that is too large
	err    error          // the error of the transport or of the body
}

func jsonReply(status int, v any) *reply {
	body, err := json.Marshal(v)
	if err != nil {
		panic("cassette: " + err.Error()) // strings and numbers
	}
	return &reply{status: status, header: jsonHeader(), body: body, local: true}
}

func jsonHeader() http.Header { return http.Header{"Content-Type": {"application/json"}} }

// refusal returns an answer in the proxy's error envelope.
func refusal(status int, class, message string) *reply {
	detail := map[string]string{"error_class": class, "message": "cassette: " + message}
	return jsonReply(status, map[string]any{"detail": detail})
}

// fromTape returns the answer that an interaction has on the tape.
func fromTape(i *Interaction) *reply {
	r := &reply{status: i.Status, header: jsonHeader(), body: i.body(), broken: i.Broken, local: true}
	if i.ContentType != "" {
		r.header.Set("Content-Type", i.ContentType)
	}
	if i.RetryAfter != nil {
		r.header.Set("Retry-After", strconv.FormatInt(*i.RetryAfter, 10))
	}
	for _, name := range modelHeaders {
		if value := i.Headers[name]; value != "" {
			r.header.Set(name, value)
		}
	}
	if i.Broken == brokenOversize {
		r.body = bytes.Repeat([]byte(" "), httpcall.AnswerBytes+1)
	}
	return r
}

// write writes the answer.
func (r *reply) write(w http.ResponseWriter) {
	if r.unsent != "" {
		refusal(http.StatusBadGateway, classUnreachable, r.unsent).write(w)
		return
	}
	if r.broken == brokenReset || r.broken == brokenAbandoned {
		panic(http.ErrAbortHandler)
	}
	w.Header()["Content-Type"] = nil // net/http must not guess it
	for name, values := range r.header {
		w.Header()[name] = values
	}
	switch {
	case r.broken == brokenTruncate:
		w.Header().Set("Content-Length", strconv.Itoa(len(r.body)+1))
	case r.rest == nil && len(r.body) > 0:
		w.Header().Set("Content-Length", strconv.Itoa(len(r.body)))
	}
	if r.rest != nil && r.answer.ContentLength >= 0 {
		w.Header().Set("Content-Length", strconv.FormatInt(r.answer.ContentLength, 10))
	}
	w.WriteHeader(r.status)
	_, err := w.Write(r.body)
	if r.rest != nil {
		defer func() { _ = r.rest.Close() }()
		_ = http.NewResponseController(w).Flush() // the rest may stall
		if err == nil {
			_, err = io.Copy(w, r.rest)
		}
	}
	if err != nil || r.broken == brokenTruncate {
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

// describe copies the redacted answer into the interaction. problem says why the answer cannot be
// recorded; it is "" if it can.
func (r *reply) describe(i *Interaction, redactor *redact.Redactor) (problem string) {
	if r.answer == nil {
		return ""
	}
	if r.answer.StatusCode == http.StatusSwitchingProtocols {
		return "it switches protocols"
	}
	if encoding := r.answer.Header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return "it is compressed although that was not requested, so no secret in it can be found"
	}
	if contentType := redactor.Redact(r.answer.Header.Get("Content-Type")); contentType != "application/json" {
		i.ContentType = contentType
	}
	i.RetryAfter = retryAfter(r.answer.Header)
	for _, name := range modelHeaders {
		if value := r.answer.Header.Get(name); value != "" && i.Kind == kindModel {
			if i.Headers == nil {
				i.Headers = map[string]string{}
			}
			i.Headers[name] = redactor.Redact(valid(value))
		}
	}
	switch {
	case r.broken == brokenOversize:
	case i.Kind == kindModel && strings.HasPrefix(i.ContentType, eventStream):
		i.AnswerBytes = redactFrames(redactor, r.body)
	case i.Kind == kindModel && utf8.Valid(r.body) && (rawjson.Kind(r.body) == '[' || rawjson.Check(r.body, rawjson.Limits{}) != nil):
		text := []byte(redactText(redactor, string(r.body)))
		if rawjson.Check(text, rawjson.Limits{}) == nil {
			i.Answer = rawjson.Compact(text)
		} else {
			i.AnswerText = string(text)
		}
	case !utf8.Valid(r.body):
		i.AnswerBytes = []byte(redactor.Redact(string(r.body)))
	default:
		_, i.Answer, i.AnswerText = redactor.Body(r.body)
	}
	return ""
}

// retryAfter returns the wait of the header in seconds. A date would be in the past when the tape
// is replayed.
func retryAfter(header http.Header) *int64 {
	wait, known := httpcall.RetryAfter(header)
	if !known {
		return nil
	}
	seconds := int64(math.Ceil(wait.Seconds()))
	return &seconds
}

// send forwards a request and reads the answer. It reads only the start of one that is too large.
func send(r *http.Request, body []byte, to sender) *reply {
	out, by := to(body)
	if by == nil {
		return &reply{unsent: "no proxy is set; set Options.Upstream, or use Wrap or Transport"}
	}
	if out == nil {
		return &reply{unsent: "the path has segments that lead elsewhere"}
	}
	resp, notSent, err := httpcall.RoundTrip(by, out)
	switch {
	case err != nil && r.Context().Err() != nil:
		return &reply{broken: brokenAbandoned, err: err}
	case notSent:
		return &reply{unsent: "the proxy behind it: " + httpcall.Describe("the proxy", false, err), err: err}
	case err != nil:
		return &reply{broken: brokenReset, err: err}
	}
	answer := &reply{status: resp.StatusCode, header: resp.Header.Clone(), answer: resp}
	cleanHeader(answer.header)
	answer.body, answer.rest, answer.err = httpcall.ReadStart(r.Context(), resp, httpcall.AnswerBytes)
	switch {
	case answer.rest != nil:
		answer.broken = brokenOversize
	case answer.err != nil && r.Context().Err() != nil:
		answer.broken = brokenAbandoned
	case answer.err != nil:
		answer.broken = brokenTruncate
	}
	return answer
}
