package jsonpath

import (
	"bytes"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/internal/cost"
	"github.com/toolwire/toolwire/internal/strictjson"
)

// The budget ends the work: a path whose budget is used up stops, and so do all later paths.
func TestBudgetEndsPaths(t *testing.T) {
	const budget = 1000
	list := "[" + strings.Repeat("0,", 900) + "0]"
	long := `["` + strings.Repeat("x", 10*budget*bytesPerValue) + `"]`
	for _, tt := range []struct{ name, path, doc string }{
		{"wildcards", "$[*" + strings.Repeat(",*", 120) + "]", list},
		{"slices", "$[:" + strings.Repeat(",:", 120) + "]", list},
		{"indexes", "$[0" + strings.Repeat(",0", 120) + "]" + "[0,0]", "[" + list + "]"},
		{"names", "$['a'" + strings.Repeat(",'a'", 60) + "]" + strings.Repeat(".*", 3), `{"a":{"b":{"c":` + list + `}}}`},
		{"a descent with wildcards", "$..[*" + strings.Repeat(",*", 120) + "]", "[" + list + "]"},
		{"a long text", "$[0" + strings.Repeat(",0", 120) + "]", long},
		{"segments", "$" + strings.Repeat("[*,*]", 50), strings.Repeat("[", 60) + strings.Repeat("]", 60)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path, err := Compile(tt.path)
			if err != nil {
				t.Fatal(err)
			}
			d := NewDocument([]byte(tt.doc), budget)
			least := 0
			for i := range 100 {
				if _, err := path.Find(d, 1<<20); err != ErrTooMuch && d.budget < 0 {
					t.Fatalf("path %d: err = %v, want ErrTooMuch", i, err)
				}
				if least == 0 && d.budget < 0 {
					least = d.budget
				}
			}
			if d.budget >= 0 {
				t.Fatalf("100 paths left %d of %d values", d.budget, budget)
			}
			if d.budget < least {
				t.Errorf("later paths visited %d values more", least-d.budget)
			}
			if visited := -d.budget - len(tt.doc)/bytesPerValue; visited > 200 {
				t.Errorf("a path went on for %d values after the budget was used up", visited)
			}
		})
	}
}

// A descent reads a text once, and not at all if it is not an object or array.
func TestDescentsReadOnce(t *testing.T) {
	text := `["` + strings.Repeat("x", 100*bytesPerValue) + `"]`
	for path, cost := range map[string]int{
		"$..a": 100 + 1, // the text and the array
		"$[0" + strings.Repeat(",0", 99) + "]..a": 100 + 100,       // the text and the elements
		"$" + strings.Repeat("[0,0]", 5) + "..a":  100 + 2 + 2 + 2, // and what the elements do not have
	} {
		p, err := Compile(path)
		if err != nil {
			t.Fatal(err)
		}
		d := NewDocument([]byte(text), 1000)
		if _, err := p.Find(d, 1<<20); err != ErrNotFound || d.budget < 1000-cost-1 {
			t.Errorf("%s: %v, cost %d, want at most %d", path, err, 1000-d.budget, cost+1)
		}
	}
}

// FuzzBudget checks that no path on any document takes many more steps than its budget: those that
// were begun when it was used up, and the length of the text.
func FuzzBudget(f *testing.F) {
	f.Add(`$..[*,*,*]`, []byte(`[[[1,2],[3]],{"a":{"b":[]}}]`))
	f.Add(`$[*,*][:,:][0,0]`, []byte(`{"a":[1,2,{"b":3}]}`))
	f.Add(`$['a','a'].*..b`, []byte(`{"a":{"b":{"b":"x"}}}`))
	f.Fuzz(func(t *testing.T, text string, piece []byte) {
		path, err := Compile(text)
		if err != nil || len(piece) > 1<<10 {
			return
		}
		if strictjson.Read(piece, strictjson.Limits{Mode: strictjson.Unique}, func(*strictjson.Reader) error { return nil }) != nil {
			return
		}
		const budget = 1000
		for _, doc := range [][]byte{piece, cost.List("[", piece, "]")(200), cost.Members("", piece, "")(200)} {
			d := NewDocument(bytes.TrimSpace(doc), budget)
			for range 3 { // later paths share the budget
				_, _ = path.Find(d, 1<<20)
			}
			if steps := budget - d.budget; steps > budget+3*(len(doc)/bytesPerValue+300) {
				t.Fatalf("%s takes %d steps with a budget of %d in %d bytes: %.300s", text, steps, budget, len(doc), doc)
			}
		}
	})
}
