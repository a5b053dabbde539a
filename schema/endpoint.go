package schema

import (
	"slices"
	"strings"

	"github.com/toolwire/toolwire/internal/clip"
)

// An Endpoint is a registered tool endpoint, as far as a [Binding] depends on it.
type Endpoint struct {
	Type  string   // mcp_server, http_openapi or code; others cannot be bound
	Org   string   // its organisation, as ValidateOptions.Org spells it; "" is the agent's own
	Tools []string // the tools that its discovery lists
}

// endpointTypes are the types that can be bound.
var endpointTypes = []string{"mcp_server", "http_openapi", "code"}

// endpointKey identifies an endpoint. Ids are lower case, because UUIDs ignore case.
type endpointKey struct{ id, name string }

type resolved struct {
	Endpoint
	found bool
	err   error
}

// resolve finds an endpoint, each once. After the end of the context it asks for none.
func (c *checker) resolve(id, name string) resolved {
	key := endpointKey{strings.ToLower(id), name}
	if known, ok := c.resolved[key]; ok {
		return known
	}
	r := resolved{err: c.ctx.Err()}
	if r.err == nil {
		r.Endpoint, r.found, r.err = c.opts.Endpoint(c.ctx, id, name)
	}
	if r.err != nil {
		c.causes = append(c.causes, r.err)
	}
	c.resolved[key] = r
	return r
}

// endpoint checks a binding against the endpoint that it names.
func (c *checker) endpoint(ps *problems, b *Binding) {
	at := "/passthrough_binding/endpoint_id"
	if b.EndpointID == "" {
		at = "/passthrough_binding/endpoint_name"
	}
	e := c.resolve(b.EndpointID, b.EndpointName)
	switch {
	case e.err != nil:
		ps.add("endpoint_unchecked", at, "could not be checked: the lookup of the endpoint failed")
		return
	case !e.found:
		ps.add("endpoint_missing", at, "is not an endpoint of the organisation; register it or correct the binding")
		return
	}
	if e.Org != "" && c.opts.Org != "" && e.Org != c.opts.Org {
		ps.add("endpoint_foreign", at, "is an endpoint of another organisation; bind one of your own")
	}
	if !slices.Contains(endpointTypes, e.Type) {
		ps.add("endpoint_type", at, "is an endpoint of type %q; only mcp_server, http_openapi and code can be bound",
			clip.Text(e.Type, 40))
	}
	if b.ToolName != "" && !slices.Contains(e.Tools, b.ToolName) {
		ps.add("endpoint_tool", "/passthrough_binding/tool_name", "is not among the tools discovered on the endpoint%s",
			among(e.Tools))
	}
}

// among lists a few names for a message.
func among(names []string) string {
	const most = 10
	if len(names) == 0 {
		return ", which has none"
	}
	out := ": "
	for i, name := range names {
		if i == most {
			return out + ", …"
		}
		if i > 0 {
			out += ", "
		}
		out += clip.Text(name, 128)
	}
	return out
}
