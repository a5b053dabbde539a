package jsonschema

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// scan looks at a schema document before the library does, because some of what the library does with it is quadratic.
type scan struct {
	properties int
	subschemas int // at least as many as the library can find, whatever it takes for one
	faults     []Fault
	anchors    []string // pointers of objects with a "$dynamicAnchor"
}

// position tells what an object in a schema document is.
type position int

const (
	schemaHere  position = iota
	schemasHere          // its members are schemas: "properties", "$defs" and their like
	dataHere             // "const", "enum", "default", "examples": no keyword is meant
)

func (s *scan) walk(v any, pointer string, pos position, l *Limits) {
	if len(s.faults) > 0 {
		return
	}
	switch v := v.(type) {
	case bool:
		s.subschemas++
	case []any:
		for i, item := range v {
			s.walk(item, pointer+"/"+strconv.Itoa(i), pos, l)
		}
	case map[string]any:
		s.subschemas++
		for _, name := range sortedKeys(v) {
			s.member(v, name, pointer+"/"+escape(name), pos, l)
		}
	}
	if most := 4 * l.Properties; s.subschemas > most && len(s.faults) == 0 {
		s.fault("too_complex", pointer, fmt.Sprintf("brings the schema to more than %d subschemas", most))
	}
}

func (s *scan) member(obj map[string]any, name, at string, pos position, l *Limits) {
	v := obj[name]
	if pos != schemaHere {
		s.walk(v, at, childPosition(pos), l)
		return
	}
	switch name {
	case "properties", "patternProperties":
		members, _ := v.(map[string]any)
		s.properties += len(members)
		if s.properties > l.Properties {
			s.fault("too_complex", at, fmt.Sprintf("brings the schema to more than %d properties", l.Properties))
			return
		}
		if name == "patternProperties" {
			for _, pattern := range sortedKeys(members) {
				s.pattern(pattern, at, l)
			}
		}
		s.walk(v, at, schemasHere, l)
	case "$defs", "definitions", "dependentSchemas", "dependencies":
		s.walk(v, at, schemasHere, l)
	case "const", "enum", "default", "examples", "required", "type":
		s.walk(v, at, dataHere, l)
	case "pattern":
		if pattern, ok := v.(string); ok {
			s.pattern(pattern, at, l)
		}
	case "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains":
		if n, ok := v.(json.Number); ok {
			obj[name] = clamp(n)
		}
	case "uniqueItems", "readOnly", "writeOnly", "deprecated", "exclusiveMaximum", "exclusiveMinimum", "$recursiveAnchor":
	case "$dynamicAnchor":
		s.anchors = append(s.anchors, strings.TrimSuffix(at, "/$dynamicAnchor"))
	default:
		s.walk(v, at, schemaHere, l)
	}
}

func childPosition(pos position) position {
	if pos == schemasHere {
		return schemaHere
	}
	return pos
}

func (s *scan) pattern(pattern, at string, l *Limits) {
	if len(pattern) > l.Pattern {
		s.fault("too_complex", at, fmt.Sprintf("has a regular expression of more than %d bytes", l.Pattern))
	}
}

func (s *scan) fault(code, pointer, message string) {
	s.faults = append(s.faults, Fault{Code: code, Pointer: pointer, Message: message})
}

// clamp keeps a count in the range of the library, which would take a larger one modulo 2^64.
func clamp(n json.Number) json.Number {
	if f, err := n.Float64(); err == nil && f > math.MaxInt32 {
		return json.Number(strconv.Itoa(math.MaxInt32))
	}
	return n
}

func escape(token string) string {
	return strings.ReplaceAll(strings.ReplaceAll(token, "~", "~0"), "/", "~1")
}
