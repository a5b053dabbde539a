package registration

import (
	"bytes"
	"encoding/json"
	"slices"
	"time"

	"github.com/toolwire/toolwire/internal/strictjson"
	"github.com/toolwire/toolwire/ledger"
	"github.com/toolwire/toolwire/schema"
)

// UnmarshalJSON reads what [Registration.Body] writes, for registrations kept in a file. The error is an [*Error] with
// [CodeInvalid] that says why the text is not strict JSON, or lists every member of the wrong JSON type; a member with a
// field that is null counts as absent. Members that fields cannot hold exactly, such as a response contract with other
// values or sub-agents with further members, are kept in Config, others that are not known in Extra.
func (r *Registration) UnmarshalJSON(data []byte) error {
	all, err := objectMembers(bytes.Clone(data), strictjson.Strict)
	if err != nil {
		return invalid(problems{{Code: CodeNotJSON, Message: "is not one strict JSON object: " + err.Error()}}, err)
	}
	var ps problems
	read := func(name string, into any) {
		if v := all.take(name); len(v) > 0 && json.Unmarshal(v, into) != nil {
			ps.add(CodeWrongType, "/"+name, "has another JSON type than documented")
		}
	}
	var got Registration
	var secret string
	var tools, config json.RawMessage
	var seconds *int64
	read("name", &got.Name)
	read("description", &got.Description)
	read("mode", &got.Mode)
	read("endpoint_url", &got.EndpointURL)
	read("auth_header_name", &got.AuthHeader)
	read(authValueMember, &secret)
	read("ledger_schema", &got.LedgerSchema)
	read("tools_schema", &tools)
	read("config", &config)
	if got.Tools, _, err = schema.Import(tools, schema.Platform); len(tools) > 0 && tools[0] != 'n' && (err != nil || tools[0] != '[') {
		ps.add(CodeWrongType, "/tools_schema", "must be a list")
	}
	if v := all.take("run_timeout_s"); len(v) > 0 && (json.Unmarshal(v, &seconds) != nil ||
		seconds != nil && (*seconds < 1 || *seconds > int64(MaxRunTimeout/time.Second))) {
		ps.add(CodeRunTimeout, "/run_timeout_s", "must be %s", runTimeoutRule)
	}
	configs, err := objectMembers(config, strictjson.Strict)
	if err != nil && len(config) > 0 && config[0] != 'n' {
		ps.add(CodeWrongType, "/config", "must be an object")
	}
	if err := invalid(ps); err != nil {
		return err
	}
	if seconds != nil {
		got.RunTimeout = time.Duration(*seconds) * time.Second
	}
	got.AuthValue = NewSecret(secret)
	got.readConfig(configs)
	got.Extra = all
	*r = got
	return nil
}

// readConfig takes into fields what they write back as it was, and leaves the rest in Config.
func (r *Registration) readConfig(config members) {
	var topology struct{ Entry string }
	_ = json.Unmarshal(config.first("sub_agents"), &r.SubAgents)
	_ = json.Unmarshal(config.first("topology"), &topology)
	r.Entry, r.RequireTranscript = topology.Entry, true
	same := func(name string) bool {
		var compact bytes.Buffer
		_ = json.Compact(&compact, config.first(name)) // valid, or there is none
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

// take removes a member and returns its value.
func (ms *members) take(name string) json.RawMessage {
	v := ms.first(name)
	if *ms = slices.DeleteFunc(*ms, func(m ledger.Member) bool { return m.Name == name }); len(*ms) == 0 {
		*ms = nil
	}
	return v
}
