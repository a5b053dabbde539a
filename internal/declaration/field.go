package declaration

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/toolwire/toolwire/internal/rawjson"
)

// A Field is a known member, bound to the variable that holds it.
type Field struct {
	Name  string
	set   func() bool
	read  func(value json.RawMessage) []Problem // never called with null; leaves the variable unset if there are problems
	write func() (json.RawMessage, error)       // called only if the variable is set
	inner func() []Problem                      // of a nested declaration that is set; may be nil
}

// check returns the problems of what the variable holds. Pointers start at the member.
func (f Field) check() []Problem {
	if f.inner == nil {
		return nil
	}
	return f.inner()
}

func wrongType(pointer, want string, value json.RawMessage) []Problem {
	return []Problem{{"wrong_type", pointer, "must be " + want + ", not " + rawjson.KindName(value)}}
}

// String is a string. An empty one counts as absent.
func String[T ~string](name string, into *T) Field {
	return Field{
		Name: name, set: func() bool { return *into != "" },
		read: func(value json.RawMessage) []Problem {
			if rawjson.Kind(value) != '"' {
				return wrongType("", "a string", value)
			}
			*into = T(rawjson.Text(value))
			return nil
		},
		write: func() (json.RawMessage, error) { return rawjson.Quote(string(*into)), nil },
	}
}

// Raw is any value, kept byte for byte.
func Raw(name string, into *json.RawMessage) Field {
	return Field{
		Name: name, set: func() bool { return len(*into) > 0 },
		read: func(value json.RawMessage) []Problem {
			*into = value
			return nil
		},
		write: func() (json.RawMessage, error) { return *into, nil },
	}
}

// Object is another declaration, which keeps a value that is not an object itself. check returns its
// problems. If nil, the package of the declaration reports them.
func Object[T json.Marshaler](name string, into **T, from func(value json.RawMessage) T,
	check func(*T) []Problem) Field {
	var inner func() []Problem
	if check != nil {
		inner = func() []Problem { return check(*into) }
	}
	return Field{
		inner: inner,

		Name: name, set: func() bool { return *into != nil },
		read: func(value json.RawMessage) []Problem {
			v := from(value)
			*into = &v
			return nil
		},
		write: func() (json.RawMessage, error) { return (**into).MarshalJSON() },
	}
}

// List is a list of declarations, which keep values that are not objects themselves.
func List[T json.Marshaler](name string, into *[]T, from func(value json.RawMessage) T) Field {
	return Field{
		Name: name, set: func() bool { return *into != nil },
		read: func(value json.RawMessage) []Problem {
			if rawjson.Kind(value) != '[' {
				return wrongType("", "a list of objects", value)
			}
			*into = []T{}
			for element := range rawjson.Elements(value) {
				*into = append(*into, from(element))
			}
			return nil
		},
		write: func() (json.RawMessage, error) {
			texts := make([]json.RawMessage, len(*into))
			for i, v := range *into {
				text, err := v.MarshalJSON()
				if err != nil {
					return nil, err
				}
				texts[i] = text
			}
			return rawjson.Array(texts), nil
		},
	}
}

// Strings is a list of strings.
func Strings(name string, into *[]string) Field {
	return Field{
		Name: name, set: func() bool { return *into != nil },
		read: func(value json.RawMessage) (wrong []Problem) {
			if rawjson.Kind(value) != '[' {
				return wrongType("", "a list of strings", value)
			}
			list := []string{}
			for element := range rawjson.Elements(value) {
				if rawjson.Kind(element) != '"' {
					wrong = append(wrong, wrongType("/"+strconv.Itoa(len(list)), "a string", element)...)
				}
				list = append(list, rawjson.Text(element))
			}
			if wrong == nil {
				*into = list
			}
			return wrong
		},
		write: func() (json.RawMessage, error) { return rawjson.Encode(*into) },
	}
}

// StringMap is an object of strings.
func StringMap(name string, into *map[string]string) Field {
	return Field{
		Name: name, set: func() bool { return *into != nil },
		read: func(value json.RawMessage) (wrong []Problem) {
			if rawjson.Kind(value) != '{' {
				return wrongType("", "an object of strings", value)
			}
			texts := map[string]string{}
			for name, v := range rawjson.Members(value) {
				if rawjson.Kind(v) != '"' {
					wrong = append(wrong, wrongType(rawjson.Token(name), "a string", v)...)
				}
				texts[name] = rawjson.Text(v)
			}
			if wrong == nil {
				*into = texts
			}
			return wrong
		},
		write: func() (json.RawMessage, error) { return rawjson.Encode(*into) },
	}
}

// Scalars is a list of strings, numbers (as json.Number), booleans and nulls.
func Scalars(name string, into *[]any) Field {
	return Field{
		Name: name, set: func() bool { return *into != nil },
		read: func(value json.RawMessage) (wrong []Problem) {
			if rawjson.Kind(value) != '[' {
				return wrongType("", "a list of scalars", value)
			}
			list := []any{}
			for element := range rawjson.Elements(value) {
				var v any
				if kind := rawjson.Kind(element); kind == '{' || kind == '[' {
					wrong = append(wrong, wrongType("/"+strconv.Itoa(len(list)), "a string, number, boolean or null", element)...)
				} else {
					dec := json.NewDecoder(bytes.NewReader(element))
					dec.UseNumber()
					_ = dec.Decode(&v) // cannot fail: the element is a valid scalar
				}
				list = append(list, v)
			}
			if wrong == nil {
				*into = list
			}
			return wrong
		},
		write: func() (json.RawMessage, error) { return rawjson.Encode(*into) },
	}
}
