package rawjson

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
)

// Decode reads a value, which must be valid JSON, into a T as encoding/json does. Integers of Go may
// also be written with a fraction of zeros or with an exponent: 3.0 and 1e1. If one is, all whole
// numbers are written plainly, also those in a json.RawMessage or json.Number. The error names types,
// bounds and members but never values. what names the value, such as "the arguments".
func Decode[T any](raw json.RawMessage, what string) (T, error) {
	var v, zero T
	err := json.Unmarshal(raw, &v)
	if t, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && isInteger(t.Type) {
		v = zero
		err = json.Unmarshal(plainIntegers(raw), &v)
	}
	if err == nil {
		return v, nil
	}
	text := fmt.Sprintf("%s cannot be decoded into a Go %s", what, reflect.TypeFor[T]())
	if t, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		at := what
		if t.Field != "" {
			at = "/" + strings.ReplaceAll(t.Field, ".", "/")
		}
		kind, _, _ := strings.Cut(t.Value, " ") // "number 300" holds the number
		text = fmt.Sprintf("%s cannot be decoded from a JSON %s into a Go %s", at, kind, t.Type)
		if isInteger(t.Type) {
			text = at + " must be a whole number " + integerBounds(t.Type)
		}
	}
	return zero, &quietError{text, err}
}

func isInteger(t reflect.Type) bool { return t.Kind() >= reflect.Int && t.Kind() <= reflect.Uintptr }

// integerBounds returns the range of an integer type in words.
func integerBounds(t reflect.Type) string {
	if t.Kind() >= reflect.Uint {
		return fmt.Sprintf("between 0 and %d", uint64(math.MaxUint64)>>(64-t.Bits()))
	}
	highest := int64(math.MaxInt64) >> (64 - t.Bits())
	return fmt.Sprintf("between %d and %d", -highest-1, highest)
}

// longestInteger is the length of the smallest int64.
const longestInteger = 20

// plainIntegers writes the whole numbers of a document that a Go integer can hold without fraction
// and exponent.
func plainIntegers(doc json.RawMessage) json.RawMessage {
	var out []byte
	done := 0
	for at := 0; at < len(doc); {
		switch c := doc[at]; {
		case c == '"':
			at = quotedEnd(doc, at)
		case c == '-' || c >= '0' && c <= '9':
			end := End(doc, at)
			if n := ParseNumber(string(doc[at:end])); n.Integer() {
				if text, ok := n.Plain(longestInteger); ok {
					out = append(append(out, doc[done:at]...), text...)
					done = end
				}
			}
			at = end
		default:
			at++
		}
	}
	return append(out, doc[done:]...)
}
