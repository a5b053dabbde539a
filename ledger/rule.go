package ledger

import (
	"encoding/json"
	"strings"

	"github.com/toolwire/toolwire/internal/jsonpath"
	"github.com/toolwire/toolwire/internal/members"
	"github.com/toolwire/toolwire/internal/text"
)

// What one evaluation may cost.
const (
	maxBytes = 1 << 20   // of the response, of the arguments, and of all values that one evaluation writes
	maxDepth = 64        // levels of the response and of the arguments
	maxSteps = 2_000_000 // of all paths in one document; about as many values are visited
	maxKey   = 1024      // bytes of an id and of a flag
)

// A Rule is a compiled [Adapter]. It is immutable and safe for concurrent use. A nil or zero Rule
// belongs to a tool without an adapter: it writes nothing.
type Rule struct {
	op         Op
	entityType string
	idPath     *jsonpath.Path
	idWhere    string // for steps, as in fieldRule
	fields     []fieldRule
	flags      []flagTemplate
	ignored    []Step // about members that the op does not use
	refused    []Step // if not empty, why the rule never writes anything

	readsResponse, readsArgs bool
}

type fieldRule struct {
	name    string
	pointer string
	where   string // the subject of sentences
	path    *jsonpath.Path
	skipped *Step // if not nil, why the path is not evaluated
}

type flagTemplate struct {
	pointer string
	where   string
	jsonpath.Template
	problem string // why the template is malformed, or ""
}

// Compile compiles an adapter. The rule is never nil and always safe to evaluate.
//
// The error is a [*toolwire.Error] with the problems that [Adapter.Validate] returns as unchecked without a
// schema. The rule does what the platform does with such an adapter: it leaves out malformed fields
// and flags, or writes nothing. It also leaves out fields with unsupported paths. Its outcomes say
// why. Authors of adapters check the error; code that mirrors the platform may ignore it.
func Compile(a *Adapter) (*Rule, error) {
	r := &Rule{}
	if a == nil {
		a = new(members.Reader((*Adapter).set)(json.RawMessage("null")))
	}
	ps := a.problems()
	for _, p := range ps.Found {
		switch {
		case p.Code == "invalid_template":
		case strings.HasPrefix(p.Pointer, "/field_map/") && (p.Code == "invalid_path" || p.Code == "unsupported"):
		default:
			code, source := "adapter_malformed", ""
			if p.Code == "unsupported" {
				code = "adapter_unsupported"
			}
			if p.Pointer == "/id_from" && a.IDFrom != "" {
				source = text.Cut(a.IDFrom, maxShown)
			}
			r.refused = append(r.refused, newStep(code, p.Pointer, describeMember(p.Pointer, source), p.Message))
		}
	}
	if len(r.refused) == 0 {
		r.compile(a)
	}
	return r, errorOf(codeAdapter, ps)
}

// compile fills in a rule for an adapter without problems except malformed flag templates and those
// of the paths of fields.
func (r *Rule) compile(a *Adapter) {
	r.op, r.entityType = a.op(), a.EntityType
	if r.op != OpSetFlag {
		r.idPath, r.idWhere = r.path(a.IDFrom), describeMember("/id_from", a.IDFrom)
	}
	if r.op == OpRemove && len(a.FieldMap) > 0 {
		r.ignored = append(r.ignored, newStep("fields_ignored", "/field_map", "field_map", ""))
	} else {
		for _, name := range sortedKeys(a.FieldMap) {
			r.fields = append(r.fields, r.field(name, a.FieldMap[name]))
		}
	}
	for i, text := range a.Flags {
		f := flagTemplate{pointer: "/flags" + indexToken(i)}
		f.where = describeMember(f.pointer, text)
		var err error
		if f.Template, err = jsonpath.ParseTemplate(text); err != nil {
			f.problem = err.Error()
		}
		r.readsArgs = r.readsArgs || len(f.Names) > 0
		r.flags = append(r.flags, f)
	}
}

func (r *Rule) field(name, path string) fieldRule {
	f := fieldRule{name: name, pointer: "/field_map" + token(name)}
	f.where = describeMember(f.pointer, text.Cut(path, maxShown))
	if _, err := jsonpath.Compile(path); err != nil {
		code := "field_malformed"
		if pathCode(err) == "unsupported" {
			code = "field_unsupported"
		}
		step := newStep(code, f.pointer, f.where, err.Error())
		f.skipped = &step
		return f
	}
	f.path = r.path(path)
	return f
}

// path compiles the text of a path that has no problem, so there is no error.
func (r *Rule) path(text string) *jsonpath.Path {
	path, _ := jsonpath.Compile(text)
	r.readsResponse = r.readsResponse || path.Root == jsonpath.Response
	r.readsArgs = r.readsArgs || path.Root == jsonpath.Args
	return path
}
