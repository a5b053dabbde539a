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
	engine     *patterns
	most       int // properties in all; there may be three times as many subschemas
	properties int
	subschemas int // at least as many as the library can find
	located    int // bytes of the pointers of all that walk visits, each with its base
	base       int // bytes of the "$id"s around what walk visits
	faults     []Fault
	anchors    []string        // pointers of objects with a "$dynamicAnchor" or "$recursiveAnchor"
	places     map[string]bool // "#" and pointer of every schema under a keyword that contains schemas
	refs       []refUse
	names      map[string]bool // anchors
	nestedIDs  bool            // a part of the document has its own "$id"
	lenient    bool            // the document does not name its draft
	unchecked  []Fault         // of regular expressions that do not compile, and of null
	ignored    []memberOf      // the members that have such expressions
	bothWays   bool            // ignoring them may reject a document that matches
}

// memberOf is a member of an object in a document.
type memberOf struct {
	in   map[string]any
	name string
}

// locationBytes is how many bytes of pointers a schema may have for each property it may have. The
// library keeps the location of every subschema, and compares each with all others.
const locationBytes = 1 << 10

// maxStrange bounds the product of the subschemas and the references to places where no keyword
// puts a schema. For each such reference the library copies its data about all subschemas.
const maxStrange = 100_000

// document scans a whole schema document.
func (s *scan) document(doc any) {
	s.places, s.names, s.refs = map[string]bool{}, map[string]bool{}, nil
	s.lenient = !namesDraft(doc)
	s.walk(doc, "", schemaHere)
	strange := map[string]bool{}
	for _, ref := range s.refs {
		if strings.Contains(ref.target, "#/") && !s.places[ref.target] {
			strange[ref.target] = true
		}
	}
	if len(strange)*s.subschemas > maxStrange && len(s.faults) == 0 {
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
		if pos == schemaHere {
			s.places["#"+pointer] = true
		}
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
	if pos == schemasHere || pos == dataHere {
		s.inside(v, pointer, name, childPosition(pos))
		return
	}
	if v == nil && pos == schemaHere && s.lenient && neverNull(name) {
		s.unchecked = append(s.unchecked, Fault{Code: "member_null", Pointer: pointer + rawjson.Token(name),
			Message: "must not be null; it is read as absent, so leave it out"})
		delete(obj, name)
		return
	}
	switch name {
	case "not", "if", "oneOf", "maxContains":
		s.bothWays = true // a schema that matches more may make the one around it match less
	}
	switch name {
	case "properties", "patternProperties":
		at := pointer + "/" + name
		members, _ := v.(map[string]any)
		s.properties += len(members)
		if s.properties > s.most {
			s.fault("too_complex", at, fmt.Sprintf("brings the schema to more than %d properties", s.most))
			return
		}
		if name == "patternProperties" {
			for _, pattern := range sortedKeys(members) {
				if !s.pattern(pattern, at+rawjson.Token(pattern), pos) {
					s.ignored = append(s.ignored, memberOf{members, pattern})
					s.bothWays = true
				}
			}
		}
		s.inside(v, pointer, name, schemasHere)
	case "$defs", "definitions", "dependentSchemas", "dependencies":
		s.inside(v, pointer, name, schemasHere)
	case "const", "enum", "default", "examples", "required", "type":
		s.inside(v, pointer, name, dataHere)
	case "pattern":
		if pattern, ok := v.(string); ok && !s.pattern(pattern, pointer+"/pattern", pos) {
			s.ignored = append(s.ignored, memberOf{obj, name})
		}
	case "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains":
		if n, ok := v.(json.Number); ok {
			obj[name] = clamp(n)
		}
	case "uniqueItems", "readOnly", "writeOnly", "deprecated", "exclusiveMaximum", "exclusiveMinimum":
	case "$dynamicAnchor", "$recursiveAnchor":
		s.anchors = append(s.anchors, pointer)
		if name, ok := v.(string); ok {
			s.names[name] = true
		}
	case "$ref":
		if target, ok := v.(string); ok {
			s.refs = append(s.refs, refUse{target, pointer + "/$ref"})
		}
	case "$id", "id":
		id, ok := v.(string)
		if name, anchor := strings.CutPrefix(id, "#"); anchor {
			s.names[name] = true
		} else if ok && pointer != "" {
			s.nestedIDs = true
		}
	case "$anchor":
		if name, ok := v.(string); ok {
			s.names[name] = true
		}
	case "additionalProperties", "propertyNames", "unevaluatedProperties", "items", "prefixItems", "additionalItems",
		"contains",
		"unevaluatedItems", "allOf", "anyOf", "oneOf", "not", "if", "then", "else":
		s.inside(v, pointer, name, pos)
	default:
		s.inside(v, pointer, name, unknownHere)
	}
}

func childPosition(pos position) position {
	if pos == schemasHere {
		return schemaHere
	}
	return pos
}

// pattern compiles a regular expression, in the order of the names. The expressions of a schema
// share a limit, and the same ones must exceed it each time.
func (s *scan) pattern(pattern, at string, pos position) (ok bool) {
	if pos != schemaHere {
		return true
	}
	_, err := s.engine.compile(pattern)
	if err != nil {
		s.unchecked = append(s.unchecked, Fault{Code: "pattern_unsupported", Pointer: at, Message: unsupported(err)})
	}
	return err == nil
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
