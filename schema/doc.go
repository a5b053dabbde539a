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
// Every error of this package is an [*Error]. It contains all problems; [Problem] lists their
// codes. A [Validator] and a [Set] are immutable and safe for concurrent use.
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
// [Tools schema]: https://github.com/toolwire/toolwire/blob/main/docs/glossary.md#the-five-documents
// [sandbox]: https://github.com/toolwire/toolwire/blob/main/docs/glossary.md#sandbox
// [passthrough]: https://github.com/toolwire/toolwire/blob/main/docs/glossary.md#passthrough
package schema
