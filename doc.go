// Package toolwire is the vocabulary of failures of this module, which connects agents written in Go
// to Pipelines, a platform that evaluates agents. The packages below do the work; most programs begin
// with [github.com/toolwire/toolwire/dispatch].
//
// One failure has one [Code] in all packages. A program branches on it, whichever package the error
// is of:
//
//	result, err := client.Create(ctx, agent)
//	switch toolwire.CodeOf(err) {
//	case "":
//		// err is nil, or not an error of this module
//	case toolwire.CodeRunOver, toolwire.CodeCanceled, toolwire.CodeDeadline:
//		return err // stop the agent
//	case toolwire.CodeRejected, toolwire.CodeInvalidArguments:
//		// tell the author, or the model, what to correct
//	case toolwire.CodeRateLimited, toolwire.CodeUnavailable:
//		// try again later
//	}
//	if e, ok := errors.AsType[*toolwire.Error](err); ok {
//		for _, p := range e.Problems {
//			log.Print(p) // tool, place, what to do
//		}
//	}
//
// Packages schema, ledger, dispatch, llm, registration, webhook, catalog and proxytest return an
// [*Error]. Packages proxy, manifest, toolbox, cassette and eval have an error type of their own with
// more fields. An error wraps its cause, so errors.Is finds context.Canceled and the cause of a context.
// No text of an error contains a secret, an argument of a call or a result. The page
// docs/troubleshooting.md lists all codes with what to do.
//
// # What an agent's author needs first
//
//   - [github.com/toolwire/toolwire/dispatch] serves the agent. An agent is a function, and New
//     makes an http.Handler of it.
//   - [github.com/toolwire/toolwire/proxy] calls tools through the proxy of a run. The handler
//     gives every run a client.
//   - [github.com/toolwire/toolwire/schema] declares tools, checks declarations and arguments, and
//     converts tool lists.
//   - [github.com/toolwire/toolwire/dispatch/llm] reads the transcript from the traffic of a
//     model's SDK.
//   - [github.com/toolwire/toolwire/dispatch/dispatchtest] tests the agent, with the platform in
//     process.
//
// # Tests
//
//   - [github.com/toolwire/toolwire/proxy/proxytest] stands in for the proxy and the tools behind
//     it.
//   - [github.com/toolwire/toolwire/dispatch/llm/llmtest] stands in for the model.
//   - [github.com/toolwire/toolwire/dispatch/eval] runs datasets of tasks, and compares the
//     results.
//   - [github.com/toolwire/toolwire/dispatch/doctor] examines an endpoint in any language.
//   - [github.com/toolwire/toolwire/dispatch/cassette] records real runs and replays them.
//
// # The platform's declarations
//
//   - [github.com/toolwire/toolwire/dispatch/registration] describes and registers an agent.
//   - [github.com/toolwire/toolwire/ledger] turns responses into updates of the world state, and
//     explains them.
//
// # Tools of other sources
//
//   - [github.com/toolwire/toolwire/manifest] runs the programs in a tools.json as tools.
//   - [github.com/toolwire/toolwire/manifest/toolbox] runs in-process and webhook tools for an
//     agent.
//   - [github.com/toolwire/toolwire/manifest/webhook] serves tools that are called by webhook.
//   - [github.com/toolwire/toolwire/manifest/catalog] keeps tool records: their rules, a client and
//     a server, with stores in modules of their own.
//   - [github.com/toolwire/toolwire/proxy/mcpbridge] connects runs with MCP, in a module of its
//     own. [ToolCaller] is what all of them and the client of a run have in common.
//
// # Observability
//
//   - [github.com/toolwire/toolwire/dispatch/oteltoolwire] reports runs to OpenTelemetry, in a
//     module of its own. docs/deployment.md also describes logs and observers.
//
// # Stability
//
// This package is stable, as the README explains.
//
// # Systems
//
// The tests run on Linux. They have never run on macOS, Windows or FreeBSD. For these systems the
// code and the tests are built, or only vetted. Two things depend on the system. Packages manifest
// and dispatchtest start programs. Files with recordings, results and audit records have the mode
// 0600, which Windows ignores.
//
// # Pages and programs
//
// Start with docs/getting-started.md. docs/models.md continues with agents that use a model.
// docs/glossary.md explains the platform's words. docs/design.md names the function that decides
// each rule, and gives the reasons for the design.
//
// The program in examples/quickstart shows a whole run. With -model, the agent uses a scripted
// model. The program in examples/toolwire has commands: doctor checks an endpoint, eval runs a
// dataset, new writes an agent with its tests, page serves a page that shows runs, and show opens
// recordings.
package toolwire
