package schema_test

import (
	"context"
	"testing"

	"github.com/toolwire/toolwire/schema"
)

// A code endpoint has requirements and the names of credentials. What is wrong with them does not
// make the platform reject a tool.
func TestCodeEndpoint(t *testing.T) {
	tool := schema.MustDefine[struct{}, any]("search_wikipedia", "Search.", nil)
	tool.DefaultExecutionMode = schema.Passthrough
	tool.PassthroughBinding = &schema.Binding{EndpointName: "research-tools", ToolName: "search_wikipedia"}
	for _, test := range []struct {
		name     string
		endpoint schema.Endpoint
		want     string
	}{
		{"complete", schema.Endpoint{Type: "code", Tools: []string{"search_wikipedia", "fetch_url"}}, ""},
		{"not one of its functions", schema.Endpoint{Type: "code", Tools: []string{"fetch_url"}},
			"endpoint_tool /0/passthrough_binding/tool_name"},
	} {
		lookup := func(context.Context, string, string) (schema.Endpoint, bool, error) { return test.endpoint, true, nil }
		if got := verdict(t, []schema.Tool{tool}, &schema.ValidateOptions{Endpoint: lookup}); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}
