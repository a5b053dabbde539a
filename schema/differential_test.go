package schema_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	lib "github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/toolwire/toolwire/internal/testkit"
	"github.com/toolwire/toolwire/schema"
)

// writer makes schemas of one older draft at random, of keywords that mean the same there and in draft
// 2020-12 once they are rewritten. So "$ref" stands alone, and no number has an integral fraction.
type writer struct {
	*rand.Rand
	draft   int // 4 or 7
	targets []string
}

type members = map[string]any

func pick[T any](w *writer, of ...T) T { return of[w.IntN(len(of))] }

// document returns a schema with definitions that refer to later definitions only.
func (w *writer) document() members {
	const most = 3
	defined := members{}
	w.targets = nil
	for i := most - 1; i >= 0; i-- {
		name := fmt.Sprint("d", i)
		d := w.schema(2, false)
		var found []string
		if list, ok := d["items"].([]any); ok {
			found = append(found, "#/definitions/"+name+"/items/"+fmt.Sprint(w.IntN(len(list))))
			if _, ok := d["additionalItems"].(members); ok {
				found = append(found, "#/definitions/"+name+"/additionalItems")
			}
		}
		if d["$ref"] == nil && w.IntN(3) == 0 {
			d[map[int]string{4: "id", 7: "$id"}[w.draft]] = "#" + name
			found = append(found, "#"+name)
		}
		defined[name] = d
		w.targets = append(w.targets, append(found, "#/definitions/"+name)...)
	}
	s := w.schema(3, false)
	if s["$ref"] != nil {
		s = members{"allOf": []any{s}}
	}
	s["definitions"] = defined
	return s
}

// schema returns a schema of up to so many levels.
func (w *writer) schema(depth int, mayRefer bool) members {
	s := members{}
	if len(w.targets) > 0 && (mayRefer || w.IntN(2) == 0) && w.IntN(4) == 0 {
		return members{"$ref": pick(w, w.targets...)}
	}
	for range 1 + w.IntN(4) {
		w.keyword(s, depth)
	}
	return s
}

func (w *writer) inner(depth int) any {
	if w.draft == 7 && w.IntN(8) == 0 {
		return w.IntN(4) > 0
	}
	return w.schema(depth-1, true)
}

func (w *writer) schemas(depth int) (list []any) {
	for range 1 + w.IntN(3) {
		list = append(list, w.inner(depth))
	}
	return list
}

func (w *writer) named(depth int, names ...string) members {
	all := members{}
	for range 1 + w.IntN(2) {
		all[pick(w, names...)] = w.inner(depth)
	}
	return all
}

func (w *writer) names() (list []any) {
	for _, name := range []string{"a", "b", "c"}[:1+w.IntN(2)] {
		list = append(list, name)
	}
	return list
}

// keyword adds a keyword, and those that belong to it.
func (w *writer) keyword(s members, depth int) {
	simple := []func(){
		func() { s["type"] = pick(w, "object", "array", "string", "number", "integer", "boolean", "null") },
		func() { s["type"] = []any{"object", "array", pick(w, "string", "number", "null")} },
		func() { s["enum"] = []any{members{"a": w.value(0)}, []any{w.value(0)}, "a", pick(w, 1, 2)} },
		func() { s["minLength"], s["pattern"] = w.IntN(3), pick(w, "^a", "b$", "a|b") },
		func() { s["maxLength"], s["title"] = w.IntN(4), "t" },
		func() { s["multipleOf"] = pick(w, 1, 2, 3) },
		func() { s["minItems"], s["uniqueItems"] = w.IntN(3), true },
		func() { s["maxItems"], s["default"] = 1+w.IntN(3), members{"items": []any{1}} },
		func() { s["minProperties"] = w.IntN(3) },
		func() { s["maxProperties"], s["description"] = 1+w.IntN(3), "d" },
		func() { s["required"] = w.names() },
		func() { w.bound(s, "inimum") },
		func() { w.bound(s, "aximum") },
	}
	if w.draft == 7 {
		simple = append(simple, func() { s["const"] = w.value(2) },
			func() { s["examples"], s["readOnly"], s["$comment"] = []any{1}, true, "c" })
	}
	if depth <= 0 {
		pick(w, simple...)()
		return
	}
	nested := []func(){
		func() { s["items"] = w.schemas(depth) },
		func() {
			s["items"], s["additionalItems"] = w.schemas(depth), pick(w, any(true), any(false), any(w.schema(depth-1, true)))
		},
		func() { s["items"] = w.inner(depth) },
		func() { s["properties"] = w.named(depth, "a", "b", "c") },
		func() { s["patternProperties"] = w.named(depth, "^a", "b|c") },
		func() { s["additionalProperties"] = pick(w, any(false), any(w.schema(depth-1, true))) },
		func() { s["dependencies"] = members{"a": w.names(), "b": w.inner(depth)} },
		func() { s["allOf"] = w.schemas(depth) },
		func() { s["anyOf"] = w.schemas(depth) },
		func() { s["oneOf"] = w.schemas(depth) },
		func() { s["not"] = w.inner(depth) },
	}
	if w.draft == 7 {
		nested = append(nested, func() { s["if"], s["then"], s["else"] = w.inner(depth), w.inner(depth), w.inner(depth) },
			func() { s["contains"] = w.inner(depth) }, func() { s["propertyNames"] = w.inner(depth) })
	}
	pick(w, append(simple, nested...)...)()
}

func (w *writer) bound(s members, imum string) {
	switch {
	case w.draft == 4:
		s["m"+imum], s["exclusiveM"+imum] = w.IntN(4), w.IntN(2) == 0
	case w.IntN(2) == 0:
		s["exclusiveM"+imum] = w.IntN(4)
	default:
		s["m"+imum] = w.IntN(4)
	}
}

// value returns a document of up to so many levels.
func (w *writer) value(depth int) any {
	switch n := w.IntN(9); {
	case n < 4 && depth > 0:
		obj := members{}
		for range w.IntN(4) {
			obj[pick(w, "a", "b", "c", "ab")] = w.value(depth - 1)
		}
		return obj
	case n < 7 && depth > 0:
		list := []any{}
		for range w.IntN(4) {
			list = append(list, w.value(depth-1))
		}
		return list
	}
	return pick[any](w, "", "a", "ab", "b", "abc", 0, 1, 2, 3, 4, 1.5, -1, true, false, nil)
}

// Schemas of drafts 7 and 4 that do not name them agree with the library's own drafts.
func TestOlderDraftsAgreeWithTheLibrary(t *testing.T) {
	for _, draft := range []struct {
		number int
		lib    *lib.Draft
	}{{7, lib.Draft7}, {4, lib.Draft4}} {
		t.Run(fmt.Sprint("draft ", draft.number), func(t *testing.T) {
			w := &writer{Rand: rand.New(rand.NewPCG(uint64(draft.number), 1)), draft: draft.number}
			rewritten, valid, documents := 0, 0, 0
			schemas := testkit.Size(400, 20_000)
			for n := range schemas {
				raw, err := json.Marshal(w.document())
				if err != nil {
					t.Fatal(err)
				}
				reference := libraryOf(t, draft.lib, string(raw))
				if reference == nil {
					continue
				}
				v, err := schema.Compile(raw, nil)
				if err != nil {
					t.Fatalf("schema %d: %v\n%s", n, err, raw)
				}
				if _, err := schema.Compile(json.RawMessage(`{`+newest+`,`+string(raw[1:])), nil); err != nil {
					rewritten++
				}
				for range 20 {
					document, err := json.Marshal(w.value(3))
					if err != nil {
						t.Fatal(err)
					}
					decoded, err := lib.UnmarshalJSON(strings.NewReader(string(document)))
					if err != nil {
						t.Fatal(err)
					}
					want, got := reference.Validate(decoded), v.Validate(document)
					if (want == nil) != (got == nil) {
						t.Fatalf("schema %d: %s\n%s: %v, the library says %v", n, raw, document, got, want)
					}
					if documents++; got == nil {
						valid++
					}
				}
			}
			if documents < 19*schemas || rewritten < schemas/2 || valid < documents/5 || valid > documents*4/5 {
				t.Errorf("of %d schemas %d have old forms, and of %d documents %d are valid: that tests little", schemas, rewritten, documents, valid)
			}
			t.Logf("%d schemas, %d with old forms; %d documents, %d valid", schemas, rewritten, documents, valid)
		})
	}
}

// libraryOf compiles a schema as the library does, or returns nil if it is not valid there.
func libraryOf(t *testing.T, draft *lib.Draft, raw string) *lib.Schema {
	doc, err := lib.UnmarshalJSON(strings.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	c := lib.NewCompiler()
	c.DefaultDraft(draft)
	if err := c.AddResource("mem:///reference", doc); err != nil {
		return nil
	}
	s, err := c.Compile("mem:///reference")
	if err != nil {
		return nil
	}
	return s
}
