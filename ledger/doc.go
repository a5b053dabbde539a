// Package ledger shows on a laptop what the platform would write into an agent's world state, and why something was
// not written.
//
// A tool that is forwarded to a live system returns data that simulated tools do not see, unless the tool declares an
// adapter: a rule, without code, that turns its response into ledger updates. Adapters never fail a call; one that does
// not fit writes nothing, silently. This package makes the silence speak:
//
//   - [Adapter] and [Schema] are the declarations. Their Validate methods report every mistake at once, as typed
//     problems with a code, a JSON Pointer and a sentence.
//   - [Compile] makes a [Rule] of an adapter, and [Rule.Eval] an [Outcome] of one call: the updates, and for every
//     decision a step in words and as a code. [Outcome.Explain] prints them.
//   - [State] is a world state in memory that takes updates, checks them against a schema, and can be compared: [Diff]
//     says what changed between two snapshots, and nothing else. [Replay] runs recorded calls through it.
//
// The rules are those of "Writing ledger updates from passthrough" in the Tools schema document, with the limits of its
// ledger schema. Paths are the part of JSONPath (RFC 9535) that needs no interpretation: $, .name, ["name"], ['name'],
// [n], .*, [*] and one ..name, at most 256 bytes. Filters, slices, several selectors in one bracket, negative indexes
// and expressions are refused. Beside $ a path may begin with $args, the arguments of the call, and a bare name stands
// for $.name; later releases of the platform write both. The members that those releases add to adapters (effects, when,
// list_append, list_remove) are kept but not evaluated: a rule that has one writes nothing and says so.
package ledger
