package proxytest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/internal/rawjson"
)

// FromLedger answers with the entity of a type that the call identifies: its id is in the argument that
// has the name of the type's id_field. The result has the form of the tool's output_schema. Its
// properties that have the name of a field of the entity have the field's value. All others are made up.
// Names may differ in _, - and case, as order_id and orderId do, if only one name fits. Without an
// output_schema the result is the same as with [Get]. If the ledger does not contain the entity, the
// result is {"error":"order not found"}, with the type of the entity.
//
// A tool in sandbox mode without a behavior answers in the same way, about all entities that its
// arguments identify. FromLedger names one type, and a call without the argument fails.
func FromLedger(entityType string) Behavior {
	missing := failure(entityType + " not found")
	return func(r *Request) (any, error) {
		of := r.typeNamed(entityType)
		if of == nil {
			return nil, fmt.Errorf("FromLedger: World.LedgerSchema does not declare the type %q: "+
				"declare it with its id_field, or use Get", entityType)
		}
		id, ok := idOf(r.Arguments, r.argument(of.IDField))
		if !ok {
			return nil, fmt.Errorf("FromLedger: the arguments have no %s, which identifies a %s in the ledger",
				of.IDField, entityType)
		}
		e := r.subject(of, id)
		if e == nil {
			return missing, nil
		}
		return r.generate(r.describe([]*subject{e})), nil
	}
}

// simulate is the [Behavior] of a tool in sandbox mode that has none. The result agrees with the
// ledger: the entities that the arguments identify, the entities that these refer to, and lists of
// entities are taken from the ledger.
func simulate(r *Request) (any, error) {
	found, missing := r.identified()
	for _, path := range missing {
		r.notes = append(r.notes, fmt.Sprintf("the ledger has no %s: the call is answered with not found", path))
	}
	if len(missing) > 0 {
		entityType, _, _ := strings.Cut(missing[0], "/")
		return failure(entityType + " not found"), nil
	}
	return r.generate(r.describe(found)), nil
}

// generate makes a result about the subjects.
func (r *Request) generate(about *subjects) any {
	if r.output == nil {
		return r.withoutSchema(about)
	}
	draft := newDraft(r, r.output, about)
	result := draft.value(r.output, 0)
	r.invented = draft.invented
	r.notes = append(r.notes, draft.explain(result)...)
	if r.Attempt == maxAttempts {
		r.notes = append(r.notes, r.misfits(draft, result)...)
	}
	return result
}

// withoutSchema returns the entities that a call is about: one as it is, several by type.
func (r *Request) withoutSchema(about *subjects) any {
	if about == nil {
		r.notes = append(r.notes, "no output_schema is declared: the result is {}")
		return json.RawMessage(`{}`)
	}
	byType := map[string]json.RawMessage{}
	for _, e := range about.main {
		byType[e.of.Type] = r.present(e.of.Type, e.id, marshal(e.fields), nil)
		r.notes = append(r.notes, fmt.Sprintf("from %s in the ledger", e.path()))
	}
	if len(about.main) == 1 {
		return byType[about.main[0].of.Type]
	}
	return byType
}

// simulated is the [Behavior] of a tool that [World].Simulator answers.
func simulated(simulator Behavior) Behavior {
	return func(r *Request) (any, error) {
		r.notes = append(r.notes, "World.Simulator answered")
		return simulator(r)
	}
}

// misfits names the values of the ledger that the output_schema does not allow.
func (r *Request) misfits(sample *draft, result any) (notes []string) {
	raw, err := rawjson.Encode(result)
	if err != nil || r.world.set == nil {
		return nil
	}
	mistakes, ok := errors.AsType[*toolwire.Error](r.world.set.ValidateResult(r.Tool, raw))
	if !ok {
		return nil
	}
	for _, known := range sample.origins {
		if known.of != nil && slices.ContainsFunc(mistakes.Problems, func(p toolwire.Problem) bool {
			return p.Pointer == known.pointer || strings.HasPrefix(p.Pointer, known.pointer+"/")
		}) {
			notes = append(notes, fmt.Sprintf("%s in the ledger has a %s that the output_schema does not allow",
				known.of.path(), known.name))
		}
	}
	return notes
}
