package proxytest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/ledger"
)

// ReadOptions configures [Get] and [List]. The zero value of every field is its default. For
// anything else, write a [Behavior].
type ReadOptions struct {
	// Fields lists the fields of an entity in the result. If Fields is nil, the result contains all
	// fields.
	Fields []string

	// NotFound is the result of [Get], as JSON, if the entity does not exist. Defaults to
	// {"error":"order not found"}, with the type of the entity.
	NotFound string

	// Where selects the entities of a [List]: {"customer_id": "customer"} selects those whose field
	// customer_id is equal to the argument customer. A call without the argument selects all.
	Where map[string]string

	// Wrap makes the result of a [List] an object with the list in the member of this name. If Wrap
	// is "", the result is the list.
	Wrap string
}

// Get answers with the entity whose id is in an argument, which is a string or a number: 4521 and
// 4521.0 are the id "4521". The result contains its fields and, if the ledger schema declares an
// id_field, its id. If opts is nil, all options have their defaults. Get panics if a text in opts
// is not JSON.
func Get(entityType, idArgument string, opts *ReadOptions) Behavior {
	o := valueOf(opts)
	missing := notFound("Get", entityType, o.NotFound)
	return func(r *Request) (any, error) {
		id, _ := idOf(r.Arguments, idArgument)
		entity, ok := r.Get(entityType, id)
		if !ok {
			return missing, nil
		}
		return r.present(entityType, id, entity, o.Fields), nil
	}
}

// List answers with the entities of a type, sorted by id. If opts is nil, all options have their
// defaults.
func List(entityType string, opts *ReadOptions) Behavior {
	return list(entityType, valueOf(opts), ordering{})
}

// ordering is the order and the limit of a list. Only worlds in JSON have it: a Go program sorts in
// a [Behavior] of its own.
type ordering struct {
	by    string // a field; "-total" is descending
	limit int    // 0 for none
}

// compare orders two values of the field. Numbers come before other values, and entities without
// the field are last in both directions.
func (o ordering) compare(a, b json.RawMessage, descending bool) int {
	if a == nil || b == nil {
		return cmp.Compare(len(b), len(a))
	}
	order := 0
	switch x, y := rawjson.Kind(a), rawjson.Kind(b); {
	case x == '0' && y == '0':
		order = rawjson.ParseNumber(string(a)).Compare(rawjson.ParseNumber(string(b)))
	case x == '0' || y == '0':
		order = map[bool]int{true: -1, false: 1}[x == '0']
	case x == '"' && y == '"':
		order = cmp.Compare(rawjson.Unquote(a), rawjson.Unquote(b))
	default:
		order = bytes.Compare(a, b)
	}
	if descending {
		return -order
	}
	return order
}

func list(entityType string, o ReadOptions, order ordering) Behavior {
	by, descending := strings.CutPrefix(order.by, "-")
	return func(r *Request) (any, error) {
		entities := r.Snapshot().Entities[entityType]
		ids := slices.Sorted(maps.Keys(entities))
		ids = slices.DeleteFunc(ids, func(id string) bool {
			for field, argument := range o.Where {
				want := member(r.Arguments, argument)
				if want != nil && !rawjson.Equal(r.field(entityType, id, entities[id], field), want) {
					return true
				}
			}
			return false
		})
		if by != "" {
			slices.SortStableFunc(ids, func(a, b string) int {
				x, y := r.field(entityType, a, entities[a], by), r.field(entityType, b, entities[b], by)
				return order.compare(x, y, descending)
			})
		}
		if order.limit > 0 {
			ids = ids[:min(len(ids), order.limit)]
		}
		list := make([]any, len(ids))
		for i, id := range ids {
			list[i] = r.present(entityType, id, entities[id], o.Fields)
		}
		if o.Wrap != "" {
			return map[string]any{o.Wrap: list}, nil
		}
		return list, nil
	}
}

// WriteOptions configures [Add], [Update] and [Remove]. The zero value of every field is its
// default.
type WriteOptions struct {
	// Set is a JSON object with fields and their values.
	Set string

	// Copy lists the arguments that are stored as fields of the same names. If Copy is nil, all but
	// the id are stored, or none if Set is not "".
	Copy []string

	// Result is the result, as JSON. Defaults to the entity after the write, or before [Remove].
	Result string

	// NotFound is the result of [Update] and [Remove], as JSON, if the entity does not exist.
	// Defaults to {"error":"order not found"}, with the type of the entity.
	NotFound string
}

// Add adds an entity to the ledger. Its id is in an argument. If idArgument is "", the id is the
// type with the first free number: order_1. If the entity exists, nothing is written and the result
// is {"error":"order exists already"}, with the type of the entity. If opts is nil, all options
// have their defaults. Add panics if a text in opts is not JSON.
func Add(entityType, idArgument string, opts *WriteOptions) Behavior {
	w := newWrite("Add", ledger.OpAdd, entityType, idArgument, opts)
	return func(r *Request) (any, error) {
		id, given := idOf(r.Arguments, idArgument)
		if idArgument == "" {
			for n := 1; id == "" || given; n++ {
				id = fmt.Sprintf("%s_%d", entityType, n)
				_, given = r.Get(entityType, id)
			}
		}
		if _, exists := r.Get(entityType, id); exists {
			return w.exists, nil
		}
		return w.do(r, id)
	}
}

// Update changes fields of the entity whose id is in an argument. If opts is nil, all options have
// their defaults. Update panics if a text in opts is not JSON.
func Update(entityType, idArgument string, opts *WriteOptions) Behavior {
	return newWrite("Update", ledger.OpUpdate, entityType, idArgument, opts).ifThere
}

// Remove removes the entity whose id is in an argument from the ledger. If opts is nil, all options
// have their defaults. Remove panics if a text in opts is not JSON.
func Remove(entityType, idArgument string, opts *WriteOptions) Behavior {
	return newWrite("Remove", ledger.OpRemove, entityType, idArgument, opts).ifThere
}

// write is a compiled write.
type write struct {
	op                      ledger.Op
	entityType, idArgument  string
	set                     map[string]json.RawMessage
	copied                  []string
	all                     bool // copy all arguments
	result, missing, exists json.RawMessage
}

func newWrite(who string, op ledger.Op, entityType, idArgument string, opts *WriteOptions) *write {
	o := valueOf(opts)
	w := &write{op: op, entityType: entityType, idArgument: idArgument, copied: o.Copy, all: o.Copy == nil && o.Set == ""}
	if o.Set != "" && json.Unmarshal([]byte(o.Set), &w.set) != nil {
		panic("proxytest." + who + ": Set is not a JSON object")
	}
	if o.Result != "" {
		w.result = mustJSON(who, o.Result)
	}
	w.missing = notFound(who, entityType, o.NotFound)
	w.exists = failure(entityType + " exists already")
	return w
}

func (w *write) ifThere(r *Request) (any, error) {
	id, _ := idOf(r.Arguments, w.idArgument)
	if _, ok := r.Get(w.entityType, id); !ok {
		return w.missing, nil
	}
	return w.do(r, id)
}

func (w *write) do(r *Request, id string) (any, error) {
	before, _ := r.Get(w.entityType, id)
	update := ledger.Update{Op: w.op, EntityType: w.entityType, ID: id}
	if w.op != ledger.OpRemove {
		update.Fields = w.fields(r)
	}
	if err := r.Apply(update); err != nil {
		return nil, err
	}
	if w.result != nil {
		return w.result, nil
	}
	if after, ok := r.Get(w.entityType, id); ok {
		return r.present(w.entityType, id, after, nil), nil
	}
	return r.present(w.entityType, id, before, nil), nil
}

func (w *write) fields(r *Request) map[string]json.RawMessage {
	fields := map[string]json.RawMessage{}
	arguments := members(r.Arguments)
	for name, value := range arguments {
		if w.all && name != w.idArgument || slices.Contains(w.copied, name) {
			fields[name] = value
		}
	}
	maps.Copy(fields, w.set)
	return fields
}

// present returns an entity as a result: the fields in only, or all, and the id under the name that
// the ledger schema declares.
func (r *Request) present(entityType, id string, entity json.RawMessage, only []string) json.RawMessage {
	idField := r.idField(entityType)
	if idField == "" && only == nil {
		return entity
	}
	fields := members(entity)
	if _, there := fields[idField]; !there && idField != "" {
		fields[idField] = rawjson.Quote(id)
	}
	if only != nil {
		maps.DeleteFunc(fields, func(name string, _ json.RawMessage) bool { return !slices.Contains(only, name) })
	}
	return marshal(fields)
}

func (r *Request) field(entityType, id string, entity json.RawMessage, name string) json.RawMessage {
	return member(r.present(entityType, id, entity, nil), name)
}

func notFound(who, entityType, text string) json.RawMessage {
	if text != "" {
		return mustJSON(who, text)
	}
	return failure(entityType + " not found")
}

func failure(text string) json.RawMessage { return marshal(map[string]string{"error": text}) }

func valueOf[T any](opts *T) (o T) {
	if opts != nil {
		o = *opts
	}
	return o
}
