package proxytest

import (
	"encoding/json"
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

// field returns the name that the entity has for a field or its id, or "".
func (s *subject) field(name string) string {
	if _, ok := s.fields[name]; ok || name == s.of.IDField {
		return name
	}
	return fitting(name, slices.Values(slices.AppendSeq([]string{s.of.IDField}, maps.Keys(s.fields))))
}

// value returns a field of the entity, or its id; nil if it has no such field.
func (s *subject) value(name string) json.RawMessage {
	switch field := s.field(name); field {
	case "":
		return nil
	case s.of.IDField:
		return rawjson.Quote(s.id)
	default:
		return s.fields[field]
	}
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

// of returns the entity whose property name is: the only main one that has or declares it, or else the only
// one behind them that has a value for it. It returns nil if that is not clear.
func (s *subjects) of(name string) *subject {
	ofOther := func(of *ledger.Entity) bool { return of.Fields == nil || fieldOf(of, name) != nil }
	if s == nil || slices.ContainsFunc(s.others, ofOther) {
		return nil
	}
	found := keep(s.main, func(e *subject) bool {
		return e.value(name) != nil || fieldOf(e.of, name) != nil || isID(name) && len(s.main) == 1
	})
	if len(found) == 0 {
		found = keep(s.behind, func(e *subject) bool { return e.value(name) != nil })
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
	types := []string{name}
	for _, e := range s.main {
		if f := fieldOf(e.of, name); f != nil && f.Ref != "" {
			types = append(types, f.Ref)
		}
	}
	all := slices.Concat(s.main, s.behind)
	for _, entityType := range types {
		if i := indexOf(entityType, all, func(e *subject) string { return e.of.Type }); i >= 0 {
			return all[i]
		}
	}
	return nil
}

// fieldOf returns the field that a type declares, or nil.
func fieldOf(of *ledger.Entity, name string) *ledger.Field {
	if i := indexOf(name, of.Fields, func(f ledger.Field) string { return f.Name }); i >= 0 {
		return &of.Fields[i]
	}
	return nil
}

// types returns the entity types that the ledger schema declares.
func (r *Request) types() []*ledger.Entity {
	if r.world == nil {
		return nil
	}
	return r.world.types
}

func (r *Request) typeNamed(name string) *ledger.Entity {
	types := r.types()
	i := slices.IndexFunc(types, func(of *ledger.Entity) bool { return of.Type == name })
	if i < 0 {
		return nil
	}
	return types[i]
}

// typesWithID returns the types whose id an argument or property of this name has.
func (r *Request) typesWithID(name string) []*ledger.Entity {
	types := r.types()
	i := indexOf(name, types, func(of *ledger.Entity) string { return of.IDField })
	switch {
	case i >= 0:
		return keep(types, func(of *ledger.Entity) bool { return of.IDField == types[i].IDField })
	case isID(name):
		return types
	}
	return nil
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
		if !ok || len(types) == 0 || !isID(name) && r.argument(types[0].IDField) != name {
			continue
		}
		ofTool := keep(types, r.toolNames)
		if isID(name) && len(ofTool) > 0 {
			types = ofTool
		}
		there, names := false, make([]string, len(types))
		for i, of := range types {
			names[i] = of.Type
			if e := r.subject(of, id); e != nil {
				there = true
				if !slices.ContainsFunc(found, e.equals) {
					found = append(found, e)
				}
			}
		}
		if !there && (!isID(name) || len(ofTool) > 0) {
			missing = append(missing, strings.Join(names, " or ")+"/"+id)
		}
	}
	return found, missing
}

// describe returns the subjects of a result about these entities. An entity to which another one
// refers is behind it, unless they refer to each other.
func (r *Request) describe(found []*subject) *subjects {
	if len(found) == 0 {
		return nil
	}
	s := &subjects{}
	for _, e := range found {
		for _, other := range r.references(e) {
			if !other.equals(e) && !slices.ContainsFunc(s.behind, other.equals) {
				s.behind = append(s.behind, other)
			}
		}
	}
	if s.main = keep(found, func(e *subject) bool { return !slices.ContainsFunc(s.behind, e.equals) }); len(s.main) == 0 {
		s.main, s.behind = found, nil
	}
	return s
}

// references returns the entities to which the fields of an entity refer: a field declares a ref, or
// has the name of the id_field of one other type.
func (r *Request) references(e *subject) (to []*subject) {
	for _, name := range slices.Sorted(maps.Keys(e.fields)) {
		var of *ledger.Entity
		if f := fieldOf(e.of, name); f != nil && f.Ref != "" {
			of = r.typeNamed(f.Ref)
		} else if types := r.typesWithID(name); len(types) == 1 && !isID(name) && types[0] != e.of {
			of = types[0]
		}
		if id, ok := idIn(e.fields[name]); ok && of != nil {
			if other := r.subject(of, id); other != nil {
				to = append(to, other)
			}
		}
	}
	return to
}

// in returns the subjects of an object with these properties. If the tool and the properties name
// another type, as create_order with the argument customer_id does, the object describes an
// entity of that type, which the ledger does not have.
func (s *subjects) in(r *Request, properties map[string]any) *subjects {
	if s == nil {
		return nil
	}
	within := &subjects{main: s.main, behind: s.behind}
	toolIsAboutMain := slices.ContainsFunc(s.main, func(e *subject) bool { return r.toolNames(e.of) })
	for _, of := range r.types() {
		known := func(e *subject) bool { return e.of == of }
		there := fitting(of.IDField, maps.Keys(properties)) != ""
		if there && !slices.ContainsFunc(s.main, known) && !slices.ContainsFunc(s.behind, known) &&
			(of.Fields != nil || r.toolNames(of) && !toolIsAboutMain) {
			within.others = append(within.others, of)
		}
	}
	return within
}

// listed returns the type of the entities that the elements of an array describe, or nil: the
// elements have the id of the type, or the array has its name. name is the name of the array or
// of the tool.
func (r *Request) listed(name string, properties map[string]any) *ledger.Entity {
	types := keep(r.types(), func(of *ledger.Entity) bool {
		for property := range properties {
			if slices.Contains(r.typesWithID(property), of) {
				return true
			}
		}
		return len(properties) == 0
	})
	narrow := keep(types, func(of *ledger.Entity) bool { return names(name, of.Type) })
	if len(narrow) == 0 && len(properties) > 0 {
		if narrow = keep(types, r.toolNames); len(narrow) == 0 {
			narrow = types
		}
	}
	if len(narrow) != 1 {
		return nil
	}
	return narrow[0]
}

// list returns the entities of a type, sorted by id: those whose fields are equal to the arguments of
// the same names, and which refer to the entities that the list is about. part reports that the list is a
// property of an entity. An id among the arguments is then not the id of an element.
func (r *Request) list(of *ledger.Entity, about []*subject, part bool) (list []*subject) {
	want := members(r.Arguments)
	if part {
		delete(want, r.argument(of.IDField))
	}
	for _, e := range about {
		name := e.of.IDField
		for _, f := range of.Fields {
			if f.Ref == e.of.Type {
				name = f.Name
			}
		}
		if e.of != of {
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
		have := s.value(name)
		if rawjson.Kind(value) == 'n' || have == nil && fieldOf(s.of, name) == nil {
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

// toolNames reports whether the name of the tool contains the name of a type.
func (r *Request) toolNames(of *ledger.Entity) bool { return names(r.Tool, of.Type) }

// names reports whether text, such as get_orders or listOrders, contains the name of a type.
func names(text, entityType string) bool {
	return strings.Contains("_"+snake(text), "_"+strings.TrimSuffix(snake(entityType), "y")) // category, categories
}

// snake returns a name in the style of order_id.
func snake(name string) string {
	var b strings.Builder
	for i, c := range name {
		if c == '-' || i > 0 && unicode.IsUpper(c) {
			b.WriteByte('_')
		}
		if c != '-' {
			b.WriteRune(unicode.ToLower(c))
		}
	}
	return b.String()
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
