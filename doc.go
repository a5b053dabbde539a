// Package toolwire is the overview of a library for people who write agents in Go and have them
// evaluated by a platform that dispatches runs over HTTP and simulates or forwards the agent's tool
// calls. It has no code; these packages do:
//
//   - [github.com/toolwire/toolwire/dispatch] receives runs. Open this one first: an agent is a function, and New makes
//     an http.Handler of it.
//   - [github.com/toolwire/toolwire/proxy] calls tools through the per-run proxy. The handler gives every run a client.
//   - [github.com/toolwire/toolwire/dispatch/llm] connects agents that use the SDK of a model's provider.
//   - [github.com/toolwire/toolwire/schema] declares tools, checks declarations and arguments, and converts tool lists.
//   - [github.com/toolwire/toolwire/ledger] turns responses into world-state updates and explains them.
//   - [github.com/toolwire/toolwire/manifest] loads tools.json and runs the programs in it.
//   - [github.com/toolwire/toolwire/dispatch/webhook] and [github.com/toolwire/toolwire/manifest/toolbox] host and call
//     tools behind webhooks; [github.com/toolwire/toolwire/dispatch/registration] registers an agent.
//   - [github.com/toolwire/toolwire/manifest/catalog] keeps tool records: their rules, a client and a server.
//   - [github.com/toolwire/toolwire/dispatch/dispatchtest] and [github.com/toolwire/toolwire/proxy/proxytest] are the
//     platform's two sides, in process, for tests and for runs without the platform;
//     [github.com/toolwire/toolwire/dispatch/llm/llmtest] is a scripted model;
//     [github.com/toolwire/toolwire/dispatch/doctor] examines an endpoint;
//     [github.com/toolwire/toolwire/dispatch/eval] runs datasets;
//     [github.com/toolwire/toolwire/proxy/cassette] records real runs and replays them.
//
// The program in examples/quickstart shows a whole run, with -model that of an agent with a scripted
// model. examples/doctor checks an endpoint, examples/runset runs a dataset, and
// examples/localplatform serves a page that shows runs.
//
// Start with docs/getting-started.md, or with docs/llm-agents.md if you have a loop around a model.
// docs/glossary.md explains the platform's words, and docs/design.md has the reasons behind the
// design.
package toolwire
