package members

import (
	"encoding/json"
	"strconv"

	"github.com/toolwire/toolwire/internal/rawjson"
)

// A Field is a known member, bound to the variable that holds it.
type Field struct {
	Name string
	holder
}

// holder is a variable of one type.
type holder interface {
	set() bool
	// read reads a value other than null. It leaves the variable unset if there are problems.
	read(value json.RawMessage) Problems
	write() (json.RawMessage, error) // called only if the variable is set
}

func wrongType(want string, value json.RawMessage) (wrong Problems) {
	addWrongType(&wrong, "", want, value)
	return wrong
}

func addWrongType(to *Problems, pointer, want string, value json.RawMessage) {
	to.Add("wrong_type", pointer, "must be %s, not %s", want, rawjson.KindName(rawjson.Kind(value)))
}

// String is a string. An empty one counts as absent.
func String[T ~string](name string, into *T) Field { return Field{name, text[T]{into}} }

type text[T ~string] struct{ into *T }

func (h text[T]) set() bool { return *h.into != "" }

func (h text[T]) read(value json.RawMessage) Problems {
	if rawjson.Kind(value) != '"' {
		return wrongType("a string", value)
	}
	*h.into = T(rawjson.Unquote(value))
	return Problems{}
}

func (h text[T]) write() (json.RawMessage, error) { return rawjson.Quote(string(*h.into)), nil }

// Raw is any value, kept byte for byte.
func Raw(name string, into *json.RawMessage) Field { return Field{name, raw{into}} }

type raw struct{ into *json.RawMessage }

func (h raw) set() bool { return len(*h.into) > 0 }

func (h raw) read(value json.RawMessage) Problems {
	*h.into = value
	return Problems{}
}

func (h raw) write() (json.RawMessage, error) { return *h.into, nil }

// Object is another declaration, which keeps a value that is not an object itself. check returns its
// problems. If nil, the package of the declaration reports them.
func Object[T json.Marshaler](name string, into **T, from func(value json.RawMessage) T,
	check func(*T) Problems) Field {
	return Field{name, &object[T]{into, from, check}}
}

type object[T json.Marshaler] struct {
	into  **T
	from  func(value json.RawMessage) T
	check func(*T) Problems
}

func (h *object[T]) set() bool { return *h.into != nil }

func (h *object[T]) read(value json.RawMessage) Problems {
	v := h.from(value)
	*h.into = &v
	return Problems{}
}

func (h *object[T]) write() (json.RawMessage, error) { return (**h.into).MarshalJSON() }

// inner returns the problems of the declaration. Pointers start at it.
func (h *object[T]) inner() Problems {
	if h.check == nil {
		return Problems{}
	}
	return h.check(*h.into)
}

// longest is how many elements of a [List] are read, and mostTexts how many of [Strings]. An element takes much
// more memory than it has bytes.
const (
	longest   = 1000
	mostTexts = 10_000
)

// tooMany adds a problem if a list has more than most elements. The list is then kept as a whole.
func tooMany(to *Problems, list json.RawMessage, most int) bool {
	n := 0
	for range rawjson.Elements(list) {
		n++
	}
	if n > most {
		to.Add("too_many", "", "has %d elements; no more than %d are read", n, most)
	}
	return n > most
}

// List is a list of declarations, which keep values that are not objects themselves. A list of more than
// 1,000 elements is kept as a whole.
func List[T json.Marshaler](name string, into *[]T, from func(value json.RawMessage) T) Field {
	return Field{name, &list[T]{into, from}}
}

type list[T json.Marshaler] struct {
	into *[]T
	from func(value json.RawMessage) T
}

func (h *list[T]) set() bool { return *h.into != nil }

func (h *list[T]) read(value json.RawMessage) (wrong Problems) {
	if rawjson.Kind(value) != '[' {
		return wrongType("a list of objects", value)
	}
	if tooMany(&wrong, value, longest) {
		return wrong
	}
	*h.into = []T{}
	for element := range rawjson.Elements(value) {
		*h.into = append(*h.into, h.from(element))
	}
	return wrong
}

func (h *list[T]) write() (json.RawMessage, error) {
	texts := make([]json.RawMessage, len(*h.into))
	for i, v := range *h.into {
		text, err := v.MarshalJSON()
		if err != nil {
			return nil, err
		}
		texts[i] = text
	}
	return rawjson.Array(texts), nil
}

// Strings is a list of at most 10,000 strings.
func Strings(name string, into *[]string) Field { return Field{name, texts{into}} }

type texts struct{ into *[]string }

func (h texts) set() bool { return *h.into != nil }

func (h texts) read(value json.RawMessage) (wrong Problems) {
	if rawjson.Kind(value) != '[' {
		return wrongType("a list of strings", value)
	}
	if tooMany(&wrong, value, mostTexts) {
		return wrong
	}
	list := []string{}
	for element := range rawjson.Elements(value) {
		if rawjson.Kind(element) != '"' {
			addWrongType(&wrong, "/"+strconv.Itoa(len(list)), "a string", element)
		}
		list = append(list, rawjson.Unquote(element))
	}
	if wrong.Len() == 0 {
		*h.into = list
	}
	return wrong
}

func (h texts) write() (json.RawMessage, error) { return rawjson.Encode(*h.into) }

// StringMap is an object of strings.
func StringMap(name string, into *map[string]string) Field { return Field{name, textMap{into}} }

type textMap struct{ into *map[string]string }

func (h textMap) set() bool { return *h.into != nil }

func (h textMap) read(value json.RawMessage) (wrong Problems) {
	if rawjson.Kind(value) != '{' {
		return wrongType("an object of strings", value)
	}
	texts := map[string]string{}
	for name, v := range rawjson.Members(value) {
		if rawjson.Kind(v) != '"' {
			addWrongType(&wrong, rawjson.Token(name), "a string", v)
		}
		texts[name] = rawjson.Unquote(v)
	}
	if wrong.Len() == 0 {
		*h.into = texts
	}
	return wrong
}

func (h textMap) write() (json.RawMessage, error) { return rawjson.Encode(*h.into) }

// Scalars is a list of strings, numbers (as json.Number), booleans and nulls.
func Scalars(name string, into *[]any) Field { return Field{name, scalars{into}} }

type scalars struct{ into *[]any }

func (h scalars) set() bool { return *h.into != nil }

func (h scalars) read(value json.RawMessage) (wrong Problems) {
	if rawjson.Kind(value) != '[' {
		return wrongType("a list of scalars", value)
	}
	list := []any{}
	for element := range rawjson.Elements(value) {
		var v any
		if kind := rawjson.Kind(element); kind == '{' || kind == '[' {
			addWrongType(&wrong, "/"+strconv.Itoa(len(list)), "a string, number, boolean or null", element)
		} else {
			v = rawjson.Any(element)
		}
		list = append(list, v)
	}
	if wrong.Len() == 0 {
		*h.into = list
	}
	return wrong
}

func (h scalars) write() (json.RawMessage, error) { return rawjson.Encode(*h.into) }
