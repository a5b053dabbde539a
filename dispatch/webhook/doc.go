// Package webhook hosts external tools: [New] makes an http.Handler that an agent platform calls when a model uses a
// tool, as the page Bedrock tools describes it, and [Detail] one for a tool's detail_url.
//
//	h, err := webhook.New([]webhook.Tool{
//		webhook.Define("check_schedule", "Check availability on the calendar", checkSchedule),
//	}, &webhook.Options{Secrets: []string{os.Getenv("TOOL_CALL_SECRET")}})
//	mux.Handle("POST /tools/{tool}", h)
//
//	func checkSchedule(ctx context.Context, in Query) (Slots, error) { … }
//
// # What is documented, and what is decided here
//
// Bedrock tools says that a call is a POST with the headers X-Agent-Secret and X-Agent-Identity (the agent's UUID), whose
// body has the tool definition, context of the agent, and the arguments; and that the JSON answer is what the agent sees.
// It does not name the members of the body, so they are looked for by several names:
//
//   - The arguments are the first of [Options.ArgumentKeys] that is there and not null: in the body itself, or else in its
//     member tool, function or tool_call, or the function in that. They are an object, or a string that holds one; null
//     alone stands for {}.
//   - The tool is named by the wildcard {tool} of the pattern that the handler is mounted under; otherwise by tool_name,
//     or tool, function or tool_call, being a string or an object with a name; or by name. When both the path and
//     the body name a tool they must agree, except that a bare name, which may be the agent's, gives way to the path. A
//     body that names none calls the only tool there is.
//   - Everything else is left to the handler function, as [Call].Body.
//
// What a request comes to:
//
//	405  not a POST                                             {"error":"method_not_allowed", …}, Allow: POST
//	401  no secret, a wrong one or more than one                nothing at all
//	400  no X-Agent-Identity, or no UUID                        {"error":"invalid_identity", …}
//	413  body over [Options.MaxBodyBytes]                       {"error":"body_too_large", …}
//	400  body broken off, too slow, not a JSON object, ambiguous   {"error":"invalid_json", …}
//	400  no arguments, or none that could be an object          {"error":"invalid_envelope", …}
//	404  a tool that is not served here                         {"error":"unknown_tool", …}
//	200  arguments that do not match the tool's schema          {"error":"invalid_arguments", "message":"…"}
//	200  the tool failed                                        {"error":"tool_failed", "message":"…"}
//	200  the tool took longer than [Options.Timeout]            {"error":"timeout", "message":"…"}
//	500  the tool panicked, or its result cannot be JSON        {"error":"internal", …}
//	200  the tool's result                                      the result
//
// The platform does not document what it makes of other statuses than 2xx; so what the agent is to read and act on is
// answered with 200, and only what somebody else must repair is not.
//
// # Reasoning
//
// Platforms add a parameter reasoning to every tool, for tracing. It is taken out of the arguments before they are
// validated and decoded, so that a schema with "additionalProperties": false works, and handed to [Options.OnCall] and
// [Call].Reasoning. A tool whose own schema has such a property keeps it as an argument like any other. Reasoning of
// another type than string never fails a call.
//
// # Secrets
//
// The secret is sent in clear and the same for all calls, so serve over TLS. To rotate one without losing a call, accept
// the old and the new secret, change the platform's, then drop the old one. Whatever a tool answers is kept by the
// platform and read by models: it must hold no secret. [Error] says which texts reach the agent.
//
// The standalone harness of the same platform calls tools in another way. Serve it with
//
//	webhook.Options{SecretHeader: "Authorization", IdentityFromBody: true, Answer: webhook.TextImages}
package webhook
