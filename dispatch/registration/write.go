package registration

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/text"
	"github.com/toolwire/toolwire/ledger"
	"github.com/toolwire/toolwire/schema"
)

// The members of the body and of its config that have fields.
var (
	rootMembers = []string{"name", "description", "mode", "endpoint_url", "auth_header_name", authValueMember,
		"tools_schema", "ledger_schema", "run_timeout_s", "config"}
	configMembers = []string{"sub_agents", "topology", "response_contract"}
)

const authValueMember = "auth_header_value"

// Body returns the request body of POST /api/agents and PUT /api/agents/{id}. It contains the value
// of the auth header, so do not log it. Body does not validate. It returns a [*toolwire.Error] with
// invalid_registration if a part of r cannot be written as JSON.
func (r *Registration) Body() ([]byte, error) { return r.write(true) }

// MarshalJSON returns the JSON of [Registration.Body] without the value of the auth header.
func (r Registration) MarshalJSON() ([]byte, error) { return r.write(false) }

// toolsJSON returns the tools as a list.
func (r *Registration) toolsJSON() ([]byte, error) {
	doc, _, err := schema.Export(r.Tools, schema.Platform)
	if err != nil {
		return nil, unwritable("/tools_schema", err)
	}
	return bytes.TrimSuffix(bytes.TrimPrefix(doc, []byte(`{"tools_schema":`)), []byte("}")), nil
}

func (r *Registration) write(withSecret bool) ([]byte, error) {
	if ps := r.extraProblems(); ps.Len() > 0 {
		return nil, invalid(ps)
	}
	var root members
	root.addString("name", r.Name)
	root.addString("description", r.Description)
	root.addString("mode", "external_http")
	root.addString("endpoint_url", r.EndpointURL)
	root.addString("auth_header_name", r.AuthHeader)
	root.addString(authValueMember, r.AuthValue)
	if r.Tools != nil {
		list, err := r.toolsJSON()
		if err != nil {
			return nil, err
		}
		root.add("tools_schema", list)
	}
	if r.LedgerSchema != nil {
		doc, err := r.LedgerSchema.MarshalJSON()
		if err != nil {
			return nil, unwritable("/ledger_schema", err)
		}
		root.add("ledger_schema", doc)
	}
	if r.RunTimeout != 0 {
		root.add("run_timeout_s", strconv.AppendInt(nil, int64(r.RunTimeout/time.Second), 10))
	}
	if config := r.config().object(r.Config); len(config) > len("{}") {
		root.add("config", config)
	}
	extra := r.Extra
	if !withSecret {
		extra = append(slices.Clone(extra), ledger.Member{Name: authValueMember})
	}
	return root.object(extra), nil
}

func (r *Registration) config() (config members) {
	if r.SubAgents != nil {
		agents, _ := json.Marshal(r.SubAgents) // strings cannot fail
		config.add("sub_agents", agents)
	}
	if r.Entry != "" {
		config.add("topology", members{{Name: "entry", Value: rawjson.Quote(r.Entry)}}.object(nil))
	}
	if r.RequireTranscript {
		config.add("response_contract", json.RawMessage(`{"response_mode":"rich","strictness":"strict"}`))
	}
	return config
}

type members []ledger.Member

func (ms *members) add(name string, value json.RawMessage) {
	*ms = append(*ms, ledger.Member{Name: name, Value: value})
}

func (ms *members) addString(name, value string) {
	if value != "" {
		ms.add(name, rawjson.Quote(value))
	}
}

// object writes members, then extra. A member of extra replaces the member of its name, or removes
// it if its value is empty.
func (ms members) object(extra []ledger.Member) json.RawMessage {
	all, index := slices.Clone(ms), make(map[string]int, len(ms)+len(extra))
	for i, m := range all {
		index[m.Name] = i
	}
	for _, m := range extra {
		if i, ok := index[m.Name]; ok {
			all[i] = m
		} else {
			index[m.Name] = len(all)
			all = append(all, m)
		}
	}
	var o rawjson.Object
	for _, m := range all {
		o.Put(m.Name, m.Value)
	}
	return o.Bytes()
}

// extraProblems returns the members of Extra and Config that cannot be written.
func (r *Registration) extraProblems() (ps problems) {
	addExtra(&ps, "", r.Extra, rootMembers)
	addExtra(&ps, "/config", r.Config, configMembers)
	return ps
}

func addExtra(ps *problems, at string, extra []ledger.Member, known []string) {
	seen := make(map[string]bool, len(extra))
	for _, m := range extra {
		pointer := at + token(m.Name)
		if seen[m.Name] {
			ps.Add("duplicate", pointer, "is given twice; remove one")
		}
		seen[m.Name] = true
		if !utf8.ValidString(m.Name) {
			ps.Add("not_json", at+token(strings.ToValidUTF8(m.Name, "\uFFFD")), "has a name that is not valid UTF-8")
		}
		for _, k := range known {
			if m.Name != k && strings.EqualFold(m.Name, k) {
				ps.Add("wrong_case", pointer, "differs from a known name in case; write %q", k)
			}
		}
		if len(m.Value) > 0 && !strict(m.Value) {
			ps.Add("not_json", pointer, "is not one strict JSON value")
		}
	}
}

// strict reports whether v is one strict JSON value.
func strict(v json.RawMessage) bool {
	return rawjson.Check(v, rawjson.Limits{}) == nil
}

func unwritable(pointer string, err error) error {
	message := "cannot be written as JSON: " + err.Error()
	var ps problems
	ps.Add("not_json", pointer, "%s", message)
	return invalid(ps, err)
}

// token returns "/" and name as a token of a JSON Pointer, cut to 80 bytes.
func token(name string) string { return rawjson.Token(text.Cut(name, 80)) }
