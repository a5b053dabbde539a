package registration

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/toolwire/toolwire/internal/clip"
	"github.com/toolwire/toolwire/ledger"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/schema"
)

// Validate reports everything for which the platform would reject the registration or could not use it, all of it at
// once, as an [*Error] with [CodeInvalid] that unwraps to the errors of packages schema and ledger. Options are those
// for the tools, except that the ledger schema is the registration's own; nil is fine. It does not resolve the
// endpoint's host, so a public name that leads to a private address is left to the platform.
func (r *Registration) Validate(o *schema.ValidateOptions) error { return r.validate(o, false) }

// validate lets an update do without the auth header's value, which the platform has.
func (r *Registration) validate(o *schema.ValidateOptions, update bool) error {
	var ps problems
	checkText(&ps, "/name", r.Name, MaxName)
	if strings.TrimSpace(r.Name) == "" {
		ps.add(CodeMissing, "/name", "is required")
	}
	checkText(&ps, "/description", r.Description, MaxDescription)
	if r.mode() != ExternalHTTP {
		ps.add(CodeMode, "/mode", "must be %s, or empty for it", ExternalHTTP)
	}
	checkEndpoint(&ps, r.EndpointURL)
	r.checkAuth(&ps, update)
	causes := r.checkTools(&ps, o)
	if r.RunTimeout != 0 && (r.RunTimeout < time.Second || r.RunTimeout > MaxRunTimeout || r.RunTimeout%time.Second != 0) {
		ps.add(CodeRunTimeout, "/run_timeout_s", "must be %s", runTimeoutRule)
	}
	r.checkTopology(&ps)
	ps = slices.DeleteFunc(ps, func(p Problem) bool {
		return replaced(p.Pointer, "", r.Extra) || replaced(p.Pointer, "/config", r.Config)
	})
	return invalid(append(ps, r.extraProblems()...), causes...)
}

const runTimeoutRule = "whole seconds from 1 to 1800; leave it out for the default of 300"

// replaced tells whether a pointer leads into a member that the caller has replaced.
func replaced(pointer, at string, extra []ledger.Member) bool {
	return slices.ContainsFunc(extra, func(m ledger.Member) bool {
		rest, ok := strings.CutPrefix(pointer, at+token(m.Name))
		return ok && (rest == "" || rest[0] == '/')
	})
}

func checkText(ps *problems, pointer, text string, most int) {
	if n := utf8.RuneCountInString(text); n > most {
		ps.add(CodeTooLong, pointer, "has %d characters; at most %d are allowed", n, most)
	}
	if !utf8.ValidString(text) {
		ps.add(CodeNotUTF8, pointer, "is not valid UTF-8")
	}
}

func (r *Registration) checkAuth(ps *problems, update bool) {
	value := r.AuthValue.reveal()
	switch {
	case r.AuthHeader == "" && value != "":
		ps.add(CodeMissing, "/auth_header_name", "is required with a value: typically Authorization or X-API-Key")
	case strings.ContainsFunc(r.AuthHeader, notTokenChar):
		ps.add(CodeAuthHeader, "/auth_header_name", "is not a header name; give the name without colon and value")
	}
	switch {
	case value == "" && r.AuthHeader != "" && !update:
		ps.add(CodeMissing, "/auth_header_value", "is required with a header name; is its environment variable set?")
	case strings.TrimSpace(value) != value:
		ps.add(CodeAuthValue, "/auth_header_value", "begins or ends with white space; is its environment variable set?")
	case strings.ContainsFunc(value, func(c rune) bool { return c != '\t' && (c < ' ' || c > '~') }):
		ps.add(CodeAuthValue, "/auth_header_value", "has a character that a header cannot carry; use visible ASCII")
	}
}

// notTokenChar is true for what RFC 9110 does not allow in a header name.
func notTokenChar(c rune) bool {
	return !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("!#$%&'*+-.^_`|~", c))
}

// checkTools passes on what packages schema and ledger find, and returns their errors unless the member is replaced.
func (r *Registration) checkTools(ps *problems, o *schema.ValidateOptions) (causes []error) {
	var opts schema.ValidateOptions
	if o != nil {
		opts = *o
	}
	opts.LedgerSchema = r.LedgerSchema
	err := schema.Validate(context.Background(), r.Tools, &opts)
	if e, ok := errors.AsType[*schema.Error](err); ok && !replaced("/tools_schema", "", r.Extra) {
		for _, p := range e.Problems {
			pointer := "/tools_schema"
			if p.Index >= 0 { // else it is about the list or the options
				pointer += fmt.Sprintf("/%d", p.Index)
			}
			pointer += p.Pointer
			*ps = append(*ps, Problem{Code: Code(p.Code), Tool: p.Tool, Pointer: pointer, Message: p.Message})
		}
		causes = append(causes, err)
	}
	err = r.LedgerSchema.Validate()
	if e, ok := errors.AsType[*ledger.Error](err); ok && !replaced("/ledger_schema", "", r.Extra) {
		for _, p := range e.Problems {
			*ps = append(*ps, Problem{Code: Code(p.Code), Pointer: "/ledger_schema" + p.Pointer, Message: p.Message})
		}
		causes = append(causes, err)
	}
	return causes
}

func (r *Registration) checkTopology(ps *problems) {
	actors := make(map[string]int, len(r.SubAgents))
	for i, s := range r.SubAgents {
		at := fmt.Sprintf("/config/sub_agents/%d/actor_id", i)
		if err := proxy.ValidActor(s.ActorID); err != nil {
			ps.add(CodeActor, at, "is no actor id: %v", err)
		}
		if first, ok := actors[s.ActorID]; ok {
			ps.add(CodeDuplicate, at, "is that of sub_agents[%d] already; actor ids must be unique", first)
			continue
		}
		actors[s.ActorID] = i
	}
	toolsReplaced := replaced("/tools_schema", "", r.Extra)
	for i, s := range r.SubAgents {
		for j, name := range s.Tools {
			if !toolsReplaced && !slices.ContainsFunc(r.Tools, func(t schema.Tool) bool { return t.Name == name }) {
				ps.add(CodeUndeclared, fmt.Sprintf("/config/sub_agents/%d/tools/%d", i, j), "%q is no tool of the agent", clip.Text(name, 80))
			}
		}
		for j, id := range s.TalksTo {
			if _, ok := actors[id]; !ok {
				ps.add(CodeUndeclared, fmt.Sprintf("/config/sub_agents/%d/talks_to/%d", i, j),
					"%q is no sub-agent; labels must match byte for byte", clip.Text(id, 80))
			}
		}
	}
	if entry := r.Entry; entry != "" {
		if _, ok := actors[entry]; !ok {
			ps.add(CodeUndeclared, "/config/topology/entry", "%q is no sub-agent; labels must match byte for byte", clip.Text(entry, 80))
		}
	}
}
