package toolcall

import (
	"bytes"
	"encoding/json"
	"iter"
	"slices"

	"github.com/toolwire/toolwire/internal/rawjson"
)

// walker follows the keywords of one schema that apply other schemas to the same object.
type walker struct {
	root json.RawMessage
	left int // references that may still be followed
}

const (
	maxFollowed = 200 // references followed; a schema may double them at every level
	maxInlined  = 32  // references expanded
	maxLevels   = 32  // levels of nested schemas; schemas that compile have at most 64 levels of JSON
)

// lists and singles are the keywords that apply schemas to the object itself. maps are those that
// do so under a condition.
var (
	lists   = []string{"allOf", "anyOf", "oneOf"}
	singles = []string{"if", "then", "else", "not"}
	maps    = []string{"dependentSchemas"}
)

// annotations are members that may repeat when a reference is replaced by its target, because they
// assert nothing.
var annotations = []string{"title", "description", "$comment", "default", "examples", "$schema", "$defs", "definitions"}

// identities are members that must not repeat.
var identities = []string{"$id", "$anchor", "$dynamicAnchor", "$recursiveAnchor"}

// declares reports whether a schema names the property, itself or in a schema that applies to the
// same object.
func (w *walker) declares(schema json.RawMessage, level int) bool {
	if level > maxLevels {
		return false
	}
	for _, m := range members(schema) {
		if namesProperty(m) {
			return true
		}
		for applied := range w.applied(m) {
			if w.declares(applied, level+1) {
				return true
			}
		}
	}
	return false
}

// namesProperty reports whether a keyword names the property.
func namesProperty(m member) bool {
	switch m.name {
	case "properties":
		return slices.ContainsFunc(members(m.value), func(p member) bool { return p.name == reasoningName })
	case "required":
		var required []string
		return json.Unmarshal(m.value, &required) == nil && slices.Contains(required, reasoningName)
	}
	return false
}

// applied returns the schemas that a keyword applies to the same object.
func (w *walker) applied(m member) iter.Seq[json.RawMessage] {
	return func(yield func(json.RawMessage) bool) {
		switch {
		case m.name == "$ref":
			if target, ok := w.target(m.value); ok {
				yield(target)
			}
		case slices.Contains(lists, m.name):
			rawjson.Elements(m.value)(yield)
		case slices.Contains(singles, m.name):
			yield(m.value)
		case slices.Contains(maps, m.name):
			for _, schema := range members(m.value) {
				if !yield(schema.value) {
					return
				}
			}
		}
	}
}

// target returns the target of a local reference: "#", or "#" and a JSON Pointer.
func (w *walker) target(ref json.RawMessage) (json.RawMessage, bool) {
	pointer, local := rawjson.Local(rawjson.Unquote(ref))
	if !local || w.left == 0 {
		return nil, false
	}
	w.left--
	at, ok := rawjson.At(w.root, pointer)
	return at, ok && rawjson.Kind(at) == '{'
}

// merged replaces a local "$ref" by the members of its target. Members beside it win: they are
// annotations and definitions. If another member conflicts, the reference stays.
func (w *walker) merged(list []member, level int) []member {
	at := slices.IndexFunc(list, func(m member) bool { return m.name == "$ref" })
	if at < 0 || level > maxLevels {
		return list
	}
	target, ok := w.target(list[at].value)
	if !ok {
		return list
	}
	found := w.merged(members(target), level+1)
	for _, m := range found {
		if slices.Contains(identities, m.name) {
			return list
		}
		beside := slices.ContainsFunc(list, func(l member) bool { return l.name == m.name })
		if beside && !slices.Contains(annotations, m.name) {
			return list
		}
	}
	merged := slices.Clone(list[:at])
	for _, m := range found {
		if !slices.ContainsFunc(list, func(l member) bool { return l.name == m.name }) {
			merged = append(merged, m)
		}
	}
	return append(merged, list[at+1:]...)
}

// opened changes everything below that would reject the property. It does not add the property to
// list itself.
func (w *walker) opened(list []member, level int) []member {
	if level > maxLevels {
		return list
	}
	list = slices.Clone(list)
	for i, m := range list {
		switch {
		case m.name == "maxProperties" || m.name == "minProperties":
			list[i].value = plusOne(m.value)
		case m.name == "propertyNames":
			list[i].value = json.RawMessage(`{"anyOf":[{"const":"` + reasoningName + `"},` + string(m.value) + `]}`)
		case slices.Contains(lists, m.name):
			list[i].value = array(rawjson.Elements(m.value), func(b json.RawMessage) json.RawMessage {
				return w.branch(b, level+1)
			})
		case slices.Contains(singles, m.name):
			list[i].value = w.branch(m.value, level+1)
		case slices.Contains(maps, m.name):
			inner := members(m.value)
			for k := range inner {
				inner[k].value = w.branch(inner[k].value, level+1)
			}
			list[i].value = object(inner)
		}
	}
	return list
}

// branch opens one schema that applies to the same object as the root.
func (w *walker) branch(schema json.RawMessage, level int) json.RawMessage {
	if rawjson.Kind(schema) != '{' {
		return schema
	}
	before := members(schema)
	list := w.opened(w.merged(before, level), level)
	if slices.ContainsFunc(list, func(m member) bool {
		return m.name == "additionalProperties" || m.name == "unevaluatedProperties"
	}) {
		list = prepend(list, "properties", '{', reasoning)
	}
	if after := object(list); string(after) != string(object(before)) {
		return after
	}
	return schema
}

// array returns an array of what each returns for the values.
func array(values iter.Seq[json.RawMessage], each func(json.RawMessage) json.RawMessage) json.RawMessage {
	var out []json.RawMessage
	for v := range values {
		out = append(out, each(v))
	}
	return rawjson.Array(out)
}

// detached prepares a schema that refers to its root by "#" for a change of the root. Such
// references are changed to refer to a definition, which is returned as a member for "$defs".
func detached(schema json.RawMessage) (definition, changed json.RawMessage) {
	if !bytes.Contains(schema, []byte(`"#"`)) {
		return nil, schema
	}
	label := "arguments"
	for bytes.Contains(schema, []byte(`"`+label+`"`)) {
		label += "_"
	}
	changed, found := redirected(schema, json.RawMessage(`"#/$defs/`+label+`"`), 0)
	if !found {
		return nil, schema
	}
	self := slices.DeleteFunc(members(changed), func(m member) bool {
		return slices.Contains([]string{"$schema", "$id", "id", "$defs", "definitions"}, m.name)
	})
	return append(json.RawMessage(`"`+label+`":`), object(self)...), changed
}

// redirected replaces the references to "#" everywhere in a schema.
func redirected(value, to json.RawMessage, level int) (changed json.RawMessage, found bool) {
	if level > 2*maxLevels {
		return value, false
	}
	switch rawjson.Kind(value) {
	case '{':
		list := members(value)
		for i, m := range list {
			isRef := m.name == "$ref" || m.name == "$recursiveRef" || m.name == "$dynamicRef"
			if isRef && string(m.value) == `"#"` {
				list[i], found = member{"$ref", to}, true
			} else if inner, ok := redirected(m.value, to, level+1); ok {
				list[i].value, found = inner, true
			}
		}
		changed = object(list)
	case '[':
		changed = array(rawjson.Elements(value), func(v json.RawMessage) json.RawMessage {
			inner, ok := redirected(v, to, level+1)
			found = found || ok
			return inner
		})
	}
	if !found {
		return value, false
	}
	return changed, true
}
