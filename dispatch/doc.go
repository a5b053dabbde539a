// Package dispatch serves an agent over HTTP: [New] makes an http.Handler of an [Agent], and the
// handler receives the [runs] of the evaluation platform.
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
// A request passes these stages in order: method, authentication, size, [ping], admission,
// envelope, run, agent, response ("[Porting without the SDK]", steps 3 to 5). [Handler] lists the
// responses to failures.
//
// The response to an authenticated ping, the body {"ping":true}, is 200 {"ok":true}. A run that
// takes too long gets 200 and the timeout response, because 408 and 504 mean something else to the
// platform. See [Options.RunTimeout].
//
// The turns of a [session] are [dispatches] with the same [run token]. The handler remembers the
// pace of a token, and whether the token has ended, from one turn to the next. It forgets a token
// after one hour without a dispatch, and keeps at most 10,000 tokens that are not in use. It stores
// keyed hashes of the tokens only.
//
// This package is stable, as the README explains.
//
// # Transcripts
//
// Only the final response is required. The platform's trace also shows a [transcript],
// [Response.Messages]. The handler records the tool calls of every run. The recording is sent if
// the agent calls [Run.Transcript], or for every run with [Options.SendTranscript]. Timeout and
// failure responses always contain it. The recording uses the model's ids and grouping if the agent
// calls with [proxy.WithCallID] and [proxy.Each], adds the model's messages, or uses the transport
// of package llm.
//
// The platform drops all messages if one of them is malformed. [CheckMessages] and [CheckResponse]
// apply its rules, and [ResponseSchema] expresses them as a JSON Schema. The handler therefore
// repairs messages before it sends them, and removes messages that it cannot repair:
//
//	arguments that are blank or null                          {}
//	arguments that are unfinished or otherwise not JSON       the JSON string of the text
//	arguments that are a list, a number or a boolean          the JSON string of the text
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
// A response contains at most 1,000 messages and 1 MiB of them as JSON, recorded or the agent's
// own. The handler removes messages at the end, but keeps a final text of the assistant. Of a final
// message of more than 512 KiB it sends the first 64 KiB of the text, without the thinking.
//
// Each repair but the first, and each removal, is logged as a problem of the [response contract], with
// the code messages_repaired or messages_removed. Package dispatchtest shows these problems in its
// results.
//
// # Code mode
//
// In [code mode] the platform starts a program for each run, instead of sending a request. [Main]
// runs the same agent there.
//
// # Concurrency
//
// A [Handler] is safe for concurrent use. It calls the agent concurrently for runs that overlap.
//
// # Codes of errors
//
// Errors are [*toolwire.Error]s. The platform receives {"error": Code, "message": Message} with at most 400
// bytes of Message; Err is not sent. Messages name members, never their values. An agent may return a
// toolwire.Error of its own, without Package: the platform then receives its Code and Message, so they must
// not contain a secret. Of any other error the platform receives agent_failed.
//
//	invalid_options     an argument of [New] is not valid
//	method_not_allowed  405
//	unauthorized        401
//	request_too_large   413
//	unreadable_body     400: the body is incomplete or arrives too slowly
//	invalid_json        400: not one JSON object with unambiguous members
//	invalid_envelope    400: a member is missing, of the wrong kind or not allowed
//	busy                503: over [Options.MaxRuns] or MaxBytesInFlight, or draining
//	agent_failed        500: the agent returned an error
//	agent_panicked      500
//	client_gone         the platform closed the connection before the 500 was sent
//	deadline            500: the context of the request ended before [Options.RunTimeout]
//	unwritable          [Main] cannot write the response
//	invalid_input       [Run.DecodeInput]: 500 if an agent returns it
//
// # In front of the handler
//
// The handler ignores the path of a request, so any mux and prefix can be used. Middleware must not
// change or consume request bodies, decompress them without a limit, or time out before
// [Options.RunTimeout]. An http.TimeoutHandler responds with 503 where the platform expects the
// response of the run, and a server's WriteTimeout closes the connection. For a response of more
// than 2 KiB the handler replaces WriteTimeout: the platform has ten seconds for each 64 KiB. The
// handler does not provide TLS, request logs or rate limits. A log must not contain the headers Authorization and
// X-Pipelines-Run-Token.
//
// [runs]: https://github.com/toolwire/toolwire/blob/main/docs/glossary.md#run
// [Porting without the SDK]: https://github.com/toolwire/toolwire/blob/main/docs/glossary.md#the-five-documents
// [ping]: https://github.com/toolwire/toolwire/blob/main/docs/glossary.md#ping
// [session]: https://github.com/toolwire/toolwire/blob/main/docs/glossary.md#session
// [dispatches]: https://github.com/toolwire/toolwire/blob/main/docs/glossary.md#dispatch
// [run token]: https://github.com/toolwire/toolwire/blob/main/docs/glossary.md#run-token
// [transcript]: https://github.com/toolwire/toolwire/blob/main/docs/glossary.md#transcript
// [response contract]: https://github.com/toolwire/toolwire/blob/main/docs/glossary.md#response-contract
// [code mode]: https://github.com/toolwire/toolwire/blob/main/docs/glossary.md#code-mode
package dispatch
