package ledger_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/internal/cost"
	"github.com/toolwire/toolwire/ledger"
)

// FuzzEval evaluates any adapter with any call: it does not panic, the outcome is always the same
// and bounded, and a state without a schema accepts it.
func FuzzEval(f *testing.F) {
	adapters := []string{getOrder, flag("{a}{{b}}{id}"), order(`,"op":"remove","flags":["x:{id}","{nope}"]`),
		order(`,"field_map":{"a":"$..a[0]","b":"$.*","c":"$args['x']","d":"$"}`), `{"effects":[]}`,
		order(`,"field_map":{"a":"$..a[0}","b":"$"}`), `{"op":"add","id_from":5}`, `[]`}
	responses := []string{`{"order_id":"4521","status":"paid","amount":42.5}`, `{"order_id":{"a":[1e400]}}`,
		`[[[{"a":"\u0061"}]]]`, `<html>`}
	for _, adapter := range adapters {
		for _, response := range responses {
			f.Add([]byte(adapter), []byte(`{"order_id":1e3,"x":null,"a":"\"{b}\""}`), []byte(response))
		}
	}
	f.Fuzz(func(t *testing.T, declaration, args, response []byte) {
		var adapter ledger.Adapter
		if json.Unmarshal(declaration, &adapter) != nil {
			return
		}
		rule, err := ledger.Compile(&adapter)
		out := rule.Eval(args, response)
		if again := rule.Eval(args, response); !reflect.DeepEqual(out, again) {
			t.Fatalf("two outcomes:\n%s\n%s", out.Explain(), again.Explain())
		}
		for _, problem := range problemsOf(t, err) {
			_, name, field := strings.Cut(problem, " /field_map/")
			name, _, _ = strings.Cut(name, "/")
			name = strings.NewReplacer("~1", "/", "~0", "~").Replace(name)
			for _, u := range out.Updates { // a field whose path is malformed is left out
				_, written := u.Fields[name]
				if written && field || !field && !strings.HasPrefix(problem, "invalid_template ") {
					t.Fatalf("%v, but it writes:\n%s", err, out.Explain())
				}
			}
		}
		if len(out.Steps) == 0 {
			t.Fatal("no explanation")
		}
		written := 0
		for i, u := range out.Updates {
			if i > 0 && u.Op != ledger.OpSetFlag {
				t.Fatalf("a second entity: %s", out.Explain())
			}
			if len(u.ID) > 1024 || len(u.Flag) > 1024 {
				t.Fatal("a key without bounds")
			}
			for name, value := range u.Fields {
				if written += len(value); !json.Valid(value) {
					t.Fatalf("field %q is not JSON: %s", name, value)
				}
			}
		}
		if written > 1<<20 {
			t.Fatalf("wrote %d bytes", written)
		}
		cost.Linear(t, "Eval", response, cost.List("[", response, "]"), func(doc []byte) { rule.Eval(args, doc) })
		cost.Linear(t, "Eval", response, cost.Members("", response, ""), func(doc []byte) { rule.Eval(args, doc) })
		var state ledger.State
		for _, a := range state.Apply(out.Updates...) {
			if a.Status == "violation" {
				t.Fatalf("refused: %s", a)
			}
		}
		if _, err := json.Marshal(out); err != nil {
			t.Fatal(err)
		}
	})
}

// FuzzDeclarations checks that a declaration that is read, written and read again is the same,
// problems included.
func FuzzDeclarations(f *testing.F) {
	for _, doc := range []string{
		getOrder, orderSchema, strictSchema,
		`{"op":5,"Flags":[],"x":{"y":1}}`, `{"entities":[1,{"fields":[{"enum":[[]]}]}],"flags":0}`,
	} {
		f.Add([]byte(doc))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		read := func(doc []byte) {
			var a ledger.Adapter
			if a.UnmarshalJSON(doc) == nil {
				_, _ = a.Validate(nil)
				_, _ = ledger.Compile(&a)
			}
			var s ledger.Schema
			if s.UnmarshalJSON(doc) == nil {
				_ = s.Validate()
			}
		}
		cost.Linear(t, "a schema", doc, cost.List(`{"entities":[`, doc, `]}`), read)
		cost.Linear(t, "an adapter", doc, cost.Members(`{"entity_type":"order","id_from":"$.id","op":"add","field_map":`, doc, `}`), read)
		var a, a2 ledger.Adapter
		if a.UnmarshalJSON(doc) == nil {
			text, err := json.Marshal(a)
			if err != nil || a2.UnmarshalJSON(text) != nil {
				t.Fatalf("%s: %v", text, err)
			}
			if p, q := problemsOf(t, all(a.Validate(nil))), problemsOf(t, all(a2.Validate(nil))); !sameSet(p, q) {
				t.Fatalf("problems of %s: %q and then %q", doc, p, q)
			}
		}
		var s, s2 ledger.Schema
		if s.UnmarshalJSON(doc) == nil {
			text, err := json.Marshal(s)
			if err != nil || s2.UnmarshalJSON(text) != nil {
				t.Fatalf("%s: %v", text, err)
			}
			if p, q := problemsOf(t, s.Validate()), problemsOf(t, s2.Validate()); !sameSet(p, q) {
				t.Fatalf("problems of %s: %q and then %q", doc, p, q)
			}
		}
	})
}

// sameSet ignores order: malformed members are written after the well-formed ones.
func sameSet(a, b []string) bool {
	count := make(map[string]int)
	for _, s := range a {
		count[s]++
	}
	for _, s := range b {
		count[s]--
	}
	for _, n := range count {
		if n != 0 {
			return false
		}
	}
	return true
}

// FuzzState checks that Hash, Diff and the JSON form agree about what is equal.
func FuzzState(f *testing.F) {
	f.Add([]byte(oneOrder), []byte(`{"order":{"4521":{"order_id":"4521","total":425e-1,"status":"p\u0061id"}}}`))
	f.Add([]byte(`{"a":{"1":{"x":[1,{"y":2}]}},"b":{}}`), []byte(`{"a":{"1":{"x":[1,{"y":3}]},"2":{}}}`))
	f.Fuzz(func(t *testing.T, before, after []byte) {
		a, errA := ledger.NewState(before, nil)
		b, errB := ledger.NewState(after, nil)
		if errA != nil || errB != nil {
			return
		}
		cost.Linear(t, "a state", before, cost.Members(`{"order":`, before, `}`), func(doc []byte) {
			state, err := ledger.NewState(doc, nil)
			if err != nil {
				return
			}
			state.Snapshot().Hash()
			ledger.Diff(a.Snapshot(), state.Snapshot())
		})
		changes := ledger.Diff(a.Snapshot(), b.Snapshot())
		if (len(changes) == 0) != (a.Snapshot().Hash() == b.Snapshot().Hash()) {
			t.Fatalf("%s and %s: changes %q, hashes %s and %s", before, after, changes, a.Snapshot().Hash(), b.Snapshot().Hash())
		}
		text, err := json.Marshal(a.Snapshot())
		if err != nil {
			t.Fatal(err)
		}
		var again ledger.Snapshot
		if err := json.Unmarshal(text, &again); err != nil || again.Hash() != a.Snapshot().Hash() {
			t.Fatalf("%s: read again, it differs: %v", text, err)
		}
	})
}
