package proxytest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
)

func (s *draft) array(object map[string]any, depth int) any {
	if list, ok := s.entities(object, depth); ok {
		return list
	}
	about := s.about
	s.about = nil
	defer func() { s.about = about }()
	prefix, _ := object["prefixItems"].([]any)
	least, most := bound(object, "minItems", 0), bound(object, "maxItems", math.MaxInt32)
	n := max(least, min(most, 1+s.random.IntN(3)))
	if depth > plainDepth {
		n = least
	}
	n = min(n, maxFill)
	contained := 0 // how many of the last elements match contains
	if _, ok := object["contains"]; ok {
		contained = bound(object, "minContains", 1)
		n = max(n, min(len(prefix)+contained, most, maxFill))
	}
	if object["items"] == false {
		n = min(n, len(prefix))
	}
	list := make([]any, 0, n)
	for i := range n {
		item := object["items"]
		if i < len(prefix) {
			item = prefix[i]
		}
		if i >= n-contained {
			item = s.both(item, object["contains"])
		}
		value, ok := s.element(list, item, object["uniqueItems"] == true, strconv.Itoa(i), depth)
		if !ok && len(list) >= least && i < n-contained {
			continue // there may be fewer
		}
		list = append(list, value)
	}
	return list
}

// entities makes an array of the ledger's entities of a type, if the elements describe one.
func (s *draft) entities(object map[string]any, depth int) (list []any, ok bool) {
	item, _ := object["items"].(map[string]any)
	item = s.resolve(item)
	if kind := s.typeOf(item, depth); kind != "object" && kind != "" {
		return nil, false
	}
	name := s.request.Tool
	if len(s.path) > 0 {
		name = s.path[len(s.path)-1]
	}
	properties, _ := item["properties"].(map[string]any)
	of := s.request.listed(name, properties)
	if of == nil {
		return nil, false
	}
	about := s.about
	defer func() { s.about = about }()
	list = []any{}
	s.lists++
	found := s.request.list(of, cmp.Or(about, s.around), s.around != nil)
	if len(found) == 0 {
		s.empty = append(s.empty, fmt.Sprintf("the ledger has no %s that matches the arguments: %s is empty",
			of.Type, cmp.Or(s.pointer(), "the result")))
	}
	for i, e := range found {
		s.path = append(s.path, strconv.Itoa(i))
		if s.about = s.request.describe([]*subject{e}); properties == nil {
			s.known = append(s.known, origin{e, of.Type, s.pointer()})
			list = append(list, s.request.present(of.Type, e.id, marshal(e.fields), nil))
		} else {
			list = append(list, s.value(item, depth+1))
		}
		s.path = s.path[:len(s.path)-1]
	}
	return list, true
}

// both returns a schema that matches what both match, as far as merging them does.
func (s *draft) both(a, b any) any {
	object, ok := a.(map[string]any)
	if !ok {
		return b
	}
	if other, ok := b.(map[string]any); ok {
		return merge(s.resolve(object), s.resolve(other))
	}
	return a
}

// element makes an element. If it must be unique, ok reports whether it is.
func (s *draft) element(list []any, item any, unique bool, index string, depth int) (value any, ok bool) {
	s.path = append(s.path, index)
	defer func() { s.path = s.path[:len(s.path)-1] }()
	taken := func(v any) bool {
		return slices.ContainsFunc(list, func(other any) bool { return reflect.DeepEqual(v, other) })
	}
	value = s.value(item, depth+1)
	for range maxUnique {
		if !unique || !taken(value) {
			return value, true
		}
		value = s.value(item, depth+1)
	}
	if others := slices.DeleteFunc(s.alternatives(item), taken); len(others) > 0 {
		return others[s.random.IntN(len(others))], true
	}
	return value, !taken(value)
}

// maxUnique is how often an element that is not unique is made again.
const maxUnique = 20

// alternatives returns all values that match a schema, if they are few: of const, enum, booleans
// and integers in a short range.
func (s *draft) alternatives(schema any) []any {
	object, ok := schema.(map[string]any)
	if !ok {
		return nil
	}
	object = s.resolve(object)
	if value, ok := object["const"]; ok {
		return []any{value}
	}
	if list, ok := object["enum"].([]any); ok {
		return slices.Clone(list)
	}
	types, ok := object["type"].([]any)
	if !ok {
		types = []any{object["type"]}
	}
	var all []any
	for _, name := range types {
		switch name {
		case "boolean":
			all = append(all, false, true)
		case "null":
			all = append(all, nil)
		case "integer":
			step := 1.0
			if multiple, ok := limit(object, "multipleOf"); ok && multiple > 0 && multiple == math.Trunc(multiple) {
				step = multiple
			}
			_, first, last := steps(object, step)
			for i := first; i <= last && i-first < maxFill; i++ {
				all = append(all, json.Number(strconv.FormatFloat(i*step, 'f', 0, 64)))
			}
		}
	}
	return all
}
