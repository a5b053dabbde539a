package cost_test

import (
	"strings"
	"testing"

	"github.com/toolwire/toolwire/internal/cost"
	"github.com/toolwire/toolwire/internal/testkit"
)

var kept [][]byte

// What is linear passes, and what is not fails.
func TestBounds(t *testing.T) {
	spend := func(n int) { kept = append(kept[:0], make([]byte, n)) }
	piece := []byte(strings.Repeat("x", 100))
	document := cost.List("[", piece, "]")
	for _, tt := range []struct {
		name string
		ok   bool
		body func(t testing.TB)
	}{
		{"within", true, func(t testing.TB) { cost.Within(t, "it", 1<<20, 2, func() { spend(2 << 20) }) }},
		{"beyond", false, func(t testing.TB) { cost.Within(t, "it", 1<<20, 2, func() { spend(3 << 20) }) }},
		{"linear", true, func(t testing.TB) {
			cost.Linear(t, "it", piece, document, func(doc []byte) { spend(100 * len(doc)) })
		}},
		{"quadratic", false, func(t testing.TB) {
			cost.Linear(t, "it", piece, document, func(doc []byte) { spend(len(doc) * len(doc) / 20) })
		}},
	} {
		if failures := testkit.Failures(t, tt.body); (failures == "") != tt.ok {
			t.Errorf("%s: %q", tt.name, failures)
		}
	}
}

func TestDocuments(t *testing.T) {
	if got := string(cost.List("[", []byte("1"), "]")(3)); got != "[1,1,1]" {
		t.Error(got)
	}
	if got := string(cost.Members("[", []byte("1"), "]")(2)); got != `[{"m0":1,"m1":1}]` {
		t.Error(got)
	}
	if got := string(cost.Lines("head", []byte("a"))(2)); got != "head\na\na" {
		t.Error(got)
	}
}
