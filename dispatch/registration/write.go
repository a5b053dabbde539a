package registration

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/toolwire/toolwire/internal/clip"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/strictjson"
	"github.com/toolwire/toolwire/ledger"
	"github.com/toolwire/toolwire/schema"
)

// The members that have fields, of the body and of its config.
var (
	rootMembers = []string{"name", "description", "mode", "endpoint_url", "auth_header_name", authValueMember,
		"tools_schema", "ledger_schema", "run_timeout_s", "config"}
	configMembers = []string{"sub_agents", "topology", "response_contract"}
)

const authValueMember = "auth_header_value"

// Body writes the body of POST /api/agents and PUT /api/agents/{id}, the auth header's value included: do not log it.
// It does not validate, but what cannot be written as JSON is an [*Error] with [CodeInvalid].
func (r *Registration) Body() ([]byte, error) { return r.write(true) }

// MarshalJSON writes what [Registration.Body] does, without the auth header's value.
func (r Registration) MarshalJSON() ([]byte, error) { return r.write(false) }

// ToolsJSON writes the tools as the list that the registration form's Import JSON dialog takes ("Porting without the
// SDK", step 1); no tools are an empty list. The error is an [*Error] with [CodeInvalid].
func (r *Registration) ToolsJSON() ([]byte, error) {
	doc, _, err := schema.Export(r.Tools, schema.Platform)
	if err != nil {
		return nil, unwritable("/tools_schema", err)
	}
	return bytes.TrimSuffix(bytes.TrimPrefix(doc, []byte(`{"tools_schema":`)), []byte("}")), nil
}

func (r *Registration) write(withSecret bool) ([]byte, error) {
	if ps := r.extraProblems(); len(ps) > 0 {
		return nil, invalid(ps)
	}
	var root members
	root.text("name", r.Name)
	root.text("description", r.Description)
	root.text("mode", r.mode())
	root.text("endpoint_url", r.EndpointURL)
	root.text("auth_header_name", r.AuthHeader)
	root.text(authValueMember, r.AuthValue.reveal())
	if r.Tools != nil {
		list, err := r.ToolsJSON()
		if err != nil {
			return nil, err
		}
		root.raw("tools_schema", list)
	}
	if r.LedgerSchema != nil {
		doc, err := r.LedgerSchema.MarshalJSON()
		if err != nil {
			return nil, unwritable("/ledger_schema", err)
		}
		root.raw("ledger_schema", doc)
	}
	if r.RunTimeout != 0 {
		root.raw("run_timeout_s", strconv.AppendInt(nil, int64(r.RunTimeout/time.Second), 10))
	}
	if config := r.config().object(r.Config); len(config) > len("{}") {
		root.raw("config", config)
	}
	extra := r.Extra
	if !withSecret {
		extra = append(slices.Clone(extra), ledger.Member{Name: authValueMember})
	}
	return root.object(extra), nil
}

func (r *Registration) mode() string {
	if r.Mode == "" {
		return ExternalHTTP
	}
	return r.Mode
}

func (r *Registration) config() (config members) {
	if r.SubAgents != nil {
		agents, _ := json.Marshal(r.SubAgents) // strings: cannot fail
		config.raw("sub_agents", agents)
	}
	if r.Entry != "" {
		config.raw("topology", members{{Name: "entry", Value: rawjson.Quote(r.Entry)}}.object(nil))
	}
	if r.RequireTranscript {
		config.raw("response_contract", json.RawMessage(`{"response_mode":"rich","strictness":"strict"}`))
	}
	return config
}

type members []ledger.Member

func (ms *members) raw(name string, value json.RawMessage) {
	*ms = append(*ms, ledger.Member{Name: name, Value: value})
}

func (ms *members) text(name, value string) {
	if value != "" {
		ms.raw(name, rawjson.Quote(value))
	}
}

// object writes the members, each replaced or left out as the last of its name in extra says, then the rest of extra.
func (ms members) object(extra []ledger.Member) json.RawMessage {
	all := slices.Clone(ms)
	for _, m := range extra {
		if i := slices.IndexFunc(all, func(k ledger.Member) bool { return k.Name == m.Name }); i >= 0 {
			all[i] = m
		} else {
			all = append(all, m)
		}
	}
	var o rawjson.Object
	for _, m := range all {
		o.Put(m.Name, m.Value)
	}
	return o.Bytes()
}

// extraProblems makes sure that what a caller put into raw members can be written.
func (r *Registration) extraProblems() (ps problems) {
	ps.extra("", r.Extra, rootMembers)
	ps.extra("/config", r.Config, configMembers)
	return ps
}

func (ps *problems) extra(at string, extra []ledger.Member, known []string) {
	for i, m := range extra {
		pointer := at + token(m.Name)
		if slices.ContainsFunc(extra[:i], func(e ledger.Member) bool { return e.Name == m.Name }) {
			ps.add(CodeDuplicate, pointer, "is given twice; keep one")
		}
		if !utf8.ValidString(m.Name) {
			ps.add(CodeNotJSON, at+token(strings.ToValidUTF8(m.Name, "\uFFFD")), "has a name that is no UTF-8, so it cannot be written")
		}
		for _, k := range known {
			if m.Name != k && strings.EqualFold(m.Name, k) {
				ps.add(CodeWrongCase, pointer, "is not a known member; names are case-sensitive, write %q", k)
			}
		}
		if len(m.Value) > 0 && strictjson.Read(m.Value, strictjson.Limits{}, func(*strictjson.Reader) error { return nil }) != nil {
			ps.add(CodeNotJSON, pointer, "is not one strict JSON value, so it cannot be written")
		}
	}
}

func unwritable(pointer string, err error) error {
	return invalid(problems{{Code: CodeNotJSON, Pointer: pointer, Message: "cannot be written as JSON: " + err.Error()}}, err)
}

// token is "/" and name as a token of a JSON Pointer.
func token(name string) string { return rawjson.Token(clip.Text(name, 80)) }
