package proxy

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/toolwire/toolwire/internal/httpcall"
	"github.com/toolwire/toolwire/internal/text"
)

// statusError classifies an answer that is not a 2xx, by status and error_class; see "Porting
// without the SDK", retryable errors. The body may be incomplete or not JSON.
//
// The delivery is Refused only for answers that are documented as refusals and prove that the tool
// did not run. An intermediary can send any other after it has passed the request on.
func (r *run) statusError(req *request, ans httpcall.Answer) *Error {
	e := &Error{Code: CodeRefused, Delivery: Unknown, Tool: req.name, Status: ans.Status}
	e.RetryAfter, _ = httpcall.RetryAfter(ans.Header)
	e.Class, e.Detail = r.said(httpcall.ReadRefusal(ans.Header, ans.Body, r.secrets()))
	switch status := ans.Status; {
	case status < 400:
		e.Code = CodeStatus
		if status >= 300 && ans.Header.Get("Location") != "" {
			e.Err = errors.New("the proxy redirects; " +
				"the redirect is not followed because the run token must not leave the proxy")
		}
	case status == http.StatusServiceUnavailable:
		e.Code = CodeUnavailable
		if r.transientClass(e.Class) {
			e.Delivery = Refused
		}
	case status >= 500:
		e.Code = CodeServer
	case e.Class == "actor_id_invalid":
		e.Code, e.Delivery = CodeActor, Refused
	case e.Class == "trace_event_type_invalid":
		e.Code, e.Delivery = CodeEvent, Refused
	case status == http.StatusUnauthorized:
		e.Code, e.Delivery = CodeRunOver, Refused
	case status == http.StatusNotFound:
		e.Code, e.Delivery = CodeNotFound, Refused
	case e.Class == "tool_executes_in_sandbox", e.Class == "tool_not_executable":
		e.Delivery = Refused
	case status == http.StatusRequestEntityTooLarge:
		e.Code, e.Delivery = CodeTooLarge, Refused
	case status == http.StatusUnprocessableEntity:
		e.Code, e.Delivery = CodeArguments, Refused
	case status == http.StatusTooManyRequests:
		e.Code, e.Delivery = CodeRateLimited, Refused
	}
	return e
}

func runOverClass(class string) bool {
	return class == "run_token_expired" || class == "run_token_invalid" || class == "run_token_rejected"
}

// knownClass reports whether a text is a class on which this package acts.
func (r *run) knownClass(class string) bool {
	switch class {
	case "actor_id_invalid", "trace_event_type_invalid", "tool_executes_in_sandbox", "tool_not_executable":
		return true
	}
	return runOverClass(class) || r.transientClass(class)
}

// said returns the class of a refusal, which some ports write as a code, an error or a detail, and its text.
func (r *run) said(refusal httpcall.Refusal) (class, detail string) {
	if class = refusal.Class; class == "" {
		if i := slices.IndexFunc(refusal.Codes, r.knownClass); i >= 0 {
			class = refusal.Codes[i]
		}
	}
	if refusal.Partial {
		return class, refusal.Text
	}
	var texts []string
	for _, one := range refusal.Statements {
		texts = append(texts, strings.TrimPrefix(one.Pointer+": "+one.Message, ": "))
	}
	return class, text.Cut(cmp.Or(strings.Join(texts, "; "), refusal.Text), maxDetail)
}

const maxDetail = 2 << 10
