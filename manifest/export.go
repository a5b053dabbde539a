package manifest

import (
	"encoding/json"

	"github.com/toolwire/toolwire/schema"
)

// Tools lists the tools as the Tools schema declares them, in the order of the manifest: for an agent to register, and for
// [schema.Export], which writes the list as the API of a model expects it. Schemas are as the manifest has them, byte for
// byte. A tool without a schema takes any object. What concerns this machine alone (command, timeoutSec, envPassthrough) is
// left out. The list is never nil.
func (m *Manifest) Tools() []schema.Tool {
	list := make([]schema.Tool, len(m.tools))
	for i, t := range m.tools {
		list[i] = schema.Tool{Name: t.name, Description: t.description, InputSchema: clone(t.parameters)}
		if t.parameters == nil {
			list[i].InputSchema = json.RawMessage(`{"type":"object"}`)
		}
	}
	return list
}

func clone(v json.RawMessage) json.RawMessage { return append(json.RawMessage(nil), v...) }
