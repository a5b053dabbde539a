package jsonschema

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/toolwire/toolwire/internal/rawjson"
)

// scan examines a schema document before the library reads it, because parts of the library's work
// are quadratic.
type scan struct {
	most       int // properties in all; there may be three times as many subschemas
	properties int
	subschemas int // at least as many as the library can find
	located    int // bytes of the pointers of all that walk visits, each with its base
	base       int // bytes of the "$id"s around what walk visits
	faults     []Fault
}

// locationBytes is how many bytes of pointers a schema may have for each property it may have. The
// library keeps the location of every subschema, and compares each with all others.
const locationBytes = 1 << 10

// maxStrange bounds the product of the subschemas and the references to places where no keyword
// puts a schema. For each such reference the library copies its data about all subschemas.
const maxStrange = 100_000

// references checks what a document refers to.
func (s *scan) references(r *reading) {
	if len(r.strange)*s.subschemas > maxStrange && len(s.faults) == 0 {
		s.fault("too_complex", "", `has too many references to places other than definitions; put what is referred to `+
			`under "$defs"`)
	}
}

// position is the role of an object in a schema document.
type position int

const (
	schemaHere  position = iota
	schemasHere          // its members are schemas: "properties", "$defs" and their like
	dataHere             // "const", "enum", "default", "examples": data without keywords
	unknownHere          // below an unknown keyword: a schema if something refers to it
)

func (s *scan) walk(v any, pointer string, pos position) {
	s.located += len(pointer) + s.base
	switch v := v.(type) {
	case bool:
		s.subschemas++
	case []any:
		for i, item := range v {
			s.inside(item, pointer, strconv.Itoa(i), pos)
		}
	case map[string]any:
		s.subschemas++
		outer := s.base
		for _, name := range [...]string{"$id", "id"} {
			id, _ := v[name].(string)
			s.base += len(id)
		}
		for _, name := range sortedKeys(v) {
			s.member(v, name, pointer, pos)
		}
		s.base = outer
	}
	switch {
	case len(s.faults) > 0:
	case s.subschemas > 3*s.most:
		s.fault("too_complex", pointer, fmt.Sprintf("brings the schema to more than %d subschemas", 3*s.most))
	case s.located > s.most*locationBytes:
		s.fault("too_complex", "", `has names, or a "$id", too long for so many subschemas; shorten them`)
	}
}

// inside walks a part of the value at pointer, unless no schema can be in it.
func (s *scan) inside(v any, pointer, token string, pos position) {
	if len(s.faults) > 0 {
		return
	}
	switch v.(type) {
	case bool, []any, map[string]any:
		s.walk(v, pointer+rawjson.Token(token), pos)
	}
}

// member examines a member of the object at pointer.
func (s *scan) member(obj map[string]any, name, pointer string, pos position) {
	v := obj[name]
	switch pos {
	case schemasHere:
		s.inside(v, pointer, name, schemaHere)
		return
	case dataHere:
		s.inside(v, pointer, name, dataHere)
		return
	}
	switch k, known := keywords[name]; {
	case name == "properties" || name == "patternProperties":
		members, _ := v.(map[string]any)
		s.properties += len(members)
		if s.properties > s.most {
			s.fault("too_complex", pointer+"/"+name, fmt.Sprintf("brings the schema to more than %d properties", s.most))
			return
		}
		s.inside(v, pointer, name, schemasHere)
	case !known:
		s.inside(v, pointer, name, unknownHere)
	case k.shape == schemas, k.shape == definitions:
		s.inside(v, pointer, name, schemasHere)
	case k.shape == schemaOf, k.shape == listOf, k.shape == described:
		s.inside(v, pointer, name, pos)
	default:
		if n, ok := v.(json.Number); ok && k.shape == rule && (strings.HasPrefix(name, "min") || strings.HasPrefix(name, "max")) &&
			name != "minimum" && name != "maximum" {
			obj[name] = clamp(n)
		}
		s.inside(v, pointer, name, dataHere)
	}
}

func (s *scan) fault(code, pointer, message string) {
	s.faults = append(s.faults, Fault{Code: code, Pointer: pointer, Message: message})
}

// clamp keeps a count in the range of the library, which reads a larger one modulo 2^64.
func clamp(n json.Number) json.Number {
	if f, err := n.Float64(); err == nil && f > math.MaxInt32 {
		return json.Number(strconv.Itoa(math.MaxInt32))
	}
	return n
}
