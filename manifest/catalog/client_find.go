package catalog

import (
	"context"
	"fmt"
	"strings"

	"github.com/toolwire/toolwire/internal/bounded"
)

// Find returns the tool with a name. It reads the list of all tools, because the API has no search.
// It compares whole names without regard to case; if several match, it takes the one with the exact
// spelling. If no tool matches, the error has [CodeNotFound]; if several do, [CodeAmbiguous].
func (c *Client) Find(ctx context.Context, name string) (*ListItem, error) {
	list, err := c.List(ctx, "")
	if err != nil {
		return nil, err
	}
	var exact, folded []ListItem
	for _, item := range list {
		if item.Name == name {
			exact = append(exact, item)
		}
		if strings.EqualFold(item.Name, name) {
			folded = append(folded, item)
		}
	}
	if len(exact) == 1 {
		folded = exact
	}
	switch len(folded) {
	case 0:
		return nil, &Error{Code: CodeNotFound, Tool: bounded.Cut(name, maxShown), Message: "no tool has this name"}
	case 1:
		return &folded[0], nil
	}
	return nil, &Error{Code: CodeAmbiguous, Tool: bounded.Cut(name, maxShown), Message: fmt.Sprintf(
		"%d tools have this name; choose one by its id, such as %s", len(folded), folded[0].ID)}
}
