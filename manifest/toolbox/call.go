package toolbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/internal/httpcall"
	"github.com/toolwire/toolwire/internal/problem"
	"github.com/toolwire/toolwire/internal/publicaddr"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/redact"
	"github.com/toolwire/toolwire/internal/runctx"
	"github.com/toolwire/toolwire/internal/text"
	"github.com/toolwire/toolwire/internal/toolcall"
	"github.com/toolwire/toolwire/internal/toolresult"
)

// Call runs a tool and returns its result: the text of a handler as a JSON string, or the response
// of a webhook unchanged. args is a Go value that encoding/json writes as an object, or JSON text
// as json.RawMessage or []byte. Nil and blank text mean {}. Leave reasoning in the arguments of a
// model.
//
// The error is an [*Error]. A failed tool is one, with toolwire.CodeToolFailed if the response of a webhook is an
// object whose member "error" is not null, false, "", 0, [] or {}. If the arguments do not match the
// parameters, the tool does not run. Use [Toolbox.CallForModel] for calls of a model.
func (b *Toolbox) Call(ctx context.Context, name string, args any) (json.RawMessage, error) {
	start := time.Now()
	t, ok := b.byName[name]
	if !ok {
		e := errorf(toolwire.CodeUnknownTool, text.Cut(name, 128), "the toolbox has no tool of that name; names are case-sensitive")
		for _, t := range b.tools {
			e.tools = append(e.tools, t.Name)
		}
		return nil, e
	}
	end := CallEnd{Tool: t.Name, CallID: runctx.CallID(ctx), Adapter: t.Adapter, AgentID: b.agent.ID,
		External: t.run == nil}
	result, failure := b.call(ctx, t, args, &end)
	if failure != nil {
		failure.Tool = t.Name
		end.Err = failure
	}
	if b.options.OnCall != nil {
		end.Duration = time.Since(start)
		b.loop.OnCall(ctx, t.Name, func() { b.options.OnCall(ctx, end) })
	}
	if failure != nil {
		return nil, failure
	}
	return result, nil
}

// CallForModel runs a tool for a model. The result is the text of a handler or the response of a
// webhook. If the call failed, it is [Error.ToolResult].
//
// args is the model's text: a JSON object as string, []byte or json.RawMessage. If the text is
// malformed, the result tells the model what to correct. args may also be any Go value that
// [Toolbox.Call] accepts.
//
// An error means that the agent should stop. It is an [*Error]: toolwire.CodeCanceled or
// toolwire.CodeDeadline if ctx has ended, no_agent if an external tool has no agent, or
// toolwire.CodeInvalidArguments for a Go value that JSON cannot represent.
func (b *Toolbox) CallForModel(ctx context.Context, name string, args any) (toolwire.ModelResult, error) {
	s, ok := toolresult.Arguments(args)
	if !ok {
		var err error
		if s, err = rawjson.EncodeArguments(args, toolresult.ArgumentLimits); err != nil {
			return toolwire.ModelResult{}, &Error{Code: toolwire.CodeInvalidArguments, Tool: text.Cut(name, 128), Message: err.Error(), Err: err}
		}
	}
	result, err := b.Call(ctx, name, s)
	if err == nil {
		return toolresult.ForModel(result, false), nil
	}
	e, _ := errors.AsType[*Error](err) // Call returns no other type
	if e.Code == toolwire.CodeCanceled || e.Code == toolwire.CodeDeadline || e.Code == codeAgent || ctx.Err() != nil {
		return toolwire.ModelResult{}, err
	}
	return toolresult.ForModel(e.ToolResult(), true), nil
}

func (b *Toolbox) call(ctx context.Context, t *tool, args any, end *CallEnd) (json.RawMessage, *Error) {
	whole, err := rawjson.EncodeArguments(args, toolresult.ArgumentLimits)
	if err != nil {
		return nil, &Error{Code: toolwire.CodeInvalidArguments, Message: err.Error() + toolresult.Advice, Err: err}
	}
	whole = slices.Clone(whole) // a tool may read it after the call has returned
	a := t.called.Arguments(whole)
	end.Reasoning = a.Reasoning
	// Handlers and Options.Transport are the host's code.
	type answer struct {
		result json.RawMessage
		failed *Error // of a webhook
	}
	got, failure := toolcall.Run(ctx, b.loop, a, func(ctx context.Context) (answer, *toolcall.Failure) {
		if t.run != nil {
			text, err := t.run(ctx, a.Filled(), b.agent, t.Tool)
			return answer{result: encode(text)}, toolcall.FailureOf(err)
		}
		definition, sent := t.bare, a.Bare
		if rawjson.Kind(rawjson.Member(whole, "reasoning")) == '"' {
			definition, sent = t.reasoned, whole
		}
		result, failed := b.post(ctx, definition, t.URL, sent)
		if failed != nil {
			return answer{failed: failed}, &toolcall.Failure{Silent: failed.Code == toolwire.CodeCanceled || failed.Code == toolwire.CodeDeadline}
		}
		return answer{result: result}, nil
	})
	switch {
	case failure == nil:
		return got.result, nil
	case got.failed != nil:
		return nil, got.failed
	case failure.Code == toolcall.Canceled:
		return nil, contextError(failure.Err, "the call")
	}
	return nil, &Error{Code: toolwire.Code(failure.Code), Message: failure.Message, Err: failure.Err}
}

// contextError returns the error of a call or list whose context ended with err.
func contextError(err error, what string) *Error {
	e := &Error{Code: problem.ContextCode[toolwire.Code](err), Message: what + " was canceled", Err: err}
	if e.Code == toolwire.CodeDeadline {
		e.Message = what + " did not end before the caller's deadline"
	}
	return e
}

// encode writes a value that JSON can represent, compact and without escapes for HTML.
func encode(v any) json.RawMessage {
	raw, _ := rawjson.Encode(v)
	return raw
}

const (
	maxRequest = 1 << 20 // bytes of a body
	maxAnswer  = 1 << 20
)

// connect creates the clients of webhooks and of details.
func (s *shared) connect() {
	own := s.options.Transport
	if own == nil {
		own = httpcall.NewTransport()
	}
	s.caller = httpcall.Client{Transport: own, Redirect: followWithin, Peer: "the server", MaxBytes: maxAnswer}
	forDetails := own
	if !s.options.InsecurePrivateDetails {
		public := httpcall.NewTransport()
		public.DialContext = (&net.Dialer{Timeout: 10 * time.Second, Control: publicaddr.Control}).DialContext
		forDetails = public
	}
	s.details = newDetails(s.options.Logger, forDetails)
}

// followWithin follows a redirect only if it keeps the secret on the same host and does not change
// the call: same host, same method, and not from https to http. It follows at most three. Any other
// redirect is treated as an ordinary response.
func followWithin(next *http.Request, via []*http.Request) error {
	first := via[0]
	if len(via) > 3 || next.Method != first.Method || publicaddr.Key(next.URL.Host) != publicaddr.Key(first.URL.Host) ||
		first.URL.Scheme == "https" && next.URL.Scheme != "https" {
		return http.ErrUseLastResponse
	}
	return nil
}

// post calls an external tool. The definition and the arguments both have reasoning, or neither has
// it.
func (b *Toolbox) post(
	ctx context.Context, definition json.RawMessage, url string, args json.RawMessage,
) (json.RawMessage, *Error) {
	if b.agent.ID == "" {
		return nil, errorf(codeAgent, "", "an external tool needs an agent: set Options.Agent or use Toolbox.For")
	}
	body := b.body(definition, args)
	if len(body) > maxRequest {
		return nil, errorf(toolwire.CodeRequestTooLarge, "", "the request body has %d bytes and the limit is %d; send less in one call",
			len(body), maxRequest)
	}
	request, _ := http.NewRequest(http.MethodPost, url, bytes.NewReader(body)) // Parse has checked the URL
	request.Header["Content-Type"] = []string{"application/json"}
	request.Header["Accept"] = []string{"application/json"}
	request.Header["X-Agent-Secret"] = []string{b.secret.Reveal()}
	request.Header["X-Agent-Identity"] = []string{b.agent.ID}
	got, failure := b.caller.Do(ctx, request, nil)
	switch {
	case got.Status != 0 && (got.Status < 200 || got.Status > 299):
		if failure != nil {
			got.Body = nil // an incomplete text may end in a part of the secret
		}
		return nil, statusError(got.Status, got.Body, redact.New(append(redact.URL(url), b.secret.Reveal())...))
	case failure != nil:
		return nil, b.failed(got.Status, failure)
	}
	response := bytes.Trim(got.Body, " \t\r\n")
	if len(response) == 0 { // such as 204 No Content
		return json.RawMessage("null"), nil
	}
	if err := rawjson.Check(response, rawjson.Limits{Mode: rawjson.Liberal}); err != nil {
		if isText(got.Header.Get("Content-Type"), response) {
			return rawjson.Quote(string(response)), nil
		}
		return nil, &Error{Code: toolwire.CodeBadResponse, Status: got.Status, Err: malformed(err),
			Message: "the tool ran, but its answer is not JSON; do not repeat the call for that reason"}
	}
	if toolresult.Failed(response) {
		return nil, &Error{Code: toolwire.CodeToolFailed, Status: got.Status, response: response,
			Message: "the webhook reported a failure; show Error.ToolResult to the model"}
	}
	return response, nil
}

// isText reports whether a body that is not JSON is a result of text, such as ok: its type is text/plain, or it
// has none and does not begin as JSON or HTML does.
func isText(contentType string, body []byte) bool {
	if contentType == "" {
		return strings.IndexByte(`{["<`, body[0]) < 0
	}
	media, _, err := mime.ParseMediaType(contentType)
	return err == nil && media == "text/plain"
}

// body writes the body of a call: definition, agent and arguments, each unchanged.
func (b *Toolbox) body(definition, args json.RawMessage) []byte {
	body := make([]byte, 0, len(definition)+len(b.agent.Context)+len(args)+128)
	body = append(append(body, `{"tool":`...), definition...)
	body = append(append(body, `,"agent":{"id":"`...), b.agent.ID...)
	body = append(body, '"')
	if b.agent.Context != nil {
		body = append(append(body, `,"context":`...), b.agent.Context...)
	}
	body = append(append(body, `},"arguments":`...), args...)
	return append(body, '}')
}

// failed describes a call without a complete response.
func (b *Toolbox) failed(status int, failure *httpcall.Failure) *Error {
	switch {
	case failure.Kind == httpcall.Canceled:
		return contextError(failure.Err, "the call")
	case failure.Kind == httpcall.TooLarge:
		return &Error{Code: toolwire.CodeResponseTooLarge, Status: status,
			Message: fmt.Sprintf("the tool ran, but its answer has more than %d bytes; ask for less in one call",
				b.caller.MaxBytes)}
	case failure.NotSent:
		return &Error{Code: toolwire.CodeTransport, Message: "the tool's server cannot be reached; the tool did not run",
			Err: failure.Err}
	}
	return &Error{Code: toolwire.CodeTransport, Status: status, Err: failure.Err,
		Message: "the connection to the tool's server failed and " +
			"the tool may or may not have run; check that before you call it again"}
}

// malformed hides the names of members, which the peer chose.
func malformed(err error) error {
	if e, ok := errors.AsType[*rawjson.Error](err); ok {
		return problem.Quiet(fmt.Sprintf("it is not valid at byte %d", e.Offset), err)
	}
	return err // of this package
}

func statusError(status int, answer []byte, secrets *redact.Set) *Error {
	e := &Error{Code: httpcall.StatusCode[toolwire.Code](status), Status: status,
		Message: fmt.Sprintf("the tool's server answered with HTTP status %d", status)}
	switch {
	case status >= 300 && status < 400:
		e.Message += ", a redirect that is not followed: to another host, to plain http, with another method, or one too many"
	case status == http.StatusUnauthorized:
		e.Message += ": it does not accept the secret"
	default:
		e.Detail = detailOf(answer, secrets)
	}
	return e
}

// detailOf returns the JSON of a response, or "" for other text, which may be any page.
func detailOf(answer []byte, secrets *redact.Set) string {
	var compact bytes.Buffer
	if json.Compact(&compact, answer) != nil {
		return ""
	}
	return text.Cut(secrets.Redact(compact.String()), maxDetail)
}
