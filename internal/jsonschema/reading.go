package jsonschema

import (
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/toolwire/toolwire/internal/rawjson"
)

// A reading changes the copy of a schema document that the library compiles. A schema that does not name
// a known draft is read as draft 2020-12: what older drafts wrote otherwise is rewritten, with a note
// for each place. In every schema annotations of the wrong type and regular expressions that Go does not
// support are left out.
//
// It visits all schemas under keywords, and then everything that a local reference leads to. It leaves data alone.
type reading struct {
	c        *compiler
	doc      any
	moved    moves
	seen     map[string]bool // pointers of the schemas that were visited, as all pointers here as the author wrote them
	data     map[string]bool // pointers of values without keywords
	refs     []reference
	dynamic  []string         // pointers of the schemas with a "$dynamicAnchor" or "$recursiveAnchor"
	names    map[string]bool  // of places
	anchors  map[place]string // names that "$id" or "id" gave, with the pointers of their schemas
	taken    map[place]bool   // names that "$anchor" gave
	listed   map[place]bool   // names in "required", by the pointers of their schemas
	ids      map[string]spot  // the schemas with an id of their own, by their ids
	required map[string]bool  // pointers of schemas with "required": true
	strange  map[string]bool  // targets of references to places where no keyword puts a schema
	wrappers []Fault          // schemas in which no keyword says anything
	bothWays bool             // some schema that matches more makes the one around it match less
	linked   bool
	followed int // how many of refs were followed
	written  int // how many of them were written as the copy needs them
}

// place is a name in the schema at a pointer.
type place struct{ at, name string }

// spot is where a reading is.
type spot struct {
	at       string // pointer of the schema
	resource string // pointer of the schema around it with an id of its own, or ""
	base     string // the id of that schema
	draft    int    // that the schemas around it name; 0 if none is known, custom if it is one of Resources
	// The schema is the property name of the schema parent, which stands at the pointer around. parent may be nil.
	parent       map[string]any
	around, name string
}

const custom = -1

// reference is a "$ref" in the document.
type reference struct {
	in     map[string]any
	key    string
	target string
	spot   spot
}

func (c *compiler) readAs2020(doc any, url string) *reading {
	r := &reading{c: c, doc: doc, moved: moves{}, seen: map[string]bool{}, data: map[string]bool{},
		names: map[string]bool{}, anchors: map[place]string{}, taken: map[place]bool{}, listed: map[place]bool{}, ids: map[string]spot{},
		required: map[string]bool{}, strange: map[string]bool{}}
	r.schema(doc, spot{base: url})
	return r
}

// link follows the references in all documents, and loads the documents of Options.Resources that they lead to.
// Then it writes the references as the copies need them.
func (c *compiler) link() error {
	for again := true; again; {
		again = false
		for _, at := range sortedKeys(c.loaded) {
			for r := c.loaded[at]; r.followed < len(r.refs); r.followed++ { // following one may find others
				to, ref, err := c.document(r, r.refs[r.followed])
				if err != nil {
					return err
				}
				to.follow(ref)
				again = true
			}
		}
	}
	for _, at := range sortedKeys(c.loaded) {
		r := c.loaded[at]
		if !r.linked {
			r.linked = true
			r.noteWrappers()
		}
		for ; r.written < len(r.refs); r.written++ {
			ref := r.refs[r.written]
			to, there, err := c.document(r, ref)
			if err != nil {
				return err
			}
			if to.redirect(there) {
				r.require(ref.spot)
			}
		}
		c.scan.references(r)
		c.bothWays = c.bothWays || r.bothWays
	}
	return nil
}

// document returns the reading of the document that a reference in r leads to, and the reference as if it stood
// there. That is r and ref itself, unless it leads to one of Options.Resources.
func (c *compiler) document(r *reading, ref reference) (to *reading, there reference, err error) {
	before, _, _ := strings.Cut(ref.target, "#")
	url := joined(ref.spot.base, before)
	raw, ok := c.opts.Resources[url]
	if _, own := r.ids[url]; own || !ok || before == "" || c.loaded[url] == r {
		return r, ref, nil
	}
	if c.loaded[url] == nil {
		if err := c.read(raw, url); err != nil {
			return nil, ref, err
		}
	}
	ref.spot = spot{base: url}
	return c.loaded[url], ref, nil
}

// schema reads a schema and those inside it.
func (r *reading) schema(v any, s spot) {
	obj, ok := v.(map[string]any)
	if !ok {
		return
	}
	if r.seen[s.at] {
		if r.required[s.at] { // a reference led here before the object around it was read
			r.require(s)
		}
		return
	}
	r.seen[s.at] = true
	r.dialect(obj, &s)
	if s.draft == 0 {
		r.nulls(obj, s)
	}
	r.identity(obj, &s)
	if s.draft == 0 {
		r.oldNames(obj, s)
	}
	r.unknown(obj, s)
	switch s.draft {
	case 0:
		r.oldForms(obj, s)
	case 6, 7:
		enum(obj)
	}
	r.ignored(obj, s)
	r.annotations(obj, s)
	r.patterns(obj, s)
	for _, name := range sortedKeys(obj) {
		r.member(obj, name, s)
	}
}

// member reads what a keyword contains. A keyword that was moved is visited where it is now.
func (r *reading) member(obj map[string]any, name string, s spot) {
	v, below := obj[name], s.below(name)
	switch name {
	case "not", "if", "oneOf", "maxContains":
		r.bothWays = true
	case "unevaluatedItems", "unevaluatedProperties":
		r.c.leftOver = true
	case "$ref", "$dynamicRef", "$recursiveRef":
		if target, ok := v.(string); ok {
			r.refs = append(r.refs, reference{obj, name, target, s})
		}
	case "$anchor", "$dynamicAnchor", "$recursiveAnchor":
		if anchor, ok := v.(string); ok {
			r.names[anchor] = true
		}
		if name != "$anchor" {
			r.dynamic = append(r.dynamic, s.at)
		}
	}
	switch keywords[name].shape {
	case schemaOf, described, listOf:
		r.schemas(v, s, r.moved.from(s.at, name))
	case schemas, definitions:
		members, _ := v.(map[string]any)
		for _, key := range sortedKeys(members) {
			inner := below.below(key)
			if name == "properties" {
				inner.parent, inner.around, inner.name = obj, s.at, key
			}
			r.schema(members[key], inner)
		}
	case data, value, values:
		if v != nil {
			r.data[below.at] = true
		}
	}
}

// schemas reads a schema, or a list of them, that the author wrote as a member of the schema at s.
func (r *reading) schemas(v any, s spot, keyword string) {
	below := s.below(keyword)
	list, isList := v.([]any)
	if !isList {
		r.schema(v, below)
	}
	for i, one := range list {
		r.schema(one, below.below(strconv.Itoa(i)))
	}
}

// below returns the spot of a part.
func (s spot) below(token string) spot {
	return spot{at: s.at + rawjson.Token(token), resource: s.resource, base: s.base, draft: s.draft}
}

// dialect reads "$schema". It counts at the root and beside an id.
func (r *reading) dialect(obj map[string]any, s *spot) {
	v, ok := obj["$schema"]
	if !ok {
		return
	}
	named, isText := v.(string)
	draft := draftOf(named)
	if draft == 0 && isText && r.c.hasResource(named) {
		draft = custom
	}
	switch resource := idOf(obj, draft) != ""; {
	case s.at != "" && !resource:
		delete(obj, "$schema")
	case draft != 0:
		s.draft = draft
	case isText && named == "":
		delete(obj, "$schema")
		r.note(s.at+"/$schema", "old_form", "is empty and read as absent; leave it out")
	case v != nil:
		delete(obj, "$schema")
		r.note(s.at+"/$schema", "draft_unknown", `is not a draft that is known here; the schema is read as draft 2020-12, so write `+
			`"https://json-schema.org/draft/2020-12/schema" or leave "$schema" out`)
	}
}

// nulls leaves out keywords that are null.
func (r *reading) nulls(obj map[string]any, s spot) {
	for _, name := range sortedKeys(obj) {
		if obj[name] == nil && neverNull(name) {
			delete(obj, name)
			r.note(s.at+rawjson.Token(name), "member_null", "must not be null; it is read as absent, so leave it out")
		}
	}
}

// identity reads "$id", and "id" of draft 4. Without a known draft, an id that is only a fragment is the
// name of a place, and one that cannot be used goes.
func (r *reading) identity(obj map[string]any, s *spot) {
	if s.draft == 0 {
		r.oldIdentity(obj, *s)
		r.anchor(obj, *s)
	}
	id := idOf(obj, s.draft)
	if id == "" {
		return
	}
	s.resource, s.base = s.at, joined(s.base, id)
	r.ids[s.base] = *s
}

// idOf returns the id that a schema has in a draft, without a fragment, or "".
func idOf(obj map[string]any, draft int) string {
	key := "$id"
	if draft == 4 {
		key = "id"
	}
	if _, beside := obj["$ref"]; beside && draft > 0 && draft < 2019 {
		return ""
	}
	id, _ := obj[key].(string)
	id, _, _ = strings.Cut(id, "#")
	return id
}

func (r *reading) oldIdentity(obj map[string]any, s spot) {
	for _, key := range [...]string{"$id", "id"} {
		v, ok := obj[key]
		id, isText := v.(string)
		before, fragment, _ := strings.Cut(id, "#")
		switch {
		case !ok, key == "id" && before != "", key == "id" && !isText:
		case !isText, !isURI(id):
			delete(obj, key)
			r.note(s.at+"/"+key, "old_form", "is not a URI reference and is ignored; leave it out")
		case fragment != "":
			delete(obj, key)
			resource := s.resource
			if before != "" {
				obj[key], resource = before, s.at
			}
			if name, err := url.PathUnescape(fragment); err == nil && name != "" && name[0] != '/' {
				r.anchors[place{resource, name}] = s.at
				r.names[name] = true
			}
			r.note(s.at+"/"+key, "old_form", `has a fragment, as in draft 7; write the name of a place as "$anchor"`)
		}
		if _, taken := r.ids[joined(s.base, before)]; taken && key == "$id" && obj[key] != nil && before != "" {
			delete(obj, key)
			r.note(s.at+"/"+key, "old_form", "is the id of another schema in the document and is ignored; leave it out")
		}
	}
}

// anchorName is what draft 2020-12 allows as the name of a place.
var anchorName = regexp.MustCompile(`^[A-Za-z_][-A-Za-z0-9._]*$`)

// anchor leaves out a name that is none in draft 2020-12, or that another place has.
func (r *reading) anchor(obj map[string]any, s spot) {
	v, ok := obj["$anchor"]
	if !ok {
		return
	}
	if id, _ := obj["$id"].(string); id != "" {
		s.resource = s.at
	}
	anchor, _ := v.(string)
	if at := (place{s.resource, anchor}); !r.taken[at] && anchorName.MatchString(anchor) {
		r.taken[at] = true
		return
	}
	delete(obj, "$anchor")
	r.note(s.at+"/$anchor", "old_form", "is not a name of this place alone and is ignored; write a different name")
}

func isURI(id string) bool {
	_, err := url.Parse(id)
	return err == nil && !strings.Contains(id, `\`)
}

// joined returns an id in a base.
func joined(base, id string) string {
	outer, err := url.Parse(base)
	if err != nil {
		return id
	}
	inner, err := outer.Parse(id)
	if err != nil {
		return id
	}
	return inner.String()
}

// annotations leaves out what limits nothing and has the wrong type.
func (r *reading) annotations(obj map[string]any, s spot) {
	if s.draft == custom {
		return
	}
	for _, name := range sortedKeys(obj) {
		if k, known := keywords[name]; known && !k.fits(obj[name]) {
			delete(obj, name)
			r.note(s.at+rawjson.Token(name), "annotation_invalid", "has the wrong type for an annotation; it is left out, and nothing "+
				"else changes")
		}
	}
}

// patterns compiles the regular expressions, in the order of the names: they share a limit, and the same
// ones must exceed it each time. It leaves out those that do not compile.
func (r *reading) patterns(obj map[string]any, s spot) {
	if pattern, ok := obj["pattern"].(string); ok && !r.compiles(pattern, s.at+"/pattern") {
		delete(obj, "pattern")
		r.c.ignored = true
	}
	members, _ := obj["patternProperties"].(map[string]any)
	for _, pattern := range sortedKeys(members) {
		if !r.compiles(pattern, s.at+"/patternProperties"+rawjson.Token(pattern)) {
			delete(members, pattern)
			r.c.ignored, r.bothWays = true, true
		}
	}
}

func (r *reading) compiles(pattern, at string) bool {
	_, err := r.c.patterns.compile(pattern)
	if err != nil {
		r.note(at, "pattern_unsupported", unsupported(err))
	}
	return err == nil
}

func (r *reading) note(pointer, code, message string) {
	f := Fault{Code: code, Pointer: pointer, Message: message}
	if f.Unchecked() {
		r.c.unchecked = append(r.c.unchecked, f)
	} else {
		r.c.notes = append(r.c.notes, f)
	}
}

// local returns the spot to which a reference leads in the document, or false if it leads elsewhere.
func (r *reading) local(ref reference) (s spot, ok bool) {
	before, fragment, _ := strings.Cut(ref.target, "#")
	s = ref.spot
	if id := joined(s.base, before); before != "" && id != s.base {
		if s, ok = r.ids[id]; !ok {
			return s, false
		}
	}
	s.parent = nil
	if s.at, ok = rawjson.Local("#" + fragment); ok {
		s.at = s.resource + s.at
		return s, strings.Count(s.at, "/") <= r.c.bounds.Depth // nothing is deeper
	}
	name, err := url.PathUnescape(fragment)
	if err != nil || ref.key != "$ref" {
		return s, false
	}
	s.at, ok = r.anchors[place{s.resource, name}]
	return s, ok
}

// follow reads the target of a reference, unless it was read or is data.
func (r *reading) follow(ref reference) {
	s, ok := r.local(ref)
	if ok && r.seen[s.at] {
		return
	}
	if strings.Contains(ref.target, "#/") {
		r.strange[ref.target] = true
	}
	if !ok {
		return
	}
	for at := s.at; at != ""; at = at[:strings.LastIndexByte(at, '/')] {
		if r.data[at] {
			return
		}
	}
	if target, ok := follow(r.doc, r.moved.now(s.at), nil); ok {
		r.schema(target, s)
	}
}

// redirect writes a reference as the copy needs it. It reports whether what refers there is a required property.
func (r *reading) redirect(ref reference) (required bool) {
	s, ok := r.local(ref)
	if !ok {
		return false
	}
	before, fragment, _ := strings.Cut(ref.target, "#")
	was, isPointer := rawjson.Local("#" + fragment)
	now := r.moved.now(s.at)[len(r.moved.now(s.resource)):]
	if !isPointer || was != now {
		ref.in[ref.key] = located(before, now)
	}
	return r.required[s.at]
}

// require adds the property at s to those that its object must have.
func (r *reading) require(s spot) {
	list, isList := s.parent["required"].([]any)
	if s.parent == nil || !isList && s.parent["required"] != nil {
		return // there is no object, or it is not valid
	}
	if at := (place{s.around, s.name}); !r.listed[at] {
		r.listed[at] = true
		s.parent["required"] = append(list, s.name)
	}
}
