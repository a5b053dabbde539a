// Package traceevent has the types of trace events that the proxy accepts.
package traceevent

// Reserved reports whether name is one of the seven types. The proxy refuses any other with
// trace_event_type_invalid.
func Reserved(name string) bool {
	switch name {
	case "assistant_message", "thinking", "system_prompt", "custom", "handoff", "subagent_message", "subagent_final":
		return true
	}
	return false
}
