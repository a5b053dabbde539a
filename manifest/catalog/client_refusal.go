package catalog

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/toolwire/toolwire/internal/clip"
	"github.com/toolwire/toolwire/internal/httpcall"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/strictjson"
)

const (
	maxRefusal  = 1 << 20   // bytes of a body that is looked at
	maxSaid     = 1 << 10   // bytes of what a server says of the whole, or of one field
	maxRead     = 4 << 10   // bytes of one text that are looked at
	maxProblems = 100       // and at most
	maxAllSaid  = 128 << 10 // bytes of all problems
	maxParts    = 8         // texts that are put together to one message
	maxNesting  = 4
)

var statusCodes = map[int]Code{
	http.StatusUnauthorized: CodeUnauthorized, http.StatusForbidden: CodeForbidden, http.StatusNotFound: CodeNotFound,
	http.StatusRequestTimeout: CodeTimeout, http.StatusConflict: CodeConflict, http.StatusRequestEntityTooLarge: CodeTooLarge,
	http.StatusUnprocessableEntity: CodeInvalid, http.StatusTooManyRequests: CodeRateLimited,
	http.StatusGatewayTimeout: CodeTimeout,
}

// fallbacks are for servers that say nothing that can be shown.
var fallbacks = map[Code]string{
	CodeBadRequest:   "the request was refused",
	CodePlugin:       "the uploaded source was refused",
	CodeInvalid:      "fields were refused",
	CodeUnauthorized: "the API key was refused",
	CodeForbidden:    "the API key may not do this",
	CodeNotFound:     "there is no such tool, or no catalog at the base URL",
	CodeConflict:     "the name is taken",
	CodeTooLarge:     "the request is larger than the server takes",
	CodeRateLimited:  "too many requests",
	CodeTimeout:      "the server did not finish in time",
	CodeServer:       "the server failed",
	CodeBadAnswer:    "the answer is not one of a catalog",
}

// refusal reads an answer that says no: any status but 2xx, or success: false, which is as good as 400. Codes come from
// the status alone, because the texts of servers differ. What such a body looks like is hardly documented, so it is
// searched for texts.
func (a *response) refusal() *failedAttempt {
	status := a.status
	if status >= 200 && status <= 299 {
		status = http.StatusBadRequest
	}
	code, known := statusCodes[status]
	switch {
	case known:
	case status >= 500:
		code = CodeServer
	case status == http.StatusBadRequest && a.request.plugin:
		code = CodePlugin
	case status >= 400:
		code = CodeBadRequest
	default:
		code = CodeBadAnswer
	}
	e := &Error{Code: code, Status: a.status, Tool: a.request.tool, RequestID: a.requestID()}
	e.RetryAfter, _ = httpcall.RetryAfter(a.header)
	said := &statement{response: a}
	said.read()
	e.Message, e.Problems = said.clean()
	if a.status >= 300 && a.status <= 399 {
		e.Message = "the server redirects, which is not followed because the API key would travel; correct the base URL"
	}
	if e.Message == "" {
		e.Message = fallbacks[code]
	}
	gateway := a.status == http.StatusBadGateway || a.status == http.StatusServiceUnavailable ||
		a.status == http.StatusGatewayTimeout
	return &failedAttempt{Error: e, unsure: gateway || a.status < 200, passing: gateway || code == CodeRateLimited}
}

// statement is what a server says about a refusal: texts, and problems with fields.
type statement struct {
	response *response
	parts    []string
	problems []Problem
	size     int // of the problems, in bytes
}

// clean is what has been read, without what was sent.
func (s *statement) clean() (string, []Problem) {
	lines := []string{strings.Join(s.parts, ": ")}
	for _, p := range s.problems {
		lines = append(lines, p.Pointer, p.Code, p.Message)
	}
	lines = s.response.request.hideSaid(lines...)
	for i := range s.problems {
		of := lines[1+3*i:]
		s.problems[i] = Problem{Pointer: of[0], Code: word(of[1]), Message: of[2]}
	}
	return clip.Text(lines[0], maxSaid), s.problems
}

// read looks at the whole body. HTML is for browsers, and text that only looks like JSON may hold anything.
func (s *statement) read() {
	if len(s.response.body) > maxRefusal {
		return
	}
	body := strings.TrimSpace(string(s.response.body))
	switch {
	case body == "" || body[0] == '<' || strings.Contains(s.response.header.Get("Content-Type"), "html"):
	case strings.IndexByte(`{["`, body[0]) < 0:
		s.part(body)
	default:
		strict := strictjson.Read(s.response.body, strictjson.Limits{Depth: answerLimits.Depth}, func(r *strictjson.Reader) error {
			_, err := r.Value()
			return err
		})
		if strict == nil {
			s.value(s.response.body, 0)
		}
	}
}

// sayingMembers are those that say what is wrong, the more general first: "detail" is FastAPI's, "error" that of the
// documented envelope, whose own members are not documented.
var sayingMembers = []string{"message", "msg", "error", "errors", "detail", "details", "problems", "reason"}

func (s *statement) value(v json.RawMessage, depth int) {
	if depth > maxNesting {
		return
	}
	var list []json.RawMessage
	switch v = trimJSON(v); v[0] {
	case '"':
		s.part(textOf(v))
	case '[':
		_ = json.Unmarshal(v, &list) // is a list
		for _, entry := range list[:min(len(list), maxProblems)] {
			if !s.problem(entry) {
				s.value(entry, depth+1)
			}
		}
	case '{':
		members := membersOf(v)
		for _, name := range sayingMembers {
			if m := members[name]; m != nil {
				s.value(m, depth+1)
			}
		}
	}
}

// problem takes an entry of a list as FastAPI makes them: {"loc": ["body", "name"], "msg": "…", "type": "…"}, or one with
// field, message and code. The members input and ctx, which repeat what was sent, are not looked at.
func (s *statement) problem(entry json.RawMessage) bool {
	members := membersOf(entry)
	message := textOf(members["msg"])
	if message == "" {
		message = textOf(members["message"])
	}
	pointer := textOf(members["field"])
	if pointer != "" && pointer[0] != '/' {
		pointer = rawjson.Token(pointer)
	}
	var steps []json.RawMessage
	if json.Unmarshal(members["loc"], &steps) == nil && len(steps) > 0 {
		pointer = ""
		for _, step := range steps[:min(len(steps), 2*maxNesting)] {
			if word := textOf(step); word != "" {
				pointer += rawjson.Token(word)
			} else if n, err := strconv.Atoi(string(step)); err == nil {
				pointer += rawjson.Token(strconv.Itoa(n))
			}
		}
	}
	if pointer == "" || message == "" {
		return false
	}
	rule := textOf(members["type"])
	if rule == "" {
		rule = textOf(members["code"])
	}
	hide := s.response.hideKey
	p := Problem{Pointer: clip.Text(hide(pointer), maxShown), Code: word(hide(rule)), Message: clip.Text(hide(message), maxSaid)}
	if s.size += len(p.Pointer) + len(p.Code) + len(p.Message); len(s.problems) < maxProblems && s.size <= maxAllSaid {
		s.problems = append(s.problems, p)
	}
	return true
}

// part keeps a text, unless it has been said.
func (s *statement) part(text string) {
	text = clip.Text(s.response.hideKey(text), maxRead)
	if text != "" && len(s.parts) < maxParts && !slices.Contains(s.parts, text) {
		s.parts = append(s.parts, text)
	}
}

// membersOf takes strict JSON apart; nil if it is no object.
func membersOf(v json.RawMessage) (members map[string]json.RawMessage) {
	_ = json.Unmarshal(v, &members)
	return members
}

// textOf is a string's content, and "" for anything else.
func textOf(v json.RawMessage) (text string) {
	_ = json.Unmarshal(v, &text)
	return text
}

func trimJSON(v json.RawMessage) json.RawMessage {
	return json.RawMessage(strings.TrimSpace(string(v)))
}

// requestID is the server's id of the request; the header is known by hint only.
func (a *response) requestID() string { return word(a.hideKey(a.header.Get("X-Request-Id"))) }

// word is a text that looks like an identifier; "" if it does not.
func word(text string) string {
	if len(text) > 128 || strings.ContainsFunc(text, func(r rune) bool {
		return !(r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || strings.ContainsRune("-_.:/+=", r))
	}) {
		return ""
	}
	return text
}
