package jsonschema

import (
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/toolwire/toolwire/internal/bounded"
	"github.com/toolwire/toolwire/internal/rawjson"
)

// issue writes a leaf. A message contains what the schema requires, and the kinds, lengths and
// positions of what the document has. Only Got contains its text.
func (l leaf) issue() Issue {
	i := Issue{Pointer: l.pointer(), Keyword: l.keyword()}
	if l.choice != nil {
		l.choice.write(&i)
		return i
	}
	switch k := l.err.ErrorKind.(type) {
	case *kind.Type:
		i.expect(anyType(k.Want), article(k.Got))
		if k.Got == "number" && slices.Contains(k.Want, "integer") {
			i.Got = "a number with a fraction"
		}
		i.Message = fmt.Sprintf("must be %s, not %s", i.Expected, i.Got)
	case *kind.Enum:
		i.expect(list(k.Want), show(k.Got))
		i.Message = "must be one of " + i.Expected
		if len(k.Want) == 1 {
			i.Message = "must be " + i.Expected
		}
	case *kind.Const:
		i.expect(show(k.Want), show(k.Got))
		i.Message = "must be " + i.Expected
	case *kind.Format:
		i.expect(k.Want, show(k.Got))
		i.Message = "must be a valid " + k.Want + formatHint(k.Want)
	case *kind.Pattern:
		i.expect(bounded.Cut(k.Want, maxText), show(k.Got))
		i.Message = "must match the pattern " + i.Expected
	case *kind.Required:
		i.expect(quoted(l.name), "nothing")
		i.Message = "is missing the required property " + quoted(l.name)
	case *kind.Dependency:
		i.expect(quoted(l.name), "nothing")
		i.Message = fmt.Sprintf("must have the property %s when it has %s", quoted(l.name), quoted(k.Prop))
	case *kind.DependentRequired:
		i.expect(quoted(l.name), "nothing")
		i.Message = fmt.Sprintf("must have the property %s when it has %s", quoted(l.name), quoted(k.Prop))
	case *kind.AdditionalProperties, *kind.FalseSchema:
		i.expect("nothing", "a value")
		i.Message = "is not allowed here"
	case *kind.PropertyNames:
		i.expect("an allowed name", quoted(k.Property))
		i.Message = "has a name that is not allowed here"
		if inner := flattenAll(nil, l.err.Causes, 1); len(inner) > 0 {
			i.Message += ": it " + inner[0].issue().Message
		}
	case *kind.UniqueItems:
		i.expect("different items", fmt.Sprintf("equal items at %d and %d", k.Duplicates[0], k.Duplicates[1]))
		i.Message = fmt.Sprintf("must not repeat an item: items %d and %d are equal", k.Duplicates[0], k.Duplicates[1])
	case *kind.Contains:
		i.expect("an item of a certain form", "none")
		i.Message = `must have an item that matches "contains"`
	case *kind.Not:
		i.expect("anything else", "what is excluded")
		i.Message = `must not be what "not" describes`
	case *kind.OneOf:
		i.expect("exactly one alternative", "two")
		i.Message = fmt.Sprintf("must match exactly one of the alternatives, not both %d and %d (counted from 0)",
			k.Subschemas[0], k.Subschemas[1])
	case *kind.RefCycle:
		i.Message = `cannot be decided: the schema's "$ref" leads back to itself`
	default:
		if !i.count(k) && !i.number(k) {
			i.Message = "does not match its schema"
		}
	}
	return i
}

func (i *Issue) expect(expected, got string) { i.Expected, i.Got = expected, got }

// count writes out the kinds that compare a count.
func (i *Issue) count(k any) bool {
	switch k := k.(type) {
	case *kind.MinLength:
		i.compare("at least", k.Want, "character", k.Got)
	case *kind.MaxLength:
		i.compare("at most", k.Want, "character", k.Got)
	case *kind.MinItems:
		i.compare("at least", k.Want, "item", k.Got)
	case *kind.MaxItems:
		i.compare("at most", k.Want, "item", k.Got)
	case *kind.AdditionalItems:
		i.expect("fewer items", plural(k.Count, "item")+" too many")
		i.Message = "has " + i.Got
	case *kind.MinProperties:
		i.compare("at least", k.Want, "property", k.Got)
	case *kind.MaxProperties:
		i.compare("at most", k.Want, "property", k.Got)
	case *kind.MinContains:
		i.compare("at least", k.Want, "matching item", len(k.Got))
	case *kind.MaxContains:
		i.compare("at most", k.Want, "matching item", len(k.Got))
	default:
		return false
	}
	return true
}

func (i *Issue) compare(how string, want int, noun string, got int) {
	i.expect(how+" "+plural(want, noun), plural(got, noun))
	i.Message = fmt.Sprintf("must have %s, not %d", i.Expected, got)
}

// number writes out the kinds that compare a number.
func (i *Issue) number(k any) bool {
	switch k := k.(type) {
	case *kind.Minimum:
		i.expect("at least "+digits(k.Want), digits(k.Got))
	case *kind.Maximum:
		i.expect("at most "+digits(k.Want), digits(k.Got))
	case *kind.ExclusiveMinimum:
		i.expect("more than "+digits(k.Want), digits(k.Got))
	case *kind.ExclusiveMaximum:
		i.expect("less than "+digits(k.Want), digits(k.Got))
	case *kind.MultipleOf:
		i.expect("a multiple of "+digits(k.Want), digits(k.Got))
	default:
		return false
	}
	i.Message = "must be " + i.Expected
	return true
}

func (c *choice) write(i *Issue) {
	if c.types != nil {
		i.expect(anyType(c.types), article(c.got))
		i.Message = fmt.Sprintf("must be %s, not %s", i.Expected, i.Got)
		return
	}
	i.expect(fmt.Sprintf("one of %d alternatives", c.among), "none of them")
	i.Message = fmt.Sprintf("matches none of the %d alternatives", c.among)
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

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if stem, ok := strings.CutSuffix(noun, "y"); ok {
		return strconv.Itoa(n) + " " + stem + "ies"
	}
	return strconv.Itoa(n) + " " + noun + "s"
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
		return quoted(v)
	case []any:
		if len(v) > 0 {
			return fmt.Sprintf("an array of %d", len(v))
		}
	case map[string]any:
		if len(v) > 0 {
			return "an object with " + plural(len(v), "property")
		}
	}
	text, err := json.Marshal(v)
	if err != nil {
		return "a value"
	}
	return string(text) // a number, true, false, null, [] or {}
}

// quoted writes a string as JSON, cut before it is escaped so that a long one costs nothing.
func quoted(s string) string {
	return string(rawjson.Quote(bounded.Cut(s, maxText)))
}

// digits writes a number with as many digits as fit.
func digits(r *big.Rat) string {
	if r.IsInt() {
		return bounded.Cut(r.Num().String(), maxText)
	}
	n, exact := r.FloatPrec()
	if !exact || n > maxText {
		f, _ := r.Float64()
		return strconv.FormatFloat(f, 'g', -1, 64)
	}
	return bounded.Cut(r.FloatString(n), maxText)
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
