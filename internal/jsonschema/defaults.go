package jsonschema

import (
	"errors"
	"slices"
	"strings"

	lib "github.com/santhosh-tekuri/jsonschema/v6"
)

// WrongDefaults returns the defaults that do not match the schema that they stand in, with one issue
// each, in the order of their pointers. A default of null counts as none. All defaults share the steps
// of one validation; what is beyond them is not looked at.
func (s *Schema) WrongDefaults() (wrong []Issue) {
	if s.copies == nil {
		return nil
	}
	one := s.copies.take()
	defer s.copies.giveBack(one)
	one.counter.left = s.bounds.Steps
	for _, schema := range one.counter.links.all {
		if schema.Default == nil || *schema.Default == nil {
			continue
		}
		issue, checked := one.mismatch(schema, *schema.Default)
		if !checked {
			break
		}
		if issue.Message != "" {
			message := strings.TrimSpace(issue.Pointer + " " + issue.Message)
			wrong = append(wrong, Issue{pointerOf(schema.Location) + "/default", "default", message})
		}
	}
	slices.SortFunc(wrong, func(a, b Issue) int { return strings.Compare(a.Pointer, b.Pointer) })
	return wrong
}

// mismatch validates a value by a part of the schema and returns the first issue. checked is false if
// the steps do not suffice.
func (s *compiledSchema) mismatch(part *lib.Schema, value any) (first Issue, checked bool) {
	defer func() {
		if recover() != nil {
			checked = false
		}
	}()
	s.counter.begin(part, value, s.counter.left)
	if err, ok := errors.AsType[*lib.ValidationError](part.Validate(value)); ok {
		issues, _ := collect(err)
		return issues[0], true
	}
	return Issue{}, true
}
