package catalog

import (
	"context"
	"fmt"
	"strings"

	"github.com/toolwire/toolwire/internal/clip"
	"github.com/toolwire/toolwire/internal/uuid"
)

// CodeAmbiguous is the code of [Client.Find] when a name fits several tools.
const CodeAmbiguous Code = "ambiguous"

// Find returns the tool with a name, from the list of all tools, since the API has no search. The whole name must fit; the
// case of letters need not, but if several tools fit so, the one that is spelled exactly as asked is taken. No tool is
// [CodeNotFound], several are [CodeAmbiguous].
func (c *Client) Find(ctx context.Context, name string) (*ListItem, error) {
	list, err := c.List(ctx, nil)
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
		return nil, &Error{Code: CodeNotFound, Tool: clip.Text(name, maxShown), Message: "no tool has this name"}
	case 1:
		return &folded[0], nil
	}
	return nil, &Error{Code: CodeAmbiguous, Tool: clip.Text(name, maxShown), Message: fmt.Sprintf(
		"%d tools have this name; choose one by its id, such as %s", len(folded), folded[0].ID)}
}

// Resolve returns the id that ref stands for: ref itself, without a request, if it is a UUID, and otherwise the id of the
// tool that [Client.Find] finds.
func (c *Client) Resolve(ctx context.Context, ref string) (string, error) {
	if uuid.Valid(ref) {
		return ref, nil
	}
	item, err := c.Find(ctx, ref)
	if err != nil {
		return "", err
	}
	return item.ID, nil
}
