package schema_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	lib "github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/toolwire/toolwire/schema"
)

const argumentsSchema = `{"type":"object","properties":{"order_id":{"type":"string"},"amount":{"type":"number","minimum":0},
	"notify":{"type":"boolean"}},"required":["order_id","amount"],"additionalProperties":false}`

const arguments = `{"order_id":"4521","amount":79.5,"notify":true}`

// floor returns the least work with the validator library: a decoder that keeps numbers, and its
// Validate.
func floor(b *testing.B, raw string) func(document []byte) error {
	doc, err := lib.UnmarshalJSON(strings.NewReader(raw))
	if err != nil {
		b.Fatal(err)
	}
	c := lib.NewCompiler()
	if err := c.AddResource("mem:///floor", doc); err != nil {
		b.Fatal(err)
	}
	s, err := c.Compile("mem:///floor")
	if err != nil {
		b.Fatal(err)
	}
	return func(document []byte) error {
		v, err := lib.UnmarshalJSON(bytes.NewReader(document))
		if err != nil {
			return err
		}
		return s.Validate(v)
	}
}

// BenchmarkArguments validates the arguments of a call, valid ones and ones with two faults. The floor
// decodes them and calls the validator library, without limits.
func BenchmarkArguments(b *testing.B) {
	ours, err := schema.Compile(json.RawMessage(argumentsSchema), nil)
	if err != nil {
		b.Fatal(err)
	}
	for _, document := range []struct{ name, text string }{{"valid", arguments}, {"invalid", `{"order_id":1,"amount":-1}`}} {
		for _, way := range []struct {
			name     string
			validate func([]byte) error
		}{{"floor", floor(b, argumentsSchema)}, {"toolwire", ours.Validate}} {
			b.Run(document.name+"/"+way.name, func(b *testing.B) {
				b.ReportAllocs()
				text := []byte(document.text)
				for b.Loop() {
					if err := way.validate(text); (err == nil) != (document.name == "valid") {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// hundredTools returns a typical list: a few properties with descriptions, an enum, a nested
// object, an array.
func hundredTools() []byte {
	var list []string
	for i := range 100 {
		list = append(list, fmt.Sprintf(`{"name":"tool_%d","description":"Does the thing number %d for an order and says what came of it.",
			"input_schema":{"type":"object","properties":{
				"order_id":{"type":"string","description":"The order's id, as shown to the customer.","pattern":"^[0-9]{%d}$"},
				"amount":{"type":"number","minimum":0,"description":"In the order's currency."},
				"reason":{"type":"string","enum":["damaged","late","other"]},
				"address":{"type":"object","properties":{"street":{"type":"string"},"city":{"type":"string"},"zip":{"type":"string","maxLength":10}},
					"required":["street","city"],"additionalProperties":false},
				"items":{"type":"array","items":{"type":"string"},"maxItems":50}},
				"required":["order_id"],"additionalProperties":false},
			"output_schema":{"type":"object","properties":{"ok":{"type":"boolean"},"error":{"type":"string"},"n":{"const":%d}}}}`, i, i, i%9+1, i))
	}
	return []byte(`{"tools_schema":[` + strings.Join(list, ",") + `]}`)
}

// hundredSmallTools returns the hardest case: with few properties the fixed cost of a schema
// dominates.
func hundredSmallTools() []byte {
	var list []string
	for i := range 100 {
		list = append(list, fmt.Sprintf(`{"name":"tool_%d","description":"Does the thing number %d.","input_schema":{"type":"object",`+
			`"properties":{"id_%d":{"type":"string"}},"required":["id_%d"]}}`, i, i, i, i))
	}
	return []byte(`{"tools_schema":[` + strings.Join(list, ",") + `]}`)
}

// BenchmarkHundredTools imports and validates a list of 100 tools. The floor only decodes the list.
func BenchmarkHundredTools(b *testing.B) {
	for _, set := range []struct {
		name string
		doc  []byte
	}{{"usual", hundredTools()}, {"small", hundredSmallTools()}} {
		b.Run(set.name+"/floor", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				var v any
				if err := json.Unmarshal(set.doc, &v); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(set.name+"/toolwire", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				tools, err := importAs(set.doc, schema.Platform)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := schema.Validate(b.Context(), tools, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkInfer infers the schema of a Go type: anew, because InferOptions.Types does not use the
// cache, and again.
func BenchmarkInfer(b *testing.B) {
	b.Run("first/toolwire", func(b *testing.B) {
		b.ReportAllocs()
		o := &schema.InferOptions{Types: map[reflect.Type]json.RawMessage{reflect.TypeFor[Tree](): json.RawMessage(`{}`)}}
		for b.Loop() {
			if _, err := schema.For[Tagged](o); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("again/toolwire", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := schema.For[Tagged](nil); err != nil {
				b.Fatal(err)
			}
		}
	})
}
