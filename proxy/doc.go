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
// Every error is an [*Error] with a [Code]. [Error.Delivery] tells whether the tool may have run.
// The text of an error names the tool and says what to do. It does not contain a token, an argument
// or a URL. A failure of the tool itself is an error of [Call]. [Client.Do] and
// [Client.CallForModel] return it as a result. [ToolResult] turns an error into data for a model.
//
// A [Client] and a [Pacer] are safe for concurrent use.
//
// [run token]: https://github.com/toolwire/toolwire/blob/main/docs/glossary.md#run-token
// [run]: https://github.com/toolwire/toolwire/blob/main/docs/glossary.md#run
// [proxy]: https://github.com/toolwire/toolwire/blob/main/docs/glossary.md#proxy
// [Porting without the SDK]: https://github.com/toolwire/toolwire/blob/main/docs/glossary.md#the-five-documents
// [trace events]: https://github.com/toolwire/toolwire/blob/main/docs/glossary.md#trace-event
package proxy
