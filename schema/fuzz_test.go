package schema_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"testing"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/internal/cost"
	"github.com/toolwire/toolwire/internal/testkit"
	"github.com/toolwire/toolwire/schema"
)

// bounded fails if f allocates more than the limits allow.
func bounded(t *testing.T, what string, f func()) {
	t.Helper()
	if spent := cost.Allocated(f); spent > 1<<30 {
		t.Errorf("%s allocated %d MB", what, spent>>20)
	}
}

// FuzzParse checks that reading does not panic, that every error is an *Error, and that a list
// survives writing and reading.
func FuzzParse(f *testing.F) {
	for _, l := range lists {
		f.Add(listFile(f, l.file))
	}
	f.Add([]byte(`{"tools_schema":[{"name":null,"input_schema":null,"passthrough_binding":{"endpoint_id":""},"z":1e400},1]}`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		tools, err := importAs(doc, schema.Platform)
		if err != nil {
			if _, ok := errors.AsType[*toolwire.Error](err); !ok {
				t.Fatalf("error is a %T", err)
			}
			return
		}
		bounded(t, "Validate", func() { _, _ = schema.Validate(t.Context(), tools, nil) })
		bounded(t, "Lint", func() { _ = schema.Lint(tools, nil) })
		cost.Linear(t, "a list of tools", doc, cost.List("[", declared(doc), "]"), func(doc []byte) {
			tools, err := importAs(doc, schema.Platform)
			if err != nil {
				return
			}
			_, _ = schema.Validate(t.Context(), tools, nil)
			_ = schema.Lint(tools, nil)
			_, _, _ = schema.Export(tools, schema.Platform)
		})
		out, _, err := schema.Export(tools, schema.Platform)
		if err != nil {
			t.Fatalf("writing %q back: %v", doc, err)
		}
		again, err := importAs(out, schema.Platform)
		if err != nil || !reflect.DeepEqual(again, tools) {
			t.Fatalf("%q\nwas written as\n%q\nand read as\n%+v, %v\nnot\n%+v", doc, out, again, err, tools)
		}
	})
}

// declared returns the first tool of a list, without the brackets and the member around it.
func declared(doc []byte) []byte {
	if tools, err := importAs(doc, schema.Platform); err == nil && len(tools) > 0 {
		if text, err := json.Marshal(tools[0]); err == nil {
			return text
		}
	}
	return doc
}

// oddSchemas have keywords with values that are almost right.
var oddSchemas = []string{
	`{"type":"object","properties":{"a":true,"b":{"type":"string","pattern":"("}}}`, `{"type":["string"]}`, `{"type":"text"}`, `{"type":"string integer"}`, `{"type":""}`, `{"$other":1}`, `{"type":null}`,
	`{"required":["a","a"]}`, `{"required":[1]}`, `{"required":"a"}`, `{"anyOf":[]}`, `{"anyOf":{}}`, `{"allOf":[1]}`, `{"not":1}`, `{"items":[]}`,
	`{"items":[{}]}`, `{"$schema":"http://json-schema.org/draft-07/schema#","items":[{}]}`, `{"$schema":null}`, `{"$schema":1}`, `{"$id":"a"}`,
	`{"$schema":"http://json-schema.org/draft-04/schema#","exclusiveMinimum":true,"minimum":1}`, `{"exclusiveMinimum":true}`, `{"minLength":-1}`,
	`{"minLength":1.0}`, `{"minLength":1.5}`, `{"minLength":1e2}`, `{"minLength":"1"}`, `{"maxLength":1e300}`, `{"enum":[]}`, `{"enum":{}}`, `{"const":null}`,
	`{"title":1}`, `{"description":null}`, `{"format":1}`, `{"default":{"$ref":"#/none"}}`, `{"x":{"type":1}}`, `{"multipleOf":0}`, `{"uniqueItems":1}`,
	`{"properties":{"$ref":{"type":"string"}}}`, `{"properties":{"$ref":"#"}}`, `{"properties":[]}`, `{"properties":{"a":null}}`, `{"if":{},"then":{"type":1}}`,
	`{"contains":{"$anchor":"1"}}`, `{"$anchor":"a","properties":{"b":{"$anchor":"a"}}}`, `{"propertyNames":{"pattern":"["}}`, `{"examples":1}`,
	`{"id":1}`, `{"id":"#a"}`, `{"$comment":1}`, `{"deprecated":"yes"}`, `{"dependencies":{"a":1}}`, `{"definitions":{"a":1}}`, `{"$defs":{"a":1}}`,
}

func TestValidateAgreesWithCompile(t *testing.T) {
	for _, raw := range oddSchemas {
		agree(t, []byte(raw))
	}
}

// agree checks that Validate agrees with Compile.
func agree(t *testing.T, raw []byte) {
	t.Helper()
	if !bytes.HasPrefix(bytes.TrimSpace(raw), []byte("{")) {
		return // Compile takes a boolean, a tool does not
	}
	inHand := []schema.Tool{{Name: "t", InputSchema: raw, OutputSchema: raw}} // not known to be JSON at all
	_, _ = schema.Validate(t.Context(), inHand, nil)
	_ = schema.Lint(inHand, nil)
	_, _, _ = schema.Export(inHand, schema.MCP)
	v, want := schema.Compile(raw, &schema.CompileOptions{AllowUnchecked: true})
	tool := schema.Tool{Name: "t", InputSchema: json.RawMessage(`{}`), OutputSchema: raw}
	unchecked, err := schema.Validate(t.Context(), []schema.Tool{tool}, nil)
	// If several faults stop the library, it reports one at random, so only the verdict is
	// compared.
	if toolwire.CodeOf(err) != toolwire.CodeOf(want) || want == nil && len(unchecked) != len(v.Unchecked()) {
		t.Fatalf("%.2000q: Validate says %v %.300v, Compile says %.300v", raw, err, unchecked, want)
	}
}

// FuzzCompileAndValidate checks that compiling and validating do not panic, that the cost is
// bounded, that every error is an *Error, and that the verdict is the same twice.
func FuzzCompileAndValidate(f *testing.F) {
	for _, h := range hostileCases() {
		if len(h.schema)+len(h.document) < testkit.Size(2_000, 10_000) {
			f.Add([]byte(h.schema), []byte(h.document))
		}
	}
	f.Add([]byte(argumentsSchema), []byte(arguments))
	f.Add([]byte(`{"$dynamicAnchor":"n","properties":{"a":{"$dynamicRef":"#n"}},"unevaluatedProperties":false}`), []byte(`{"a":{"b":1}}`))
	for _, raw := range oddSchemas {
		f.Add([]byte(raw), []byte(`{}`))
	}
	f.Fuzz(func(t *testing.T, raw, document []byte) {
		bounded(t, "compiling and validating", func() {
			agree(t, raw)
			v, err := schema.Compile(raw, nil)
			if err != nil {
				if _, ok := errors.AsType[*toolwire.Error](err); !ok {
					t.Fatalf("error is a %T", err)
				}
				return
			}
			err = v.Validate(document)
			if err == nil {
				return
			}
			e, ok := errors.AsType[*toolwire.Error](err)
			if !ok || len(e.Problems) == 0 {
				t.Fatalf("error is a %T: %v", err, err)
			}
			if again := v.Validate(document); !reflect.DeepEqual(err, again) {
				t.Fatalf("not the same twice:\n%v\n%v", err, again)
			}
		})
		compile := func(raw []byte) { _, _ = schema.Compile(raw, nil) }
		cost.Linear(t, "Compile", raw, cost.List(`{"allOf":[`, raw, `]}`), compile)
		cost.Linear(t, "Compile", raw, cost.Members(`{"properties":`, raw, `}`), compile)
		if v, err := schema.Compile([]byte(`{"items":`+string(raw)+`}`), nil); err == nil {
			validate := func(doc []byte) { _ = v.Validate(doc) }
			cost.Linear(t, "Validate", document, cost.List("[", document, "]"), validate)
		}
	})
}

// FuzzImport checks that reading does not panic, and that a list survives writing and reading in
// every format.
func FuzzImport(f *testing.F) {
	for _, l := range lists {
		f.Add(listFile(f, l.file))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		_, _, _ = schema.Import(doc, "")
		cost.Linear(t, "Import", doc, cost.List("[", doc, "]"), func(doc []byte) { _, _, _ = schema.Import(doc, "") })
		for _, l := range lists {
			tools, err := importAs(doc, l.format)
			if err != nil {
				continue
			}
			out, _, err := schema.Export(tools, l.format)
			if err != nil {
				t.Fatalf("%s: writing %q: %v", l.format, doc, err)
			}
			if !json.Valid(out) {
				t.Fatalf("%s: %q was written as %q", l.format, doc, out)
			}
			again, err := importAs(out, l.format)
			if err != nil {
				t.Fatalf("%s: %q was written as %q and read as %v", l.format, doc, out, err)
			}
			twice, _, err := schema.Export(again, l.format)
			if err != nil || !bytes.Equal(out, twice) {
				t.Fatalf("%s: %q was written as\n%q\nand then as\n%q, %v", l.format, doc, out, twice, err)
			}
		}
	})
}
