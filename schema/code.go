package schema

// Codes of problems with a tool list.
const (
	CodeNotList            Code = "not_list"             // the tools are no list
	CodeNotObject          Code = "not_object"           // an entry is no object
	CodeWrongType          Code = "wrong_type"           // a member has another JSON type than documented
	CodeWrongCase          Code = "wrong_case"           // a member's name differs from a known one by case only
	CodeEmpty              Code = "empty"                // a member of a binding is an empty string
	CodeNameMissing        Code = "name_missing"         // no name, or an empty one
	CodeNameInvalid        Code = "name_invalid"         // the name breaks ^[A-Za-z_][A-Za-z0-9_-]{0,127}$
	CodeNameDuplicate      Code = "name_duplicate"       // an earlier tool has the name
	CodeInputSchemaMissing Code = "input_schema_missing" // no input_schema
	CodeModeInvalid        Code = "mode_invalid"         // default_execution_mode is neither sandbox nor passthrough
	CodeBindingMissing     Code = "binding_missing"      // passthrough without passthrough_binding
	CodeBindingBoth        Code = "binding_both_ids"     // both endpoint_id and endpoint_name
	CodeBindingNoEndpoint  Code = "binding_no_endpoint"  // neither endpoint_id nor endpoint_name
	CodeBindingEndpointID  Code = "binding_endpoint_id"  // endpoint_id is no UUID
	CodeBindingToolName    Code = "binding_tool_name"    // no tool_name
	CodeEndpointMissing    Code = "endpoint_missing"     // no such endpoint in the organisation
	CodeEndpointType       Code = "endpoint_type"        // the endpoint's type cannot be bound
	CodeEndpointForeign    Code = "endpoint_foreign"     // the endpoint belongs to another organisation
	CodeEndpointTool       Code = "endpoint_tool"        // the endpoint has no such tool
	CodeEndpointUnchecked  Code = "endpoint_unchecked"   // the resolver failed or the context ended; ValidationError unwraps to the error
	CodePolicyInvalid      Code = "policy_invalid"       // ledger_write_policy is none of the three
	CodeAdapterMissing     Code = "adapter_missing"      // policy adapter without ledger_adapter
	CodeAdapterInvalid     Code = "adapter_invalid"      // the adapter breaks a rule of package ledger
	CodeAdapterUndeclared  Code = "adapter_undeclared"   // the ledger schema, if any, does not declare what the adapter writes
)

// Codes of problems with lists in the formats of other SDKs.
const (
	CodeBuiltIn        Code = "built_in"        // a tool without a schema: built into a provider, or of free text
	CodeListIncomplete Code = "list_incomplete" // one page of several
	CodeFormatUnknown  Code = "format_unknown"  // no entry has the members of a known format
	CodeFormatMixed    Code = "format_mixed"    // entries of several formats
	CodeMemberClash    Code = "member_clash"    // a member that says what another says, or would be written under its name
)

// Codes of problems with a schema.
const (
	CodeSchemaNotObject  Code = "schema_not_object"      // the root is no object schema
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

// CodeLimitsInvalid is the code of a problem with options: a field of [Limits] is negative.
const CodeLimitsInvalid Code = "limits_invalid"

// Codes of problems with Go types. Their pointers are Go names, such as /Order/Items.
const (
	CodeTypeUnsupported Code = "type_unsupported" // encoding/json cannot write the type, or nobody knows what it writes
	CodeTypeRecursive   Code = "type_recursive"   // the type contains itself
	CodeTypeTooLarge    Code = "type_too_large"   // the type expands to too many values
	CodeTagInvalid      Code = "tag_invalid"      // a struct tag has an unknown key or a value that cannot be parsed
)

// Codes of warnings.
const (
	LintNoDescription       Code = "no_description"       // the tool has no description
	LintDescriptionLong     Code = "description_long"     // more than 1,024 bytes
	LintNameLong            Code = "name_long"            // more than 64 characters
	LintNameCase            Code = "name_case"            // names that differ by case only
	LintNoType              Code = "no_type"              // the root of input_schema has no type
	LintRootKeyword         Code = "root_keyword"         // anyOf and its like at the root of input_schema
	LintEmptyObject         Code = "empty_object"         // input_schema says nothing about the arguments
	LintTypeList            Code = "type_list"            // "type" is a list in input_schema
	LintRequiredUnknown     Code = "required_unknown"     // "required" names no property
	LintPropertyUndescribed Code = "property_undescribed" // a property of input_schema has no description
	LintOutputDeep          Code = "output_deep"          // output_schema is nested more than 24 levels deep
	LintOutputNoFailure     Code = "output_no_failure"    // output_schema refuses {"error": "..."}
	LintBindingUnused       Code = "binding_unused"       // a binding on a sandbox tool
	LintPolicyUnused        Code = "policy_unused"        // a ledger write policy on a sandbox tool
	LintAdapterUnused       Code = "adapter_unused"       // an adapter on a sandbox tool, or without the policy adapter
	LintSecret              Code = "secret"               // a member that may hold a credential
)
