package proxytest_test

import (
	"strings"
	"testing"

	"github.com/toolwire/toolwire/proxy/proxytest"
)

// A platform made of another has its tools and limits, and a world state and failure rules of its own.
func TestWith(t *testing.T) {
	first := proxytest.NewPlatform(t, proxytest.World{
		InitialState: `{"order":{"1":{"status":"first"}}}`,
		Behaviors:    map[string]proxytest.Behavior{"get_order": proxytest.Get("order", "id", nil)},
		FailureRules: []proxytest.FailureRule{{Tool: "get_order", Nth: []int{2}, Status: 500}},
	}, &proxytest.Options{RatePerMinute: 3})
	second, err := first.With(`{"order":{"1":{"status":"second"}}}`, nil)
	if err != nil {
		t.Fatal(err)
	}
	args := map[string]string{"id": "1"}
	one, two := first.NewRun().Client(nil), second.NewRun().Client(nil)
	for i, want := range []string{"second", "second", "second"} {
		if got, err := two.Call(t.Context(), "get_order", args); err != nil || !strings.Contains(string(got), want) {
			t.Errorf("call %d: %s, error %v", i, got, err)
		}
	}
	if got, err := one.Call(t.Context(), "get_order", args); err != nil || !strings.Contains(string(got), "first") {
		t.Errorf("%s, error %v", got, err)
	}
	if _, err := one.Call(t.Context(), "get_order", args); err == nil {
		t.Error("the first platform lost its failure rule")
	}
	_, err = first.With(`[`, []proxytest.FailureRule{{Tool: "nope", Status: 500}})
	if err == nil || !strings.Contains(err.Error(), "2 problems") || !strings.Contains(err.Error(), `"nope" is not declared`) {
		t.Errorf("error %v", err)
	}
}
