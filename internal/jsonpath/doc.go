// Package jsonpath evaluates the paths of ledger adapters against JSON documents that were already
// validated. The comment of package ledger lists the paths.
//
// github.com/PaesslerAG/jsonpath evaluates the paths behind two guards. The gate, [Parse], accepts
// the syntax of RFC 9535 without filters; the library alone would also evaluate expressions. The
// projection, in [Path.Find], gives the library a small tree of what the path can reach, and the
// path in a form that the library evaluates as the RFC says: quoted names, [0] and [*]. The library
// alone does not know negative indexes and hyphens in names, and it evaluates slices and brackets
// with a wildcard differently.
//
// The leaves of the tree are sub-slices of the document. So numbers keep their digits, wildcards
// visit members in a fixed order, a descent reads the text once (the library's cost grows with the
// cube of the depth), and an index does not select a member of an object. The cost is bounded by the
// number of values visited and the text passed over.
package jsonpath
