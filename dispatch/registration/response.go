package registration

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/toolwire/toolwire/internal/clip"
	"github.com/toolwire/toolwire/internal/httpcall"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/redact"
	"github.com/toolwire/toolwire/schema"
)

const (
	maxText     = 1 << 10 // bytes of one text from the platform
	maxProblems = 100
	maxNesting  = 16     // levels of a 422 that are examined
	maxValues   = 10_000 // values of a 422 that are examined
)

// response is the platform's response to one request.
type response struct {
	method   string
	tools    []schema.Tool   // of the request
	names    map[string]bool // of tools; set by refusal
	scrub    scrubber
	status   int
	header   http.Header
	problems []Problem
	values   int // that collect has examined
}

// agent reads a 2xx.
func (a *response) agent(body []byte) (*Agent, error) {
	if a.method == http.MethodPut && strings.TrimSpace(string(body)) == "" {
		return &Agent{}, nil
	}
	all, err := objectMembers(body, rawjson.Liberal, "id", "status")
	agent := &Agent{ID: text(all.first("id")), Status: text(all.first("status")), Raw: body}
	switch {
	case err != nil:
		return nil, a.bad("the response is not one JSON object with one id and one status")
	case agent.ID == "" && a.method == http.MethodPost:
		return nil, a.bad("the response has no id")
	}
	return agent, nil
}

func (a *response) bad(why string) *Error {
	return &Error{Code: CodeBadResponse, Status: a.status, Err: errors.New(why), unsure: a.method == http.MethodPost}
}

// statusCodes are the refusals for which the platform's SDK has typed errors, and 413.
var statusCodes = map[int]Code{
	http.StatusUnauthorized: CodeUnauthorized, http.StatusForbidden: CodeForbidden, http.StatusNotFound: CodeNotFound,
	http.StatusConflict: CodeConflict, http.StatusRequestEntityTooLarge: CodeTooLarge,
	http.StatusUnprocessableEntity: CodeRejected, http.StatusTooManyRequests: CodeRateLimited,
}

// refusal reads any other response. The body does not have to be JSON. Only the statuses of
// statusCodes prove that no agent was registered. An intermediary can send any other after it has
// passed the request on.
func (a *response) refusal(body []byte) *Error {
	e := &Error{Code: CodeRefused, Status: a.status}
	e.RetryAfter, _ = httpcall.RetryAfter(a.header)
	code, documented := statusCodes[a.status]
	switch {
	case documented:
		e.Code = code
	case a.status >= 500:
		e.Code = CodeServer
	case a.status < 400:
		e.Code = CodeStatus
	}
	e.unsure = !documented && a.method == http.MethodPost
	top, err := objectMembers(body, rawjson.Liberal)
	if inner, err := objectMembers(top.first("detail", "error"), rawjson.Liberal); err == nil {
		top = slices.Concat(inner, top)
	}
	e.Class = a.code(top.first("error_class"))
	e.Detail = a.scrub.text(top.message())
	if err == nil && e.Code == CodeRejected {
		a.names = toolNames(a.tools)
		a.collect(body, Problem{Code: "rejected_by_platform"}, 0)
		e.Problems = a.problems
	}
	if e.Detail == "" && len(e.Problems) == 0 {
		e.Detail = a.scrub.text(string(body))
	}
	return e
}

// collect finds the problems in a body. Its shape is not documented, so collect accepts an entry
// per tool with a name or an index, a list of {"loc": [...], "msg": "..."}, and an object of
// messages by the name of a tool or member. It ignores values of the registration beside them. It
// examines no value twice.
func (a *response) collect(v json.RawMessage, p Problem, depth int) {
	if depth > maxNesting || len(a.problems) >= maxProblems || a.values >= maxValues {
		return
	}
	a.values++
	if len(v) > 0 && v[0] == '"' {
		p.Message = a.scrub.text(text(v))
		a.problems = append(a.problems, p)
		return
	}
	var list []json.RawMessage
	if json.Unmarshal(v, &list) == nil {
		for _, element := range list {
			a.collect(element, p, depth+1)
		}
	}
	all, _ := objectMembers(v, rawjson.Liberal)
	before, entry := len(a.problems), a.locate(all, p)
	for _, name := range []string{"detail", "error", "errors", "tools", "problems"} {
		if nested := all.first(name); len(nested) > 0 && (nested[0] == '{' || nested[0] == '[') {
			all.take(name)
			a.collect(nested, entry, depth+1)
		}
	}
	said := all.message()
	for _, m := range all {
		q := p
		if a.names[m.Name] {
			q.Tool = m.Name
		} else if q.Pointer += token(m.Name); said != "" || !slices.Contains(rootMembers, m.Name) {
			continue
		}
		a.collect(m.Value, q, depth+1)
	}
	if said != "" && len(a.problems) == before {
		a.collect(rawjson.Quote(said), entry, depth+1)
	}
}

// locate returns p with the code, tool and pointer of an entry.
func (a *response) locate(all members, p Problem) Problem {
	if code := a.code(all.first("code", "type")); code != "" {
		p.Code = code
	}
	if s := text(all.first("tool", "tool_name", "name")); s != "" {
		p.Tool = clip.Text(a.scrub.text(s), 128)
	}
	var loc []any
	if i := text(all.first("index")); i != "" {
		p.Pointer = "/tools_schema/" + i
	}
	if json.Unmarshal(all.first("loc"), &loc) == nil && len(loc) > 0 {
		p.Pointer = ""
		for i, step := range loc[:min(len(loc), maxNesting)] {
			if i > 0 || step != "body" {
				p.Pointer += token(a.scrub.text(fmt.Sprint(step))) // scrub first, because token cuts and escapes
			}
		}
	}
	p.Pointer = a.scrub.text(p.Pointer + text(all.first("pointer")))
	if rest, ok := strings.CutPrefix(p.Pointer, "/tools_schema/"); ok && p.Tool == "" {
		digits, _, _ := strings.Cut(rest, "/")
		if i, err := strconv.ParseUint(digits, 10, 31); err == nil && int(i) < len(a.tools) {
			p.Tool = a.tools[i].Name
		}
	}
	return p
}

const alphanumeric = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

// code returns a string that looks like a code, without secrets, or "".
func (a *response) code(v json.RawMessage) string { return clip.Code(a.scrub.text(text(v))) }

// objectMembers returns the members of an object. It fails if doc is not an object that the mode
// accepts.
func objectMembers(doc json.RawMessage, mode rawjson.Mode, known ...string) (all members, err error) {
	err = rawjson.Read(doc, rawjson.Limits{Mode: mode}, func(r *rawjson.Reader) error {
		return r.Object(known, func(name string) error {
			v, err := r.Value()
			all.raw(name, v)
			return err
		})
	})
	return all, err
}

// first returns the value of the first name that is present.
func (ms members) first(names ...string) json.RawMessage {
	for _, name := range names {
		for _, m := range ms {
			if m.Name == name {
				return m.Value
			}
		}
	}
	return nil
}

// message returns the message of an object.
func (ms members) message() string {
	for _, name := range []string{"message", "msg", "reason", "error", "detail"} {
		if s := text(ms.first(name)); s != "" {
			return s
		}
	}
	return ""
}

// text returns the content of a string, the digits of a number, and "" for anything else.
func text(v json.RawMessage) (s string) {
	if len(v) > 0 && v[0] >= '0' && v[0] <= '9' {
		return string(v)
	}
	_ = json.Unmarshal(v, &s) // leaves s empty if v is not a string
	return s
}

// scrubber removes secrets from the platform's texts.
type scrubber struct{ secrets *redact.Set }

// text returns s without secrets and control characters, as valid UTF-8 of at most maxText bytes.
// strings.Map replaces bytes that are not valid UTF-8.
func (c scrubber) text(s string) string {
	return clip.Text(strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, c.secrets.Text(s))), maxText)
}
