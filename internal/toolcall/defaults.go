package toolcall

import (
	"bytes"
	"encoding/json"
	"iter"
	"slices"

	"github.com/toolwire/toolwire/internal/rawjson"
)

// A plan knows the defaults of one schema. The page Bedrock tools describes them: a model may leave out
// a property, and the tool then works with the default. The nil plan has none.
type plan struct{ root *node }

// node is what a schema says about one value.
type node struct {
	properties []*property    // in the order of the schema
	index      map[string]int // of properties, by name
	items      *node
}

// property is what the schemas of an object say about one of its properties.
type property struct {
	name  string
	value json.RawMessage // the default; nil if there is none
	node  *node           // of the first schema
}

// planOf returns the defaults of a schema, which must be valid. It follows "properties", "items",
// "allOf" and local references. It ignores schemas that apply under a condition, such as the branches
// of "anyOf", and "items" beside "prefixItems". Of several schemas for one property, the first with a
// default counts. A default of null is ignored, because it means the same as an absent property.
func planOf(schema json.RawMessage) *plan {
	schema = bytes.TrimSpace(schema)
	b := &builder{
		schema: schema, parts: map[*byte]*part{}, nodes: map[*byte]*node{}, defaults: map[*byte]json.RawMessage{},
		targets: map[string]json.RawMessage{},
	}
	root := b.node(schema)
	b.complete()
	if !b.found {
		return nil
	}
	return &plan{root}
}

// fill adds the defaults to arguments that match the schema, as [Arguments.Filled] says.
func (p *plan) fill(arguments json.RawMessage, matches func(arguments []byte) error) json.RawMessage {
	if p == nil {
		return arguments
	}
	f := filling{left: maxAdded}
	filled, changed := f.fill(p.root, arguments)
	if !changed || f.left < 0 || matches(filled) != nil {
		return arguments
	}
	return filled
}

// maxAdded is how many bytes of names and defaults are added: a list of many empty objects would
// otherwise grow by a long default for each.
const maxAdded = 1 << 20

// filling adds defaults while bytes are left.
type filling struct{ left int }

func (f *filling) fill(n *node, value json.RawMessage) (filled json.RawMessage, changed bool) {
	if f.left < 0 {
		return value, false
	}
	switch rawjson.Kind(value) {
	case '{':
		return f.fillObject(n, value)
	case '[':
		if n.items == nil {
			return value, false
		}
		var list []json.RawMessage
		for element := range rawjson.Elements(value) {
			element, other := f.fill(n.items, element)
			list, changed = append(list, element), changed || other
		}
		if changed {
			value = rawjson.Array(list)
		}
	}
	return value, changed
}

func (f *filling) fillObject(n *node, value json.RawMessage) (filled json.RawMessage, changed bool) {
	var o rawjson.Object
	present := make([]bool, len(n.properties))
	for name, v := range rawjson.Members(value) {
		if i, ok := n.index[name]; ok {
			other := false
			v, other = f.fill(n.properties[i].node, v)
			present[i], changed = true, changed || other
		}
		o.Put(name, v)
	}
	for i, p := range n.properties {
		if p.value != nil && !present[i] {
			f.left -= len(p.name) + len(p.value)
			o.Put(p.name, p.value)
			changed = true
		}
	}
	if !changed {
		return value, false
	}
	return o.Bytes(), true
}

// builder reads one schema. Maps have the place of a schema as their key.
type builder struct {
	schema   json.RawMessage
	parts    map[*byte]*part
	nodes    map[*byte]*node           // a reference may reach a schema again
	waiting  []json.RawMessage         // the schemas of nodes that are empty yet
	defaults map[*byte]json.RawMessage // nil if there is none
	targets  map[string]json.RawMessage
	steps    int
	found    bool
}

// part is what one schema says without those that it refers to or combines.
type part struct {
	properties []named
	items      json.RawMessage
	value      json.RawMessage   // the default
	others     []json.RawMessage // the target of "$ref" and the schemas in "allOf"
}

type named struct {
	name   string
	schema json.RawMessage
}

// The limits of the work for one schema. What is beyond them has no defaults.
const (
	maxTargets = 500     // references; each takes a pass over the schema
	maxSteps   = 100_000 // parts and properties that are combined
)

func (b *builder) node(schema json.RawMessage) *node {
	if rawjson.Kind(schema) != '{' {
		return &node{}
	}
	at := &schema[0]
	if n, ok := b.nodes[at]; ok {
		return n
	}
	n := &node{index: map[string]int{}}
	b.nodes[at] = n
	b.waiting = append(b.waiting, schema)
	return n
}

// complete reads the schemas of all nodes, the outer ones first.
func (b *builder) complete() {
	for ; len(b.waiting) > 0; b.waiting = b.waiting[1:] {
		schema := b.waiting[0]
		n := b.nodes[&schema[0]]
		for part := range b.combined(schema) {
			for _, p := range part.properties {
				n.add(b, p.name, p.schema)
			}
			if part.items != nil && n.items == nil {
				n.items = b.node(part.items)
			}
		}
	}
}

func (n *node) add(b *builder, name string, schema json.RawMessage) {
	if b.steps++; b.steps > maxSteps {
		return
	}
	i, ok := n.index[name]
	if !ok {
		i = len(n.properties)
		n.index[name] = i
		n.properties = append(n.properties, &property{name: name, node: b.node(schema)})
	}
	if p := n.properties[i]; p.value == nil {
		p.value = b.defaultOf(schema)
	}
}

func (b *builder) defaultOf(schema json.RawMessage) (value json.RawMessage) {
	if rawjson.Kind(schema) != '{' {
		return nil
	}
	at := &schema[0]
	value, known := b.defaults[at]
	if known {
		return value
	}
	for part := range b.combined(schema) {
		if part.value != nil {
			value, b.found = part.value, true
			break
		}
	}
	b.defaults[at] = value
	return value
}

// combined returns the parts of a schema: itself, those that it refers to, and those that it
// combines by "allOf".
func (b *builder) combined(schema json.RawMessage) iter.Seq[*part] {
	return func(yield func(*part) bool) {
		seen := map[*part]bool{}
		for list := []json.RawMessage{schema}; len(list) > 0; list = list[1:] {
			p := b.part(list[0])
			if seen[p] {
				continue
			}
			seen[p] = true
			if b.steps++; b.steps > maxSteps || !yield(p) {
				return
			}
			list = append(list, p.others...)
		}
	}
}

func (b *builder) part(schema json.RawMessage) *part {
	if rawjson.Kind(schema) != '{' {
		return nothing
	}
	at := &schema[0]
	if p, ok := b.parts[at]; ok {
		return p
	}
	p := &part{}
	b.parts[at] = p
	tuple := false
	for name, value := range rawjson.Members(schema) {
		switch name {
		case "prefixItems":
			tuple = true
		case "properties":
			for name, schema := range rawjson.Members(value) {
				p.properties = append(p.properties, named{name, schema})
			}
		case "items":
			p.items = value
		case "default":
			if rawjson.Kind(value) != 'n' {
				p.value = value
			}
		case "$ref":
			p.others = append(p.others, b.target(rawjson.Unquote(value)))
		case "allOf":
			p.others = slices.AppendSeq(p.others, rawjson.Elements(value))
		}
	}
	if tuple { // then "items" is not about all elements
		p.items = nil
	}
	return p
}

var nothing = &part{}

// target returns what a local reference refers to, or nil.
func (b *builder) target(reference string) json.RawMessage {
	target, known := b.targets[reference]
	pointer, local := rawjson.Local(reference)
	if known || !local || len(b.targets) == maxTargets {
		return target
	}
	target, _ = rawjson.At(b.schema, pointer)
	b.targets[reference] = target
	return target
}
