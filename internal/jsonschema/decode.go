package jsonschema

import "github.com/toolwire/toolwire/internal/rawjson"

const (
	maxNumberLen    = 64
	maxSchemaValues = 500_000 // values and names of a schema document
	maxExponent     = 400     // with larger exponents, exact arithmetic on a short number takes milliseconds
)

// decode reads a document into the library's form: map[string]any, []any, string, json.Number, bool
// and nil. [rawjson.Read] must accept it in a mode without duplicate names. The cost of a document
// grows with its values and names, and faster than linearly with the length of a number, so decode
// bounds both.
func decode(raw []byte, mode rawjson.Mode, depth, values int) (any, error) {
	err := rawjson.Check(raw, rawjson.Limits{Depth: depth, Mode: mode})
	if err == nil {
		err = rawjson.Bound(raw, rawjson.Bounds{Values: values, NumberLen: maxNumberLen, Exponent: maxExponent})
	}
	if err != nil {
		return nil, err
	}
	return rawjson.Any(raw), nil
}
