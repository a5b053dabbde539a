package proxytest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/ledger"
)

// ReadOptions says what a read from the ledger answers. The zero value of every field is its default.
type ReadOptions struct {
	// Fields are the only fields of an entity to be in the result. Default: all of them.
	Fields []string

	// NotFound is the result of [Get] when there is no such entity, as JSON. Default {"error":"order not found"}, with the
	// entity's type.
	NotFound string

	// Where keeps of a [List] the entities that have in a field the value of an argument: {"customer_id": "customer"},
	// field to argument. An argument that is absent keeps all.
	Where map[string]string

	// OrderBy sorts a [List] by a field, numbers by value, entities without the field last; "-total" is descending.
	// Entities that are equal by it, and lists without it, are in the order of their ids.
	OrderBy string

	// Limit is the most entities in a [List]. Default: no limit.
	Limit int

	// Wrap makes the result of a [List] an object with the list in the member of this name. Default: the bare list.
	Wrap string
}

// Get answers with the entity whose id is in an argument: its fields and, if the ledger schema declares an id_field, its
// id. opts may be nil. It panics if a text in opts is not JSON.
func Get(entityType, idArgument string, opts *ReadOptions) Behavior {
	o := valueOf(opts)
	missing := notFound("Get", entityType, o.NotFound)
	return func(r *Request) (any, error) {
		id, _ := scalarArgument(r.Arguments, idArgument)
		entity, ok := r.Get(entityType, id)
		if !ok {
			return missing, nil
		}
		return r.present(entityType, id, entity, o.Fields), nil
	}
}

// List answers with the entities of a type. opts may be nil.
func List(entityType string, opts *ReadOptions) Behavior {
	o := valueOf(opts)
	return func(r *Request) (any, error) {
		entities := r.All(entityType)
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
		if field, descending := strings.CutPrefix(o.OrderBy, "-"); field != "" {
			slices.SortStableFunc(ids, func(a, b string) int {
				x, y := r.field(entityType, a, entities[a], field), r.field(entityType, b, entities[b], field)
				return compareValues(x, y, descending)
			})
		}
		if o.Limit > 0 && len(ids) > o.Limit {
			ids = ids[:o.Limit]
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

// WriteOptions says what a write to the ledger stores and answers. The zero value of every field is its default.
type WriteOptions struct {
	// Set are fields with their values, as a JSON object.
	Set string

	// Copy are the arguments that are stored as fields of their names. Default: all but the id, or none if Set is given.
	Copy []string

	// Result is the answer, as JSON. Default: the entity as it is after the write, or was before [Remove].
	Result string

	// NotFound is the answer of [Update] and [Remove] when there is no such entity, and Exists that of [Add] when there is
	// one, as JSON; nothing is written then. Default {"error":"order not found"} and {"error":"order exists already"}, with
	// the entity's type.
	NotFound string
	Exists   string
}

// Add puts a new entity into the ledger. Its id is in an argument; with the name "" it is made of the type and a number
// that is free: order_1. opts may be nil. It panics if a text in opts is not JSON.
func Add(entityType, idArgument string, opts *WriteOptions) Behavior {
	w := newWrite("Add", ledger.OpAdd, entityType, idArgument, opts)
	return func(r *Request) (any, error) {
		id, given := scalarArgument(r.Arguments, idArgument)
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

// Update changes fields of the entity whose id is in an argument. opts may be nil. It panics if a text in opts is not
// JSON.
func Update(entityType, idArgument string, opts *WriteOptions) Behavior {
	return newWrite("Update", ledger.OpUpdate, entityType, idArgument, opts).ifThere
}

// Remove takes the entity whose id is in an argument out of the ledger. opts may be nil. It panics if a text in opts is
// not JSON.
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
		panic("proxytest." + who + ": Set is no JSON object")
	}
	if o.Result != "" {
		w.result = mustJSON(who, o.Result)
	}
	w.missing = notFound(who, entityType, o.NotFound)
	w.exists = failure(entityType + " exists already")
	if o.Exists != "" {
		w.exists = mustJSON(who, o.Exists)
	}
	return w
}

func (w *write) ifThere(r *Request) (any, error) {
	id, _ := scalarArgument(r.Arguments, w.idArgument)
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

// present returns an entity as a result: the fields that are wanted, and the id under the schema's name for it.
func (r *Request) present(entityType, id string, entity json.RawMessage, only []string) json.RawMessage {
	idField := ""
	if r.idOf != nil {
		idField = r.idOf(entityType)
	}
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
