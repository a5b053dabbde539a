// Package schema declares an agent's tools, says before an upload what the platform would reject, and checks the JSON of
// calls against the tools' schemas. It implements the page Tools schema, and the steps 1 and 6 of Porting without the
// SDK.
//
//   - [Define] makes a tool from Go types, [For] a schema from one; [Parse] and [Marshal] read and write tool lists.
//   - [Validate] and [ValidateContext] report every problem of every tool, [Lint] what is legal but will hurt.
//   - [Import], the From functions and [Export] move lists between the formats of SDKs and say what is lost.
//   - [Compile] makes a [Validator] for one schema, [NewSet] one for the arguments and results of a list of tools.
//
// # Errors
//
// There are two error types. A [*ValidationError] says what is wrong with something declared: a list, a tool, a schema,
// a Go type. An [*InstanceError] says what is wrong with a document of a call. Both hold everything at once, in an order
// that is the same each time, with codes that programs may compare:
//
//	tool lists      not_json not_list not_object wrong_type wrong_case empty name_missing name_invalid name_duplicate
//	                input_schema_missing mode_invalid binding_missing binding_both_ids binding_no_endpoint
//	                binding_endpoint_id binding_tool_name endpoint_missing endpoint_type endpoint_foreign endpoint_tool
//	                endpoint_unchecked policy_invalid adapter_missing adapter_invalid adapter_undeclared
//	other formats   built_in list_incomplete format_unknown format_mixed member_clash
//	schemas         schema_not_object schema_invalid schema_not_json schema_too_large schema_too_deep
//	                schema_too_complex schema_draft_unknown schema_ref_broken schema_ref_remote schema_ref_cycle
//	                schema_pattern_invalid
//	options         limits_invalid
//	Go types        type_unsupported type_recursive type_too_large tag_invalid
//	documents       mismatch not_json limit unknown_tool
//	warnings        no_description description_long name_long name_case no_type root_keyword empty_object type_list
//	                required_unknown property_undescribed output_deep output_no_failure binding_unused policy_unused
//	                adapter_unused secret
//
// # Where the Tools schema leaves a choice
//
// A passthrough_binding, a ledger_write_policy or a ledger_adapter on a sandbox tool is legal, kept and warned of; so is
// an adapter that the policy does not ask for. Every adapter present must be right, whatever the mode and the policy, and
// so must be the form of every binding; only in passthrough mode must it be complete and lead to a tool.
//
// An input_schema may leave out "type" but may not have another than "object", neither at its root nor where "$ref" and
// "allOf" lead from there. 32 schemas are looked at for that, and references followed that are JSON Pointers into the
// schema; "anyOf" and other keywords are not looked into. An output_schema may describe any JSON, as a tool may answer
// with a list or a text, but must be an object and no boolean.
//
// Names that differ by case are different names. A member whose name differs from a known one by case only is a problem,
// since the platform would not read it.
//
// # Hostile input
//
// Schemas and documents may come from anywhere. Nothing is ever loaded: neither network nor files. [Limits] bounds the
// work; the price of a validation is known before it begins, so that no combination of a schema and a document takes
// longer than its limits allow. A schema that refers to itself without end is an error, a recursive one is fine.
package schema
