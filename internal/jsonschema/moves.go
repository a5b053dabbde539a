package jsonschema

import (
	"slices"
	"strings"
)

// move says that a keyword of a schema has another place in the copy that the library compiles.
type move struct {
	from string // the keyword, such as items
	to   string // the place of its value below the schema, such as prefixItems
}

// moves has the moves within a document, by the pointers of their schemas as the author wrote them.
type moves map[string][]move

// now returns the place in the copy of what has a place in the author's document.
func (m moves) now(pointer string) string {
	if len(m) == 0 {
		return pointer
	}
	var at, now strings.Builder
	for _, token := range strings.Split(pointer, "/")[1:] {
		to := token
		for _, one := range m[at.String()] {
			if one.from == token {
				to = one.to
			}
		}
		at.WriteString("/" + token)
		now.WriteString("/" + to)
	}
	return now.String()
}

// written returns the place in the author's document of what has a place in the copy.
func (m moves) written(pointer string) string {
	if len(m) == 0 {
		return pointer
	}
	at, rest := "", pointer
	for rest != "" {
		i := slices.IndexFunc(m[at], func(one move) bool { return strings.HasPrefix(rest+"/", "/"+one.to+"/") })
		if i >= 0 {
			at, rest = at+"/"+m[at][i].from, rest[len("/"+m[at][i].to):]
			continue
		}
		end := strings.IndexByte(rest[1:], '/') + 1
		if end == 0 {
			end = len(rest)
		}
		at, rest = at+rest[:end], rest[end:]
	}
	return at
}

// from returns the keyword that the author wrote for a keyword of the copy.
func (m moves) from(at, keyword string) string {
	for _, one := range m[at] {
		if one.to == keyword {
			return one.from
		}
	}
	return keyword
}
