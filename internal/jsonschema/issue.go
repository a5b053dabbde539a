package jsonschema

import (
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/toolwire/toolwire/internal/text"
)

// issue writes a leaf.
func (l leaf) issue() Issue { return Issue{l.pointer(), l.keyword(), l.message()} }

// message contains what the schema requires, and the kinds, lengths and positions of what the
// document has, but not its text.
func (l leaf) message() string {
	if c := l.choice; c != nil {
		if c.types != nil {
			return fmt.Sprintf("must be %s, not %s", anyType(c.types), article(c.got))
		}
		return fmt.Sprintf("matches none of the %d alternatives; compared with the nearest one", c.among)
	}
	switch k := l.err.ErrorKind.(type) {
	case *kind.Type:
		got := article(k.Got)
		if k.Got == "number" && slices.Contains(k.Want, "integer") {
			got = "a number with a fraction"
		}
		return fmt.Sprintf("must be %s, not %s", anyType(k.Want), got)
	case *kind.Enum:
		if len(k.Want) == 1 {
			return "must be " + list(k.Want)
		}
		return "must be one of " + list(k.Want)
	case *kind.Const:
		return "must be " + show(k.Want)
	case *kind.Format:
		return "must be a valid " + k.Want + formatHint(k.Want)
	case *kind.Pattern:
		return "must match the pattern " + text.Cut(k.Want, maxText)
	case *kind.Required:
		return "is missing the required property " + text.Quote(l.name, maxText)
	case *kind.Dependency:
		return fmt.Sprintf("must have the property %s when it has %s", text.Quote(l.name, maxText), text.Quote(k.Prop, maxText))
	case *kind.DependentRequired:
		return fmt.Sprintf("must have the property %s when it has %s", text.Quote(l.name, maxText), text.Quote(k.Prop, maxText))
	case *kind.AdditionalProperties, *kind.FalseSchema:
		return "is not allowed here"
	case *kind.PropertyNames:
		if inner := flattenAll(nil, l.err.Causes); len(inner) > 0 {
			return "has a name that is not allowed here: it " + inner[0].message()
		}
		return "has a name that is not allowed here"
	case *kind.UniqueItems:
		return fmt.Sprintf("must not repeat an item: items %d and %d are equal", k.Duplicates[0], k.Duplicates[1])
	case *kind.Contains:
		return `must have an item that matches "contains"`
	case *kind.Not:
		return `must not be what "not" describes`
	case *kind.OneOf:
		return fmt.Sprintf("must match exactly one of the alternatives, not both %d and %d (counted from 0)",
			k.Subschemas[0], k.Subschemas[1])
	case *kind.RefCycle:
		return `cannot be decided: the schema's "$ref" leads back to itself`
	case *kind.MinLength:
		return mustHave("at least", k.Want, "character", k.Got)
	case *kind.MaxLength:
		return mustHave("at most", k.Want, "character", k.Got)
	case *kind.MinItems:
		return mustHave("at least", k.Want, "item", k.Got)
	case *kind.MaxItems:
		return mustHave("at most", k.Want, "item", k.Got)
	case *kind.AdditionalItems:
		return "has " + text.Plural(k.Count, "item") + " too many"
	case *kind.MinProperties:
		return mustHave("at least", k.Want, "property", k.Got)
	case *kind.MaxProperties:
		return mustHave("at most", k.Want, "property", k.Got)
	case *kind.MinContains:
		return mustHave("at least", k.Want, "matching item", len(k.Got))
	case *kind.MaxContains:
		return mustHave("at most", k.Want, "matching item", len(k.Got))
	case *kind.Minimum:
		return "must be at least " + digits(k.Want)
	case *kind.Maximum:
		return "must be at most " + digits(k.Want)
	case *kind.ExclusiveMinimum:
		return "must be more than " + digits(k.Want)
	case *kind.ExclusiveMaximum:
		return "must be less than " + digits(k.Want)
	case *kind.MultipleOf:
		return "must be a multiple of " + digits(k.Want)
	}
	return "does not match its schema"
}

func mustHave(how string, want int, noun string, got int) string {
	return fmt.Sprintf("must have %s %s, not %d", how, text.Plural(want, noun), got)
}

func anyType(types []string) string {
	var words []string
	for _, t := range types {
		if word := article(t); !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	if len(words) == 1 {
		return words[0]
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

func article(t string) string {
	switch t {
	case "null":
		return "null"
	case "array", "integer", "object":
		return "an " + t
	}
	return "a " + t
}

// list shows the first values of an enumeration.
func list(values []any) string {
	const most = 300
	var b strings.Builder
	for n, v := range values {
		if b.Len() > most {
			fmt.Fprintf(&b, " and %d more", len(values)-n)
			break
		}
		if n > 0 {
			b.WriteString(", ")
		}
		b.WriteString(show(v))
	}
	return b.String()
}

// show writes a value as JSON, cut.
func show(v any) string {
	switch v := v.(type) {
	case string:
		return text.Quote(v, maxText)
	case []any:
		if len(v) > 0 {
			return fmt.Sprintf("an array of %d", len(v))
		}
	case map[string]any:
		if len(v) > 0 {
			return "an object with " + text.Plural(len(v), "property")
		}
	}
	s, err := json.Marshal(v)
	if err != nil {
		return "a value"
	}
	return string(s) // a number, true, false, null, [] or {}
}

// digits writes a number with as many digits as fit.
func digits(r *big.Rat) string {
	if r.IsInt() {
		return text.Cut(r.Num().String(), maxText)
	}
	n, exact := r.FloatPrec()
	if !exact || n > maxText {
		f, _ := r.Float64()
		return strconv.FormatFloat(f, 'g', -1, 64)
	}
	return text.Cut(r.FloatString(n), maxText)
}

func formatHint(format string) string {
	switch format {
	case "date-time":
		return ", such as 2026-01-31T09:30:00Z"
	case "date":
		return ", such as 2026-01-31"
	case "time":
		return ", such as 09:30:00Z"
	case "duration":
		return ", such as PT1H30M"
	}
	return ""
}
