package proxytest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/ledger"
)

// A subject is an entity of the ledger that an object in a result describes.
type subject struct {
	of     *ledger.Entity
	id     string
	fields map[string]json.RawMessage
}

// path returns type and id, as in "order/4521".
func (s *subject) path() string { return s.of.Type + "/" + s.id }

func (s *subject) equals(o *subject) bool { return s.path() == o.path() }

// is reports whether name is the property with the id of the entity.
func (s *subject) is(name string) bool { return name == s.of.IDField || name == "id" }

// has reports whether the entity has a field of this name, with or without a value.
func (s *subject) has(name string) bool {
	if _, ok := s.fields[name]; ok || name == s.of.IDField {
		return true
	}
	return declares(s.of, name)
}

// declares reports whether a type declares a field of this name.
func declares(of *ledger.Entity, name string) bool {
	return slices.ContainsFunc(of.Fields, func(f ledger.Field) bool { return f.Name == name })
}

// subjects are the entities that an object describes: those that the call is about, and those behind
// them, to which their fields refer.
type subjects struct {
	main, behind []*subject
	others       []*ledger.Entity // types that the object describes too; their fields are not fields of the subjects
}

// only returns the entity, if the object describes one alone.
func (s *subjects) only() *subject {
	if s == nil || len(s.main) != 1 || s.others != nil {
		return nil
	}
	return s.main[0]
}

// of returns the entity whose property name is: the only main one that has it, or else the only one
// behind them that has a value for it. It returns nil if that is not clear.
func (s *subjects) of(name string) *subject {
	if s == nil {
		return nil
	}
	for _, of := range s.others {
		if of.Fields == nil || declares(of, name) {
			return nil
		}
	}
	var found []*subject
	for _, e := range s.main {
		if e.has(name) || name == "id" && len(s.main) == 1 {
			found = append(found, e)
		}
	}
	if found == nil {
		for _, e := range s.behind {
			if _, ok := e.fields[name]; ok || name == e.of.IDField {
				found = append(found, e)
			}
		}
	}
	if len(found) != 1 {
		return nil
	}
	return found[0]
}

// named returns the entity that a property describes as a whole: the property has the name of its
// type, or of a field that refers to it.
func (s *subjects) named(name string) *subject {
	if s == nil {
		return nil
	}
	for _, list := range [][]*subject{s.main, s.behind} {
		for _, e := range list {
			if e.of.Type == name {
				return e
			}
		}
	}
	for _, e := range s.main {
		for i := range e.of.Fields {
			if f := &e.of.Fields[i]; f.Name == name && f.Ref != "" {
				return s.named(f.Ref)
			}
		}
	}
	return nil
}

// types returns the entity types that the ledger schema declares.
func (r *Request) types() []ledger.Entity {
	if r.world == nil || r.world.ledgerSchema == nil {
		return nil
	}
	return r.world.ledgerSchema.Entities
}

// idField returns the name that the ledger schema gives the id of a type; "" if it declares none.
func (r *Request) idField(entityType string) string {
	if e := r.typeNamed(entityType); e != nil {
		return e.IDField
	}
	return ""
}

func (r *Request) typeNamed(name string) *ledger.Entity {
	types := r.types()
	i := slices.IndexFunc(types, func(e ledger.Entity) bool { return e.Type == name })
	if i < 0 {
		return nil
	}
	return &types[i]
}

// subject returns an entity of the ledger, or nil.
func (r *Request) subject(of *ledger.Entity, id string) *subject {
	entity, ok := r.Get(of.Type, id)
	if !ok {
		return nil
	}
	return &subject{of: of, id: id, fields: members(entity)}
}

// identified returns the entities of the ledger that the arguments identify, in the order of the
// arguments' names: an argument has the name of the id_field of a type, or is named id, and its value
// is the id of an entity. missing are the entities that the ledger does not have, as in "order/4521".
func (r *Request) identified() (found []*subject, missing []string) {
	for _, name := range slices.Sorted(maps.Keys(members(r.Arguments))) {
		id, ok := idOf(r.Arguments, name)
		types := r.typesWithID(name)
		if !ok || len(types) == 0 {
			continue
		}
		ofTool := keep(types, func(of *ledger.Entity) bool { return names(r.Tool, of.Type) })
		if name == "id" && len(ofTool) > 0 {
			types = ofTool
		}
		var there []*subject
		for _, of := range types {
			if e := r.subject(of, id); e != nil {
				there = append(there, e)
			}
		}
		if len(there) > 0 {
			found = append(found, keep(there, func(e *subject) bool { return !slices.ContainsFunc(found, e.equals) })...)
		} else if name != "id" || len(ofTool) > 0 {
			missing = append(missing, typeNames(types)+"/"+id)
		}
	}
	return found, missing
}

// typesWithID returns the types whose id an argument or property of this name has.
func (r *Request) typesWithID(name string) (types []*ledger.Entity) {
	all := r.types()
	for i := range all {
		if all[i].IDField == name {
			types = append(types, &all[i])
		}
	}
	if types == nil && name == "id" {
		for i := range all {
			types = append(types, &all[i])
		}
	}
	return types
}

func typeNames(types []*ledger.Entity) string {
	list := make([]string, len(types))
	for i, of := range types {
		list[i] = of.Type
	}
	return strings.Join(list, " or ")
}

// describe returns the subjects of a result about these entities. An entity to which another one
// refers is behind it.
func (r *Request) describe(found []*subject) *subjects {
	if len(found) == 0 {
		return nil
	}
	s := &subjects{}
	referred := map[string]bool{}
	var behind []*subject
	for _, e := range found {
		for _, other := range r.references(e) {
			if path := other.path(); path != e.path() && !referred[path] {
				referred[path] = true
				behind = append(behind, other)
			}
		}
	}
	for _, e := range found {
		if !referred[e.path()] {
			s.main = append(s.main, e)
		}
	}
	if s.main == nil { // they refer to each other
		s.main, behind = found, nil
	}
	s.behind = behind
	return s
}

// without returns the subjects of an object with these properties. If the tool and the properties name
// another type, as create_order with the argument customer_id does, the object describes an
// entity of that type, which the ledger does not have.
func (r *Request) without(about *subjects, properties map[string]any) *subjects {
	if about == nil {
		return nil
	}
	toolNames := func(e *subject) bool { return names(r.Tool, e.of.Type) }
	var others []*ledger.Entity
	types := r.types()
	for i := range types {
		of := &types[i]
		isOf := func(e *subject) bool { return e.of.Type == of.Type }
		_, there := properties[of.IDField]
		if !there || slices.ContainsFunc(about.main, isOf) || slices.ContainsFunc(about.behind, isOf) {
			continue
		}
		if of.Fields != nil || names(r.Tool, of.Type) && !slices.ContainsFunc(about.main, toolNames) {
			others = append(others, of)
		}
	}
	return &subjects{main: about.main, behind: about.behind, others: others}
}

// references returns the entities to which the fields of an entity refer: a field declares a ref, or
// has the name of the id_field of one other type.
func (r *Request) references(e *subject) (to []*subject) {
	add := func(of *ledger.Entity, field string) {
		id, ok := idIn(e.fields[field])
		if of == nil || !ok {
			return
		}
		if other := r.subject(of, id); other != nil {
			to = append(to, other)
		}
	}
	for i := range e.of.Fields {
		if f := &e.of.Fields[i]; f.Ref != "" {
			add(r.typeNamed(f.Ref), f.Name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(e.fields)) {
		if types := r.typesWithID(name); len(types) == 1 && name != "id" && name != e.of.IDField {
			add(types[0], name)
		}
	}
	return to
}

// listed returns the type of the entities that the elements of an array describe, or nil: the
// elements have the id of the type, or the array has its name. name is the name of the array or
// of the tool.
func (r *Request) listed(name string, properties map[string]any) *ledger.Entity {
	var types []*ledger.Entity
	for property := range properties {
		types = append(types, r.typesWithID(property)...)
	}
	if len(properties) == 0 {
		all := r.types()
		for i := range all {
			types = append(types, &all[i])
		}
	}
	for _, text := range []string{name, r.Tool} {
		if narrow := keep(types, func(of *ledger.Entity) bool { return names(text, of.Type) }); len(narrow) > 0 {
			types = narrow
			break
		}
		if len(properties) == 0 {
			return nil
		}
	}
	types = slices.Compact(slices.SortedFunc(slices.Values(types),
		func(a, b *ledger.Entity) int { return strings.Compare(a.Type, b.Type) }))
	if len(types) != 1 {
		return nil
	}
	return types[0]
}

// list returns the entities of a type, sorted by id: those whose fields are equal to the arguments of
// the same names, and which refer to the main subjects of the list. part reports that the list is a
// property of an entity. An id among the arguments is then not the id of an element.
func (r *Request) list(of *ledger.Entity, about *subjects, part bool) (list []*subject) {
	want := members(r.Arguments)
	if part {
		delete(want, of.IDField)
	}
	if about != nil {
		for _, e := range about.main {
			if e.of.Type == of.Type {
				continue
			}
			name := e.of.IDField
			for i := range of.Fields {
				if of.Fields[i].Ref == e.of.Type {
					name = of.Fields[i].Name
				}
			}
			want[name] = rawjson.Quote(e.id)
		}
	}
	if r.entities == nil {
		r.entities = r.Snapshot().Entities
	}
	entities := r.entities[of.Type]
	for _, id := range slices.Sorted(maps.Keys(entities)) {
		e := &subject{of: of, id: id, fields: members(entities[id])}
		if e.matches(want) {
			list = append(list, e)
		}
	}
	return list
}

// matches reports whether the fields of the entity have the wanted values, as far as it has such
// fields. Ids are equal as strings and as numbers.
func (s *subject) matches(want map[string]json.RawMessage) bool {
	for name, value := range want {
		have := s.fields[name]
		if name == s.of.IDField {
			have = rawjson.Quote(s.id)
		}
		if rawjson.Kind(value) == 'n' || have == nil && !declares(s.of, name) {
			continue
		}
		a, aOK := idIn(have)
		b, bOK := idIn(value)
		if !(aOK && bOK && a == b) && (have == nil || !rawjson.Equal(have, value)) {
			return false
		}
	}
	return true
}

// names reports whether text, such as get_orders or listOrders, contains the name of a type.
func names(text, entityType string) bool {
	var b strings.Builder
	for i, c := range text {
		switch {
		case unicode.IsUpper(c) && i > 0:
			b.WriteByte('_')
			fallthrough
		default:
			b.WriteRune(unicode.ToLower(c))
		case c == '-':
			b.WriteByte('_')
		}
	}
	return strings.Contains("_"+b.String(), "_"+strings.TrimSuffix(entityType, "y")) // category, categories
}

// idOf returns an argument as the id of an entity.
func idOf(arguments json.RawMessage, name string) (string, bool) {
	return idIn(member(arguments, name))
}

// idIn returns a scalar as the id of an entity. Numbers are written in plain digits: 4521, 4521.0 and
// 4.521e3 are "4521".
func idIn(value json.RawMessage) (string, bool) {
	if rawjson.Kind(value) == '0' {
		return rawjson.ParseNumber(string(value)).Plain(maxID)
	}
	id, ok := scalar(value)
	return id, ok && id != ""
}

// maxID is how many characters the number of an id may have.
const maxID = 64

func keep[T any](list []T, ok func(T) bool) []T {
	return slices.DeleteFunc(slices.Clone(list), func(v T) bool { return !ok(v) })
}

// missingNote is the note about an entity that the ledger does not have.
func missingNote(path string) string {
	return fmt.Sprintf("the ledger has no %s: the call is answered with not found", path)
}
