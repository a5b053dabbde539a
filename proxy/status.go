package proxy

import (
	"cmp"
	"errors"
	"net/http"
	"strings"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/internal/httpcall"
	"github.com/toolwire/toolwire/internal/text"
)

// statusError classifies an answer that is not a 2xx, by status and error_class; see "Porting
// without the SDK", retryable errors. The body may be incomplete or not JSON.
//
// The delivery is Refused only for answers that are documented as refusals and prove that the tool
// did not run. An intermediary can send any other after it has passed the request on.
func (r *run) statusError(req *request, ans httpcall.Answer) *Error {
	e := &Error{Code: toolwire.CodeRefused, Delivery: Unknown, Tool: req.name, Status: ans.Status}
	e.RetryAfter, _ = httpcall.RetryAfter(ans.Header)
	e.Class, e.Detail = r.said(httpcall.ReadRefusal(ans.Header, ans.Body, r.secrets()))
	switch status := ans.Status; {
	case status < 400:
		e.Code = toolwire.CodeUnexpectedStatus
		if status >= 300 && ans.Header.Get("Location") != "" {
			e.Err = errors.New("the proxy redirects; " +
				"the redirect is not followed because the run token must not leave the proxy")
		}
	case status == http.StatusServiceUnavailable:
		e.Code = toolwire.CodeUnavailable
		if transientClass(e.Class) {
			e.Delivery = Refused
		}
	case status >= 500:
		e.Code = toolwire.CodeServerError
	case e.Class == httpcall.ActorInvalid:
		e.Code, e.Delivery = codeActor, Refused
	case e.Class == httpcall.EventInvalid:
		e.Code, e.Delivery = codeEvent, Refused
	case status == http.StatusUnauthorized:
		e.Code, e.Delivery = toolwire.CodeRunOver, Refused
	case status == http.StatusNotFound:
		e.Code, e.Delivery = toolwire.CodeNotFound, Refused
	case e.Class == httpcall.RunsInSandbox, e.Class == httpcall.NotExecutable:
		e.Delivery = Refused
	case status == http.StatusRequestEntityTooLarge:
		e.Code, e.Delivery = toolwire.CodeRequestTooLarge, Refused
	case status == http.StatusUnprocessableEntity:
		e.Code, e.Delivery = toolwire.CodeInvalidArguments, Refused
	case status == http.StatusTooManyRequests:
		e.Code, e.Delivery = toolwire.CodeRateLimited, Refused
	}
	return e
}

// said returns the class of a refusal and its text.
func (r *run) said(refusal httpcall.Refusal) (class, detail string) {
	class = refusal.ProxyClass(transientClasses)
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
