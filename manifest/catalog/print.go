package catalog

import (
	"fmt"
	"log/slog"

	"github.com/toolwire/toolwire/internal/redact"
)

// A tool's source may contain its author's secrets. The JSON of a tool has the source, because
// catalogs exchange it. Formatting and logging a tool does not show it. A log handler that writes a
// list of tools as JSON does show it.

// Format implements [fmt.Formatter]. It prints "[redacted]" for ScriptContent.
func (i ListItem) Format(f fmt.State, verb rune) { redact.Format(f, verb, i.hidden()) }

// LogValue implements [slog.LogValuer]. It logs "[redacted]" for ScriptContent.
func (i ListItem) LogValue() slog.Value { return slog.AnyValue(i.hidden()) }

type plainItem ListItem

func (i ListItem) hidden() plainItem {
	i.ScriptContent = redact.Field(i.ScriptContent)
	return plainItem(i)
}

// Format implements [fmt.Formatter]. It prints "[redacted]" for ScriptContent.
func (r StoredTool) Format(f fmt.State, verb rune) { redact.Format(f, verb, r.hidden()) }

// LogValue implements [slog.LogValuer]. It logs "[redacted]" for ScriptContent.
func (r StoredTool) LogValue() slog.Value { return slog.AnyValue(r.hidden()) }

func (r StoredTool) hidden() any {
	type plain struct {
		plainItem
		DeletedAt any
	}
	return plain{r.ListItem.hidden(), r.DeletedAt}
}
