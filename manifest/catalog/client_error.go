package catalog

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/toolwire/toolwire/internal/bounded"
	"github.com/toolwire/toolwire/internal/httpcall"
	"github.com/toolwire/toolwire/internal/problem"
	"github.com/toolwire/toolwire/internal/redact"
	"github.com/toolwire/toolwire/internal/restclient"
)

// request is one request of the API.
type request struct {
	restclient.Request
	tool   string   // the id or name for errors
	plugin bool     // has source code: a 400 concerns the source
	said   []string // texts of the body that an error must not repeat
	unsure string   // what may have happened without a response; "" if the request only reads
}

func newRequest(operation, method, path, tool string) *request {
	r := &request{tool: tool, Request: restclient.Request{
		Operation: operation, Method: method, Path: path, Safe: method == http.MethodGet,
		Proofs: []int{http.StatusBadRequest}, // documented
	}}
	if bounded.ValidUUID(tool) { // names are not logged
		r.ID = tool
	}
	return r
}

// do sends r, repeats it if that is allowed, and reads the response.
func do[T any](
	ctx context.Context, c *Client, r *request, read func(*restclient.Response) (T, *restclient.Failure),
) (value T, err error) {
	failure := c.rest.Repeat(ctx, &r.Request, func() *restclient.Failure {
		return c.attempt(ctx, r, func(a *restclient.Response) (f *restclient.Failure) {
			value, f = read(a)
			return f
		})
	})
	if failure != nil {
		return *new(T), c.failed(r, failure)
	}
	return value, nil
}

// attempt sends r once.
func (c *Client) attempt(
	ctx context.Context, r *request, read func(*restclient.Response) *restclient.Failure,
) *restclient.Failure {
	if len(r.Body) > c.maxRequest {
		return &restclient.Failure{Err: &Error{Code: CodeTooLarge, Tool: r.tool, Message: fmt.Sprintf(
			"the body of the request has %d bytes; at most %d are sent", len(r.Body), c.maxRequest)}}
	}
	return c.rest.Attempt(ctx, &r.Request, read)
}

// messages are the messages for refusals without a usable text.
var messages = map[Code]string{
	CodeRefused:      "the server rejected the request",
	CodePlugin:       "the server rejected the uploaded source",
	CodeRejected:     "the server rejected fields",
	CodeUnauthorized: "the server rejected the API key",
	CodeForbidden:    "the API key does not permit the operation",
	CodeNotFound:     "the tool does not exist, or the base URL is not that of a catalog",
	CodeConflict:     "the name is taken",
	CodeTooLarge:     "the request is larger than the server accepts",
	CodeRateLimited:  "too many requests",
	CodeServer:       "the server failed",
	CodeStatus:       "the response is not one that a catalog sends",
}

// failed returns the error of a call. Only the status decides the code, because the texts of servers
// differ.
func (c *Client) failed(r *request, f *restclient.Failure) *Error {
	e, own := errors.AsType[*Error](f.Err)
	if own {
		if f.Unsure { // an earlier attempt
			e.Message += "; " + r.unsure
		}
		return e
	}
	e = &Error{
		Code: Code(f.Code), Status: f.Status, Tool: r.tool, RetryAfter: f.RetryAfter, RequestID: f.RequestID, Err: f.Err,
	}
	if e.Code == CodeRefused && r.plugin && f.Status <= http.StatusBadRequest { // or 2xx with success: false
		e.Code = CodePlugin
	}
	r.explain(e, f)
	switch f.Stop.Reason {
	case httpcall.Stopped:
		ended := f.Stop.Err
		e.Code, e.Err = problem.ContextCode[Code](ended), errors.Join(ended, e.Err)
		e.Message = contextText(ended) + " while waiting to repeat; before that: " + e.Message
	case httpcall.TooLong, httpcall.TooLate:
		e.Message = fmt.Sprintf("%s (gave up after %s: %s)", e.Message, attempts(f.Attempts), f.Stop.Err)
	case httpcall.Exhausted:
		if f.Attempts > 1 {
			e.Message = fmt.Sprintf("%s (gave up after %s)", e.Message, attempts(f.Attempts))
		}
	}
	if f.Unsure && r.unsure != "" {
		e.Message += "; " + r.unsure
	}
	return e
}

// explain sets the message and the problems of an error.
func (r *request) explain(e *Error, f *restclient.Failure) {
	switch e.Code {
	case CodeCanceled, CodeDeadline:
		e.Message = contextText(f.Err)
	case CodeTimeout:
		e.Message = f.Err.Error() + " (ClientOptions.Timeout)"
	case CodeTransport:
		e.Message = f.Err.Error()
	case CodeResponseTooLarge:
		e.Message = f.Err.Error() + " (ClientOptions.MaxResponseBytes)"
	case CodeBadResponse:
		e.Message, e.Err = "the response cannot be used: "+f.Err.Error(), nil
	default:
		e.Message, e.Problems = r.read(&f.Said)
	}
	if f.Status >= 300 && f.Status <= 399 {
		e.Message = "the server redirects; the client does not follow, to protect the API key; correct the base URL"
	}
	switch {
	case e.Message != "":
	case f.Status == http.StatusRequestTimeout, f.Status == http.StatusGatewayTimeout:
		e.Message = "the server did not finish in time"
	default:
		e.Message = messages[e.Code]
	}
}

// read returns what the server says, without what the client sent.
func (r *request) read(said *restclient.Said) (message string, problems []Problem) {
	texts := []string{said.Message()}
	for _, one := range said.Statements {
		if one.Pointer != "" {
			texts = append(texts, one.Pointer, one.Code, one.Message)
			problems = append(problems, Problem{})
		}
	}
	texts = r.hideSaid(texts)
	for i := range problems {
		of := texts[1+3*i:]
		problems[i] = Problem{Pointer: of[0], Code: bounded.Code(of[1]), Message: of[2]}
	}
	return texts[0], problems
}

// contextText describes the end of the caller's context.
func contextText(err error) string {
	if problem.ContextCode[Code](err) == CodeDeadline {
		return "the context's deadline has passed"
	}
	return "the call was canceled"
}

func attempts(n int) string {
	if n == 1 {
		return "1 attempt"
	}
	return fmt.Sprintf("%d attempts", n)
}

// quotedBytes is the shortest run of a sent text that counts as repeated, in bytes.
const quotedBytes = 16

// hideSaid removes from texts of one line every run of quotedBytes or more that also occurs in a text
// that was sent. Each of those counts as one line and is read once.
func (r *request) hideSaid(texts []string) []string {
	if len(r.said) == 0 {
		return texts
	}
	text := strings.Join(texts, "\n")
	quoted := make(map[string]bool, len(text))
	for i := range len(text) - quotedBytes + 1 {
		quoted[text[i:i+quotedBytes]] = false
	}
	for _, source := range r.said {
		source = restclient.OneLine(source)
		for i := range len(source) - quotedBytes + 1 {
			if _, said := quoted[source[i:i+quotedBytes]]; said {
				quoted[source[i:i+quotedBytes]] = true
			}
		}
	}
	var b strings.Builder
	end := 0 // of the run that is being hidden
	for i := range len(text) {
		if i+quotedBytes <= len(text) && quoted[text[i:i+quotedBytes]] {
			if i >= end {
				b.WriteString(redact.Placeholder)
			}
			end = i + quotedBytes
		}
		if i >= end {
			b.WriteByte(text[i])
		}
	}
	return strings.Split(strings.ToValidUTF8(b.String(), ""), "\n")
}
