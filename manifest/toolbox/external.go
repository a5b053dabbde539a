package toolbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/toolwire/toolwire/internal/bounded"
	"github.com/toolwire/toolwire/internal/httpcall"
	"github.com/toolwire/toolwire/internal/publicaddr"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/redact"
	"github.com/toolwire/toolwire/internal/toolresult"
)

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
	s.details = newDetails(s, forDetails)
}

// followWithin follows a redirect only if it keeps the secret on the same host and does not change
// the call: same host, same method, and not from https to http. It follows at most three. Any other
// redirect is treated as an ordinary response.
func followWithin(next *http.Request, via []*http.Request) error {
	first := via[0]
	if len(via) > 3 || next.Method != first.Method || !strings.EqualFold(next.URL.Host, first.URL.Host) ||
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
		return nil, errorf(CodeAgent, "", "an external tool needs an agent: set Options.Agent or use Toolbox.For")
	}
	body := b.body(definition, args)
	if len(body) > maxRequest {
		return nil, errorf(CodeTooLarge, "", "the request body has %d bytes and the limit is %d; send less in one call",
			len(body), maxRequest)
	}
	request, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return nil, &Error{Code: CodeTransport, Message: "the url of the tool is not a URL",
			Err: httpcall.Quiet("it is not a URL", err)}
	}
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
	err = rawjson.Read(response, rawjson.Limits{Mode: rawjson.Liberal}, func(*rawjson.Reader) error {
		return nil
	})
	if err != nil {
		return nil, &Error{Code: CodeBadResponse, Status: got.Status, Err: malformed(err),
			Message: "the tool ran, but its answer is not JSON; do not repeat the call for that reason"}
	}
	if toolresult.Failed(response) {
		return nil, &Error{Code: CodeToolFailed, Status: got.Status, response: response,
			Message: "the webhook reported a failure; show Error.ToolResult to the model"}
	}
	return response, nil
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
		return &Error{Code: CodeResponseTooLarge, Status: status,
			Message: fmt.Sprintf("the tool ran, but its answer has more than %d bytes; ask for less in one call",
				b.caller.MaxBytes)}
	case failure.NotSent:
		return &Error{Code: CodeTransport, Message: "the tool's server cannot be reached; the tool did not run",
			Err: failure.Err}
	}
	return &Error{Code: CodeTransport, Status: status, Err: failure.Err,
		Message: "the connection to the tool's server failed and " +
			"the tool may or may not have run; check that before you call it again"}
}

// malformed hides the names of members, which the peer chose.
func malformed(err error) error {
	if e, ok := errors.AsType[*rawjson.Error](err); ok {
		return httpcall.Quiet(fmt.Sprintf("it is not valid at byte %d", e.Offset), err)
	}
	return err // of this package
}

func statusError(status int, answer []byte, secrets *redact.Set) *Error {
	e := &Error{Code: httpcall.StatusCode[Code](status), Status: status,
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
	return bounded.Cut(secrets.Redact(compact.String()), maxDetail)
}
