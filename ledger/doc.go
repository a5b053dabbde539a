// Package ledger computes what a tool call writes into an agent's [world state], as the platform
// would, and explains why something was not written.
//
//	rule, err := ledger.Compile(tool.LedgerAdapter)
//	outcome := rule.Eval(args, response)
//	fmt.Print(outcome.Explain())
//	applied := state.Apply(outcome.Updates...)
//
// A tool that is [forwarded to a live system] returns data that simulated tools do not see. An
// [adapter] turns its response into ledger updates. Adapters never fail a call: an adapter that
// does not match writes nothing, without an error. [Outcome.Explain] reports why.
//
//   - [Adapter] and [Schema] are the declarations. Their Validate methods report everything at
//     once.
//   - [Compile] makes a [Rule] of an adapter. [Rule.Eval] returns the [Outcome] of one call: the
//     updates, and a [Step] for every decision.
//   - [State] is a world state in memory. It validates and applies updates. [Diff] compares two
//     snapshots of it.
//
// Every error is a [*toolwire.Error] with the problems, in the order of the document and then of the
// documented members, so equal input gives an equal error. Rules and states are safe for concurrent
// use.
//
// The rules are from "Writing ledger updates from passthrough" in the [Tools schema] document.
// The limits are from its [ledger schema].
//
// This package is stable, as the README explains.
//
// # Paths
//
// Paths are JSONPaths (RFC 9535), at most 256 bytes long:
//
//	$                    the response
//	$args                the arguments of the call; later releases of the platform know it too
//	name                 the same as $.name
//	.name                a member; its name has letters, digits, _ and (not in RFC 9535) hyphens
//	["name"] ['name']    a member of any name
//	[n] [-n]             the element n, from 0, or the n-th from the end
//	.* [*]               all members or elements
//	[n:m] [-n:m] [:-m]   a slice of an array, also [n:] [:m] [:] [-n:-m], and with a step: [n:m:2]
//	[::-1]               the elements backwards; other steps work too
//	["a", "b"] [0, 2]    several names and indexes, each once
//	..name ..* ..[n]     the same for the value and everything in it, once in a path
//	[?@.a] [?!@.a]       the members and elements that have a member a, or have none
//	[?@.a == "x"]        those for which a comparison holds; see below
//	white space          between the parts of a path and inside brackets
//
// A path of names and indexes selects one value. Any other path selects the array of all its
// matches, even of one. The members that *, a filter and .. select are sorted by name: numbers first,
// by their values, then other names.
//
// A filter combines tests and comparisons with &&, ||, ! and parentheses. A comparison has ==, !=, <,
// <=, > or >= between two of: a path of names and indexes that begins with @, a text in quotes, a
// number, true, false, null. Numbers are compared by their exact values. As in RFC 9535, a member that
// is missing is unequal to every value, and only numbers or texts are less than others.
//
// In an object, an index that is listed with others, or directly after .., selects the member of
// that name. RFC 9535 selects nothing there.
//
// Other paths of RFC 9535 are not evaluated here; the platform may evaluate them:
//
//   - several .. in one path;
//   - functions in a filter, such as length(@.a), filters inside it, paths that begin with $, tests
//     of paths that select several values, and names that look like numbers;
//   - a name that looks like a number directly after .. or in a list of several;
//   - slices from an index to a negative one, such as [1:-1], slices backwards with a start or an
//     end, such as [3:0:-1], and the step 0;
//   - *, filters, slices, negative indexes and repeated entries in a list;
//   - a list or a slice backwards in one path with *, a filter or ..;
//   - a slice or a negative index directly after the dots of a descent.
//
// A field_map with such a path, or with a text that is not a JSONPath, leaves out that field.
// [Outcome.Explain] and the error of [Compile] name it.
//
// # Later releases
//
// Later releases of the platform add members to adapters: effects, when, list_append and
// list_remove; they may add ops. Adapters keep them. A rule that has one writes nothing, and each
// of its outcomes reports it.
//
// # Codes of errors
//
//	invalid_adapter  a ledger adapter is not valid
//	invalid_schema   a ledger schema is not valid
//	invalid_state    an initial state is not valid
//
// Err of such an error is the error of a document that is not strict JSON, or nil.
//
// # Codes of problems
//
//	wrong_type        a member has another JSON type than documented
//	wrong_case        a member's name differs from a known one by case only
//	missing           a required member is absent or empty
//	invalid_name      an entity type or field name is not ^[a-z][a-z0-9_]*$
//	invalid_value     a value is not one of the documented values
//	duplicate         a name that must be unique repeats
//	too_many          a list is longer than its limit
//	not_in_enum       a value is not one of those that the field's enum lists
//	undeclared        an entity type, field or flag is not in the ledger schema
//	forbidden         a member must be left out with this op
//	invalid_path      a path is not a JSONPath, or the path of an id selects a list
//	invalid_template  a flag template has a stray brace or is empty
//	unsupported       a path, or a member or op of a later release, is kept and not evaluated
//	invalid_json      a document is not one strict JSON value within its limits
//	more_problems     the last of a list: the number of problems beyond the first 100
//
// Tool of a problem is "", because a declaration of a ledger belongs to no single tool. Message
// contains no value of a call.
//
// [world state]: https://github.com/toolwire/toolwire/blob/main/docs/glossary.md#ledger
// [forwarded to a live system]: https://github.com/toolwire/toolwire/blob/main/docs/glossary.md#passthrough
// [adapter]: https://github.com/toolwire/toolwire/blob/main/docs/glossary.md#ledger-adapter
// [ledger schema]: https://github.com/toolwire/toolwire/blob/main/docs/glossary.md#ledger-schema
// [Tools schema]: https://github.com/toolwire/toolwire/blob/main/docs/glossary.md#the-five-documents
package ledger
