package llm

import "encoding/json"

type answer struct{}

func (a *answer) chat(json.RawMessage)      {}
func (a *answer) responses(json.RawMessage) {}
func (a *answer) anthropic(json.RawMessage) {}
func (a *answer) gemini(json.RawMessage)    {}
