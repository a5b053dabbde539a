package registration

import (
	"bytes"
	"encoding/json"
	"slices"
	"time"

	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/ledger"
	"github.com/toolwire/toolwire/schema"
)

// UnmarshalJSON reads the JSON of [Registration.Body] and of MarshalJSON. A null counts as absent.
// Members of config that the fields cannot hold exactly are kept in Config, such as sub-agents with
// unknown members. Unknown members of the body are kept in Extra.
//
// The error is an [*Error] with [CodeInvalid]. It lists every member of the wrong JSON type, or
// says why the text is not strict JSON. r does not change then.
func (r *Registration) UnmarshalJSON(data []byte) error {
	all, err := objectMembers(bytes.Clone(data), rawjson.Strict)
	if err != nil {
		return invalid(problems{{Code: "not_json", Message: "is not one strict JSON object: " + err.Error()}}, err)
	}
	var ps problems
	read := func(name string, into any) {
		if v := all.take(name); len(v) > 0 && json.Unmarshal(v, into) != nil {
			ps.Add("wrong_type", "/"+name, "does not have the documented JSON type")
		}
	}
	var got Registration
	var tools, config json.RawMessage
	var seconds *int64
	read("name", &got.Name)
	read("description", &got.Description)
	read("mode", &got.Mode)
	read("endpoint_url", &got.EndpointURL)
	read("auth_header_name", &got.AuthHeader)
	read(authValueMember, &got.AuthValue)
	read("ledger_schema", &got.LedgerSchema)
	read("tools_schema", &tools)
	read("config", &config)
	var notList error
	got.Tools, _, notList = schema.Import(tools, schema.Platform)
	if len(tools) > 0 && tools[0] != 'n' && (notList != nil || tools[0] != '[') {
		ps.Add("wrong_type", "/tools_schema", "must be an array")
	}
	if v := all.take("run_timeout_s"); len(v) > 0 && (json.Unmarshal(v, &seconds) != nil ||
		seconds != nil && (*seconds < 1 || *seconds > int64(maxRunTimeout/time.Second))) {
		ps.Add("run_timeout_invalid", "/run_timeout_s", "must be %s", runTimeoutRule)
	}
	configs, err := objectMembers(config, rawjson.Strict)
	if err != nil && len(config) > 0 && config[0] != 'n' {
		ps.Add("wrong_type", "/config", "must be an object")
	}
	if err := invalid(ps); err != nil {
		return err
	}
	if seconds != nil {
		got.RunTimeout = time.Duration(*seconds) * time.Second
	}
	got.readConfig(configs)
	got.Extra = all
	*r = got
	return nil
}

// readConfig fills the fields that write the same JSON back, and keeps the other members in Config.
func (r *Registration) readConfig(config members) {
	var topology struct{ Entry string }
	_ = json.Unmarshal(config.first("sub_agents"), &r.SubAgents)
	_ = json.Unmarshal(config.first("topology"), &topology)
	r.Entry, r.RequireTranscript = topology.Entry, true
	same := func(name string) bool {
		var compact bytes.Buffer
		_ = json.Compact(&compact, config.first(name)) // valid or absent
		if compact.String() != string(r.config().first(name)) {
			return false
		}
		config.take(name)
		return true
	}
	if !same("sub_agents") {
		r.SubAgents = nil
	}
	if !same("topology") {
		r.Entry = ""
	}
	r.RequireTranscript = same("response_contract")
	r.Config = config
}

// take removes the members of a name and returns the value of the first.
func (ms *members) take(name string) json.RawMessage {
	v := ms.first(name)
	if *ms = slices.DeleteFunc(*ms, func(m ledger.Member) bool { return m.Name == name }); len(*ms) == 0 {
		*ms = nil
	}
	return v
}
