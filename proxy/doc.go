// Package proxy calls an agent's tools through the evaluation platform's per-run proxy.
//
// A run gives the agent a proxy base URL and a run token. [New] makes a [Client] of them, and a tool call is one line:
//
//	order, err := proxy.Call[Order](ctx, client, "get_order", GetOrder{OrderID: "4521"})
//
// What goes over the wire is one POST per attempt to {base}/tools/{name} with the arguments object as body; what comes
// back is the member response of the proxy's envelope, never the envelope itself ("Porting without the SDK", step 2 and
// the proxy contract).
//
// # What the client takes care of
//
//   - Transient answers (429, and 503 of three classes) are repeated up to three times with jittered waits, and
//     Retry-After is honoured. Nothing is repeated that might have run the tool already, unless the tool is named in
//     [Options.Repeatable].
//   - All requests with one run token, repeats and trace events included, stay below 60 in any 60 seconds; see [Pacer].
//   - Requests and responses are at most 1 MiB, an attempt takes at most 120 seconds, and answers are decoded strictly.
//   - Once the proxy says that the run is over, every later call fails at once without a request.
//   - Redirects are never followed and cookies never kept, so the token reaches the proxy only.
//
// # Errors
//
// Every error is an [*Error] with a [Code]. [Error.Delivery] tells whether the tool may have run. An error's text names
// the tool and what to do; it never holds a token, an argument or a URL. A failure of the tool itself is not an error of
// [Client.Call] or [Client.Do]: it is data for the model. [ToolResult] turns an error into such data too.
package proxy
