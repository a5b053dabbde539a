package registration

import (
	"time"

	"github.com/toolwire/toolwire/ledger"
	"github.com/toolwire/toolwire/schema"
)

// ExternalHTTP is the mode of agents that the platform reaches by HTTP.
const ExternalHTTP = "external_http"

// Limits of the platform.
const (
	MaxName        = 255              // characters
	MaxDescription = 5000             // characters
	MaxRunTimeout  = 30 * time.Minute // run_timeout_s 1800
)

// A Registration is everything that the platform is told about an external HTTP agent. It is plain data: what is wrong
// with it is for [Registration.Validate] to say. It may be used by several goroutines as long as nobody changes it.
//
// Its JSON is the body for the platform without the auth header's value, so that it may be logged and kept;
// [Registration.Body] has the value too.
type Registration struct {
	// Name is required, at most 255 characters. Wire: name, documented.
	Name string
	// Description is optional, at most 5,000 characters. Wire: description, name inferred from the form.
	Description string
	// Mode is external_http, which "" means too and which is always written. Wire: mode, name inferred, value documented.
	Mode string
	// EndpointURL is where runs are posted to: required, https, on a host that is reachable publicly. Wire:
	// endpoint_url, documented.
	EndpointURL string
	// AuthHeader names the header that carries AuthValue, typically Authorization or X-API-Key; "" sends none. Wire:
	// auth_header_name, inferred from the form's "Auth header name".
	AuthHeader string
	// AuthValue is the whole value of that header, "Bearer " included where it is needed. The platform never gives it
	// back; [Client.Update] without it is taken to keep the stored one, which is inferred. Wire: auth_header_value,
	// inferred from the form's "Auth header value".
	AuthValue Secret
	// Tools are the agent's tools; nil leaves the member out. Wire: tools_schema, documented.
	Tools []schema.Tool
	// LedgerSchema declares the world state; nil is an open ledger and leaves the member out. Wire: ledger_schema,
	// documented.
	LedgerSchema *ledger.Schema
	// RunTimeout is how long a run may take: whole seconds, at most 30 minutes; 0 is the platform's default of 300
	// seconds and leaves the member out. Wire: run_timeout_s, documented.
	RunTimeout time.Duration

	// RequireTranscript is the form's "Require a gradeable rich transcript": a run without an assistant message that has
	// text fails. Wire: response_contract {"response_mode":"rich","strictness":"strict"}, names and values documented,
	// its place in config inferred.
	RequireTranscript bool
	// SubAgents declares the sub-agents of a multi-agent system: what may happen, not what must. It informs the trace and
	// never stops a run. Wire: config.sub_agents, documented.
	SubAgents []SubAgent
	// Entry is the actor id of the sub-agent that a run begins with. Wire: config.topology.entry, documented.
	Entry string

	// Config are further members of config, Extra of the body. One with the name of a member above replaces it, and
	// leaves it out if its Value is empty; a replaced member is not validated. Values are written as they are: a secret
	// in one is not protected. Members read that have no field are kept here, in order.
	Config []ledger.Member
	Extra  []ledger.Member
}

// A SubAgent declares one sub-agent. A nil list is left out.
type SubAgent struct {
	ActorID string   `json:"actor_id"`          // the label of its calls, byte for byte; proxy.ValidActor judges it
	Tools   []string `json:"tools,omitzero"`    // names of the agent's tools
	TalksTo []string `json:"talks_to,omitzero"` // actor ids of other sub-agents
}
