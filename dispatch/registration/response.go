package registration

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/toolwire/toolwire/internal/problem"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/restclient"
	"github.com/toolwire/toolwire/schema"
)

// readAgent reads a response with the status 2xx.
func readAgent(a *restclient.Response, method string) (*Agent, *restclient.Failure) {
	if method == http.MethodPut && strings.TrimSpace(string(a.Body)) == "" {
		return &Agent{}, nil
	}
	all, err := objectMembers(a.Body, rawjson.Liberal, "id", "status")
	agent := &Agent{ID: restclient.Scalar(all.first("id")), Status: restclient.Scalar(all.first("status")), Raw: a.Body}
	switch {
	case err != nil:
		return nil, a.Bad("the response is not one JSON object with one id and one status")
	case agent.ID == "" && method == http.MethodPost:
		return nil, a.Bad("the response has no id")
	}
	return agent, nil
}

// failed returns the error for a failure.
func failed(f *restclient.Failure, method string, tools []schema.Tool) *Error {
	e := &Error{
		Code: Code(f.Code), Status: f.Status, Class: f.Said.Class, Detail: f.Said.Message(), RetryAfter: f.RetryAfter,
		Err: f.Err, unsure: f.Unsure && method == http.MethodPost,
	}
	if e.Code == CodeRejected {
		for _, said := range f.Said.Statements {
			if !said.Summary {
				e.Problems = append(e.Problems, problemOf(said, tools))
			}
		}
	}
	if e.Detail == "" && len(e.Problems) == 0 {
		e.Detail = f.Text
	}
	return e
}

// problemOf returns a statement of the platform with the tool of its pointer.
func problemOf(said restclient.Statement, tools []schema.Tool) Problem {
	p := Problem{Code: said.Code, Tool: said.Tool, Pointer: said.Pointer, Message: said.Message}
	if rest, ok := strings.CutPrefix(p.Pointer, "/body"); ok && (rest == "" || rest[0] == '/') {
		p.Pointer = rest
	}
	if p.Code == "" {
		p.Code = "rejected_by_platform"
	}
	if rest, ok := strings.CutPrefix(p.Pointer, "/tools_schema/"); ok && p.Tool == "" {
		if i, _ := problem.Element("/" + rest); i >= 0 && i < len(tools) {
			p.Tool = tools[i].Name
		}
	}
	return p
}

const alphanumeric = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

// objectMembers returns the members of an object. It fails if doc is not an object that the mode
// accepts.
func objectMembers(doc json.RawMessage, mode rawjson.Mode, known ...string) (all members, err error) {
	err = rawjson.Read(doc, rawjson.Limits{Mode: mode}, func(r *rawjson.Reader) error {
		return r.Object(known, func(name string) error {
			v, err := r.Value()
			all.add(name, v)
			return err
		})
	})
	return all, err
}

// first returns the value of the first member of a name, or nil.
func (ms members) first(name string) json.RawMessage {
	for _, m := range ms {
		if m.Name == name {
			return m.Value
		}
	}
	return nil
}
