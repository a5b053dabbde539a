package manifest

import (
	"encoding/json"

	"github.com/toolwire/toolwire/schema"
)

// OpenAITool is a tool as OpenAI's Chat Completions API takes it.
type OpenAITool struct {
	Type     string         `json:"type"` // always "function"
	Function OpenAIFunction `json:"function"`
}

// OpenAIFunction describes a tool to the model. Parameters is the schema as the manifest has it, byte for byte; it is
// left out when there is none.
type OpenAIFunction struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
}

// OpenAITools lists the tools for the "tools" member of a request, in the order of the manifest. It is never nil.
func (m *Manifest) OpenAITools() []OpenAITool {
	list := make([]OpenAITool, len(m.tools))
	for i, t := range m.tools {
		f := OpenAIFunction{Name: t.name, Description: t.description, Parameters: clone(t.parameters)}
		list[i] = OpenAITool{Type: "function", Function: f}
	}
	return list
}

// Tools lists the tools as the Tools schema declares them, in the order of the manifest, for an agent to register. A tool
// without a schema takes any object. What concerns this machine alone (command, timeoutSec, envPassthrough) is left out.
// It is never nil.
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
