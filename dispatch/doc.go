// Package dispatch receives runs from the evaluation platform: [New] makes an http.Handler of an
// [Agent], to be mounted in any server.
//
//	h, err := dispatch.New(agent, &dispatch.Options{Tokens: []string{os.Getenv("AGENT_TOKEN")}})
//	mux.Handle("POST /dispatch", h)
//
//	func agent(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
//		order, err := proxy.Call[Order](ctx, run.Proxy, "get_order", GetOrder{OrderID: "4521"})
//		…
//		return &dispatch.Response{FinalResponse: "The refund has been issued."}, nil
//	}
//
// A request passes these stages in order: method, authentication, size, ping, admission, envelope,
// agent, response ("Porting without the SDK", steps 3 to 5). The responses to failures are:
//
//	405  not a POST                                           {"error":"method_not_allowed", …}, Allow: POST
//	401  no token, a wrong one or more than one               an empty body
//	413  body over [Options.MaxBodyBytes]                     {"error":"body_too_large", …}
//	400  the body is incomplete or arrives too slowly         {"error":"unreadable_body", …}
//	400  not a JSON object, or an ambiguous one               {"error":"invalid_json", …}
//	400  members that are missing or cannot be used           {"error":"invalid_envelope", …}
//	503  over [Options.MaxRuns] or MaxBytesInFlight, draining {"error":"busy", …}, Retry-After
//	500  the agent returned an error, or panicked             {"error":"agent_failed", …} or agent_panicked
//
// The response to an authenticated ping, the body {"ping":true}, is 200 {"ok":true}. A run that
// takes too long gets 200 and the timeout response, see [Options.RunTimeout]. The platform gives
// 408 and 504 another meaning.
//
// The turns of a session are dispatches with the same run token. The handler keeps the pace and the
// end of a token across them. It does so for one hour without a dispatch, and for at most 10,000
// tokens that are not in use. It stores keyed hashes of the tokens only.
//
// # Transcripts
//
// Only the final response is required. The platform's trace also shows a transcript,
// [Response.Messages]. The handler records the tool calls of every run. The recording is sent if
// the agent calls [Run.Transcript], or for every run with [Options.SendTranscript]. Timeout and
// failure responses always have it. The recording has the ids and the grouping of the model if the
// agent calls with [proxy.WithCallID] and [proxy.Each], adds the model's messages, or uses the
// transport of package llm.
//
// The platform drops all messages if one of them is malformed. [CheckMessages] and [CheckResponse]
// apply its rules, which [ResponseSchema] has as a JSON Schema. The handler therefore repairs messages before it sends them, and removes
// messages that it cannot repair:
//
//	empty arguments                                           {}
//	arguments that are unfinished or otherwise not JSON       the JSON string of the text
//	arguments that are a list, a number, a boolean or null    the JSON string of the text
//	a tool call without an id                                 a new id
//	a tool message without tool_call_id                       the id of the first call without a result
//	content that is text, not JSON                            the JSON string of the text
//	content that is an object, a number or a boolean          the JSON string of the text
//	content that is a list of anything but parts              the JSON string of the text
//	a thinking block that is not JSON                         {"type":"text","text":"…"}
//	JSON that is nested more than 800 levels deep             the JSON string of the text, in thinking as above
//	bytes that are not UTF-8                                  U+FFFD
//	a tool call without a name                                removed, with its result
//	tool calls of a message that is not the assistant's       removed, with their results
//	a tool message that does not match an earlier call        removed
//	a message with an unknown role                            removed, with the results of its calls
//
// Each repair but the first is logged as a problem of the response contract, with the code
// messages_repaired or messages_removed; package dispatchtest shows these problems in its results.
//
// # Code mode
//
// [Main] runs the same agent without a server: the platform starts a program for each run.
//
// # In front of the handler
//
// The handler ignores the path of a request, so any mux and prefix can be used. Middleware must not
// change or consume request bodies, decompress them without a limit, or time out before
// [Options.RunTimeout]. An http.TimeoutHandler responds with 503 where the platform expects the
// response of the run, and a server's WriteTimeout closes the connection. The handler does not
// provide TLS, request logs or rate limits. A log must not contain the headers Authorization and
// X-Pipelines-Run-Token.
package dispatch
