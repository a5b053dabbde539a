package jsonschema

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/toolwire/toolwire/internal/rawjson"
)

const (
	maxNumberLen    = 64
	maxSchemaValues = 500_000 // values and names of a schema document
	maxExponent     = 400     // with larger exponents, exact arithmetic on a short number takes milliseconds
)

// decode reads a document into the library's form: map[string]any, []any, string, json.Number, bool
// and nil. [rawjson.Read] must accept it in a mode without duplicate names. Strings and numbers share
// one copy of the document. The cost of a document grows with its values and names, and faster than
// linearly with the length of a number, so decode bounds both.
func decode(raw []byte, mode rawjson.Mode, depth, values int) (any, error) {
	err := rawjson.Check(raw, rawjson.Limits{Depth: depth, Mode: mode})
	if err == nil {
		err = rawjson.Bound(raw, values, maxNumberLen)
	}
	if err != nil {
		return nil, err
	}
	b := builder{doc: string(raw)}
	v := b.value()
	if b.tooBig {
		return nil, limitError("has a number with an exponent beyond %d", maxExponent)
	}
	return v, nil
}

// builder turns valid JSON into values. It checks only exponents.
type builder struct {
	doc    string
	at     int
	tooBig bool
}

func (b *builder) next() byte {
	for {
		switch c := b.doc[b.at]; c {
		case ' ', '\t', '\n', '\r', ',', ':':
			b.at++
		default:
			return c
		}
	}
}

func (b *builder) value() any {
	switch b.next() {
	case '{':
		b.at++
		obj := map[string]any{}
		for b.next() != '}' {
			name := b.text()
			obj[name] = b.value()
		}
		b.at++
		return obj
	case '[':
		b.at++
		arr := []any{}
		for b.next() != ']' {
			arr = append(arr, b.value())
		}
		b.at++
		return arr
	case '"':
		return b.text()
	case 't':
		b.at += len("true")
		return true
	case 'f':
		b.at += len("false")
		return false
	case 'n':
		b.at += len("null")
		return nil
	}
	return b.number()
}

func (b *builder) text() string {
	b.next()
	start := b.at
	for b.at++; b.doc[b.at] != '"'; b.at++ {
		if b.doc[b.at] == '\\' {
			return b.escaped(start)
		}
	}
	b.at++
	return b.doc[start+1 : b.at-1]
}

func (b *builder) escaped(start int) string {
	for ; b.doc[b.at] != '"'; b.at++ {
		if b.doc[b.at] == '\\' {
			b.at++
		}
	}
	b.at++
	return rawjson.Unquote(json.RawMessage(b.doc[start:b.at]))
}

func (b *builder) number() json.Number {
	start := b.at
	for b.at < len(b.doc) {
		switch c := b.doc[b.at]; {
		case c >= '0' && c <= '9', c == '-', c == '+', c == '.', c == 'e', c == 'E':
			b.at++
			continue
		}
		break
	}
	n := b.doc[start:b.at]
	if i := strings.IndexAny(n, "eE"); i >= 0 {
		if exp, err := strconv.Atoi(n[i+1:]); err != nil || exp > maxExponent || exp < -maxExponent {
			b.tooBig = true
		}
	}
	return json.Number(n)
}

func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case json.Number:
		return "a number"
	case string:
		return "a string"
	case []any:
		return "an array"
	}
	return "an object"
}
