package jsonschema

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	lib "github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/text"
)

// leaf is an issue before its text is written. Writing thousands of which twenty are shown would
// cost more than finding them.
type leaf struct {
	path   []string
	err    *lib.ValidationError
	name   string // the property concerned, where the library reports several at once
	more   int    // further properties of the same error that have no leaf
	choice *choice
}

// choice describes a failed "anyOf" or "oneOf".
type choice struct {
	keyword string
	types   []string // the types, if every alternative only requires a type
	got     string
	among   int
}

// mostLeaves is how many leaves are sorted: several times as many as are shown, because some may have
// the same text.
const mostLeaves = 4 * maxIssues

// collect turns the library's tree of errors into a sorted list of at most maxIssues issues, and
// counts the others.
func collect(err *lib.ValidationError) ([]Issue, int) {
	all := flatten(nil, err)
	leaves := smallest(all, compareLeaves)
	rest := len(all) - len(leaves)
	for _, l := range all {
		rest += l.more
	}
	var issues []Issue
	for i := range leaves {
		issue := leaves[i].issue()
		if n := len(issues); n > 0 && issues[n-1] == issue {
			continue // two schemas require the same
		}
		if len(issues) == maxIssues {
			return issues, rest + len(leaves) - i
		}
		issues = append(issues, issue)
	}
	return issues, rest
}

// smallest returns the first elements of a list in order, at most mostLeaves. It may reorder the list.
func smallest[T any](list []T, compare func(a, b T) int) []T {
	first := list[:min(len(list), mostLeaves)]
	if len(list) > mostLeaves {
		first = slices.Clone(first)
	}
	slices.SortStableFunc(first, compare)
	for _, v := range list[len(first):] {
		if compare(v, first[mostLeaves-1]) >= 0 {
			continue
		}
		at, _ := slices.BinarySearchFunc(first, v, compare)
		copy(first[at+1:], first[at:])
		first[at] = v
	}
	return first
}

// flatten appends the leaves of an error. One error may be about thousands of properties; flatten
// takes the first in order.
func flatten(to []leaf, err *lib.ValidationError) []leaf {
	switch k := err.ErrorKind.(type) {
	case *kind.Schema, *kind.Group, *kind.Reference, *kind.AllOf:
		return flattenAll(to, err.Causes)
	case *kind.AnyOf:
		return alternatives(to, err, "anyOf")
	case *kind.OneOf:
		if len(k.Subschemas) == 0 {
			return alternatives(to, err, "oneOf")
		}
	case *kind.Required:
		return perName(to, err, k.Missing, false)
	case *kind.Dependency:
		return perName(to, err, k.Missing, false)
	case *kind.DependentRequired:
		return perName(to, err, k.Missing, false)
	case *kind.AdditionalProperties:
		return perName(to, err, k.Properties, true)
	case *kind.PropertyNames:
		return perName(to, err, []string{k.Property}, true)
	}
	return append(to, leaf{path: err.InstanceLocation, err: err})
}

func flattenAll(to []leaf, causes []*lib.ValidationError) []leaf {
	for _, cause := range causes {
		to = flatten(to, cause)
	}
	return to
}

// perName appends a leaf for each of the first names. A leaf is about the property itself if the
// object has it.
func perName(to []leaf, err *lib.ValidationError, names []string, has bool) []leaf {
	first := smallest(names, compareTokens)
	for _, name := range first {
		l := leaf{path: err.InstanceLocation, err: err, name: name}
		if has {
			l.path = append(slices.Clone(l.path), name)
		}
		to = append(to, l)
	}
	if left := len(names) - len(first); left > 0 {
		to[len(to)-1].more = left
	}
	return to
}

// alternatives appends what is wrong if none of several schemas matches. It guesses which
// alternative was meant and reports why that does not match. It omits alternatives that require
// another type, then those with more issues. A wrong constant counts as many issues, because a
// constant usually selects the alternative.
func alternatives(to []leaf, err *lib.ValidationError, keyword string) []leaf {
	c := &choice{keyword: keyword, among: len(err.Causes)}
	var closest []leaf
	best, near := 0, 0
	for _, cause := range err.Causes {
		found := flatten(nil, cause)
		if t, ok := onlyType(found, err.InstanceLocation); ok {
			c.types, c.got = append(c.types, t.Want...), t.Got
			continue
		}
		near++
		if price := distance(found); closest == nil || price < best {
			closest, best = found, price
		}
	}
	if near == 1 && len(closest) > 0 && c.types != nil {
		return append(to, closest...)
	}
	if near > 0 {
		c.types = nil
	}
	to = append(to, leaf{path: err.InstanceLocation, err: err, choice: c})
	return append(to, closest...)
}

func onlyType(found []leaf, at []string) (*kind.Type, bool) {
	if len(found) != 1 || len(found[0].path) != len(at) {
		return nil, false
	}
	t, ok := found[0].err.ErrorKind.(*kind.Type)
	return t, ok
}

func distance(found []leaf) int {
	const wrongConstant = 1000
	total := len(found)
	for _, l := range found {
		total += l.more
		switch l.err.ErrorKind.(type) {
		case *kind.Const, *kind.Enum:
			total += wrongConstant
		}
	}
	return total
}

// compareLeaves puts a summary before its parts.
func compareLeaves(a, b leaf) int {
	return cmp.Or(comparePaths(a.path, b.path), falseFirst(a.choice == nil, b.choice == nil),
		strings.Compare(a.err.SchemaURL, b.err.SchemaURL), strings.Compare(a.keyword(), b.keyword()),
		compareTokens(a.name, b.name))
}

// badPattern returns the regular expression that makes a schema invalid, if l is about one.
func (l leaf) badPattern() (string, bool) {
	switch k := l.err.ErrorKind.(type) {
	case *kind.Format:
		if text, ok := k.Got.(string); ok && k.Want == "regex" {
			return text, true
		}
	case *kind.PropertyNames:
		for _, inner := range flattenAll(nil, l.err.Causes) {
			if format, ok := inner.err.ErrorKind.(*kind.Format); ok && format.Want == "regex" {
				return k.Property, true
			}
		}
	}
	return "", false
}

func comparePaths(a, b []string) int {
	for i := range min(len(a), len(b)) {
		if c := compareTokens(a[i], b[i]); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(a), len(b))
}

// compareTokens puts item 9 before item 10.
func compareTokens(a, b string) int {
	if len(a) != len(b) && isIndex(a) && isIndex(b) {
		return cmp.Compare(len(a), len(b))
	}
	return strings.Compare(a, b)
}

func isIndex(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return len(s) > 0 && (s[0] != '0' || len(s) == 1)
}

func (l leaf) keyword() string {
	if l.choice != nil {
		return l.choice.keyword
	}
	switch k := l.err.ErrorKind.(type) {
	case nil:
		return ""
	case *kind.Not:
		return "not"
	case *kind.FalseSchema:
		return lastKeyword(l.err.SchemaURL)
	case *kind.RefCycle:
		return "$ref"
	case *kind.Dependency:
		return "dependencies"
	case *kind.OneOf:
		return "oneOf"
	default:
		if path := k.KeywordPath(); len(path) > 0 {
			return path[0]
		}
		return ""
	}
}

// lastKeyword returns the keyword that has a boolean schema.
func lastKeyword(location string) string {
	tokens := strings.Split(pointerOf(location), "/")
	for _, token := range slices.Backward(tokens) {
		if _, err := strconv.Atoi(token); err != nil && token != "" {
			return token
		}
	}
	return "false"
}

func (l leaf) pointer() string {
	var b strings.Builder
	for _, token := range l.path {
		b.WriteString(text.Cut(rawjson.Token(token), maxText+1))
	}
	return b.String()
}
