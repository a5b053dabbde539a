// Package webhook serves Go functions as external tools. [New] returns an http.Handler that an agent
// platform calls when a model uses a tool, as the page [Bedrock tools] describes. [Detail] returns a
// handler for the detail_url of a tool.
//
//	h, err := webhook.New([]webhook.Tool{
//		webhook.Define("check_schedule", "Check availability on the calendar", checkSchedule),
//	}, &webhook.Options{Secrets: []string{os.Getenv("TOOL_CALL_SECRET")}})
//	mux.Handle("POST /tools/{tool}", h)
//
//	func checkSchedule(ctx context.Context, in Query) (Slots, error) { … }
//
// The handler checks the method, the secret and the agent's identity, and reads the body within
// limits. It validates the arguments against the schema of the tool and applies the defaults of the
// schema. It runs the function with a deadline and contains its panics. [New] lists the
// responses.
//
// [Errorf] makes an error whose text the agent may read. Handlers are safe for concurrent use, and call the functions
// concurrently.
//
// This package is settling, as the README explains.
//
// # Registration
//
// The JSON of a [Tool] is the definition that the platform registers:
//
//	tool.URL, tool.DetailURL = "https://api.example.com/tools/check_schedule", "https://api.example.com/detail"
//	definitions, err := json.MarshalIndent(tools, "", "  ")
//
// # Requests
//
// Bedrock tools documents that a call is a POST with the headers X-Agent-Secret and
// X-Agent-Identity (the UUID of the agent). The body contains the tool definition, the context of
// the agent, and the arguments. The names of its members are not documented, so the handler accepts
// several:
//
//   - The arguments are the first member of [Options.ArgumentKeys] that is not null. The handler
//     looks for it in the body, then in the member tool, function or tool_call, then in the
//     function in that member. The value is an object or a string that contains an object. If the
//     only such member is null, or a string that is blank or "null", the arguments are {}.
//   - The tool is the wildcard {tool} in the pattern of the handler. Without the wildcard it is the
//     member tool_name, then tool, function or tool_call (a string, or an object with a name), then
//     name. If both the path and the body name a tool, they must agree. The member name is ignored
//     then, because it may be the name of the agent. A body without a name calls the only tool.
//   - The function finds everything else in [Call].Body.
//
// # Reasoning
//
// Platforms add a parameter named reasoning to every tool, for tracing. The handler removes it from
// the arguments before it validates them, so schemas with "additionalProperties": false work.
// [Call].Reasoning and [Options.OnCall] receive it. If the schema of a tool declares reasoning, it
// stays an argument. Reasoning that is not a string does not fail a call.
//
// # Secrets
//
// The secret is the same for all calls and is sent in clear text, so use TLS. To rotate it without
// failing calls, accept the old and the new secret, change the secret at the platform, and remove
// the old one. The platform keeps the results of tools and shows them to models, so results must
// not contain secrets.
//
// The standalone harness of the same platform calls tools in another way; see
// [Options.StandaloneHarness].
//
// # Codes of errors
//
// Errors are [*toolwire.Error]s. An error of a call is sent as {"error": Code, "message": Message}, with at
// most 2 KiB of Message. The agent reads Message. Err stays in the process and is logged. If a function
// returns an error of [Errorf], alone or wrapped, Message is its text. The text of any other error may
// contain anything, so Message is then "", and the agent reads only that the tool failed.
//
//	invalid_options    a tool or an option for [New] is not valid
//	invalid_arguments  200: they do not match the schema or the Go type of the tool
//	tool_failed        200: the tool returned an error
//	timeout            200: the tool exceeded [Options.Timeout]
//	busy               503: too many tools run; the tool did not run
//	client_gone        the caller closed the connection, so the response is lost
//	internal           500: a panic, or a result that cannot be JSON
//
// Callers also see unauthorized, method_not_allowed, request_too_large, unknown_tool, unreadable_body,
// invalid_json, invalid_envelope and invalid_identity.
//
// # Codes of problems
//
// Problems lists the mistakes of invalid_options: first of the options, then of the tools in order. Pointer
// begins with the place of the tool in the list, such as /0/parameters, and is "" for an option. A code is
// one of package schema, or invalid_option, tools_missing, func_missing or url_invalid.
//
// [Bedrock tools]: https://github.com/toolwire/toolwire/blob/main/docs/glossary.md#the-five-documents
package webhook
