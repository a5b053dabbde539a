// Package toolwire documents a library that connects agents written in Go to Pipelines, a platform
// that evaluates agents. The package exports nothing: import the packages below.
//
// The platform dispatches [tasks] to an agent over HTTP. It simulates or forwards the tool calls of
// each [run]. In tests the library stands in for the platform.
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
//     a server. [github.com/toolwire/toolwire/manifest/catalog/catalogtest] tests a store of them.
//     [github.com/toolwire/toolwire/manifest/catalog/sqlitestore] and
//     [github.com/toolwire/toolwire/manifest/catalog/postgresstore] are stores, in modules of their
//     own.
//   - [github.com/toolwire/toolwire/proxy/mcpbridge] connects runs with MCP, in a module of its
//     own.
//
// # Observability
//
//   - [github.com/toolwire/toolwire/dispatch/oteltoolwire] reports runs to OpenTelemetry, in a
//     module of its own. docs/deployment.md also describes logs and observers.
//
// # Stability
//
// Versions follow Semantic Versioning. All modules of the repository share one version. A patch
// release changes no exported name. CHANGELOG.md lists every change of an exported name.
//
// These packages are stable. Before an exported name is removed or changes its meaning, a minor
// release marks it as deprecated and names what replaces it, except where keeping it would be a
// security fault.
//
//   - [github.com/toolwire/toolwire/dispatch]
//   - [github.com/toolwire/toolwire/dispatch/dispatchtest]
//   - [github.com/toolwire/toolwire/manifest/webhook]
//   - [github.com/toolwire/toolwire/ledger]
//   - [github.com/toolwire/toolwire/manifest]
//   - [github.com/toolwire/toolwire/manifest/catalog]
//   - [github.com/toolwire/toolwire/manifest/catalog/catalogtest]
//   - [github.com/toolwire/toolwire/manifest/catalog/sqlitestore]
//   - [github.com/toolwire/toolwire/manifest/toolbox]
//   - [github.com/toolwire/toolwire/proxy]
//   - [github.com/toolwire/toolwire/proxy/proxytest]
//   - [github.com/toolwire/toolwire/schema]
//
// These packages are experimental. A minor release may change any of their names, and the files
// that they write. These packages follow formats that others define and change often, or their API
// is new.
//
//   - [github.com/toolwire/toolwire/dispatch/doctor]
//   - [github.com/toolwire/toolwire/dispatch/eval]
//   - [github.com/toolwire/toolwire/dispatch/llm]
//   - [github.com/toolwire/toolwire/dispatch/llm/llmtest]
//   - [github.com/toolwire/toolwire/dispatch/oteltoolwire]
//   - [github.com/toolwire/toolwire/dispatch/registration]
//   - [github.com/toolwire/toolwire/manifest/catalog/postgresstore]
//   - [github.com/toolwire/toolwire/dispatch/cassette]
//   - [github.com/toolwire/toolwire/proxy/mcpbridge]
//
// Neither promise covers texts of errors, log records and reports, the programs in examples, and
// packages below internal. A stable package imports no experimental one.
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
// dataset, new writes an agent with its tests, and page serves a page that shows runs.
//
// [tasks]: https://github.com/toolwire/toolwire/blob/main/docs/glossary.md#task
// [run]: https://github.com/toolwire/toolwire/blob/main/docs/glossary.md#run
package toolwire
