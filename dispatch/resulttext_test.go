package dispatch_test

import (
	"context"
	"slices"
	"testing"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

// The transcript contains what a model reads: the text of a string, and JSON otherwise.
func TestResultsInATranscript(t *testing.T) {
	tools := []string{"text", "object", "number", "nothing", "failure", "absent"}
	agent := func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		for _, tool := range tools {
			if _, err := run.Proxy.CallForModel(ctx, tool, `{}`); err != nil {
				return nil, err
			}
		}
		return run.Transcript().Response("Done."), nil
	}
	platform := proxytest.NewPlatform(t, proxytest.World{Behaviors: map[string]proxytest.Behavior{
		"text": proxytest.Canned(`"pong\n<p class=\"x\">"`), "object": proxytest.Canned(`{"a": 1.0}`),
		"number": proxytest.Canned(`7`), "nothing": proxytest.Canned(`null`),
		"failure": proxytest.Canned(`{"error":"refused"}`),
	}}, &proxytest.Options{AllowUndeclared: true})
	got := dispatchtest.Run(t, dispatchtest.Target{Agent: agent}, dispatchtest.Task{Platform: platform})
	var results []string
	for _, m := range got.Messages {
		if m.Role == dispatch.RoleTool {
			results = append(results, m.Content.String())
		}
	}
	want := []string{"pong\n<p class=\"x\">", `{"a":1.0}`, `7`, `null`, `{"error":"refused"}`,
		`{"error":"tool_not_executable","detail":"there is no tool \"absent\"; names are case-sensitive"}`}
	if !slices.Equal(results, want) {
		t.Errorf("%q, want %q", results, want)
	}
}
