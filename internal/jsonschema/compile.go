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
	unchecked Faults
	notes     Faults
	bounds    bounds
}

// Compile compiles a schema document. It returns the faults of a schema that cannot be used.
func Compile(raw []byte, o *Options) (*Schema, Faults) {
	c := newCompiler(o)
	s, err := c.compile(raw)
	found := c.merge(err)
	if Invalid(found) {
		return nil, inOrder(found)
	}
	accepted := func(f Fault) bool { return !LetsThrough(f.Code) }
	if refused := slices.DeleteFunc(slices.Clone(found), accepted); len(refused) > 0 && !c.opts.AllowUnchecked {
		return nil, inOrder(refused)
	}
	if s == nil || c.bothWays && c.ignored {
		s = &Schema{bounds: c.bounds}
	}
	s.unchecked, s.notes = inOrder(found), inOrder(c.notes)
	return s, Faults{}
}

// Unchecked returns what validation ignores although it may limit what is valid.
func (s *Schema) Unchecked() Faults { return s.unchecked }

// Notes returns what validation reads otherwise than draft 2020-12 does, and what it leaves out because
// it limits nothing.
func (s *Schema) Notes() Faults { return s.notes }

func (c *compiler) compile(raw []byte) (_ *Schema, err error) {
	defer contain(&err)
	if err := c.load(raw, base); err != nil {
		return nil, err
	}
	return c.compileDocument()
}

func (c *compiler) hasResource(url string) bool {
	_, ok := c.opts.Resources[strings.TrimSuffix(url, "#")]
	return ok
}

func newCompiler(o *Options) *compiler {
	c := &compiler{loaded: map[string]*reading{}}
	if o != nil {
		c.opts = *o
	}
	c.bounds = c.opts.Limits.bounds()
	c.patterns = &patterns{known: map[string]regex{}, counter: &counter{}}
	c.scan = scan{most: c.bounds.properties}
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
	opts      Options
	bounds    bounds
	patterns  *patterns
	scan      scan
	loaded    map[string]*reading // the documents, by URL
	unchecked []Fault             // found by the readings
	notes     []Fault             // likewise
	ignored   bool                // a rule that cannot be checked was left out
	bothWays  bool                // leaving it out may reject a document that matches
	leftOver  bool                // some schema rejects what no other has looked at
	broken    []Fault             // references without a target in the document
	remote    []reference         // those of them that lead elsewhere
}

// compileDocument compiles the document at base.
func (c *compiler) compileDocument() (*Schema, error) {
	first, err := c.build()
	if onlyRemote(err) && len(c.remote) > 0 {
		for _, ref := range c.remote {
			ref.leaveOut()
		}
		c.unchecked, c.ignored = append(c.unchecked, c.broken...), true
		c.bothWays = c.bothWays || c.leftOver
		first, err = c.build()
	}
	if err != nil {
		return nil, err
	}
	c.opts.Resources = nil // those that are needed are loaded
	again := func() (s *compiledSchema) {
		var err error
		defer contain(&err)
		another := *c
		another.patterns = &patterns{known: maps.Clone(c.patterns.known), instructions: c.patterns.instructions, counter: &counter{}}
		s, _ = another.build()
		return s
	}
	return &Schema{copies: newPool(first, again), bounds: c.bounds}, nil
}

// onlyRemote reports whether a schema is rejected only because it refers to another document.
func onlyRemote(err error) bool {
	found, ok := err.(faults)
	return ok && !slices.ContainsFunc(found, func(f Fault) bool { return f.Code != "ref_remote" })
}

// build has the library compile the document.
func (c *compiler) build() (*compiledSchema, error) {
	lc := lib.NewCompiler()
	lc.DefaultDraft(lib.Draft2020)
	lc.UseLoader(loader{c})
	lc.UseRegexpEngine(c.patterns.compile)
	if c.opts.AssertFormats {
		lc.AssertFormat()
	}
	own := c.loaded[base]
	c.broken, c.remote = c.brokenRefs(own)
	if err := lc.AddResource(base, own.doc); err != nil {
		return nil, c.explain(err)
	}
	root, err := lc.Compile(base)
	if err != nil {
		return nil, c.explain(err)
	}
	l := &links{same: map[*lib.Schema][]*lib.Schema{}}
	l.add(root)
	for _, at := range c.anchors() {
		// The target of a dynamic reference may not be reachable otherwise. A place that is not a
		// schema fails, which is ignored.
		if s, err := lc.Compile(at); err == nil {
			l.add(s)
		}
	}
	l.adapt(c)
	if cycle := l.cycle(); cycle != nil {
		return nil, faults{{Code: "ref_cycle", Pointer: pointerOf(cycle.Location),
			Message: `refers back to itself before it looks at any property or item, so it can never be decided; break the ` +
				`"$ref" cycle`}}
	}
	if most := c.bounds.expandedRefs; l.expandedRefs(most+1) > most {
		return nil, faults{{Code: "too_complex", Message: fmt.Sprintf(
			"its references expand to more than %d schemas; use each definition fewer times inside the others", most)}}
	}
	c.broken = nil // the library found the targets
	l.measure()
	c.patterns.counter.charge(l)
	return &compiledSchema{root, c.patterns.counter}, nil
}

// anchors returns the absolute URLs of every "$dynamicAnchor" and "$recursiveAnchor".
func (c *compiler) anchors() (list []string) {
	for _, at := range sortedKeys(c.loaded) {
		for _, pointer := range c.loaded[at].dynamic {
			list = append(list, located(at, c.loaded[at].moved.now(pointer)))
		}
	}
	return list
}

// read decodes one schema document and checks it before the library reads it.
func (c *compiler) read(raw []byte, at string) error {
	if len(raw) > c.bounds.SchemaBytes {
		return unreadable(raw, Fault{Code: "too_large", Message: fmt.Sprintf(
			"is %d bytes long; schemas of at most %d are checked", len(raw), c.bounds.SchemaBytes)})
	}
	doc, err := decode(raw, rawjson.Strict, c.bounds.Depth, maxSchemaValues)
	if err != nil {
		return unreadable(raw, documentFault(err))
	}
	switch kind := rawjson.Kind(raw); kind {
	case '{', 't', 'f':
	default:
		return faults{{Code: "invalid", Message: "a schema must be an object or a boolean, not " + rawjson.KindName(kind)}}
	}
	c.scan.walk(doc, "", schemaHere)
	if len(c.scan.faults) > 0 {
		return faults(c.scan.faults)
	}
	c.loaded[at] = c.readAs2020(doc, at)
	return nil
}

// load reads a document and those that it refers to.
func (c *compiler) load(raw []byte, at string) error {
	err := c.read(raw, at)
	if err == nil {
		err = c.link()
	}
	if err == nil && len(c.scan.faults) > 0 {
		err = faults(c.scan.faults)
	}
	return err
}

// located returns the library's name for a place in a document.
func located(document, pointer string) string {
	return document + "#" + (&url.URL{Fragment: pointer}).EscapedFragment()
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
	if known, ok := l.c.loaded[at]; ok {
		return known.doc, nil
	}
	raw, ok := l.c.opts.Resources[at]
	if !ok {
		return nil, errNotLoaded
	}
	if err := l.c.load(raw, at); err != nil {
		return nil, err
	}
	return l.c.loaded[at].doc, nil
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
		return faults{{Code: "pattern_unsupported", Pointer: c.written(re.URL), Message: unsupported(re.Err)}}
	}
	same := func(what, url, a, b string) error {
		return faults{{Code: "invalid", Pointer: c.written(located(url, max(a, b))),
			Message: "has the same " + what + " as another schema in the document"}}
	}
	if dup, ok := errors.AsType[*lib.DuplicateIDError](err); ok {
		return same("$id", dup.URL, dup.Ptr1, dup.Ptr2)
	}
	if dup, ok := errors.AsType[*lib.DuplicateAnchorError](err); ok {
		return same("anchor", dup.URL, dup.Ptr1, dup.Ptr2)
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
	document, _, _ := strings.Cut(invalid.URL, "#")
	var found faults
	for _, l := range flatten(nil, verr) {
		issue := l.issue()
		f := Fault{Code: "invalid", Pointer: c.written(located(document, at+issue.Pointer)), Message: issue.Message}
		if text, ok := l.badPattern(); ok {
			_, err := c.patterns.compile(text)
			f.Code, f.Message = "pattern_unsupported", unsupported(err)
		}
		found = append(found, f)
	}
	return found
}

// written returns the JSON Pointer of one of the library's locations, as the author of the document would write it.
func (c *compiler) written(location string) string {
	pointer := pointerOf(location)
	document, _, _ := strings.Cut(location, "#")
	if r := c.loaded[document]; r != nil {
		return r.moved.written(pointer)
	}
	return pointer
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
	for _, own := range []string{base, "mem:///"} {
		if rest, ok := strings.CutPrefix(s, own); ok {
			return `"` + text.Cut(rest, maxText) + `"`
		}
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
