package jsonschema

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/toolwire/toolwire/internal/problem"
	"github.com/toolwire/toolwire/internal/rawjson"
)

// brokenRefs returns the faults of all references without a target, and those that lead out of the
// document. The library reports only one of them, at random. brokenRefs knows less than the library, so
// its result is used only if the library rejects the schema too.
func (c *compiler) brokenRefs(r *reading) (found []Fault, remote []reference) {
	for _, ref := range r.refs {
		if ref.key != "$ref" {
			continue
		}
		at := ref.spot.at + "/$ref"
		before, fragment, _ := strings.Cut(ref.target, "#")
		document := joined(ref.spot.base, before)
		s, isLocal := r.local(ref)
		_, resolved := follow(r.doc, r.moved.now(s.at), nil)
		_, own := r.ids[document]
		switch {
		case isLocal && resolved:
		case before != "" && document != ref.spot.base:
			if !own && !c.hasResource(document) && !strings.Contains(before, "json-schema.org/") {
				found = append(found, remoteRef(at, ref.target))
				remote = append(remote, ref)
			}
		case r.names[fragment]:
		default:
			found = append(found, Fault{Code: "ref_broken", Pointer: at, Message: "refers to " +
				safeURL(base+ref.target) + ", which does not exist"})
		}
	}
	return found, remote
}

// leaveOut removes a reference. In drafts where what is beside a reference is ignored, it stays ignored.
func (ref reference) leaveOut() {
	delete(ref.in, "$ref")
	for name := range ref.in {
		if d := ref.spot.draft; d > 0 && d < 2019 && keywords[name].limits() {
			delete(ref.in, name)
		}
	}
}

func remoteRef(at, target string) Fault {
	return Fault{Code: "ref_remote", Pointer: at, Message: fmt.Sprintf(
		`refers to %s, and no schema is ever loaded from outside; put the definition under "$defs"`, safeURL(target))}
}

// Resolve returns the target of a reference that is a JSON Pointer into the same document, such as
// "#/$defs/order". root is the document as encoding/json decodes it into an any. A pointer that leads
// through a schema with an id of its own has no target here, because other references below that schema
// start there.
func Resolve(root any, ref string) (target any, ok bool) {
	pointer, ok := rawjson.Local(ref)
	if !ok {
		return nil, false
	}
	return follow(root, pointer, isDocumentRoot)
}

// follow returns the value at a JSON Pointer. The pointer must not lead through a part for which stop is
// true; stop may be nil.
func follow(v any, pointer string, stop func(part any) bool) (target any, ok bool) {
	for i, token := range strings.Split(pointer, "/")[1:] {
		if i > 0 && stop != nil && stop(v) {
			return nil, false
		}
		switch inner := v.(type) {
		case map[string]any:
			if v, ok = inner[rawjson.Name(token)]; !ok {
				return nil, false
			}
		case []any:
			n, err := strconv.Atoi(token)
			if err != nil || !isIndex(token) || n >= len(inner) {
				return nil, false
			}
			v = inner[n]
		default:
			return nil, false
		}
	}
	return v, true
}

// isDocumentRoot reports whether references below a schema start at the schema itself.
func isDocumentRoot(schema any) bool {
	s, _ := schema.(map[string]any)
	_, named := s["$id"].(string)
	_, old := s["id"].(string)
	return named || old
}

// merge joins the faults that a compilation reports with the faults that were found beside it. For kinds of faults that were searched for, it omits the library's, which stops
// at the first.
func (c *compiler) merge(err error) []Fault {
	all := slices.Clone(c.unchecked)
	if reported, ok := err.(faults); ok {
		all = append(all, c.broken...)
		searched := all
		for _, f := range reported {
			if !slices.ContainsFunc(searched, func(b Fault) bool { return b.Code == f.Code }) {
				all = append(all, f)
			}
		}
	}
	return all
}

// Faults are the faults of a schema, each once, in the order of the document. If there are too many, those
// that are not Unchecked come first.
type Faults = problem.Bounded[Fault]

// inOrder sorts faults, and keeps the most important ones if there are too many.
func inOrder(all []Fault) (list Faults) {
	slices.SortStableFunc(all, func(a, b Fault) int {
		return cmp.Or(comparePaths(strings.Split(a.Pointer, "/"), strings.Split(b.Pointer, "/")),
			strings.Compare(a.Message, b.Message))
	})
	all = slices.Compact(all)
	if list.Append(all, 0); list.More > 0 {
		slices.SortStableFunc(all, func(a, b Fault) int { return falseFirst(a.Unchecked(), b.Unchecked()) })
		list = Faults{}
		list.Append(all, 0)
	}
	return list
}

func falseFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}
