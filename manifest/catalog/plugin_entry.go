package catalog

import (
	"bytes"
	"slices"
)

// AddEntryPoint adds an entry point to a source that [CheckPlugin] accepts. Servers before v0.1.85
// require one. It is a function tool_plugin at the end of the module, which returns a new instance
// of the tool class. If the source has an entry point, AddEntryPoint returns it unchanged.
// AddEntryPoint returns the errors of CheckPlugin, but has no size limit.
//
// ToolBase records lets the platform's own SDK do this before it uploads to older servers. Here the
// caller decides, because the upload then differs from the file.
func AddEntryPoint(source []byte) ([]byte, error) {
	const file = "plugin.py" // no rule depends on the name
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
