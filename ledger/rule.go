package ledger

import (
	"encoding/json"

	"github.com/toolwire/toolwire/internal/clip"
	"github.com/toolwire/toolwire/internal/jsonpath"
)

// What one evaluation may cost.
const (
	maxBytes  = 1 << 20   // of the response, of the arguments, and of all values that one evaluation writes
	maxDepth  = 64        // levels of the response and of the arguments
	maxValues = 1_000_000 // values of each document, and those that the wildcards and descents of all paths visit
	maxKey    = 1024      // bytes of an id and of a flag
)

// A Rule is a compiled [Adapter]. It is immutable and safe for concurrent use. A nil or zero Rule
// is that of a tool without an adapter: it writes nothing.
type Rule struct {
	op         Op
	entityType string
	idPath     *jsonpath.Path
	fields     []fieldRule
	flags      []flagRule
	ignored    []Step // about members that the op does not use
	refused    []Step // if not empty, why the rule never writes anything

	readsResponse, readsArgs bool
}

type fieldRule struct {
	name    string
	pointer string
	path    *jsonpath.Path
}

type flagRule struct {
	text    string
	pointer string
	template
	problem string // why the template is malformed, or ""
}

// Compile compiles an adapter. The rule is never nil and always safe to evaluate.
//
// The error is an [*Error] with everything that is wrong with the adapter, as [Adapter.Validate]
// reports it without a schema, and with the members of a later release, which are not evaluated.
// The rule then does what the platform does with a malformed adapter: it writes nothing and
// explains why. A malformed flag template drops only its flag. Authors of adapters check the error;
// code that mirrors the platform may ignore it.
func Compile(a *Adapter) (*Rule, error) {
	r := &Rule{}
	if a == nil {
		a = &Adapter{bad: malformed{whole: json.RawMessage("null"), problems: problems{
			{Code: "missing", Message: "is missing"},
		}}}
	}
	ps := a.problems(nil)
	for _, p := range ps {
		if p.Code != "invalid_template" {
			r.refused = append(r.refused, newStep("adapter_malformed", p.Pointer, a.source(p), p.Message))
		}
	}
	for _, name := range a.later() {
		ps.add("unsupported", token(name), "belongs to a later release; it is kept but not evaluated here")
		r.refused = append(r.refused, newStep("adapter_unsupported", token(name), "", ""))
	}
	if len(r.refused) == 0 {
		r.compile(a)
	}
	return r, ps.err(CodeAdapter)
}

// source returns the path that a problem is about, or "".
func (a *Adapter) source(p Problem) string {
	if p.Code != "invalid_path" {
		return ""
	}
	if p.Pointer == "/id_from" {
		return clip.Text(a.IDFrom, maxShown)
	}
	for field, path := range a.FieldMap {
		if p.Pointer == "/field_map"+token(field) {
			return clip.Text(path, maxShown)
		}
	}
	return ""
}

// compile fills in a rule for an adapter without problems except malformed flag templates.
func (r *Rule) compile(a *Adapter) {
	r.op, r.entityType = a.op(), a.EntityType
	if r.op != OpSetFlag {
		r.idPath = r.path(a.IDFrom)
	}
	if r.op == OpRemove && len(a.FieldMap) > 0 {
		r.ignored = append(r.ignored, newStep("fields_ignored", "/field_map", "", ""))
	} else {
		for _, name := range sortedKeys(a.FieldMap) {
			r.fields = append(r.fields, fieldRule{name, "/field_map" + token(name), r.path(a.FieldMap[name])})
		}
	}
	for i, text := range a.Flags {
		f := flagRule{text: text, pointer: "/flags" + indexToken(i)}
		var err error
		if f.template, err = parseTemplate(text); err != nil {
			f.problem = err.Error()
		}
		r.readsArgs = r.readsArgs || len(f.names) > 0
		r.flags = append(r.flags, f)
	}
}

// path compiles the text of a path that has no problem, so there is no error.
func (r *Rule) path(text string) *jsonpath.Path {
	path, _ := jsonpath.Compile(text)
	r.readsResponse = r.readsResponse || path.Root == jsonpath.Response
	r.readsArgs = r.readsArgs || path.Root == jsonpath.Args
	return path
}
