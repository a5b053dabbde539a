// Package jsonpath evaluates the paths of ledger adapters against JSON documents that were already
// validated.
//
// The paths are evaluated by github.com/PaesslerAG/jsonpath behind two guards. The gate, [Parse],
// accepts only the syntax that the library evaluates correctly. The projection, in [Path.Find],
// gives the library a small tree of what the path can reach. Its leaves are sub-slices of the
// document. So numbers keep their digits, wildcards visit members in a fixed order, a descent is
// one pass (the library's cost grows with the cube of the depth), and an index does not select a
// member of an object. The cost is bounded by the number of values visited and the text passed
// over.
package jsonpath
