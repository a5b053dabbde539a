package ledger

import (
	"errors"
	"strings"
)

// template is a parsed flag template: literal, name, literal, name, ..., literal.
type template struct {
	literals []string // one more than names
	names    []string
}

func (t template) literal() bool { return len(t.names) == 0 }

// parseTemplate parses a flag template. Braces cannot be escaped: a brace that is not part of
// {name} makes the template malformed, {{name}} included.
func parseTemplate(text string) (t template, err error) {
	if strings.TrimSpace(text) == "" {
		return t, errors.New("is empty; write a flag such as fetched_order:{order_id}")
	}
	for {
		open := strings.IndexAny(text, "{}")
		if open < 0 {
			t.literals = append(t.literals, text)
			return t, nil
		}
		end := strings.IndexAny(text[open+1:], "{}")
		if text[open] == '}' || end < 0 || text[open+1+end] == '{' {
			return t, errors.New("has a brace that does not belong to a {name}; braces cannot be escaped")
		}
		if end == 0 {
			return t, errors.New("has a placeholder without a name: {}")
		}
		t.literals = append(t.literals, text[:open])
		t.names = append(t.names, text[open+1:open+1+end])
		text = text[open+1+end+1:]
	}
}

// fill puts the values of the names into the template. ok is false if the flag would be longer than
// most bytes.
func (t template) fill(values []string, most int) (flag string, ok bool) {
	size := len(t.literals[0])
	for i, v := range values {
		size += len(v) + len(t.literals[i+1])
	}
	if size > most {
		return "", false
	}
	var b strings.Builder
	b.Grow(size)
	b.WriteString(t.literals[0])
	for i, v := range values {
		b.WriteString(v)
		b.WriteString(t.literals[i+1])
	}
	return b.String(), true
}
