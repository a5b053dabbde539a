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
// agent, response ("Porting without the SDK", steps 3 to 5). Failures are answered with
//
//	405  not a POST                                           {"error":"method_not_allowed", …}, Allow: POST
//	401  no token, a wrong one or more than one               nothing at all
//	413  body over [Options.MaxBodyBytes]                     {"error":"body_too_large", …}
//	400  the body breaks off or comes too slowly              {"error":"unreadable_body", …}
//	400  not a JSON object, or an ambiguous one               {"error":"invalid_json", …}
//	400  members that are missing or cannot be used           {"error":"invalid_envelope", …}
//	503  over [Options.MaxRuns] or MaxBytesInFlight, draining {"error":"busy", …}, Retry-After
//	500  the agent returned an error, or panicked             {"error":"agent_failed", …} or agent_panicked
//
// and a ping, the body {"ping":true}, with 200 {"ok":true} once it is authenticated. A run that
// takes too long is answered in time with 200 and the timeout response, see [Options.RunTimeout];
// 408 and 504 mean something else to the platform.
//
// The turns of a session are dispatches with the same run token. The handler keeps the pace and the
// end of a token across them: for an hour without a dispatch, and for at most 10,000 tokens that
// are not in use. It keeps keyed hashes of the tokens only.
//
// # Transcripts
//
// A final response is enough. The platform's trace also shows a transcript, [Response.Messages].
// The handler records the tool calls of every run from its start. [Run.Transcript] returns the
// recording and has it sent; [Options.SendTranscript] does so for every run; timeout and failure
// responses have it in any case. An agent gets the grouping and the ids of its model into the
// recording with [proxy.WithCallID], or by adding the model's messages.
//
// The platform drops all messages if one of them is malformed; [CheckMessages] and [CheckResponse]
// judge by its rules. The handler therefore repairs messages before it sends them, and removes what
// it cannot repair:
//
//	empty arguments                                           {}
//	arguments that are unfinished or otherwise not JSON       the JSON string of the text
//	arguments that are a list, a number, a boolean or null    the JSON string of the text
//	a tool call without an id                                 a made id
//	a tool message without tool_call_id                       the id of the first call that has no answer
//	content that is text, not JSON                            the JSON string of the text
//	content that is an object, a number or a boolean          the JSON string of the text
//	content that is a list of anything but parts              the JSON string of the text
//	a thinking block that is not JSON                         {"type":"text","text":"…"}
//	JSON that is nested more than 800 levels deep             the JSON string of the text, in thinking as above
//	bytes that are not UTF-8                                  U+FFFD
//	a tool call without a name                                removed, with its answer
//	tool calls of a message that is not the assistant's       removed, with their answers
//	a tool message that answers no call before it             removed
//	a message with a role that the platform does not know     removed, with the answers to its calls
//
// Each repair but the first is logged as a problem of the response contract, with the code
// messages_repaired or messages_removed; package dispatchtest shows these problems in its results.
//
// # Code mode
//
// [Main] runs the same agent without a server, where the platform starts a program per run.
//
// # In front of the handler
//
// The handler does not look at its path, so any mux and prefix will do. Keep away from it whatever
// changes or consumes request bodies, decompressing middleware without a limit, and time-outs
// shorter than [Options.RunTimeout]: a http.TimeoutHandler answers 503 where the platform expects
// the run's answer, and a server's WriteTimeout cuts the connection. TLS, request logs and rate
// limits are the host's own; a log must not hold the headers Authorization and
// X-Pipelines-Run-Token.
package dispatch
