package toolresult

import (
	"encoding/json"

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
