package jsonschema

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/toolwire/toolwire/internal/rawjson"
)

// refUse is a "$ref" as it stands in a document.
type refUse struct{ target, at string }

// brokenRefs returns every reference without a target. The library reports only one of them, at
// random. brokenRefs knows less than the library, so its result is used only if the library rejects
// the schema too.
func (c *compiler) brokenRefs(doc any) (found []Fault) {
	root, _ := doc.(map[string]any)
	if c.counted.nestedIDs {
		return nil // the same text may mean another place in each part
	}
	for _, ref := range c.counted.refs {
		before, fragment, _ := strings.Cut(ref.target, "#")
		_, resolved := Resolve(doc, ref.target)
		switch {
		case before != "":
			_, known := c.opts.Resources[before]
			if !known && root["$id"] == nil && !strings.Contains(before, "json-schema.org/") {
				found = append(found, remoteRef(ref.at, ref.target))
			}
		case fragment == "", c.counted.names[fragment], resolved:
		default:
			found = append(found, Fault{Code: "ref_broken", Pointer: ref.at, Message: "refers to " +
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
	target = root
	for i, token := range strings.Split(pointer, "/")[1:] {
		switch v := target.(type) {
		case map[string]any:
			if i > 0 && isDocumentRoot(v) {
				return nil, false
			}
			if target, ok = v[rawjson.Name(token)]; !ok {
				return nil, false
			}
		case []any:
			n, err := strconv.Atoi(token)
			if err != nil || !isIndex(token) || n >= len(v) {
				return nil, false
			}
			target = v[n]
		default:
			return nil, false
		}
	}
	return target, true
}

// isDocumentRoot reports whether references below a schema start at the schema itself.
func isDocumentRoot(s map[string]any) bool {
	_, named := s["$id"].(string)
	_, old := s["id"].(string)
	return named || old
}

// merge joins the faults that a compilation reports with the faults found beside it, in the
// order of the document. For kinds of faults that were searched for, it omits the library's, which
// stops at the first.
func (c *compiler) merge(err error) faults {
	beside := slices.Clone(c.counted.unchecked)
	all := beside
	if reported, ok := err.(faults); ok {
		beside = append(beside, c.beside...)
		all = beside
		for _, f := range reported {
			if !slices.ContainsFunc(beside, func(b Fault) bool { return b.Code == f.Code }) {
				all = append(all, f)
			}
		}
	}
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
