package proxytest_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

// with is Platform.With for a state without mistakes, and no rules.
func with(t *testing.T, p *proxytest.Platform, state, instructions string) *proxytest.Platform {
	t.Helper()
	other, err := p.With(state, nil, instructions)
	if err != nil {
		t.Fatal(err)
	}
	return other
}

// A platform made of another has its tools and limits, and a world state and failure rules of its
// own.
func TestWith(t *testing.T) {
	first := proxytest.NewPlatform(t, proxytest.World{
		InitialState: `{"order":{"1":{"status":"first"}}}`,
		Behaviors:    map[string]proxytest.Behavior{"get_order": proxytest.Get("order", "id", nil)},
		FailureRules: []proxytest.FailureRule{{Tool: "get_order", Nth: []int{2}, Status: 500}},
	}, &proxytest.Options{RatePerMinute: 3})
	second := with(t, first, `{"order":{"1":{"status":"second"}}}`, "")
	args := map[string]string{"id": "1"}
	one, two := first.NewRun().Client(nil), second.NewRun().Client(nil)
	for i, want := range []string{"second", "second", "second"} {
		if got, err := proxy.Call[json.RawMessage](t.Context(), two, "get_order", args); err != nil || !strings.Contains(string(got), want) {
			t.Errorf("call %d: %s, error %v", i, got, err)
		}
	}
	if got, err := proxy.Call[json.RawMessage](t.Context(), one, "get_order", args); err != nil || !strings.Contains(string(got), "first") {
		t.Errorf("%s, error %v", got, err)
	}
	if _, err := one.Do(t.Context(), "get_order", args); err == nil {
		t.Error("the first platform lost its failure rule")
	}
	_, err := first.With(`[`, []proxytest.FailureRule{{Tool: "nope", Status: 500}}, "")
	if err == nil || !strings.Contains(err.Error(), "2 problems") ||
		!strings.Contains(err.Error(), `"nope" is not declared`) {
		t.Errorf("error %v", err)
	}
}

// The options go along, and no run of either platform has the id of another.
func TestWithKeepsOptions(t *testing.T) {
	first := newPlatform(t, proxytest.World{Behaviors: map[string]proxytest.Behavior{"echo": proxytest.Canned("1")}},
		&proxytest.Options{RatePerMinute: 2, AllowUndeclared: true})
	first.Limit(100)
	second := with(t, first, "", "")
	run := second.NewRun()
	if a, b := first.NewRun(), second.NewRun(); a.ID == run.ID || a.ID == b.ID || b.ID == run.ID || a.Path == b.Path {
		t.Errorf("runs %s, %s and %s", run.ID, a.ID, b.ID)
	}
	client := run.Client(&proxy.Options{MaxAttempts: 1})
	for _, want := range []int{http.StatusRequestEntityTooLarge, http.StatusNotFound, http.StatusTooManyRequests} {
		tool := map[bool]string{true: "echo", false: "nope"}[want == http.StatusRequestEntityTooLarge]
		_, err := client.Do(t.Context(), tool, map[string]string{"text": strings.Repeat("x", 200*(want%2))})
		if e, ok := errors.AsType[*proxy.Error](err); !ok || e.Status != want {
			t.Errorf("%s: error %v, want status %d", tool, err, want)
		}
	}
	if faults := run.Log().Faults; len(faults) > 0 {
		t.Errorf("%v", faults)
	}
}

// A token opens the platform that made it, and no platform that With or Variant made of it or that it was made of.
func TestTokensOpenOneOfManyPlatforms(t *testing.T) {
	first := newPlatform(t, proxytest.World{Behaviors: map[string]proxytest.Behavior{"echo": proxytest.Canned("1")}}, nil)
	second := with(t, first, "", "")
	platforms := []*proxytest.Platform{first, second, first.Variant("1")}
	for i, own := range platforms {
		header := http.Header{"Authorization": {"Bearer " + own.NewRun().Token}}
		for j, p := range platforms {
			want := http.StatusUnauthorized
			if i == j {
				want = http.StatusOK
			}
			if status, body := send(t, p, "/tools/echo", header, "{}"); status != want {
				t.Errorf("the token of platform %d at platform %d: %d %s, want %d", i, j, status, body, want)
			}
		}
	}
}

// Variants of one key fail at the same calls, variants of other keys do not. The platform itself stays as
// it is.
func TestVariant(t *testing.T) {
	base, err := proxytest.New(proxytest.World{
		Behaviors:    map[string]proxytest.Behavior{"get_order": proxytest.Canned("1")},
		FailureRules: []proxytest.FailureRule{{Probability: 0.5, Status: 500}},
		Seed:         7,
	}, &proxytest.Options{RatePerMinute: -1})
	if err != nil {
		t.Fatal(err)
	}
	outcome := func(p *proxytest.Platform) string {
		var b strings.Builder
		client := p.NewRun().Client(nil)
		for range 40 {
			if _, err := client.Do(t.Context(), "get_order", nil); err != nil {
				b.WriteByte('x')
			} else {
				b.WriteByte('.')
			}
		}
		return b.String()
	}
	before, one, again, two := outcome(base), outcome(base.Variant("1")), outcome(base.Variant("1")), outcome(base.Variant("2"))
	if one != again || one == two || one == before || outcome(base) != before {
		t.Errorf("%s\n%s\n%s\n%s", before, one, again, two)
	}
}
