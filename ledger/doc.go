// Package ledger computes what the platform would write into an agent's world state, and explains
// why something was not written.
//
//	rule, err := ledger.Compile(tool.LedgerAdapter)
//	outcome := rule.Eval(args, response)
//	fmt.Print(outcome.Explain())
//	applied := state.Apply(outcome.Updates...)
//
// A tool that is forwarded to a live system returns data that simulated tools do not see. An
// adapter turns its response into ledger updates. Adapters never fail a call: one that does not
// match writes nothing, without an error. Outcome.Explain reports why.
//
//   - [Adapter] and [Schema] are the declarations. Their Validate methods report all problems at
//     once.
//   - [Compile] makes a [Rule] of an adapter. [Rule.Eval] returns the [Outcome] of one call: the
//     updates, and a [Step] for every decision.
//   - [State] is a world state in memory. It validates and applies updates. [Diff] compares two
//     snapshots of it.
//
// Every error of this package is an [*Error]. [Problem] lists the codes of problems. Rules and
// states are safe for concurrent use.
//
// The rules are those of "Writing ledger updates from passthrough" in the Tools schema document,
// with the limits of its ledger schema. Paths have the unambiguous syntax of JSONPath (RFC 9535):
// $, .name, ["name"], ['name'], [n], .*, [*] and one ..name, at most 256 bytes. Filters, slices,
// several selectors in one bracket, negative indexes and expressions are rejected. A path may also
// begin with $args, the arguments of the call, and a bare name means $.name; later releases of the
// platform write both. Those releases also add members to adapters: effects, when, list_append and
// list_remove. They are kept but not evaluated. A rule that has one writes nothing and explains
// that.
package ledger
