package proxytest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
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
// id_field, its id. If opts is nil, all options have their defaults. If a text in opts is not JSON,
// every call fails, and so does the test.
func Get(entityType, idArgument string, opts *ReadOptions) Behavior {
	o := valueOf(opts)
	missing, err := notFound("Get", entityType, o.NotFound)
	if err != nil {
		return mistaken(err)
	}
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
	return list(entityType, valueOf(opts), "", math.MaxInt)
}

// list answers with at most limit entities, in the order of a field; "-total" is descending. Only worlds in
// JSON set these: a Go program sorts in a [Behavior] of its own.
func list(entityType string, o ReadOptions, by string, limit int) Behavior {
	by, descending := strings.CutPrefix(by, "-")
	return func(r *Request) (any, error) {
		entities := r.Snapshot().Entities[entityType]
		field := func(id, name string) json.RawMessage {
			return member(r.present(entityType, id, entities[id], nil), name)
		}
		ids := slices.DeleteFunc(slices.Sorted(maps.Keys(entities)), func(id string) bool {
			for name, argument := range o.Where {
				want := member(r.Arguments, argument)
				if want != nil && !rawjson.Equal(field(id, name), want) {
					return true
				}
			}
			return false
		})
		if by != "" {
			slices.SortStableFunc(ids, func(a, b string) int { return inOrder(field(a, by), field(b, by), descending) })
		}
		list := []any{}
		for _, id := range ids[:min(len(ids), limit)] {
			list = append(list, r.present(entityType, id, entities[id], o.Fields))
		}
		if o.Wrap != "" {
			return map[string]any{o.Wrap: list}, nil
		}
		return list, nil
	}
}

// inOrder compares two values of a field. Numbers come before other values, and entities without the
// field are last in both directions.
func inOrder(a, b json.RawMessage, descending bool) int {
	if a == nil || b == nil {
		return cmp.Compare(len(b), len(a))
	}
	if descending {
		a, b = b, a
	}
	switch x, y := rawjson.Kind(a), rawjson.Kind(b); {
	case x == '0' && y == '0':
		return rawjson.ParseNumber(string(a)).Compare(rawjson.ParseNumber(string(b)))
	case x == '0':
		return -1
	case y == '0':
		return 1
	case x == '"' && y == '"':
		return cmp.Compare(rawjson.Unquote(a), rawjson.Unquote(b))
	}
	return bytes.Compare(a, b)
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
// have their defaults. If a text in opts is not JSON, every call fails, and so does the test.
func Add(entityType, idArgument string, opts *WriteOptions) Behavior {
	return write("Add", ledger.OpAdd, entityType, idArgument, valueOf(opts))
}

// Update changes fields of the entity whose id is in an argument. If opts is nil, all options have
// their defaults. If a text in opts is not JSON, every call fails, and so does the test.
func Update(entityType, idArgument string, opts *WriteOptions) Behavior {
	return write("Update", ledger.OpUpdate, entityType, idArgument, valueOf(opts))
}

// Remove removes the entity whose id is in an argument from the ledger. If opts is nil, all options
// have their defaults. If a text in opts is not JSON, every call fails, and so does the test.
func Remove(entityType, idArgument string, opts *WriteOptions) Behavior {
	return write("Remove", ledger.OpRemove, entityType, idArgument, valueOf(opts))
}

func write(who string, op ledger.Op, entityType, idArgument string, o WriteOptions) Behavior {
	var set map[string]json.RawMessage
	if o.Set != "" && json.Unmarshal([]byte(o.Set), &set) != nil {
		return mistaken(mistake(who + ": Set is not a JSON object"))
	}
	refused, err := notFound(who, entityType, o.NotFound)
	if err != nil {
		return mistaken(err)
	}
	if op == ledger.OpAdd {
		refused = failure(entityType + " exists already")
	}
	var result json.RawMessage
	if o.Result != "" {
		if result, err = readJSON(who+": Result", o.Result); err != nil {
			return mistaken(err)
		}
	}
	return func(r *Request) (any, error) {
		id, _ := idOf(r.Arguments, idArgument)
		if op == ledger.OpAdd && idArgument == "" {
			id = r.freeID(entityType)
		}
		entity, exists := r.Get(entityType, id)
		if exists == (op == ledger.OpAdd) {
			return refused, nil
		}
		update := ledger.Update{Op: op, EntityType: entityType, ID: id}
		if op != ledger.OpRemove {
			update.Fields = members(r.Arguments)
			maps.DeleteFunc(update.Fields, func(name string, _ json.RawMessage) bool {
				if o.Copy == nil && o.Set == "" {
					return name == idArgument
				}
				return !slices.Contains(o.Copy, name)
			})
			maps.Copy(update.Fields, set)
		}
		if err := r.Apply(update); err != nil {
			return nil, err
		}
		if result != nil {
			return result, nil
		}
		if after, ok := r.Get(entityType, id); ok {
			entity = after
		}
		return r.present(entityType, id, entity, nil), nil
	}
}

// freeID returns the first id of the form type_n that no entity of the type has.
func (r *Request) freeID(entityType string) string {
	for n := 1; ; n++ {
		id := fmt.Sprintf("%s_%d", entityType, n)
		if _, taken := r.Get(entityType, id); !taken {
			return id
		}
	}
}

// present returns an entity as a result: the fields in only, or all, and the id under the name that
// the ledger schema declares.
func (r *Request) present(entityType, id string, entity json.RawMessage, only []string) json.RawMessage {
	idField := ""
	if of := r.typeNamed(entityType); of != nil {
		idField = of.IDField
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

func notFound(who, entityType, text string) (json.RawMessage, error) {
	if text != "" {
		return readJSON(who+": NotFound", text)
	}
	return failure(entityType + " not found"), nil
}

func failure(text string) json.RawMessage { return marshal(map[string]string{"error": text}) }

func valueOf[T any](opts *T) (o T) {
	if opts != nil {
		o = *opts
	}
	return o
}
