package schema

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/toolwire/toolwire/internal/clip"
)

// An Endpoint is a registered tool endpoint, as far as bindings need to know it.
type Endpoint struct {
	ID    string   // a UUID
	Name  string   // unique in its organisation
	Type  string   // mcp_server, http_openapi and code can be bound
	Org   string   // the organisation it belongs to, as ValidateOptions.Org spells it; "" is the agent's own
	Tools []string // the tools that its discovery lists
}

// An EndpointResolver finds registered endpoints, so that [Validate] and [ValidateContext] can check bindings against
// them. One validation asks once about each endpoint, one at a time.
type EndpointResolver interface {
	// Endpoint finds an endpoint by id or by name, of which exactly one is not empty. The context is that of
	// ValidateContext. The error is [ErrEndpointNotFound] when there is none; any other error is reported as "could not be
	// checked".
	Endpoint(ctx context.Context, id, name string) (Endpoint, error)
}

// ErrEndpointNotFound says that no endpoint has the id or the name.
var ErrEndpointNotFound = errors.New("schema: endpoint not found")

// Endpoints is an [EndpointResolver] over a list at hand.
type Endpoints []Endpoint

// Endpoint implements [EndpointResolver]. Ids are compared without regard to case, as UUIDs are.
func (list Endpoints) Endpoint(_ context.Context, id, name string) (Endpoint, error) {
	for _, e := range list {
		if id != "" && strings.EqualFold(e.ID, id) || name != "" && e.Name == name {
			return e, nil
		}
	}
	return Endpoint{}, ErrEndpointNotFound
}

// endpointTypes are those that a binding may point at.
var endpointTypes = []string{"mcp_server", "http_openapi", "code"}

// endpointKey is what an endpoint is looked up by; ids are lower case.
type endpointKey struct{ id, name string }

type foundEndpoint struct {
	Endpoint
	err error
}

// endpoint looks an endpoint up, once. When the context has ended nothing is looked up.
func (c *checker) endpoint(id, name string) (Endpoint, error) {
	key := endpointKey{strings.ToLower(id), name}
	if known, ok := c.looked[key]; ok {
		return known.Endpoint, known.err
	}
	e, err := Endpoint{}, c.ctx.Err()
	if err == nil {
		e, err = c.endpoints.Endpoint(c.ctx, id, name)
	}
	if err != nil && !errors.Is(err, ErrEndpointNotFound) {
		c.causes = append(c.causes, err)
	}
	c.looked[key] = foundEndpoint{e, err}
	return e, err
}

// checkEndpoint holds a binding against the endpoint it names.
func (c *checker) checkEndpoint(ps *problems, b *Binding) {
	member := "/passthrough_binding/endpoint_id"
	if b.EndpointID == "" {
		member = "/passthrough_binding/endpoint_name"
	}
	e, err := c.endpoint(b.EndpointID, b.EndpointName)
	switch {
	case errors.Is(err, ErrEndpointNotFound):
		ps.add(CodeEndpointMissing, member, "names no endpoint of the organisation; register it or correct the binding")
		return
	case err != nil:
		ps.add(CodeEndpointUnchecked, member, "could not be checked: looking the endpoint up failed")
		return
	}
	if e.Org != "" && c.org != "" && e.Org != c.org {
		ps.add(CodeEndpointForeign, member, "names an endpoint of another organisation; bind one of your own")
	}
	if !slices.Contains(endpointTypes, e.Type) {
		ps.add(CodeEndpointType, member, "names an endpoint of type %q; only mcp_server, http_openapi and code can be bound",
			clip.Text(e.Type, 40))
	}
	if b.ToolName != "" && !slices.Contains(e.Tools, b.ToolName) {
		ps.add(CodeEndpointTool, "/passthrough_binding/tool_name", "is not among the tools discovered on the endpoint%s",
			among(e.Tools))
	}
}

// among lists a few names, for a message.
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
