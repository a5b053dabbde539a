package schema_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/schema"
)

type receipt struct {
	RefundID string `json:"refund_id" jsonschema:"the refund's id, as the bank has it"`
}

// The output schema of an OrFailure allows a T and a failure and nothing else, and Lint accepts it.
func TestOrFailure(t *testing.T) {
	type arguments struct {
		OrderID string `json:"order_id" jsonschema:"description=The order."`
	}
	strict := schema.MustDefine[arguments, receipt]("refund", "Refund an order.", nil)
	tool := schema.MustDefine[arguments, schema.OrFailure[receipt]]("refund", "Refund an order.", nil)
	if got := schema.Lint([]schema.Tool{strict}, nil); len(got) != 1 || got[0].Code != "output_no_failure" {
		t.Errorf("warnings of a receipt: %v", got)
	}
	if got := schema.Lint([]schema.Tool{tool}, nil); len(got) != 0 {
		t.Errorf("warnings of a receipt or a failure: %v", got)
	}
	set, err := schema.NewSet(t.Context(), []schema.Tool{tool}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for document, valid := range map[string]bool{
		`{"refund_id":"r1"}`: true, `{"error":"not found"}`: true, `{}`: false, `{"refund_id":1}`: false, `{"error":1}`: false, `"r1"`: false,
	} {
		if err := set.ValidateResult("refund", []byte(document)); (err == nil) != valid {
			t.Errorf("%s: %v", document, err)
		}
	}
	for _, test := range []struct {
		value schema.OrFailure[receipt]
		text  string
	}{
		{schema.OrFailure[receipt]{Value: receipt{"<r1>"}}, `{"refund_id":"<r1>"}`},
		{schema.OrFailure[receipt]{Failure: "not found"}, `{"error":"not found"}`},
	} {
		text, err := test.value.MarshalJSON()
		if err != nil || string(text) != test.text || set.ValidateResult("refund", text) != nil {
			t.Errorf("wrote %s, %v", text, err)
		}
		var got schema.OrFailure[receipt]
		if err := json.Unmarshal(text, &got); err != nil || got != test.value {
			t.Errorf("%s: read %+v, %v", text, got, err)
		}
	}
	nested, err := schema.For[struct {
		Parts []*schema.OrFailure[map[string]int] `json:"parts"`
		Any   schema.OrFailure[any]               `json:"any"`
	}](nil)
	if err != nil {
		t.Fatal(err)
	}
	v := mustCompile(t, string(nested))
	for document, valid := range map[string]bool{
		`{"parts":[{"a":1},{"error":"x"},null],"any":[]}`: true, `{"parts":[{"a":"b"}],"any":1}`: false,
	} {
		if err := v.Validate([]byte(document)); (err == nil) != valid {
			t.Errorf("%s: %v\n%s", document, err, nested)
		}
	}
}

// A tag is a description or keywords, as two libraries have it, and never a mixture.
func TestDescriptionTags(t *testing.T) {
	raw, err := schema.For[struct {
		A string `json:"a" jsonschema:"the order's id, as shown to the customer"`
		B string `json:"b" jsonschema:"description=The order's id."`
		C string `json:"c" jsonschema:"an id" jsonschema_description:"wins"`
	}](nil)
	want := `{"properties":{"a":{"type":"string","description":"the order's id, as shown to the customer"},` +
		`"b":{"type":"string","description":"The order's id."},"c":{"type":"string","description":"wins"}},` +
		`"additionalProperties":false,"type":"object","required":["a","b","c"]}`
	if err != nil || string(raw) != want {
		t.Errorf("%s, %v\nwant %s", raw, err, want)
	}
	_, err = schema.For[struct {
		A string `jsonschema:"the order's id,minLength=1"`
		B string `jsonschema:"optional"`
	}](nil)
	if got := found(t, err); got != "tag_invalid /A\ntag_invalid /B" {
		t.Errorf("problems = %q", got)
	}
}

// A type that embeds an OrFailure has its MarshalJSON, which writes nothing else of the type.
func TestOrFailureEmbedded(t *testing.T) {
	type arguments struct{}
	type noted struct {
		schema.OrFailure[receipt]
		Note string
	}
	type pointing struct {
		*schema.OrFailure[receipt]
		Note string
	}
	for name, define := range map[string]func() (schema.Tool, error){
		"value":   func() (schema.Tool, error) { return schema.Define[arguments, noted]("refund", "", nil) },
		"pointer": func() (schema.Tool, error) { return schema.Define[arguments, pointing]("refund", "", nil) },
	} {
		_, err := define()
		e, ok := errors.AsType[*toolwire.Error](err)
		if !ok || len(e.Problems) != 1 || e.Problems[0].Code != "type_unsupported" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestOrFailureOfMalformedText(t *testing.T) {
	for _, text := range []string{"", "{", `{"error`, `{"error":}`, `{"error":"x"`} {
		var got schema.OrFailure[receipt]
		if err := got.UnmarshalJSON([]byte(text)); err == nil {
			t.Errorf("%s: read %+v", text, got)
		}
	}
}
