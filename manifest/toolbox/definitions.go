package toolbox

import (
	"context"
	"slices"

	"github.com/toolwire/toolwire/internal/clip"
	"github.com/toolwire/toolwire/internal/httpcall"
	"github.com/toolwire/toolwire/schema"
)

// Definitions lists the tools for a model: with reasoning among the parameters and the current details after the
// descriptions. With adapters, given by name or id, it lists theirs alone. [schema.Export] writes the list as the API of
// a model expects it.
//
// Details that are not known are fetched, all at once, for at most [Options.DetailTimeout]; see the package comment for
// what becomes of failures. The error is an [*Error]: CodeUnknownAdapter, or CodeCanceled when ctx ends. The list is the
// caller's own.
func (b *Toolbox) Definitions(ctx context.Context, adapters ...string) ([]schema.Tool, error) {
	for _, name := range adapters {
		if !slices.ContainsFunc(b.adapters, func(a adapter) bool { return a.is(name) }) {
			return nil, errorf(CodeUnknownAdapter, "", "there is no adapter %q", clip.Text(name, 128))
		}
	}
	if ctx.Err() != nil {
		return nil, &Error{Code: CodeCanceled, Message: "the list was canceled", Err: httpcall.ContextError(ctx)}
	}
	list := make([]schema.Tool, 0, len(b.tools))
	lookups := make([]lookup, 0, len(b.tools))
	for _, t := range b.tools {
		if b.of(t, adapters) {
			list = append(list, schema.Tool{Name: t.Name, Description: t.Description, InputSchema: slices.Clone(t.forModel)})
			lookups = append(lookups, b.details.begin(t.DetailURL))
		}
	}
	// Every lookup must be ended, or its fetch would go on for nobody.
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
		return nil, &Error{Code: CodeCanceled, Message: "the list was canceled while details were fetched", Err: httpcall.ContextError(ctx)}
	}
	return list, nil
}
