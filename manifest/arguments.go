package manifest

import (
	"encoding/json"

	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/strictjson"
)

// argumentsCheck tells what is wrong with the arguments of a call; nil for nothing.
type argumentsCheck func(arguments json.RawMessage) error

// argumentLimits bound arguments before anything looks at them.
var argumentLimits = strictjson.Limits{Depth: 64}

// encodeArguments writes the arguments of a call as the tool will read them, and checks what holds for every tool, with
// a schema or without.
func encodeArguments(args any) (json.RawMessage, error) {
	return rawjson.EncodeArguments(args, argumentLimits)
}
