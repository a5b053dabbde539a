package toolbox_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/toolwire/toolwire/manifest/toolbox"
	"github.com/toolwire/toolwire/proxy"
)

// proxy.Each makes the calls of a model on a toolbox too. OnCall receives the model's ids.
func TestEach(t *testing.T) {
	var mu sync.Mutex
	var seen []string
	o := options(nil)
	o.OnCall = func(_ context.Context, end toolbox.CallEnd) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, end.CallID)
	}
	box := parse(t, document, o)
	type modelCall struct{ id, name, arguments string }
	results, err := proxy.Each(t.Context(), []modelCall{{"m1", "ping", `{"n":1}`}, {"m2", "pong", `{}`},
		{"m3", "ping", `{}`}},
		func(ctx context.Context, call modelCall) (string, error) {
			result, err := box.CallForModel(proxy.WithCallID(ctx, call.id), call.name, call.arguments)
			return fmt.Sprintf("%t %s", result.Failed, result.Text), err
		})
	want := []string{`false pong <{"n":1}>`,
		`true {"error":"unknown_tool","detail":"there is no tool \"pong\"; names are case-sensitive","tools":["create_contact","check_schedule","ping"]}`,
		`false pong <{}>`}
	if err != nil || !slices.Equal(results, want) {
		t.Errorf("%q, %v; want %q", results, err, want)
	}
	slices.Sort(seen)
	if got := strings.Join(seen, " "); got != "m1 m3" {
		t.Errorf("OnCall received the ids %q", got)
	}
}
