package schema

import (
	"slices"

	"github.com/toolwire/toolwire/internal/text"
)

// An Endpoint is a registered tool endpoint, as far as a [Binding] depends on it.
type Endpoint struct {
	Type string // mcp_server, http_openapi or code; others cannot be bound
	Org  string // its organisation, as ValidateOptions.Org spells it; "" is the agent's own
	// Tools are the tools that its discovery lists, or the functions of a code endpoint. If nil,
	// they are not known, and bindings may name any tool.
	Tools []string
}

// endpointTypes are the types that can be bound.
var endpointTypes = []string{"mcp_server", "http_openapi", "code"}

// endpointKey identifies an endpoint. The id is the result of text.CanonicalUUID.
type endpointKey struct{ id, name string }

type resolved struct {
	Endpoint
	found bool
	err   error
}

// resolve finds an endpoint, each once. After the end of the context it asks for none.
func (c *checker) resolve(key endpointKey) resolved {
	if known, ok := c.resolved[key]; ok {
		return known
	}
	r := resolved{err: c.ctx.Err()}
	if r.err == nil {
		r.Endpoint, r.found, r.err = c.opts.Endpoint(c.ctx, key.id, key.name)
	}
	if r.err != nil {
		c.causes = append(c.causes, r.err)
	}
	c.resolved[key] = r
	return r
}

// endpoint checks a binding against the endpoint that it names.
func (c *checker) endpoint(ps *problems, key endpointKey, tool string) {
	at := "/passthrough_binding/endpoint_id"
	if key.id == "" {
		at = "/passthrough_binding/endpoint_name"
	}
	e := c.resolve(key)
	switch {
	case e.err != nil:
		ps.add("endpoint_lookup", at, "could not be checked: the lookup of the endpoint failed")
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
			text.Cut(e.Type, 40))
	}
	if tool != "" && e.Tools != nil && !slices.Contains(e.Tools, tool) {
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
		out += text.Cut(name, 128)
	}
	return out
}
