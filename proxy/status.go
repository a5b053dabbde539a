package proxy

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/toolwire/toolwire/internal/httpcall"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/redact"
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
	e.Class, e.Detail = r.errorBody(ans.Body, r.secrets())
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

// errorBody reads {"detail": {"error_class": "…", …}} and similar bodies: detail may be an object,
// a string, a list or absent, and the class may stand beside it, in an object error as class, or as a code, an error
// or a detail that is a known class. An object that repeats one of these names has no class. A body that is not JSON
// is taken as text.
func (r *run) errorBody(body []byte, secrets *redact.Set) (class, detail string) {
	members := func(doc json.RawMessage) (map[string]json.RawMessage, bool) {
		m := map[string]json.RawMessage{}
		err := rawjson.Read(doc, rawjson.Limits{Mode: rawjson.Liberal}, func(r *rawjson.Reader) error {
			member := func(name string) (err error) { m[name], err = r.Value(); return err }
			return r.Object(nil, member, "detail", "error_class", "error", "code")
		})
		return m, err == nil
	}
	top, ok := members(body)
	if !ok {
		return "", text.Cut(secrets.Redact(string(body)), maxDetail)
	}
	inner := top
	if d, ok := top["detail"]; ok {
		detail = content(d)
		if m, ok := members(d); ok {
			inner = m
		}
	} else {
		detail = string(body)
	}
	failed, _ := members(top["error"])
	for _, said := range []json.RawMessage{top["error_class"], inner["error_class"], failed["class"]} {
		class = cmp.Or(class, content(said))
	}
	for _, said := range []json.RawMessage{inner["code"], inner["error"], top["code"], top["error"], top["detail"], failed["code"]} {
		if known := content(said); class == "" && r.knownClass(known) {
			class = known
		}
	}
	class = text.Code(secrets.Redact(class))
	for _, name := range []string{"message", "msg"} {
		if m, ok := inner[name]; ok {
			detail = content(m)
			break
		}
	}
	return class, text.Cut(secrets.Redact(detail), maxDetail)
}

// content is what a JSON value says: a string's content, anything else as it is written.
func content(v json.RawMessage) string {
	if rawjson.Kind(v) == '"' {
		return rawjson.Unquote(v)
	}
	return string(v)
}

const maxDetail = 2 << 10
