package registration

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/toolwire/toolwire/internal/clip"
	"github.com/toolwire/toolwire/internal/httpcall"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/strictjson"
	"github.com/toolwire/toolwire/schema"
)

const (
	maxText     = 1 << 10 // of one thing that the platform says
	maxProblems = 100
	maxNesting  = 16     // of what is looked for in a 422
	maxValues   = 10_000 // that are looked at in a 422
)

// answer is what the platform says to one request.
type answer struct {
	method   string
	tools    []schema.Tool // that were sent
	scrub    scrubber
	status   int
	header   http.Header
	problems []Problem
	values   int // that collect has looked at
}

// agent reads the answer to a registration that was taken.
func (a *answer) agent(body []byte) (*Agent, error) {
	if a.method == http.MethodPut && strings.TrimSpace(string(body)) == "" {
		return &Agent{}, nil
	}
	all, err := objectMembers(body, strictjson.Liberal, "id", "status")
	agent := &Agent{ID: text(all.first("id")), Status: text(all.first("status")), Raw: body}
	switch {
	case err != nil:
		return nil, a.bad("the answer is not one JSON object with one id and one status")
	case agent.ID == "" && a.method == http.MethodPost:
		return nil, a.bad("the answer has no id")
	}
	return agent, nil
}

func (a *answer) bad(why string) *Error {
	return &Error{Code: CodeBadResponse, Status: a.status, Err: errors.New(why), unsure: a.method == http.MethodPost}
}

var statusCodes = map[int]Code{
	http.StatusUnauthorized: CodeUnauthorized, http.StatusForbidden: CodeForbidden, http.StatusNotFound: CodeNotFound,
	http.StatusConflict: CodeConflict, http.StatusRequestEntityTooLarge: CodeTooLarge,
	http.StatusUnprocessableEntity: CodeRejected, http.StatusTooManyRequests: CodeRateLimited,
}

// refusal reads any other answer. The body may be no JSON; what can be had of it is taken.
func (a *answer) refusal(body []byte) *Error {
	e := &Error{Code: CodeRefused, Status: a.status}
	e.RetryAfter, _ = httpcall.RetryAfter(a.header)
	if code, ok := statusCodes[a.status]; ok {
		e.Code = code
	} else if a.status >= 500 {
		e.Code, e.unsure = CodeServer, a.method == http.MethodPost
	} else if a.status < 400 {
		e.Code, e.unsure = CodeStatus, a.status < 300 && a.method == http.MethodPost
	}
	top, err := objectMembers(body, strictjson.Liberal)
	if inner, err := objectMembers(top.first("detail", "error"), strictjson.Liberal); err == nil {
		top = slices.Concat(inner, top)
	}
	e.Class = a.identifier(top.first("error_class"))
	e.Detail = a.scrub.text(top.message())
	if err == nil && e.Code == CodeRejected {
		a.collect(body, Problem{Code: CodePlatform}, 0)
		e.Problems = a.problems
	}
	if e.Detail == "" && len(e.Problems) == 0 {
		e.Detail = a.scrub.text(string(body))
	}
	return e
}

// collect takes messages out of a body whose shape is documented nowhere: an entry per tool with a name or an index, a
// list of {"loc": [...], "msg": "..."}, or an object of messages by the name of a tool or of a member. Values of the
// registration that stand beside are passed over. No value is walked twice.
func (a *answer) collect(v json.RawMessage, p Problem, depth int) {
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
	all, _ := objectMembers(v, strictjson.Liberal)
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
		if slices.ContainsFunc(a.tools, func(t schema.Tool) bool { return t.Name == m.Name }) {
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

// locate says which tool and which part of it an entry is about.
func (a *answer) locate(all members, p Problem) Problem {
	if code := a.identifier(all.first("code", "type")); code != "" {
		p.Code = Code(code)
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
				p.Pointer += token(a.scrub.text(fmt.Sprint(step))) // scrubbed whole: token cuts and escapes
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

// identifier returns a string if it looks like a code and holds no secret, "" otherwise.
func (a *answer) identifier(v json.RawMessage) string {
	s := a.scrub.text(text(v))
	if len(s) > 64 || strings.Trim(s, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_.:") != "" {
		return ""
	}
	return s
}

// objectMembers takes an object apart. It fails for anything else and for what the mode does not accept.
func objectMembers(doc json.RawMessage, mode strictjson.Mode, known ...string) (all members, err error) {
	err = strictjson.Read(doc, strictjson.Limits{Mode: mode}, func(r *strictjson.Reader) error {
		return r.Object(known, func(name string) error {
			v, err := r.Value()
			all.raw(name, v)
			return err
		})
	})
	return all, err
}

// first is the value of the first of the names that there is.
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

// message is what an object says of itself.
func (ms members) message() string {
	for _, name := range []string{"message", "msg", "reason", "error", "detail"} {
		if s := text(ms.first(name)); s != "" {
			return s
		}
	}
	return ""
}

// text is a string's content, a number as it is written, and "" for anything else.
func text(v json.RawMessage) (s string) {
	if len(v) > 0 && v[0] >= '0' && v[0] <= '9' {
		return string(v)
	}
	_ = json.Unmarshal(v, &s) // of a document that was read strictly, or of a caller's member
	return s
}
