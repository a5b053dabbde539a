package schema

import (
	"encoding/json"
	"reflect"

	"github.com/toolwire/toolwire/internal/rawjson"
)

// An OrFailure is an output type for [Define]: a T, or a failure {"error": "..."}. A schema that
// allows only a T keeps the simulator from making the tool fail, and [Lint] warns of it.
//
//	tool := schema.MustDefine[RefundOrder, schema.OrFailure[Refund]]("refund_order", "Refund an order.", nil)
//
// T must not have a JSON member error. To call the tool use proxy.Call with T itself, which returns
// failures as errors.
type OrFailure[T any] struct {
	Value   T
	Failure string // if not empty, the tool has failed and Value is not used
}

// failureSchema is the schema of a failure.
const failureSchema = `{"type":"object","properties":{"error":{"type":"string",` +
	`"description":"Why the tool failed."}},"required":["error"]}`

// MarshalJSON writes Value, or the failure.
func (o OrFailure[T]) MarshalJSON() ([]byte, error) {
	if o.Failure == "" {
		return rawjson.Encode(o.Value)
	}
	var w rawjson.Object
	w.PutText("error", o.Failure)
	return w.Bytes(), nil
}

// UnmarshalJSON reads an object whose member error is a string as a failure, and any other value as
// a T.
func (o *OrFailure[T]) UnmarshalJSON(data []byte) error {
	*o = OrFailure[T]{}
	if !json.Valid(data) { // for callers other than encoding/json
		return json.Unmarshal(data, &o.Value)
	}
	if failure := rawjson.Member(data, "error"); rawjson.Unquote(failure) != "" {
		o.Failure = rawjson.Unquote(failure)
		return nil
	}
	return json.Unmarshal(data, &o.Value)
}

func (*OrFailure[T]) succeeds() (self, value reflect.Type) {
	return reflect.TypeFor[OrFailure[T]](), reflect.TypeFor[T]()
}

// failable is implemented by every OrFailure, and by types that embed one.
type failable interface {
	succeeds() (self, value reflect.Type)
}

// succeeds returns the OrFailure that a type is or embeds, and its T; nil for other types.
func succeeds(t reflect.Type) (self, value reflect.Type) {
	if t.Kind() == reflect.Struct {
		if f, ok := reflect.New(t).Interface().(failable); ok {
			return f.succeeds()
		}
	}
	return nil, nil
}
