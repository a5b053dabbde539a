package dispatch

import (
	"bytes"
	_ "embed"
	"encoding/json"
)

//go:embed response.schema.json
var responseSchema []byte

// ResponseSchema returns the response envelope as a JSON Schema of draft 2020-12, for ports in
// other languages and for validators ("Porting without the SDK", response envelope and rich-mode
// messages). It rejects what [CheckResponse] reports, except what a schema cannot express: a tool
// message that answers no earlier tool call, a final response of white space, JSON that is not
// valid UTF-8 or is nested too deep, and a final response of more than 50,000 characters. The
// caller may change the returned bytes.
//
// [CheckResponse] applies the rules without a JSON Schema validator.
func ResponseSchema() json.RawMessage { return bytes.Clone(responseSchema) }
