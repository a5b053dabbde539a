// Package dispatch receives runs from the evaluation platform: [New] makes an http.Handler of an [Agent], to be mounted
// in any server.
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
// A request takes one way: method, authentication, size, ping, admission, envelope, agent, response ("Porting without
// the SDK", steps 3 to 5). What goes wrong on it is answered with
//
//	405  not a POST                                           {"error":"method_not_allowed", …}, Allow: POST
//	401  no token, a wrong one or more than one               nothing at all
//	413  body over [Options.MaxBodyBytes]                     {"error":"body_too_large", …}
//	400  the body breaks off or comes too slowly              {"error":"unreadable_body", …}
//	400  no JSON object, or an ambiguous one                  {"error":"invalid_json", …}
//	400  members that are missing or of no use                {"error":"invalid_envelope", …}
//	503  more than [Options.MaxRuns] at once, or draining     {"error":"busy", …}, Retry-After
//	500  the agent returned an error, or panicked             {"error":"agent_failed", …} or agent_panicked
//
// and a ping, the body {"ping":true}, with 200 {"ok":true} once it is authenticated. A run that takes too long is
// answered in time with 200 and last words, see [Options.RunTimeout]; 408 and 504 mean something else to the platform.
//
// # Rich answers
//
// A final response is enough. [Run.Record] begins a [Transcript] that collects tool calls and results by itself, for the
// platform's trace; [Options.RequireTranscript] completes answers for agents that are registered to need one;
// [CheckResponse] and [CheckMessages] say in tests what the platform would drop.
//
// # Code mode
//
// [Main] runs the same agent without a server, where the platform starts a program per run.
//
// # In front of the handler
//
// The handler does not look at its path, so any mux and prefix will do. Keep away from it whatever changes or consumes
// request bodies, decompressing middleware without a limit, and time-outs shorter than [Options.RunTimeout]: a
// http.TimeoutHandler answers 503 where the platform expects the run's answer, and a server's WriteTimeout cuts the
// connection. TLS, request logs and rate limits are the host's own; a log must not hold the headers Authorization and
// X-Pipelines-Run-Token.
package dispatch
