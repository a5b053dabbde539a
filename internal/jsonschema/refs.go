package jsonschema

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/toolwire/toolwire/internal/rawjson"
)

// brokenRefs returns every reference without a target. The library reports only one of them, at random. brokenRefs
// knows less than the library, so its result is used only if the library rejects the schema too.
func (c *compiler) brokenRefs(r *reading) (found []Fault) {
	root, _ := r.doc.(map[string]any)
	if r.nestedIDs {
		return nil // the same text may mean another place in each part
	}
	for _, ref := range r.refs {
		if ref.key != "$ref" {
			continue
		}
		at := ref.spot.at + "/$ref"
		before, fragment, _ := strings.Cut(ref.target, "#")
		pointer, isPointer := rawjson.Local("#" + fragment)
		_, resolved := follow(r.doc, r.moved.now(pointer), nil)
		switch {
		case before != "":
			if !c.hasResource(before) && root["$id"] == nil && !strings.Contains(before, "json-schema.org/") {
				found = append(found, remoteRef(at, ref.target))
			}
		case r.names[fragment], isPointer && resolved:
		default:
			found = append(found, Fault{Code: "ref_broken", Pointer: at, Message: "refers to " +
				safeURL(base+ref.target) + ", which does not exist"})
		}
	}
	return found
}

func remoteRef(at, target string) Fault {
	return Fault{Code: "ref_remote", Pointer: at, Message: fmt.Sprintf(
		`refers to %s, and no schema is ever loaded from outside; put the definition under "$defs"`, safeURL(target))}
}

// Resolve returns the target of a reference that is a JSON Pointer into the same document, such as
// "#/$defs/order". root is the document as encoding/json decodes it into an any. A pointer that leads through a
// schema with an id of its own has no target here, because other references below that schema start there.
func Resolve(root any, ref string) (target any, ok bool) {
	pointer, ok := rawjson.Local(ref)
	if !ok {
		return nil, false
	}
	return follow(root, pointer, isDocumentRoot)
}

// follow returns the value at a JSON Pointer. The pointer must not lead through a part for which stop is true; stop
// may be nil.
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

// merge joins the faults that a compilation reports with the faults that were found beside it, in the order of the
// document. For kinds of faults that were searched for, it omits the library's, which stops at the first.
func (c *compiler) merge(err error) faults {
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
	return inOrder(all)
}

// inOrder sorts faults, and keeps the most important ones if there are too many.
func inOrder(all faults) faults {
	slices.SortStableFunc(all, func(a, b Fault) int {
		return cmp.Or(comparePaths(strings.Split(a.Pointer, "/"), strings.Split(b.Pointer, "/")),
			strings.Compare(a.Message, b.Message))
	})
	if len(all) > maxIssues {
		slices.SortStableFunc(all, func(a, b Fault) int { return falseFirst(a.Unchecked(), b.Unchecked()) })
		all = all[:maxIssues]
	}
	return slices.Compact(all)
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
