package proxytest

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/schema"
)

// FromLedger answers with the entity of a type that the call identifies: its id is in the argument
// that has the name of the type's id_field. The result has the form of the tool's output_schema.
// Its properties that have the name of a field of the entity have the field's value, also in a
// property that has the name of the type: {"order":{…}}. All others are generated. Without an
// output_schema the result is that of [Get]. If the ledger does not have the entity, the result is
// {"error":"order not found"}, with the type of the entity.
//
// A tool in sandbox mode with an output_schema and without a behavior answers in the same way if its
// arguments identify exactly one entity. FromLedger names the type for calls that identify several, and lets a call
// that does not fit fail: without the argument, or with a value in the ledger that the
// output_schema does not allow.
func FromLedger(entityType string) Behavior {
	missing := notFound("FromLedger", entityType, "")
	return func(r *Request) (any, error) {
		idField := r.idField(entityType)
		if idField == "" {
			return nil, fmt.Errorf("FromLedger: World.LedgerSchema does not declare the type %q: "+
				"declare it with its id_field, or use Get", entityType)
		}
		id, ok := idOf(r.Arguments, idField)
		if !ok {
			return nil, fmt.Errorf("FromLedger: the arguments have no %s, which identifies a %s in the ledger",
				idField, entityType)
		}
		entity, ok := r.Get(entityType, id)
		if !ok {
			return missing, nil
		}
		if r.generator == nil || r.generator.schema == nil {
			return r.present(entityType, id, entity, nil), nil
		}
		from := &source{entityType: entityType, id: id, fields: members(entity)}
		delete(from.fields, idField) // the argument has it, in the type that the agent sent
		sample := r.generator.sample(r, from)
		result := sample.value(r.generator.schema, 0)
		r.notes = append(r.notes, sample.origins(result)...)
		return result, nil
	}
}

// source is the entity of the ledger that a result is filled from.
type source struct {
	entityType, id string
	fields         map[string]json.RawMessage // those that the result may have
}

// path returns type and id, as in "order/4521".
func (s *source) path() string { return s.entityType + "/" + s.id }

// simulate is the [Behavior] of a tool in sandbox mode that has none.
func simulate(r *Request) (any, error) {
	g := r.generator
	if g.schema == nil {
		r.notes = append(r.notes, "no output_schema is declared: the result is {}")
		return json.RawMessage(`{}`), nil
	}
	from := r.identified()
	for {
		sample := g.sample(r, from)
		result := sample.value(g.schema, 0)
		if from == nil || !r.drop(from, sample, result) {
			r.notes = append(r.notes, sample.origins(result)...)
			return result, nil
		}
	}
}

// simulated is the [Behavior] of a tool that [World].Simulator answers.
func simulated(simulator Behavior) Behavior {
	return func(r *Request) (any, error) {
		r.notes = append(r.notes, "World.Simulator answered")
		return simulator(r)
	}
}

// drop removes the fields of from whose values the output_schema does not allow in the result. It
// reports whether there were any.
func (r *Request) drop(from *source, sample *sample, result any) (dropped bool) {
	raw, err := rawjson.Encode(result)
	if err != nil || r.world.set == nil {
		return false
	}
	mistakes, ok := errors.AsType[*schema.Error](r.world.set.ValidateResult(r.Tool, raw))
	if !ok {
		return false
	}
	last := r.Attempt == maxAttempts // then nothing of the ledger is left that could be what does not fit
	for _, name := range slices.Sorted(maps.Keys(from.fields)) {
		misfit := slices.ContainsFunc(sample.fromLedger, func(pointer string) bool {
			return strings.HasSuffix(pointer, rawjson.Token(name)) && (last || slices.ContainsFunc(mistakes.Problems,
				func(p schema.Problem) bool { return p.Pointer == pointer || strings.HasPrefix(p.Pointer, pointer+"/") }))
		})
		if misfit {
			delete(from.fields, name)
			dropped = true
			r.notes = append(r.notes, fmt.Sprintf("%s in the ledger has a %s that the output_schema does not allow",
				from.path(), name))
		}
	}
	return dropped
}

// identified returns the one entity of the ledger that the arguments identify: an argument has the
// name of the id_field of its type, and its id for a value. If there is no such entity, or more
// than one, it returns nil.
func (r *Request) identified() *source {
	if r.world.ledgerSchema == nil {
		return nil
	}
	var found []*source
	var missing []string
	for _, e := range r.world.ledgerSchema.Entities {
		id, ok := idOf(r.Arguments, e.IDField)
		if !ok {
			continue
		}
		from := &source{entityType: e.Type, id: id}
		if entity, ok := r.Get(e.Type, id); ok {
			from.fields = members(entity)
			found = append(found, from)
		} else {
			missing = append(missing, from.path())
		}
	}
	switch len(found) {
	case 0:
		for _, path := range missing {
			r.notes = append(r.notes, "the ledger has no "+path)
		}
		return nil
	case 1:
		return found[0]
	}
	paths := make([]string, len(found))
	for i, from := range found {
		paths[i] = from.path()
	}
	slices.Sort(paths)
	last := len(paths) - 1
	r.notes = append(r.notes, fmt.Sprintf("the arguments identify %s and %s in the ledger: nothing is taken from %s",
		strings.Join(paths[:last], ", "), paths[last], map[bool]string{true: "either", false: "them"}[last == 1]))
	return nil
}

// idField returns the name that the ledger schema gives the id of a type; "" if it declares none.
func (r *Request) idField(entityType string) string {
	if r.world == nil {
		return ""
	}
	return r.world.idField(entityType)
}

// idOf returns an argument as the id of an entity. Numbers are written in plain digits: 4521,
// 4521.0 and 4.521e3 are "4521".
func idOf(arguments json.RawMessage, name string) (string, bool) {
	if value := member(arguments, name); rawjson.Kind(value) == '0' {
		return rawjson.ParseNumber(string(value)).Plain(maxID)
	}
	id, ok := scalarArgument(arguments, name)
	return id, ok && id != ""
}

// maxID is how many characters the number of an id may have.
const maxID = 64
