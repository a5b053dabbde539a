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
)

const (
	maxRefusal  = 1 << 20   // bytes of a body that is read
	maxSaid     = 1 << 10   // bytes of a message, for the whole or for one field
	maxRead     = 4 << 10   // bytes of one text that are read
	maxProblems = 100       // problems
	maxAllSaid  = 128 << 10 // bytes of all problems
	maxParts    = 8         // texts of one message
	maxNesting  = 4
)

var statusCodes = map[int]Code{
	http.StatusUnauthorized: CodeUnauthorized, http.StatusForbidden: CodeForbidden, http.StatusNotFound: CodeNotFound,
	http.StatusRequestTimeout: CodeTimeout, http.StatusConflict: CodeConflict,
	http.StatusRequestEntityTooLarge: CodeTooLarge, http.StatusUnprocessableEntity: CodeInvalid,
	http.StatusTooManyRequests: CodeRateLimited,
	http.StatusGatewayTimeout:  CodeTimeout,
}

// fallbacks are the messages for responses without a usable text.
var fallbacks = map[Code]string{
	CodeBadRequest:   "the server rejected the request",
	CodePlugin:       "the server rejected the uploaded source",
	CodeInvalid:      "the server rejected fields",
	CodeUnauthorized: "the server rejected the API key",
	CodeForbidden:    "the API key does not permit the operation",
	CodeNotFound:     "the tool does not exist, or the base URL is not that of a catalog",
	CodeConflict:     "the name is taken",
	CodeTooLarge:     "the request is larger than the server accepts",
	CodeRateLimited:  "too many requests",
	CodeTimeout:      "the server did not finish in time",
	CodeServer:       "the server failed",
	CodeBadAnswer:    "the response is not one that a catalog sends",
}

// refusal reads a failure: any status but 2xx, or success: false, which counts as 400. Only the
// status decides the code, because the texts of servers differ. The documents hardly define such
// bodies, so refusal searches the body for texts.
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
		e.Message = "the server redirects; the client does not follow, to protect the API key; correct the base URL"
	}
	if e.Message == "" {
		e.Message = fallbacks[code]
	}
	gateway := a.status == http.StatusBadGateway || a.status == http.StatusServiceUnavailable ||
		a.status == http.StatusGatewayTimeout
	return &failedAttempt{Error: e, unsure: !a.proves(status), passing: gateway || code == CodeRateLimited}
}

// proves reports whether a failure with this status proves that the server did nothing. The
// documented ones do, and those of a gate in front of the server. Any other may come from an
// intermediary that has passed the request on, or from a server that failed later.
func (a *response) proves(status int) bool {
	switch status {
	case http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusConflict,
		http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity, http.StatusTooManyRequests:
		return true
	case http.StatusInternalServerError: // documented for plugins that cannot be registered
		return a.request.plugin
	}
	return false
}

// statement is what a server reports about a failure: texts, and problems of fields.
type statement struct {
	response *response
	parts    []string
	problems []Problem
	size     int // of the problems, in bytes
}

// clean returns what was read, without what the client sent.
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

// read reads the whole body. It skips HTML, and text that is almost JSON, which may contain
// anything.
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
		strict := rawjson.Read(s.response.body, rawjson.Limits{Depth: answerLimits.Depth},
			func(r *rawjson.Reader) error {
				_, err := r.Value()
				return err
			})
		if strict == nil {
			s.value(s.response.body, 0)
		}
	}
}

// sayingMembers are the members with messages, the general ones first: "detail" is FastAPI's,
// "error" is that of the documented envelope, whose members are not documented.
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

// problem reads an entry of a list as FastAPI sends it, {"loc": ["body", "name"], "msg": "…",
// "type": "…"}, or one with field, message and code. It skips the members input and ctx, which
// repeat the request.
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
	p := Problem{Pointer: clip.Text(hide(pointer), maxShown), Code: word(hide(rule)),
		Message: clip.Text(hide(message), maxSaid)}
	if s.size += len(p.Pointer) + len(p.Code) + len(p.Message); len(s.problems) < maxProblems && s.size <= maxAllSaid {
		s.problems = append(s.problems, p)
	}
	return true
}

// part adds a text once.
func (s *statement) part(text string) {
	text = clip.Text(s.response.hideKey(text), maxRead)
	if text != "" && len(s.parts) < maxParts && !slices.Contains(s.parts, text) {
		s.parts = append(s.parts, text)
	}
}

// membersOf returns the members of a JSON object, or nil if v is not an object.
func membersOf(v json.RawMessage) (members map[string]json.RawMessage) {
	_ = json.Unmarshal(v, &members)
	return members
}

// textOf returns the content of a string, or "" for anything else.
func textOf(v json.RawMessage) (text string) {
	_ = json.Unmarshal(v, &text)
	return text
}

func trimJSON(v json.RawMessage) json.RawMessage {
	return json.RawMessage(strings.TrimSpace(string(v)))
}

// requestID returns the server's id of the request. The header is not documented.
func (a *response) requestID() string { return word(a.hideKey(a.header.Get("X-Request-Id"))) }

// word returns text if it looks like an identifier, otherwise "".
func word(text string) string {
	if len(text) > 128 || strings.ContainsFunc(text, func(r rune) bool {
		return !(r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || strings.ContainsRune("-_.:/+=", r))
	}) {
		return ""
	}
	return text
}
