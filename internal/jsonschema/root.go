package jsonschema

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/toolwire/toolwire/internal/rawjson"
)

// maxRootSchemas is how many schemas are examined for the type of a root.
const maxRootSchemas = 32

// rootTypes collects the types of the value itself: in "type", and where "$ref" and "allOf" lead
// from the root. It follows references that are JSON Pointers into the same document.
type rootTypes struct {
	root  any
	found []typeAt
	seen  map[string]bool // by pointer
}

// typeAt is a "type" and its place.
type typeAt struct {
	pointer string
	value   any
}

// NotObject returns the place where a schema allows a value that is not an object, as a JSON Pointer.
// The place is the first type that excludes objects, or the first type of all if no type is for objects
// alone. It returns "" if there is no such place. The schema must be a JSON object.
func NotObject(root json.RawMessage) string {
	own := rawjson.Member(root, "type")
	typed := !rawjson.IsNull(own) && !hasType(rawjson.Any(own), "any")
	leads := !rawjson.IsNull(rawjson.Member(root, "$ref")) || !rawjson.IsNull(rawjson.Member(root, "allOf"))
	if !leads && (!typed || rawjson.Unquote(own) == "object") {
		return ""
	}
	r := rootTypes{seen: map[string]bool{}}
	if json.Unmarshal(root, &r.root) != nil {
		return "" // the document is nested too deeply
	}
	r.look("", r.root)
	if typed && !saysObject(r.found[0].value) {
		return r.found[0].pointer
	}
	exactly := len(r.found) == 0
	for _, t := range r.found {
		if !allowsObject(t.value) {
			return t.pointer
		}
		exactly = exactly || saysObject(t.value)
	}
	if exactly {
		return ""
	}
	return r.found[0].pointer
}

func (r *rootTypes) look(at string, schema any) {
	s, ok := schema.(map[string]any)
	if !ok || r.seen[at] || len(r.seen) == maxRootSchemas {
		return
	}
	r.seen[at] = true
	if t := s["type"]; t != nil && !hasType(t, "any") { // it is read as absent
		r.found = append(r.found, typeAt{at + "/type", t})
	}
	if at != "" && isDocumentRoot(s) {
		return
	}
	if ref, ok := s["$ref"].(string); ok {
		if target, ok := Resolve(r.root, ref); ok {
			to, _ := rawjson.Local(ref)
			r.look(to, target)
		}
	}
	all, _ := s["allOf"].([]any)
	for i, one := range all[:min(len(all), maxRootSchemas)] {
		r.look(at+"/allOf/"+strconv.Itoa(i), one)
	}
}

// saysObject accepts "object" and ["object"]. It also accepts what is not a type, which is reported
// elsewhere.
func saysObject(t any) bool {
	switch t := t.(type) {
	case string:
		return t == "object"
	case []any:
		return len(t) == 1 && t[0] == "object"
	}
	return true
}

// allowsObject also accepts lists with other types.
func allowsObject(t any) bool {
	list, ok := t.([]any)
	return !ok && saysObject(t) || slices.Contains(list, any("object"))
}
