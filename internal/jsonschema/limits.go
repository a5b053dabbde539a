package jsonschema

import (
	"cmp"
	"math"
)

// The defaults of [Limits].
const (
	DefaultSchemaBytes = 64 << 10
	DefaultBytes       = 1 << 20
	DefaultDepth       = 64
)

// Limits bounds schemas and the documents checked against them. A field that is 0 means its default.
type Limits struct {
	SchemaBytes int // size of one schema document; defaults to 64 KiB
	Bytes       int // size of a document; defaults to 1 MiB
	Depth       int // nesting of a schema document and of a document; defaults to 64
	Steps       int // schemas applied to values; defaults to 100,000, and to more if Bytes is above its default
}

// bounds are limits with what follows from them. Counts grow with the sizes and do not shrink below
// their defaults.
type bounds struct {
	Limits
	properties   int // properties in all; there may be three times as many subschemas
	expandedRefs int // "$ref"s met when every reference is written out
	values       int // values and names of a document
}

// maxIssues is how many issues of a document are reported.
const maxIssues = 20

func (l Limits) bounds() bounds {
	grown := func(count, size, usual int) int {
		return int(min(float64(count)*max(1, float64(size)/float64(usual)), math.MaxInt32))
	}
	b := bounds{properties: grown(1_000, l.SchemaBytes, DefaultSchemaBytes), expandedRefs: grown(10_000, l.SchemaBytes, DefaultSchemaBytes),
		values: grown(50_000, l.Bytes, DefaultBytes)}
	b.SchemaBytes, b.Bytes = cmp.Or(l.SchemaBytes, DefaultSchemaBytes), cmp.Or(l.Bytes, DefaultBytes)
	b.Depth, b.Steps = cmp.Or(l.Depth, DefaultDepth), cmp.Or(l.Steps, grown(100_000, l.Bytes, DefaultBytes))
	return b
}
