package toolbox

import (
	"context"
	"slices"

	"github.com/toolwire/toolwire/internal/bounded"
	"github.com/toolwire/toolwire/internal/httpcall"
	"github.com/toolwire/toolwire/schema"
)

// Definitions lists the tools for a model, with the parameter reasoning and with the current
// details after the descriptions. If adapters are given, by name or id, it lists only their tools.
// [schema.Export] writes the list for the API of a model.
//
// Definitions fetches unknown details concurrently and waits for at most 3 s. A detail that cannot
// be fetched is left out; see the package comment. The error is an [*Error]: CodeUnknownAdapter, or
// CodeCanceled or CodeDeadline if ctx ends. The caller may change the list.
func (b *Toolbox) Definitions(ctx context.Context, adapters ...string) ([]schema.Tool, error) {
	for _, name := range adapters {
		if !slices.ContainsFunc(b.adapters, func(a Adapter) bool { return a.is(name) }) {
			return nil, errorf(CodeUnknownAdapter, "", "the toolbox has no adapter %q", bounded.Cut(name, 128))
		}
	}
	if ctx.Err() != nil {
		return nil, contextError(httpcall.ContextError(ctx), "the list")
	}
	list := make([]schema.Tool, 0, len(b.tools))
	lookups := make([]lookup, 0, len(b.tools))
	for _, t := range b.tools {
		if b.of(t, adapters) {
			list = append(list, schema.Tool{Name: t.Name, Description: t.Description, InputSchema: slices.Clone(t.forModel)})
			lookups = append(lookups, b.details.begin(t.DetailURL))
		}
	}
	// End every lookup: a fetch goes on until all its lookups have ended.
	var err error
	for i := range lookups {
		text, failed := b.details.end(ctx, lookups[i])
		if failed != nil {
			err = failed
		}
		switch {
		case text == "":
		case list[i].Description == "":
			list[i].Description = text
		default:
			list[i].Description += "\n\n" + text
		}
	}
	if err != nil {
		return nil, contextError(httpcall.ContextError(ctx), "the list")
	}
	return list, nil
}
