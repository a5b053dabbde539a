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
		switch {
		case before != "":
			_, known := c.opts.Resources[before]
			if !known && root["$id"] == nil && !strings.Contains(before, "json-schema.org/") {
				found = append(found, remoteRef(ref.at, ref.target))
			}
		case fragment == "", c.counted.names[fragment], exists(doc, fragment):
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

// exists follows a JSON Pointer from the fragment of a reference.
func exists(doc any, fragment string) bool {
	pointer, ok := rawjson.Local("#" + fragment)
	if !ok || pointer == "" {
		return false
	}
	for token := range strings.SplitSeq(pointer[1:], "/") {
		token = rawjson.Name(token)
		switch v := doc.(type) {
		case map[string]any:
			next, ok := v[token]
			if !ok {
				return false
			}
			doc = next
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(v) {
				return false
			}
			doc = v[i]
		default:
			return false
		}
	}
	return true
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
