package catalog

import (
	"fmt"
	"log/slog"

	"github.com/toolwire/toolwire/internal/redact"
)

// A tool's source may hold its author's secrets. Its JSON has the source, because catalogs exchange it; what is printed and
// logged does not. encoding/json writes the source of an item in a list, also in a log.

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
