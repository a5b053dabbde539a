// Package schema declares the tools of an agent, reports what the platform would reject, and
// validates the arguments and results of calls. It implements the page [Tools schema], and steps 1
// and 6 of the page Porting without the SDK.
//
//	tool := schema.MustDefine[RefundOrder, Refund]("refund_order", "Refund an order.", nil)
//	if _, err := schema.Validate(ctx, []schema.Tool{tool}, nil); err != nil {
//		return err
//	}
//	list, _, err := schema.Export([]schema.Tool{tool}, schema.Platform)
//
// The package has these parts:
//
//   - [Define] declares a tool from Go types. [For] infers a schema.
//   - [Validate] reports what the platform rejects, and lists what this library cannot check.
//     [Lint] reports what is valid but likely to cause trouble.
//   - [Import] and [Export] read and write tool lists: the platform's own, and the lists of SDKs.
//   - [Compile] makes a [Validator] for one schema. [NewSet] makes a [Set] for the calls of a
//     tool list.
//
// Every error is a [*toolwire.Error] with all problems. A [Validator] and a [Set] are immutable and safe
// for concurrent use.
//
// This package is stable, as the README explains.
//
// # Where the Tools schema leaves a choice
//
// Validate rejects what the section Validation lists. In addition it rejects members of the wrong
// type where that section requires a value, a binding without tool_name, and a schema that is not a
// JSON Schema, because no validator can use it. Everything else that does not match the page is in
// the list unchecked: for example a malformed ledger_adapter, which the platform ignores, and an
// unknown ledger_write_policy.
//
// A member that is null, or "" where a text is expected, counts as absent. A UUID may be written without hyphens.
//
// A [sandbox] tool may have a passthrough_binding, a ledger_write_policy or a ledger_adapter. They
// are valid, and Lint reports them. The same holds for an adapter that the policy does not use.
// Every binding must be well-formed. In [passthrough] mode it must also be complete and lead to a
// tool.
//
// An input_schema may omit "type". If present, "type" must be "object", at the root and where
// "$ref" and "allOf" lead from the root. At most 32 schemas are examined for this rule. References
// are followed if they are JSON Pointers into the schema. "anyOf" and other keywords are not
// examined. An output_schema may describe any JSON, because a tool may answer with a list or a
// string, but it must be an object.
//
// Names that differ by case are different names. A member whose name differs from a known one by
// case only is listed as unchecked, because the platform does not read it.
//
// # Later releases
//
// The mode executed is kept and listed as unchecked. So are the members of a later release, such as
// ledger_read and preconditions, which this module does not evaluate.
//
// # Hostile input
//
// Schemas and documents may come from anywhere. Nothing is loaded from the network or from files.
// [Limits] bounds the work. The cost of a validation is known before it begins, so no combination
// of a schema and a document takes longer than the limits allow. A schema that refers to itself
// without end is an error; a recursive schema is not.
//
// # Codes of errors
//
//	invalid_options  a limit of the options is not valid
//	invalid          a tool list, a schema or a Go type is not valid
//	unchecked        a schema may be valid, and a part of it that may exclude documents is not checked
//	mismatch         a document does not match its schema
//	invalid_json     a document is malformed, repeats a member name, or is not valid UTF-8
//	limit            a document exceeds a limit, so it was not validated
//	unknown_tool     a [Set] has no tool of that name
//
// Problems of a tool list are ordered by tool; members of the wrong type come first. Problems of a
// document are ordered by place, and each occurs once; at most 20 of them are listed. Message of such an error
// is "arguments" or "result". Err has the errors of ValidateOptions.Endpoint, or the error of a context
// that ended. Neither the error nor a problem contains a value of a document. They contain names,
// kinds, lengths, and what the schema requires, so they can be shown to a model.
//
// # Codes of problems
//
// Warnings of [Lint] and losses of [Export] are problems too. A list has at most 100. If there are more, a
// last one with the code more_problems tells their number.
//
//	every list      more_problems
//	tool lists      not_json not_list too_many not_object wrong_type wrong_case name_missing
//	                name_invalid name_duplicate input_schema_missing mode_invalid binding_missing
//	                binding_both_ids binding_no_endpoint binding_endpoint_id binding_tool_name
//	                endpoint_missing endpoint_type endpoint_foreign endpoint_tool
//	                endpoint_lookup later_release
//	                policy_invalid adapter_missing
//	                adapter_undeclared adapter_invalid adapter_unsupported
//	other formats   built_in list_incomplete format_unknown format_mixed member_clash
//	schemas         schema_not_object schema_invalid schema_not_json schema_too_large
//	                schema_too_deep schema_too_complex schema_draft_unknown schema_keyword_ignored
//	                schema_no_keyword schema_ref_broken schema_ref_remote schema_ref_cycle
//	                schema_pattern_unsupported
//	options         limits_invalid
//	Go types        type_unsupported type_recursive type_too_large tag_invalid
//	documents       the schema keyword that failed, such as type or required; mismatch if there is
//	                none; or not_json, limit or unknown_tool
//	Lint            no_description description_long name_long name_case no_type root_keyword
//	                keyword_misspelt keyword_unused contradiction
//	                default_invalid empty_object type_list required_unknown property_undescribed output_deep
//	                output_no_failure binding_unused policy_unused adapter_unused secret
//	                field_undeclared path_undeclared placeholder_unknown schema_old_form
//	                schema_member_null schema_annotation_invalid, and those that Validate lists
//	Export          left_out required
//
// Tool of a problem is cut to 128 bytes. Pointer leads into the list of tools, the schema or the
// document; in a list it begins with the place of the tool, from 0: /2/input_schema. For a Go type it
// is a path of Go names, such as /Order/Items. Names longer than 80 bytes are cut.
//
// [Tools schema]: https://github.com/toolwire/toolwire/blob/main/docs/glossary.md#the-five-documents
// [sandbox]: https://github.com/toolwire/toolwire/blob/main/docs/glossary.md#sandbox
// [passthrough]: https://github.com/toolwire/toolwire/blob/main/docs/glossary.md#passthrough
package schema
