package schema

// Codes of problems with a schema.
const (
	CodeSchemaInvalid    Code = "schema_invalid"         // breaks the rules of its draft
	CodeSchemaNotJSON    Code = "schema_not_json"        // is not strict JSON
	CodeSchemaTooLarge   Code = "schema_too_large"       // more bytes than Limits.SchemaBytes
	CodeSchemaTooDeep    Code = "schema_too_deep"        // deeper than Limits.SchemaDepth
	CodeSchemaTooComplex Code = "schema_too_complex"     // too many properties, references, subschemas, or too large a pattern
	CodeSchemaDraft      Code = "schema_draft_unknown"   // "$schema" names no known draft
	CodeSchemaRefBroken  Code = "schema_ref_broken"      // a "$ref" leads nowhere
	CodeSchemaRefRemote  Code = "schema_ref_remote"      // a "$ref" leads out of the schema
	CodeSchemaRefCycle   Code = "schema_ref_cycle"       // a "$ref" leads back to itself
	CodeSchemaPattern    Code = "schema_pattern_invalid" // a regular expression does not compile
)
