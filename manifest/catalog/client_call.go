package catalog

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/internal/httpcall"
	"github.com/toolwire/toolwire/internal/problem"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/redact"
	"github.com/toolwire/toolwire/internal/restclient"
	"github.com/toolwire/toolwire/internal/text"
)

// request is one request of the API.
type request struct {
	restclient.Request
	tool   string   // the id or name for errors
	said   []string // texts of the body that an error must not repeat
	unsure string   // what may have happened without a response; "" if the request only reads
}

func newRequest(operation, method, path, tool string) *request {
	r := &request{tool: tool, Request: restclient.Request{
		Operation: operation, Method: method, Path: path, Safe: method == http.MethodGet,
		Proofs: []int{http.StatusBadRequest}, // documented
	}}
	if text.ValidUUID(tool) { // names are not logged
		r.ID = tool
	}
	return r
}

// do sends r, repeats it if that is allowed, and reads the response.
func (c *Client) do(ctx context.Context, r *request, into func(*restclient.Response) *restclient.Failure) error {
	failure := c.rest.Repeat(ctx, &r.Request, func() *restclient.Failure { return c.attempt(ctx, r, into) })
	if failure != nil {
		return c.failed(r, failure)
	}
	return nil
}

// doItem is do for a response with one tool, which may leave out what is known of it. If id is not "",
// the response must describe that tool.
func (c *Client) doItem(ctx context.Context, r *request, known ListItem, id string) (*ListItem, error) {
	if err := c.do(ctx, r, itemInto(&known, id)); err != nil {
		return nil, err
	}
	return &known, nil
}

// attempt sends r once.
func (c *Client) attempt(
	ctx context.Context, r *request, into func(*restclient.Response) *restclient.Failure,
) *restclient.Failure {
	if len(r.Body) > c.maxRequest {
		return &restclient.Failure{Err: &toolwire.Error{Package: "catalog", Code: toolwire.CodeRequestTooLarge, Tool: r.tool, Message: fmt.Sprintf(
			"the body of the request has %d bytes; at most %d are sent", len(r.Body), c.maxRequest)}}
	}
	return c.rest.Attempt(ctx, &r.Request, into)
}

// messages are the messages for refusals without a usable text.
var messages = map[toolwire.Code]string{
	toolwire.CodeRefused:          "the server rejected the request",
	codePlugin:                    "the server rejected the uploaded source",
	toolwire.CodeRejected:         "the server rejected fields",
	toolwire.CodeUnauthorized:     "the server rejected the API key",
	toolwire.CodeForbidden:        "the API key does not permit the operation",
	toolwire.CodeNotFound:         "the tool does not exist, or the base URL is not the URL of a catalog",
	toolwire.CodeConflict:         "the name is taken",
	toolwire.CodeRequestTooLarge:  "the request is larger than the server accepts",
	toolwire.CodeRateLimited:      "too many requests",
	toolwire.CodeServerError:      "the server failed",
	toolwire.CodeUnexpectedStatus: "the response is not one that a catalog sends",
}

// failed returns the error of a call. Only the status decides the code, because the texts of servers
// differ.
func (c *Client) failed(r *request, f *restclient.Failure) *toolwire.Error {
	e, own := errors.AsType[*toolwire.Error](f.Err)
	if own {
		if f.Unsure { // an earlier attempt
			e.Message += "; " + r.unsure
		}
		return e
	}
	e = &toolwire.Error{Package: "catalog", Code: toolwire.Code(f.Code), Tool: r.tool, Response: f.Response(), Err: f.Err}
	if e.Response != nil {
		e.Response.Detail = "" // it may quote the source code; Message has it without
	}
	switch isUpload := r.Type != ""; e.Code {
	case toolwire.CodeCanceled, toolwire.CodeDeadline:
		e.Message = contextText(f.Err)
	case toolwire.CodeTimeout:
		e.Message = f.Err.Error() + " (ClientOptions.Timeout)"
	case toolwire.CodeTransport:
		e.Message = f.Err.Error()
	case toolwire.CodeResponseTooLarge:
		e.Message = f.Err.Error() + " (ClientOptions.MaxResponseBytes)"
	case toolwire.CodeBadResponse:
		e.Message, e.Err = "the response cannot be used: "+f.Err.Error(), nil
	default:
		if e.Code == toolwire.CodeRefused && isUpload && f.Status <= http.StatusBadRequest { // or 2xx with success: false
			e.Code = codePlugin
		}
		e.Message, e.Problems = r.read(&f.Said)
		switch {
		case f.Status >= 300 && f.Status <= 399:
			e.Message = "the server redirects; the client does not follow, to protect the API key; correct the base URL"
		case e.Message == "" && (f.Status == http.StatusRequestTimeout || f.Status == http.StatusGatewayTimeout):
			e.Message = "the server did not finish in time"
		}
		e.Message = cmp.Or(e.Message, messages[e.Code])
	}
	tried := "1 attempt"
	if f.Attempts != 1 {
		tried = fmt.Sprintf("%d attempts", f.Attempts)
	}
	switch ended := f.Stop.Err; f.Stop.Reason {
	case httpcall.Stopped:
		e.Code, e.Err = problem.ContextCode[toolwire.Code](ended), errors.Join(ended, e.Err)
		e.Message = contextText(ended) + " while waiting to repeat; before that: " + e.Message
	case httpcall.TooLong, httpcall.TooLate:
		e.Message = fmt.Sprintf("%s (gave up after %s: %s)", e.Message, tried, ended)
	case httpcall.Exhausted:
		if f.Attempts > 1 {
			e.Message = fmt.Sprintf("%s (gave up after %s)", e.Message, tried)
		}
	}
	if f.Unsure && r.unsure != "" {
		e.Message += "; " + r.unsure
	}
	return e
}

// read returns what the server says, without what the client sent.
func (r *request) read(said *httpcall.Refusal) (message string, problems []toolwire.Problem) {
	texts := []string{said.Message()}
	for _, one := range said.Statements {
		if one.Pointer != "" {
			texts = append(texts, one.Pointer, one.Code, one.Message)
			problems = append(problems, toolwire.Problem{})
		}
	}
	texts = r.hideSaid(texts)
	for i := range problems {
		of := texts[1+3*i:]
		problems[i] = toolwire.Problem{Pointer: of[0], Code: text.Code(of[1]), Message: of[2]}
	}
	return texts[0], problems
}

// contextText describes the end of the caller's context.
func contextText(err error) string {
	if problem.ContextCode[toolwire.Code](err) == toolwire.CodeDeadline {
		return "the context's deadline has passed"
	}
	return "the call was canceled"
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
		source = httpcall.OneLine(source)
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

// badJSON describes an error of reading. where is what was read, such as "entry 7 of the list". The
// text has no names of members, which the server chose. The offset is that within what was read.
func badJSON(a *restclient.Response, where string, err error) *restclient.Failure {
	why := err.Error()
	if wrong, ok := errors.AsType[*rawjson.Error](err); ok {
		why = fmt.Sprintf("at byte %d: %s", wrong.Offset, wrong.Problem)
	}
	return a.Bad(where + ": " + why)
}

// twoMembers reads two members of an object. Other values have none. The document must be valid JSON.
func twoMembers(doc []byte, first, second string) (one, two json.RawMessage, err error) {
	err = rawjson.Read(doc, rawjson.Limits{Depth: maxDepth, Mode: rawjson.Liberal}, func(r *rawjson.Reader) error {
		if r.Kind() != '{' {
			return nil
		}
		return r.Object(nil, func(name string) (err error) {
			switch name {
			case first:
				one, err = r.Value()
			case second:
				two, err = r.Value()
			}
			return err
		}, first, second)
	})
	return one, two, err
}

// dataOf returns the member data of the envelope {"success", "data", "message", "timestamp"}. Without
// data it returns the envelope, and without an envelope the body. The result is valid JSON.
func dataOf(a *restclient.Response) (json.RawMessage, *restclient.Failure) {
	success, data, err := twoMembers(a.Body, "success", "data")
	switch {
	case err != nil:
		return nil, badJSON(a, "it is not JSON that can be read", err)
	case string(success) == "false":
		return nil, a.Refusal(http.StatusBadRequest)
	case success != nil && string(success) != "true":
		return nil, a.Bad("its member success is not a boolean")
	case success == nil || data == nil:
		return a.Body, nil
	}
	return data, nil
}

// confirm reads a response that only confirms an operation.
func confirm(a *restclient.Response) *restclient.Failure {
	if a.Status == http.StatusNoContent {
		return nil
	}
	_, failure := dataOf(a)
	return failure
}

// itemInto returns a reader of one tool. Fields that the response lacks stay as they are in item. If id is
// not "", the response must describe that tool.
func itemInto(item *ListItem, id string) func(a *restclient.Response) *restclient.Failure {
	return func(a *restclient.Response) *restclient.Failure {
		if a.Status == http.StatusNoContent && item.ID != "" {
			return nil
		}
		data, failure := dataOf(a)
		if failure != nil || string(data) == "null" && item.ID != "" {
			return failure
		}
		received, err := readItem(data, *item)
		if err != nil {
			return badJSON(a, "it is not a tool", err)
		}
		if id != "" && !strings.EqualFold(received.ID, id) {
			return a.Bad("it describes another tool")
		}
		*item = received
		return nil
	}
}

// listInto returns a reader of a list of tools. One unreadable entry fails the list.
func listInto(list *[]ListItem) func(a *restclient.Response) *restclient.Failure {
	return func(a *restclient.Response) *restclient.Failure {
		data, failure := dataOf(a)
		if failure != nil {
			return failure
		}
		if rawjson.Kind(data) != '[' { // null is not a list: an empty catalog returns []
			return a.Bad("it is not a list of tools")
		}
		*list = []ListItem{}
		for entry := range rawjson.Elements(data) {
			item, err := readItem(entry, ListItem{})
			if err != nil {
				return badJSON(a, fmt.Sprintf("entry %d of the list is not a tool", len(*list)), err)
			}
			*list = append(*list, item)
		}
		return nil
	}
}

// scriptInto returns a reader of source code, from the member script or, with some servers, content or
// script_content, the name in the document.
func scriptInto(into *string) func(a *restclient.Response) *restclient.Failure {
	return func(a *restclient.Response) *restclient.Failure {
		data, failure := dataOf(a)
		if failure != nil {
			return failure
		}
		script, content, err := twoMembers(data, "script", "content")
		if err != nil {
			return badJSON(a, "it has no source", err)
		}
		documented, _, err := twoMembers(data, "script_content", "script")
		if err != nil {
			return badJSON(a, "it has no source", err)
		}
		if *into = cmp.Or(rawjson.Unquote(script), rawjson.Unquote(content), rawjson.Unquote(documented)); *into == "" {
			return a.Bad("it has no source: none of script, content and script_content is a text")
		}
		return nil
	}
}

// readItem reads a tool over what is known of it. An id is required, and a name unless the id was
// known. Unknown values of enums are kept, so that a new framework does not hide the rest.
func readItem(doc []byte, known ListItem) (ListItem, error) {
	item := known
	p, ps, err := readRecord(doc, rawjson.Liberal, &item)
	item.Tool = p.apply(item.Tool)
	switch {
	case err != nil:
		return ListItem{}, err
	case len(ps) > 0:
		return ListItem{}, errors.New(fieldOf(ps[0]) + " " + ps[0].Message)
	case !text.ValidUUID(item.ID):
		return ListItem{}, errors.New("its id is not a UUID")
	case item.Name == "" && known.ID == "":
		return ListItem{}, errors.New("it has no name")
	}
	return item, nil
}
