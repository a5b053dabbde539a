package ledger

import (
	"encoding/json"

	"github.com/toolwire/toolwire/internal/clip"
	"github.com/toolwire/toolwire/internal/jsonpath"
)

// RuleOptions bounds what one evaluation may cost. The zero value of a field means its default.
type RuleOptions struct {
	MaxBytes int // of the response, of the arguments, and of all values that one evaluation writes; default 1 MiB
	MaxDepth int // nesting of the response and of the arguments; default 64
	// MaxValues is the most values in each document, and the most that the wildcards and descents of all paths visit,
	// where each 256 bytes of text that they pass over count as one more; default 1,000,000.
	MaxValues int
	MaxKey    int // bytes of an id and of a flag; default 1,024
}

// withDefaults checks the options and fills in the defaults.
func (o *RuleOptions) withDefaults() (limits RuleOptions, ps problems) {
	limits = RuleOptions{1 << 20, 64, 1_000_000, 1024}
	if o == nil {
		return limits, nil
	}
	for _, l := range []struct {
		name    string
		set     int
		limit   *int
		highest int
	}{
		{"MaxBytes", o.MaxBytes, &limits.MaxBytes, 1 << 30},
		{"MaxDepth", o.MaxDepth, &limits.MaxDepth, maxFieldDepth},
		{"MaxValues", o.MaxValues, &limits.MaxValues, 1 << 30},
		{"MaxKey", o.MaxKey, &limits.MaxKey, 1 << 20},
	} {
		switch {
		case l.set < 0 || l.set > l.highest:
			ps.add(CodeInvalidValue, "/"+l.name, "must be between 0 (the default, %d) and %d", *l.limit, l.highest)
		case l.set > 0:
			*l.limit = l.set
		}
	}
	return limits, ps
}

// A Rule is a compiled [Adapter]. It is immutable and safe for concurrent use. A nil or zero Rule is that of a tool
// without an adapter: it writes nothing.
type Rule struct {
	op         Op
	entityType string
	idPath     *jsonpath.Path
	fields     []fieldRule
	flags      []flagRule
	ignored    []Step // about members that the op does not use
	refused    []Step // when not empty, why the rule never writes anything
	limits     RuleOptions

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
	problem string // why the template is malformed, "" when it is not
}

// Compile makes a rule of an adapter. The rule is never nil and always safe to evaluate.
//
// The error is an [*Error] with everything wrong with the adapter, as [Adapter.Validate] reports it without a schema,
// and with the members of a later release that cannot be evaluated here. Then the rule does what the platform does
// with a malformed adapter: it writes nothing and explains why. A malformed flag template drops only its flag. Authors
// of adapters check the error; whoever mirrors the platform may ignore it.
//
// Mistakes in opts are in the error too, and the defaults are used instead.
func Compile(a *Adapter, opts *RuleOptions) (*Rule, error) {
	limits, mistakes := opts.withDefaults()
	r := &Rule{limits: limits}
	if a == nil {
		a = &Adapter{bad: malformed{whole: json.RawMessage("null"), problems: problems{
			{CodeMissing, "", "is missing"},
		}}}
	}
	ps := a.problems(nil)
	for _, p := range ps {
		if p.Code != CodeInvalidTemplate {
			r.refused = append(r.refused, Step{Code: StepAdapterMalformed, Pointer: p.Pointer, Source: a.source(p), Detail: p.Message})
		}
	}
	for _, name := range a.later() {
		ps.add(CodeUnsupported, token(name), "belongs to a later release; it is kept but not evaluated here")
		r.refused = append(r.refused, Step{Code: StepAdapterUnsupported, Pointer: token(name)})
	}
	if len(r.refused) == 0 {
		r.compile(a)
	}
	return r, append(ps, mistakes...).err("ledger adapter")
}

// source returns the text that a problem is about, when it is a path.
func (a *Adapter) source(p Problem) string {
	if p.Code != CodeInvalidPath {
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

// compile fills in a rule for an adapter without problems, malformed flag templates apart.
func (r *Rule) compile(a *Adapter) {
	r.op, r.entityType = a.op(), a.EntityType
	if r.op != OpSetFlag {
		r.idPath = r.path(a.IDFrom)
	}
	if r.op == OpRemove && len(a.FieldMap) > 0 {
		r.ignored = append(r.ignored, Step{Code: StepFieldsIgnored, Pointer: "/field_map"})
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
