package catalog

import (
	"bytes"
	"slices"
)

// AddEntryPoint returns the source of a file that [CheckPlugin] takes with the entry point that servers before v0.1.85 ask
// for: a function tool_plugin, at the end of the module, that returns a new instance of the tool class. A source that has
// an entry point is returned as it is. The error is that of CheckPlugin; the size is not looked at. ToolBase records has
// the platform's own SDK do the same before it uploads to older servers; here it is the caller's decision, because what is
// uploaded is then not the file that was written.
func AddEntryPoint(source []byte) ([]byte, error) {
	const file = "plugin.py" // no rule goes by its name
	unbounded := PluginOptions{MaxBytes: len(source) + 1}
	plugin, err := CheckPlugin(file, source, &unbounded)
	if err != nil {
		return nil, err
	}
	if plugin.EntryPoint {
		return source, nil
	}
	end := "\n"
	if bytes.Contains(source, []byte("\r\n")) {
		end = "\r\n"
	}
	added := slices.Clone(source)
	if !bytes.HasSuffix(added, []byte("\n")) {
		added = append(added, end...)
	}
	added = append(added, end+end+"def tool_plugin():"+end+"    return "+plugin.ClassName+"()"+end...)
	older := PluginOptions{MaxBytes: len(added), ServerVersion: "v0.1.84"}
	if _, err := CheckPlugin(file, added, &older); err != nil {
		return nil, err
	}
	return added, nil
}
