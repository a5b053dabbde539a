package registration

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/redact"
	"github.com/toolwire/toolwire/ledger"
	"github.com/toolwire/toolwire/schema"
)

// Limits of the platform.
const (
	maxName        = 255              // characters
	maxDescription = 5000             // characters
	maxRunTimeout  = 30 * time.Minute // run_timeout_s 1800
)

// A Registration is everything that the platform stores about an external HTTP agent.
//
// Its JSON is the request body without the value of the auth header, so it can be logged.
// [Registration.Body] includes the value. Reading JSON into a Registration is not supported.
//
// The body also has the member mode with the value external_http. Its name is inferred, the value is
// documented.
//
// Formatting a Registration replaces the value with "[redacted]". The fmt package does not call
// methods of unexported fields, so a struct with a Registration in an unexported field needs a
// Format method of its own.
type Registration struct {
	// Name is required. It has at most 255 characters. Wire: name, documented.
	Name string
	// Description has at most 5,000 characters. Wire: description, name inferred from the form.
	Description string
	// EndpointURL is the URL that runs are posted to. It is required. Its scheme is https and its
	// host is publicly reachable. Wire: endpoint_url, documented.
	EndpointURL string
	// AuthHeader is the name of the header that carries AuthValue, such as Authorization or
	// X-API-Key. If it is empty, the platform sends no such header. Wire: auth_header_name,
	// inferred from "Auth header name" in the form.
	AuthHeader string
	// AuthValue is the whole value of that header, including the scheme: "Bearer " and the token if
	// AuthHeader is Authorization. It is a secret. The platform does not return it. If it is empty,
	// [Client.Update] leaves it out, and the platform is expected to keep the stored value, which is
	// inferred. Wire: auth_header_value, inferred from "Auth header value" in the form.
	AuthValue string `json:"-"`
	// Tools are the agent's tools. If Tools is nil, the member is left out. Wire: tools_schema,
	// documented.
	//
	// The Import JSON dialog of the registration form accepts the JSON of Tools.
	Tools []schema.Tool
	// LedgerSchema declares the world state. If it is nil, the ledger is open and the member is
	// left out. Wire: ledger_schema, documented.
	LedgerSchema *ledger.Schema
	// RunTimeout is the time limit of a run, in whole seconds, at most 30 minutes. If it is 0, the
	// member is left out and the platform uses 300 seconds. Wire: run_timeout_s, documented.
	RunTimeout time.Duration

	// RequireTranscript is "Require a gradeable rich transcript" in the form. With it, a run fails
	// if it has no assistant message with text. Wire: response_contract
	// {"response_mode":"rich","strictness":"strict"}, documented; its place in config is inferred.
	RequireTranscript bool
	// SubAgents declares the sub-agents of a multi-agent system and what each of them may do. The
	// platform uses it for the trace and does not enforce it. Wire: config.sub_agents, documented.
	SubAgents []SubAgent
	// Entry is the actor id of the sub-agent that starts a run. Wire: config.topology.entry,
	// documented.
	Entry string

	// Config and Extra are more members of config and of the body. A member with the name of a
	// field above replaces that field. If its Value is empty, it removes the field. A replaced
	// field is not validated. Values are written unchanged. Only a value named auth_header_value is
	// treated as a secret.
	Config []ledger.Member
	Extra  []ledger.Member
}

// A SubAgent declares one sub-agent. A nil list is left out.
type SubAgent struct {
	// ActorID labels the calls of the sub-agent, such as "supervisor/refunds". The platform compares
	// it byte for byte, and does not document its pattern. It must not be empty, must not have
	// control characters and must not begin or end with a space.
	ActorID string   `json:"actor_id"`
	Tools   []string `json:"tools,omitzero"`    // names of the agent's tools
	TalksTo []string `json:"talks_to,omitzero"` // actor ids of other sub-agents
}

// Format implements [fmt.Formatter]. It prints "[redacted]" for the value of the auth header, including a
// value in Extra, and for what may be secret in EndpointURL.
func (r Registration) Format(f fmt.State, verb rune) {
	type plain Registration
	r.EndpointURL = redact.New(redact.URL(r.EndpointURL)...).Redact(r.EndpointURL)
	r.AuthValue = redact.Field(r.AuthValue)
	r.Extra = slices.Clone(r.Extra)
	for i, m := range r.Extra {
		if strings.EqualFold(m.Name, authValueMember) && len(m.Value) > 0 {
			r.Extra[i].Value = json.RawMessage(`"` + redact.Placeholder + `"`)
		}
	}
	redact.Format(f, verb, plain(r))
}

// secrets returns the texts that must not appear in an error if the platform repeats them.
func (r *Registration) secrets() []string {
	secrets := append(redact.URL(r.EndpointURL), r.AuthValue)
	for _, m := range r.Extra {
		if m.Name == authValueMember {
			secrets = append(secrets, rawjson.Scalar(m.Value))
		}
	}
	return secrets
}
