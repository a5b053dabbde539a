package toolresult

import (
	"encoding/json"
	"slices"

	"github.com/toolwire/toolwire/internal/rawjson"
)

// NoArguments is the input schema of a tool without arguments. It declares no properties and forbids none.
const NoArguments = `{"type":"object","properties":{}}`

// Parameters returns the input schema of a tool as APIs of models accept it. OpenAI refuses a request with
// an object schema that has no member "properties", so Parameters adds an empty one. Other schemas are
// returned byte for byte.
func Parameters(schema json.RawMessage) json.RawMessage {
	if rawjson.Unquote(rawjson.Member(schema, "type")) != "object" || !rawjson.IsNull(rawjson.Member(schema, "properties")) {
		return schema
	}
	w := new(rawjson.Object)
	for name, value := range rawjson.Members(schema) {
		if name != "properties" {
			w.Put(name, value)
		}
	}
	w.Put("properties", json.RawMessage(`{}`))
	return w.Bytes()
}

// The parameter that the page Bedrock tools adds to every tool for a model.
const (
	Reasoning       = "reasoning"
	ReasoningSchema = `{"type":"string","description":"The reasoning for the tool call."}`
)

// Registered returns an input schema as tools_schema may have it. The parameter that a toolbox adds is
// required of a model only: a platform rejects calls without a required property, and nobody else knows
// this one.
func Registered(schema json.RawMessage) json.RawMessage {
	property := rawjson.Member(rawjson.Member(schema, "properties"), Reasoning)
	required := slices.Collect(rawjson.Elements(rawjson.Member(schema, "required")))
	isReasoning := func(name json.RawMessage) bool { return rawjson.Unquote(name) == Reasoning }
	if string(property) != ReasoningSchema || !slices.ContainsFunc(required, isReasoning) {
		return schema
	}
	w := new(rawjson.Object)
	for name, value := range rawjson.Members(schema) {
		if name == "required" {
			if required = slices.DeleteFunc(required, isReasoning); len(required) == 0 {
				continue
			}
			value = rawjson.Array(required)
		}
		w.Put(name, value)
	}
	return w.Bytes()
}
