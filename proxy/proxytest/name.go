package proxytest

import (
	"iter"
	"maps"
	"slices"
	"strings"
)

// plain returns a name without _, - and case, in which the styles of languages differ: order_id, orderId.
func plain(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(name))
}

// isID reports whether a name is id, in any style.
func isID(name string) bool { return plain(name) == "id" }

// fitting returns the one of names that name means: the same, or else the only one that is equal in
// another style. It returns "" if that is not clear.
func fitting(name string, names iter.Seq[string]) (found string) {
	bare, several := plain(name), false
	for other := range names {
		if other == name {
			return name
		}
		if other != found && plain(other) == bare {
			several = found != ""
			found = other
		}
	}
	if several {
		return ""
	}
	return found
}

// indexOf returns the index of the one element that name means, as in [fitting], or -1.
func indexOf[T any](name string, list []T, nameOf func(T) string) int {
	names := make([]string, len(list))
	for i, one := range list {
		names[i] = nameOf(one)
	}
	if found := fitting(name, slices.Values(names)); found != "" {
		return slices.Index(names, found)
	}
	return -1
}

// argument returns the name of the argument that name means, or "".
func (r *Request) argument(name string) string {
	return fitting(name, maps.Keys(members(r.Arguments)))
}
