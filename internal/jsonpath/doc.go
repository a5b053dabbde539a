// Package jsonpath evaluates the paths of ledger adapters against JSON documents that were already validated.
//
// The paths are evaluated by github.com/PaesslerAG/jsonpath behind two guards. The gate, [Parse], lets through only
// the syntax that the library gets right. The projection, in [Path.Find], shows it not the document but a small tree of
// what the path can reach there, whose leaves are sub-slices of the document: numbers keep their digits, wildcards see
// members in a fixed order, a descent is one pass and not one that grows with the cube of the depth, an index never
// selects a member of an object, and the cost is bounded by the number of values visited and the text passed over.
package jsonpath
