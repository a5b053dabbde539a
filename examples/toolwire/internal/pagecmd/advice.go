package pagecmd

// severity is the platform's word for who must act: danger at the agent, amber for settings that
// have drifted apart, warning for what may go well the next time.
type severity string

const (
	danger  severity = "danger"
	amber   severity = "amber"
	warning severity = "warning"
)

// Means says who must act.
func (s severity) Means() string {
	return map[severity]string{danger: "the agent, or its address, has to change", amber: "settings of the agent and of its " +
		"registration differ", warning: "the next run may go well"}[s]
}

// advice says what to do about an error class.
type advice struct {
	Severity severity
	Advice   string
}

// ofRun has the advice for each class of failed runs.
var ofRun = map[string]advice{
	"auth_failed": {danger,
		"Send the header and the value that the agent expects. A bearer token needs the word Bearer before it."},
	"agent_timeout": {warning,
		"Look at the last call in the timeline, raise the run timeout, or let the agent answer earlier with what it has."},
	"no_answer": {warning,
		"Return a final response with text. The platform grades the text that the handler sent in its place."},
	"agent_5xx": {danger,
		"Read the reason in the log of the agent. The platform keeps the first 500 characters of this answer."},
	"agent_4xx": {amber,
		"Check the URL and its path, that POST is allowed, and that no middleware reads the body before the agent."},
	"agent_bad_response": {warning,
		"The platform needs a 2xx with a JSON object and a final_response that is not empty. Redirects are not " +
			"followed. An HTML page is often a login page or a proxy in front of the agent."},
	"agent_unreachable": {danger,
		"Start the agent on this host and port. Inside a container, 127.0.0.1 is the container itself."},
	"response_contract_violation": {danger,
		"The registration demands a gradeable transcript. Send messages with at least one assistant message that has " +
			"text; see the contract report."},
}

// ofCall has the advice for requests that failed: by error class, by source of a result that reports a
// failure, and for refusals without a known class by status.
var ofCall = map[string]string{
	"lock_contention": "Transient: calls of one run contended for a lock. Repeat the call after a moment, as " +
		"proxy.Client does.",
	"context_store_unavailable": "Transient: repeat the call after a moment.",
	"trace_sequence_contended":  "Transient: repeat the event after a moment.",
	"rate_limited":              rateLimited,
	"run_token_expired":         runOver,
	"run_token_invalid": "The run token is not the one of the dispatch. Build the client of every run with " +
		"its own token.",
	"run_token_rejected": runOver,
	"invalid_arguments": "The arguments do not match the tool's input_schema. Leave optional members out " +
		"instead of sending null.",
	"tool_not_executable": "The tool is not declared in the world. Check its name, and that the tool list of " +
		"the registration is the agent's.",
	"actor_id_invalid": "The actor label is malformed: segments of letters, digits, _ - . : with / between.",
	"tool_executes_in_sandbox": "The tool is declared as executed: it runs where the agent runs, and is not " +
		"called through the proxy.",
	"trace_event_type_invalid": "Only the seven reserved event types are accepted.",

	"injected":        "A failure rule of the world answered instead of the tool. The agent is meant to cope with it.",
	"error":           "The simulator found no valid response. Check the tool's behavior and its output_schema.",
	"transport_error": "The live tool behind the platform could not be reached, or failed.",

	noAnswer: "No whole answer was sent: the connection broke, or the call was still under way when the run ended. " +
		"The tool may have run.",
	"status 404": "No such path or tool: the base URL is followed by /tools/{name} or /traces/{type}.",
	"status 413": "Bodies have at most 1 MiB.",
	"status 422": "The body is not a JSON object. Send {} if the tool takes no arguments.",
	"status 429": rateLimited,
}

const (
	noAnswer    = "no answer" // the class of a request without a whole answer
	rateLimited = "More than 60 requests in a minute with one run token. Pace the calls, retries included."
	runOver     = "The run is over. Stop the agent's loop; further calls are pointless."
	otherwise   = "The timeline has the reason. Clients do not repeat this request."
)
