package jsonpath

import (
	"errors"
	"strings"
)

// A Template is a parsed flag template.
type Template struct {
	Names    []string // of the placeholders, in order
	literals []string // before, between and after the placeholders
}

// ParseTemplate parses a flag template, such as "fetched_order:{order_id}". Braces cannot be escaped: a
// brace that is not part of {name} makes the template malformed, {{name}} included. The error is the
// end of a sentence about the template.
func ParseTemplate(text string) (t Template, err error) {
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
		t.Names = append(t.Names, text[open+1:open+1+end])
		text = text[open+1+end+1:]
	}
}

// Fill puts one value per name into the template. ok is false if the flag would be longer than most
// bytes.
func (t Template) Fill(values []string, most int) (flag string, ok bool) {
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
