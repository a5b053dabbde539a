package schema

import (
	"cmp"
	"encoding/json"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	invopop "github.com/invopop/jsonschema"

	"github.com/toolwire/toolwire/internal/text"
)

var (
	anyKeys    = []string{"title", "description"}
	stringKeys = []string{"default", "example", "enum", "minLength", "maxLength", "pattern", "format", "readOnly",
		"writeOnly"}
	numberKeys = []string{"default", "example", "enum", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
		"multipleOf"}
	listKeys  = []string{"minItems", "maxItems", "uniqueItems"}
	countKeys = []string{"minLength", "maxLength", "minItems", "maxItems"}
)

// tags checks the tags of a field against what the library has inferred for it. The library ignores
// keys that it does not know, and values that it cannot read. A tag that is a description alone is
// not for the library.
func (in *inferrer) tags(f field, p *invopop.Schema) {
	// Such a field is written under the Go name by Go 1.26, and under a part of the tag by Go 1.27.
	if !validName(f.name) {
		in.fail("tag_invalid", "has the name %q in its json tag, which releases of encoding/json read differently; "+
			"use letters, digits, - and _", text.Cut(f.name, 80))
	}
	if slices.Contains(f.options, "string") && !isScalar(f.Type) {
		in.fail("tag_invalid", `has the option "string" in its json tag, which encoding/json ignores for %s; leave it out`,
			f.Type)
	}
	if _, ok := f.Tag.Lookup("jsonschema_extras"); ok {
		in.fail("tag_invalid", "has the tag jsonschema_extras, which is not supported; set the schema in InferOptions.Types")
	}
	tag := f.Tag.Get("jsonschema")
	if tag == "" {
		return
	}
	parts := splitTag(tag)
	if isText(parts) {
		p.Description = cmp.Or(p.Description, strings.Join(parts, ","))
		return
	}
	for _, part := range parts {
		key, value, hasValue := strings.Cut(part, "=")
		switch {
		case part == "required" || part == "nullable":
		case !hasValue:
			in.fail("tag_invalid", "has the word %q in its jsonschema tag; write a description of several words alone, as "+
				"in `jsonschema:\"the order's id\"`, "+
				"or keywords alone: required, nullable, key=value, such as description=id", text.Cut(part, 60))
		default:
			in.keyword(key, value, p)
		}
	}
}

// isScalar reports whether encoding/json supports the option "string".
func isScalar(t reflect.Type) bool {
	if t.Name() == "" && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Bool, reflect.String, reflect.Float32, reflect.Float64:
		return true
	}
	return isInteger(t.Kind())
}

// validName reports whether encoding/json accepts a name in a tag.
func validName(name string) bool {
	return !strings.ContainsFunc(name, func(c rune) bool {
		return !strings.ContainsRune("!#$%&()*+-./:;<=>?@[]^_{|}~ ", c) && !unicode.IsLetter(c) && !unicode.IsDigit(c)
	})
}

// isText reports whether a tag is the description alone, as the MCP SDK has it: it has several words,
// and none of its parts is a keyword. A single word is more likely to be a misspelt keyword.
func isText(parts []string) bool {
	return strings.Contains(strings.Join(parts, ""), " ") && !slices.ContainsFunc(parts, func(part string) bool {
		return part == "required" || part == "nullable" || keywordTag.MatchString(part)
	})
}

var keywordTag = regexp.MustCompile(`^\w+=`)

// splitTag splits at commas without a backslash before them, and removes those backslashes.
func splitTag(tag string) []string {
	const escaped = "\x00"
	parts := strings.Split(strings.ReplaceAll(tag, `\,`, escaped), ",")
	for i, part := range parts {
		parts[i] = strings.ReplaceAll(part, escaped, ",")
	}
	return parts
}

// keyword checks one key and its value against the type of its field.
func (in *inferrer) keyword(key, value string, p *invopop.Schema) {
	if slices.Contains(anyKeys, key) {
		return
	}
	jsonType := p.Type
	if jsonType == "array" && slices.Contains(listKeys, key) {
		if problem := checkValue(key, value, jsonType); problem != "" {
			in.fail("tag_invalid", "has %s in its jsonschema tag, which must be %s", text.Cut(key+"="+value, 80), problem)
		}
		return
	}
	if jsonType == "array" && key != "default" {
		jsonType = p.Items.Type
	}
	var allowed []string
	switch jsonType {
	case "string":
		allowed = stringKeys
	case "number", "integer":
		allowed = numberKeys
	case "boolean":
		allowed = []string{"default"}
	case "array":
		allowed = listKeys
	}
	if !slices.Contains(allowed, key) {
		in.fail("tag_invalid", "has the key %q in its jsonschema tag, which is not known for a field of the type %s; "+
			"known are %s",
			text.Cut(key, 60), cmp.Or(jsonType, "any"), strings.Join(slices.Concat(anyKeys, allowed), ", "))
	} else if problem := checkValue(key, value, jsonType); problem != "" {
		in.fail("tag_invalid", "has %s in its jsonschema tag, which must be %s", text.Cut(key+"="+value, 80), problem)
	}
}

// checkValue returns what the value of a key must be, or "" if it is valid.
func checkValue(key, value, jsonType string) string {
	switch {
	case slices.Contains(countKeys, key):
		if _, err := strconv.ParseUint(value, 10, 31); err != nil {
			return "a count"
		}
	case key == "uniqueItems":
		if value != "true" {
			return "uniqueItems=true"
		}
	case key == "pattern":
		if _, err := regexp.Compile(value); err != nil {
			return "a regular expression of Go (RE2 syntax)"
		}
	case key == "readOnly" || key == "writeOnly" || jsonType == "boolean":
		if value != "true" && value != "false" {
			return "true or false"
		}
	case jsonType == "integer" && slices.Contains([]string{"default", "example", "enum"}, key):
		if _, err := strconv.ParseInt(value, 10, 64); err != nil {
			return "an integer"
		}
	case jsonType == "number" || jsonType == "integer":
		var n json.Number
		if json.Unmarshal([]byte(value), &n) != nil || strings.HasPrefix(value, `"`) || value == "null" {
			return "a number"
		}
		if f, err := n.Float64(); err != nil || key == "multipleOf" && f <= 0 {
			return "a number above 0"
		}
	}
	return ""
}
