package schema_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/schema"
)

type RefundOrder struct {
	OrderID string  `json:"order_id" jsonschema:"pattern=^[0-9]+$" jsonschema_description:"The order's number."`
	Amount  float64 `json:"amount" jsonschema:"minimum=0" jsonschema_description:"What to refund, in the order's currency."`
	Reason  string  `json:"reason,omitempty" jsonschema:"enum=damaged,enum=late" jsonschema_description:"Why, if the customer said so."`
}

type Refund struct {
	RefundID string `json:"refund_id"`
}

// A tool is declared from Go types, checked, and used to check the arguments of a call.
func Example() {
	ctx := context.Background()
	tools := []schema.Tool{schema.MustDefine[RefundOrder, Refund]("refund_order", "Refund an order, or a part of it.", nil)}
	if _, err := schema.Validate(ctx, tools, nil); err != nil {
		fmt.Println(err)
		return
	}
	set, err := schema.NewSet(ctx, tools, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(set.ValidateArguments("refund_order", []byte(`{"order_id":"4521","amount":42.5}`)))
	fmt.Println(set.ValidateArguments("refund_order", []byte(`{"order_id":"4521","amount":-1}`)))
	// Output:
	// <nil>
	// tool "refund_order": arguments: /amount must be at least 0
}

func ExampleDefine() {
	tool, err := schema.Define[RefundOrder, Refund]("refund_order", "Refund an order, or a part of it.", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	out, _ := json.MarshalIndent(tool, "", "  ")
	fmt.Println(string(out))
	// Output:
	// {
	//   "name": "refund_order",
	//   "description": "Refund an order, or a part of it.",
	//   "input_schema": {
	//     "properties": {
	//       "order_id": {
	//         "type": "string",
	//         "pattern": "^[0-9]+$",
	//         "description": "The order's number."
	//       },
	//       "amount": {
	//         "type": "number",
	//         "minimum": 0,
	//         "description": "What to refund, in the order's currency."
	//       },
	//       "reason": {
	//         "type": "string",
	//         "enum": [
	//           "damaged",
	//           "late"
	//         ],
	//         "description": "Why, if the customer said so."
	//       }
	//     },
	//     "additionalProperties": false,
	//     "type": "object",
	//     "required": [
	//       "order_id",
	//       "amount"
	//     ]
	//   },
	//   "output_schema": {
	//     "properties": {
	//       "refund_id": {
	//         "type": "string"
	//       }
	//     },
	//     "additionalProperties": false,
	//     "type": "object",
	//     "required": [
	//       "refund_id"
	//     ]
	//   }
	// }
}

func ExampleValidate() {
	tools, _, err := schema.Import([]byte(`{"tools_schema": [
		{"name": "get-order", "input_schema": {"type": "object", "properties": {"id": {"type": "text"}, "pin": {"pattern": "^.(?=.*[0-9]).{7,}$"}}}},
		{"name": "2nd", "input_schema": {"type": "object"}, "default_execution_mode": "passthrough"}
	]}`), schema.Platform)
	if err != nil {
		fmt.Println(err)
		return
	}
	unchecked, err := schema.Validate(context.Background(), tools, nil)
	fmt.Println(err)
	for _, p := range unchecked {
		fmt.Println("unchecked:", p)
	}
	// Output:
	// schema: invalid: 3 problems:
	//   - tool "get-order": /0/input_schema/properties/id/type must be one of "array", "boolean", "integer", "null", "number", "object", "string" [schema_invalid]
	//   - tool "2nd": /1/name must be 1 to 128 ASCII letters, digits, _ and -, beginning with a letter or _; "2" at byte 0 is not allowed there [name_invalid]
	//   - tool "2nd": /1/passthrough_binding is required in passthrough mode: name an endpoint and one of its tools [binding_missing]
	// unchecked: tool "get-order": /0/input_schema/properties/pin/pattern is a regular expression that cannot be checked here: look-ahead is available directly after ^ only, and look-behind is not (RE2 syntax) [schema_pattern_unsupported]
}

func ExampleExport() {
	tools, _, err := schema.Import([]byte(`[{"type": "function", "function": {
		"name": "get_order", "description": "Look an order up.", "strict": true,
		"parameters": {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}}}]`), schema.OpenAIChat)
	if err != nil {
		fmt.Println(err)
		return
	}
	out, losses, err := schema.Export(tools, schema.MCP)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(out))
	for _, loss := range losses {
		fmt.Println(loss)
	}
	// Output:
	// {"tools":[{"name":"get_order","description":"Look an order up.","inputSchema":{"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}}]}
	// tool "get_order": /0/strict is left out; MCP does not have it [left_out]
}

func ExampleNewSet() {
	tool, err := schema.Define[RefundOrder, any]("refund_order", "Refund an order.", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	set, err := schema.NewSet(context.Background(), []schema.Tool{tool}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	err = set.ValidateArguments("refund_order", []byte(`{"order_id": "A1", "amount": "79.50"}`))
	if e, ok := errors.AsType[*toolwire.Error](err); ok {
		for _, p := range e.Problems {
			fmt.Printf("%s: %s\n", p.Pointer, p.Message)
		}
	}
	// Output:
	// /amount: must be a number, not a string
	// /order_id: must match the pattern ^[0-9]+$
}

func ExampleCompile() {
	v, err := schema.Compile(json.RawMessage(`{"type": "array", "items": {"maximum": 9007199254740992}}`), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(v.Validate([]byte(`[1, 9007199254740993]`)))
	// Output: /1 must be at most 9007199254740992
}

func ExampleFor() {
	raw, err := schema.For[map[string][]int](nil)
	fmt.Println(string(raw), err)

	type Node struct{ Children []Node }
	_, err = schema.For[Node](nil)
	fmt.Println(err)
	// Output:
	// {"additionalProperties":{"anyOf":[{"items":{"type":"integer"},"type":"array"},{"type":"null"}]},"type":"object"} <nil>
	// schema: invalid: /Node/Children has the recursive type schema_test.Node, which a schema without references cannot describe; set its schema in InferOptions.Types [type_recursive]
}

func ExampleLint() {
	tools, _, err := schema.Import([]byte(`[{"name": "get_order", "input_schema": {"type": "object"}}]`), "")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, w := range schema.Lint(tools, nil) {
		fmt.Println(w)
	}
	// Output:
	// tool "get_order": /0/description is missing; the model chooses tools by it, so say what the tool does and when to use it [no_description]
	// tool "get_order": /0/input_schema has no properties, so the model may send anything; declare some, or write "properties": {} and "additionalProperties": false if there are none [empty_object]
}

func ExampleImport() {
	tools, format, err := schema.Import([]byte(`{"tools": [{"name": "ping", "inputSchema": {"type": "object"}}]}`), "")
	fmt.Println(len(tools), format, err)
	// Output: 1 mcp <nil>
}

// A tool that is known when the program is written can be a package variable.
var refundTool = schema.MustDefine[RefundOrder, any]("refund_order", "Refund an order.", nil)

func ExampleMustDefine() {
	fmt.Println(refundTool.Name, len(refundTool.InputSchema) > 0, refundTool.OutputSchema == nil)
	// Output: refund_order true true
}

func ExampleSet_ValidateResult() {
	set, err := schema.NewSet(context.Background(), []schema.Tool{
		schema.MustDefine[RefundOrder, Refund]("refund_order", "Refund an order.", nil),
	}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(set.ValidateResult("refund_order", []byte(`{}`)))
	// Output: tool "refund_order": result: is missing the required property "refund_id"
}

// An endpoint is looked up for each tool in passthrough mode.
func ExampleValidateOptions_endpoint() {
	tool := refundTool
	tool.DefaultExecutionMode = schema.Passthrough
	tool.PassthroughBinding = &schema.Binding{EndpointName: "billing", ToolName: "refund"}
	endpoints := map[string]schema.Endpoint{"billing": {Type: "mcp_server", Tools: []string{"refund_order"}}}
	_, err := schema.Validate(context.Background(), []schema.Tool{tool}, &schema.ValidateOptions{
		Endpoint: func(_ context.Context, id, name string) (e schema.Endpoint, found bool, err error) {
			e, found = endpoints[name]
			return e, found, nil
		},
	})
	fmt.Println(err)
	// Output: schema: invalid: tool "refund_order": /0/passthrough_binding/tool_name is not among the tools discovered on the endpoint: refund_order [endpoint_tool]
}

// The output schema of an OrFailure allows a failure, so that the simulator can make the tool fail.
func ExampleOrFailure() {
	type refund struct {
		RefundID string `json:"refund_id"`
	}
	tool := schema.MustDefine[struct{}, schema.OrFailure[refund]]("refund_all", "Refund all orders.", nil)
	set, err := schema.NewSet(context.Background(), []schema.Tool{tool}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(set.ValidateResult("refund_all", []byte(`{"refund_id": "r1"}`)))
	fmt.Println(set.ValidateResult("refund_all", []byte(`{"error": "not found"}`)))
	fmt.Println(set.ValidateResult("refund_all", []byte(`[]`)))
	// Output:
	// <nil>
	// <nil>
	// tool "refund_all": result: must be an object, not an array
}

// A regular expression that Go does not support is ignored on request. The rest is checked.
func ExampleValidator_Unchecked() {
	v, err := schema.Compile(json.RawMessage(`{
		"type": "object",
		"properties": {"pin": {"type": "string", "pattern": "^.(?=.*[0-9]).{7,}$"}}
	}`), &schema.CompileOptions{AllowUnchecked: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, p := range v.Unchecked() {
		fmt.Println(p.Code, p.Pointer)
	}
	fmt.Println(v.Validate([]byte(`{"pin": "too short"}`)))
	fmt.Println(v.Validate([]byte(`{"pin": 1}`)))
	// Output:
	// schema_pattern_unsupported /properties/pin/pattern
	// <nil>
	// /pin must be a string, not a number
}
