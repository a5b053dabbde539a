package manifest_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/toolwire/toolwire/manifest"
	"github.com/toolwire/toolwire/proxy"
)

// proxy.Each makes the calls of a model on a manifest too. The audit has the model's ids.
func TestEach(t *testing.T) {
	var mu sync.Mutex
	var audit []string
	m := load(t, &manifest.Options{Audit: func(r manifest.AuditRecord) {
		mu.Lock()
		defer mu.Unlock()
		audit = append(audit, r.CallID)
	}}, tool("echo").with("name", "echo"))
	type modelCall struct{ id, name, arguments string }
	results, err := proxy.Each(t.Context(), []modelCall{{"m1", "echo", `{"n":1}`}, {"m2", "echoes", `{}`},
		{"m3", "echo", `{"n":3}`}},
		func(ctx context.Context, call modelCall) (string, error) {
			result, err := m.CallForModel(proxy.WithCallID(ctx, call.id), call.name, call.arguments)
			return fmt.Sprintf("%t %s", result.Failed, result.Text), err
		})
	want := []string{`false {"n":1}`, `true {"error":"unknown tool: echoes","tools":["echo"]}`, `false {"n":3}`}
	if err != nil || !slices.Equal(results, want) {
		t.Errorf("%q, %v; want %q", results, err, want)
	}
	slices.Sort(audit)
	if !slices.Equal(audit, []string{"m1", "m3"}) {
		t.Errorf("the audit has the calls %q", audit)
	}
}
