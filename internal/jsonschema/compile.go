// Package jsonschema guards the JSON Schema validator of the project. No schema and no document
// costs more than the limits allow. Nothing is loaded, sizes are bounded before work begins, and
// the steps of a validation are counted while they are made. Panics are contained. Issues have a
// stable order and contain no values of the document.
package jsonschema

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	lib "github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/text"
)

// Options configures Compile.
type Options struct {
	Limits        Limits
	AssertFormats bool
	Resources     map[string][]byte // documents that "$ref" and "$schema" may name, by absolute URL
	// AllowUnchecked accepts a schema whose faults are all limits of this package. Validation
	// ignores the parts that cannot be checked.
	AllowUnchecked bool
}

// base is the URL of the schema itself. It is absolute, because the library resolves relative names
// against the working directory. Nothing loads its scheme.
const base = "mem:///schema"

// Schema is a compiled schema. It is immutable and safe for concurrent use.
type Schema struct {
	copies    *pool // nil if every document matches
	unchecked []Fault
	bounds    bounds
}

// Compile compiles a schema document. It returns every fault of a schema that cannot be used, in a
// stable order.
func Compile(raw []byte, o *Options) (*Schema, []Fault) {
	c := newCompiler(o)
	s, err := c.compile(raw)
	found := c.merge(err)
	switch {
	case len(found) == 0:
		return s, nil
	case !c.opts.AllowUnchecked || Invalid(found):
		return nil, found
	case s == nil || c.counted.bothWays && len(c.counted.ignored) > 0:
		s = &Schema{bounds: c.bounds}
	}
	s.unchecked = found
	return s, nil
}

// Unchecked returns what validation ignores, in the order of the schema.
func (s *Schema) Unchecked() []Fault { return s.unchecked }

func (c *compiler) compile(raw []byte) (_ *Schema, err error) {
	defer contain(&err)
	doc, err := c.read(raw, base)
	if err != nil {
		return nil, err
	}
	return c.compileDocument(doc)
}

func newCompiler(o *Options) *compiler {
	c := &compiler{loaded: map[string]any{}}
	if o != nil {
		c.opts = *o
	}
	c.bounds = c.opts.Limits.bounds()
	c.patterns = &patterns{known: map[string]regex{}, counter: &counter{}}
	c.counted = scan{engine: c.patterns, most: c.bounds.properties}
	return c
}

// contain turns a panic of the library into an error.
func contain(err *error) {
	if p := recover(); p != nil {
		*err = faults{{Code: "invalid", Message: "the schema cannot be compiled"}}
	}
}

// compiler is the state of one compilation. The library's compiler is not safe for concurrent use,
// so each compilation has its own.
type compiler struct {
	opts     Options
	bounds   bounds
	patterns *patterns
	counted  scan
	loaded   map[string]any // documents of Resources, which count once in all drafts that are tried
	anchors  []string       // absolute URLs of every "$dynamicAnchor" and "$recursiveAnchor"
	beside   []Fault        // found without the library
}

// compileAs compiles a document. A draft applies to all documents without a "$schema".
func (c *compiler) compileAs(draft *lib.Draft, doc any) (*Schema, error) {
	first, err := c.build(draft, doc)
	if err != nil {
		return nil, err
	}
	c.opts.Resources = nil // those that are needed are loaded
	again := func() (s *compiledSchema) {
		var err error
		defer contain(&err)
		another := *c
		another.patterns = c.patterns.forCounter(&counter{})
		s, _ = another.build(draft, doc)
		return s
	}
	return &Schema{copies: newPool(first, again), bounds: c.bounds}, nil
}

// build has the library compile a document.
func (c *compiler) build(draft *lib.Draft, doc any) (*compiledSchema, error) {
	lc := lib.NewCompiler()
	lc.DefaultDraft(draft)
	lc.UseLoader(loader{c})
	lc.UseRegexpEngine(c.patterns.compile)
	if c.opts.AssertFormats {
		lc.AssertFormat()
	}
	c.beside = c.brokenRefs(doc)
	if err := lc.AddResource(base, doc); err != nil {
		return nil, c.explain(err)
	}
	root, err := lc.Compile(base)
	if err != nil {
		return nil, c.explain(err)
	}
	l := newLinks(root)
	for _, at := range c.anchors {
		// The target of a dynamic reference may not be reachable otherwise. A place that is not a
		// schema fails, which is ignored.
		if s, err := lc.Compile(at); err == nil {
			l.add(s)
		}
	}
	l.adapt(c.opts.AssertFormats)
	if cycle := l.cycle(); cycle != nil {
		return nil, faults{{Code: "ref_cycle", Pointer: pointerOf(cycle.Location),
			Message: `refers back to itself before it looks at any property or item, so it can never be decided; break the ` +
				`"$ref" cycle`}}
	}
	if most := c.bounds.expandedRefs; l.expandedRefs(most+1) > most {
		return nil, faults{{Code: "too_complex", Message: fmt.Sprintf(
			"its references expand to more than %d schemas; use each definition fewer times inside the others", most)}}
	}
	c.beside = nil // the library found the targets
	return &compiledSchema{root, l.charge(c.patterns.counter), c.patterns.counter, l.dynamic > 0}, nil
}

// read decodes one schema document and checks it before the library reads it.
func (c *compiler) read(raw []byte, at string) (any, error) {
	if len(raw) > c.bounds.SchemaBytes {
		return nil, unreadable(raw, Fault{Code: "too_large", Message: fmt.Sprintf(
			"is %d bytes long; schemas of at most %d are checked", len(raw), c.bounds.SchemaBytes)})
	}
	doc, err := decode(raw, rawjson.Strict, c.bounds.Depth, maxSchemaValues)
	if err != nil {
		return nil, unreadable(raw, documentFault(err))
	}
	switch kind := rawjson.Kind(raw); kind {
	case '{', 't', 'f':
	default:
		return nil, faults{{Code: "invalid", Message: "a schema must be an object or a boolean, not " + rawjson.KindName(kind)}}
	}
	c.counted.document(doc)
	for _, ptr := range c.counted.anchors {
		c.anchors = append(c.anchors, at+"#"+(&url.URL{Fragment: ptr}).EscapedFragment())
	}
	c.counted.anchors = nil
	if len(c.counted.faults) > 0 {
		return nil, faults(c.counted.faults)
	}
	for _, p := range c.counted.ignored {
		delete(p.in, p.name)
	}
	return doc, nil
}

// deepest is the deepest nesting of any JSON document that encoding/json reads. Other parsers read
// less. A bound keeps the memory for a schema beyond the limits small.
const deepest = 10_000

// unreadable returns the error for a schema document that was not read. A document that is not
// strict JSON is reported as invalid JSON, whatever its size.
func unreadable(raw []byte, f Fault) error {
	if f.Unchecked() {
		err := rawjson.Check(raw, rawjson.Limits{Depth: deepest})
		if err != nil {
			f = documentFault(err)
			f.Code = "not_json"
		}
	}
	return faults{f}
}

// loader returns only the documents in Options.Resources.
type loader struct{ c *compiler }

var errNotLoaded = errors.New("nothing is loaded")

func (l loader) Load(at string) (any, error) {
	if doc, ok := l.c.loaded[at]; ok {
		return doc, nil
	}
	raw, ok := l.c.opts.Resources[at]
	if !ok {
		return nil, errNotLoaded
	}
	doc, err := l.c.read(raw, at)
	if err == nil {
		l.c.loaded[at] = doc
	}
	return doc, err
}

// explain converts the library's errors.
func (c *compiler) explain(err error) error {
	if own, ok := errors.AsType[faults](err); ok {
		return own
	}
	if invalid, ok := errors.AsType[*lib.SchemaValidationError](err); ok {
		return c.explainInvalid(invalid)
	}
	if load, ok := errors.AsType[*lib.LoadURLError](err); ok {
		return faults{remoteRef("", load.URL)}
	}
	if missing, ok := errors.AsType[*lib.JSONPointerNotFoundError](err); ok {
		return faults{{Code: "ref_broken", Message: fmt.Sprintf("has a $ref to %s, which does not exist",
			safeURL(missing.URL))}}
	}
	if missing, ok := errors.AsType[*lib.AnchorNotFoundError](err); ok {
		return faults{{Code: "ref_broken", Message: fmt.Sprintf("has a $ref to %s, which does not exist",
			safeURL(missing.Reference))}}
	}
	if _, ok := errors.AsType[*lib.InvalidJsonPointerError](err); ok {
		return faults{{Code: "ref_broken", Message: "has a $ref whose fragment is not a valid JSON Pointer"}}
	}
	if re, ok := errors.AsType[*lib.InvalidRegexError](err); ok {
		return faults{{Code: "pattern_unsupported", Pointer: pointerOf(re.URL), Message: unsupported(re.Err)}}
	}
	if dup, ok := errors.AsType[*lib.DuplicateIDError](err); ok {
		return faults{{Code: "invalid", Pointer: max(dup.Ptr1, dup.Ptr2), Message: "has the same $id as another " +
			"schema in the document"}}
	}
	if dup, ok := errors.AsType[*lib.DuplicateAnchorError](err); ok {
		return faults{{Code: "invalid", Pointer: max(dup.Ptr1, dup.Ptr2), Message: "has the same anchor as another " +
			"schema in the document"}}
	}
	return faults{{Code: "invalid",
		Message: "is not a valid JSON Schema: a $schema, $id, $anchor or $ref in it cannot be understood"}}
}

// explainInvalid reports every place where a schema breaks the rules of its draft.
func (c *compiler) explainInvalid(invalid *lib.SchemaValidationError) error {
	verr, ok := errors.AsType[*lib.ValidationError](invalid.Err)
	if !ok {
		return faults{{Code: "invalid", Message: "is not a valid JSON Schema"}}
	}
	at := pointerOf(invalid.URL)
	var found faults
	leaves, _ := leavesOf(verr)
	for _, l := range leaves {
		issue := l.issue()
		f := Fault{Code: "invalid", Pointer: at + issue.Pointer, Message: issue.Message}
		if text, ok := l.badPattern(); ok {
			_, err := c.patterns.compile(text)
			f.Code, f.Message = "pattern_unsupported", unsupported(err)
		}
		if !slices.Contains(found, f) {
			found = append(found, f)
		}
		if len(found) == maxIssues {
			break
		}
	}
	return found
}

// pointerOf returns the JSON Pointer in the fragment of one of the library's locations.
func pointerOf(location string) string {
	_, fragment, _ := strings.Cut(location, "#")
	if p, err := url.PathUnescape(fragment); err == nil {
		fragment = p
	}
	return fragment
}

// safeURL returns the target of a reference without credentials and query, and without base if it
// is in the schema itself.
func safeURL(s string) string {
	if rest, ok := strings.CutPrefix(s, base); ok {
		return `"` + text.Cut(rest, maxText) + `"`
	}
	if rest, ok := strings.CutPrefix(s, "mem:///"); ok {
		return `"` + text.Cut(rest, maxText) + `"`
	}
	u, err := url.Parse(s)
	if err != nil {
		return "another document"
	}
	return `"` + text.Cut((&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, Fragment: u.Fragment}).String(),
		maxText) + `"`
}

func sortedKeys[V any](m map[string]V) []string {
	if len(m) == 0 {
		return nil // without the allocations of an iterator
	}
	return slices.Sorted(maps.Keys(m))
}
