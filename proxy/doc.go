// Package proxy calls an agent's tools through the evaluation platform's per-run [proxy].
//
// A [run] gives the agent a proxy base URL and a [run token]. [New] returns a [Client] for them.
// Package dispatch gives every run such a client.
//
//	client, err := proxy.New(baseURL, runToken, nil)
//	…
//	order, err := proxy.Call[Order](ctx, client, "get_order", GetOrder{OrderID: "4521"})
//	if proxy.IsRunOver(err) {
//		return nil, err // stop the agent
//	}
//
// An attempt is a POST to {base}/tools/{name} with the arguments object as body. A call returns the
// member response of the proxy's envelope, not the envelope itself ("[Porting without the SDK]",
// step 2 and the proxy contract).
//
// This package is stable, as the README explains.
//
// # What the client does
//
//   - It repeats a call up to three times after a transient answer (429, or 503 of three classes),
//     with jittered waits. It honours Retry-After. It does not repeat a call that may have run the
//     tool, unless [Options.Repeatable] names the tool.
//   - It sends at most 60 requests in any 60 seconds with one run token, including repeats and
//     [trace events]; see [Pacer].
//   - It bounds requests and results to 1 MiB, and an attempt to 120 seconds.
//   - Once the proxy has said that the run is over, later calls fail without a request.
//   - It does not follow redirects and keeps no cookies, so only the proxy receives the token.
//
// # Errors
//
// Every error is an [*Error] with a [toolwire.Code]. [Error.Delivery] tells whether the tool may have run.
// The text of an error names the tool and says what to do. It does not contain a token, an argument
// or a URL. A failure of the tool itself is an error of [Call]. [Client.Do] and
// [Client.CallForModel] return it as a result. [ToolResult] turns an error into data for a model.
//
// A [Client] and a [Pacer] are safe for concurrent use.
//
// # Codes of errors
//
//	invalid_options     an argument of [New] is not valid
//	invalid_tool_name   outside the documented pattern
//	unknown_tool        not in [Options.Tools]
//	actor_id_invalid    a sub-agent label that cannot be sent, found here or by the proxy
//	invalid_arguments   not a JSON object, or refused by [Options.CheckArguments] or with 422
//	request_too_large   over 1 MiB, or a 413 from the proxy
//	invalid_event       a trace event type that is not reserved, found here or by the proxy
//	canceled            the call's context was canceled; [Error] unwraps to its cause
//	deadline            the deadline passed, or a wait for pacing or a repeat would end after it
//	transport           no connection, or it broke
//	timeout             the attempt took longer than [Options.AttemptTimeout]
//	run_over            401: the run token is refused, stop the agent
//	not_found           404: the tool did not run
//	rate_limited        429 on every attempt
//	unavailable         503
//	refused             any other 4xx; see Delivery
//	server_error        any other 5xx
//	unexpected_status   1xx, 3xx, or a 2xx other than 200
//	response_too_large  the result has more than 1 MiB
//	bad_response        not the documented envelope
//	tool_failed         [Call] only: see Result
//	result_type         [Call] only: the result cannot be decoded into the Go type
//
// [run token]: https://github.com/toolwire/toolwire/blob/main/docs/glossary.md#run-token
// [run]: https://github.com/toolwire/toolwire/blob/main/docs/glossary.md#run
// [proxy]: https://github.com/toolwire/toolwire/blob/main/docs/glossary.md#proxy
// [Porting without the SDK]: https://github.com/toolwire/toolwire/blob/main/docs/glossary.md#the-five-documents
// [trace events]: https://github.com/toolwire/toolwire/blob/main/docs/glossary.md#trace-event
package proxy
