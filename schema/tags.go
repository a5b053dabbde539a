package schema

import (
	"cmp"
	"encoding/json"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/toolwire/toolwire/internal/clip"
)

// tags are the checked struct tags of a field. The library ignores keys that it does not know.
type tags struct {
	keywords    string
	description string
	required    bool
	nullable    bool
}

var (
	anyKeys    = []string{"title", "description"}
	stringKeys = []string{"default", "example", "enum", "minLength", "maxLength", "pattern", "format", "readOnly",
		"writeOnly"}
	numberKeys = []string{"default", "example", "enum", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
		"multipleOf"}
	listKeys  = []string{"minItems", "maxItems", "uniqueItems"}
	countKeys = []string{"minLength", "maxLength", "minItems", "maxItems"}
)

// tags reads and checks the tags of a field.
func (w *walker) tags(f goField, s *shape) (t tags) {
	// Such a field is written under the Go name by Go 1.26, and under a part of the tag by Go 1.27.
	if name, _, _ := strings.Cut(f.field.Tag.Get("json"), ","); name != "" && !validName(name) {
		w.fail("tag_invalid", "has the name %q in its json tag, which releases of encoding/json read differently; "+
			"use letters, digits, - and _", clip.Text(name, 80))
	}
	t.description = f.field.Tag.Get("jsonschema_description")
	if _, ok := f.field.Tag.Lookup("jsonschema_extras"); ok {
		w.fail("tag_invalid", "has the tag jsonschema_extras, which is not supported; set the schema in InferOptions.Types")
	}
	tag := f.field.Tag.Get("jsonschema")
	if tag == "" {
		return t
	}
	if tag == "-" {
		w.fail("tag_invalid", `has the tag jsonschema:"-", but encoding/json writes the field all the same; use json:"-"`)
		return t
	}
	parts := splitTag(tag)
	if isText(parts) {
		t.description = cmp.Or(t.description, strings.Join(parts, ","))
		return t
	}
	var kept []string
	for _, part := range parts {
		key, value, hasValue := strings.Cut(part, "=")
		switch {
		case part == "required":
			t.required = true
		case part == "nullable":
			t.nullable = true
		case !hasValue:
			w.fail("tag_invalid", "has the word %q in its jsonschema tag; write a description of several words alone, as "+
				"in `jsonschema:\"the order's id\"`, "+
				"or keywords alone: required, nullable, key=value, such as description=id", clip.Text(part, 60))
		default:
			w.keyword(key, value, s)
			kept = append(kept, strings.ReplaceAll(part, ",", `\,`))
		}
	}
	t.keywords = strings.Join(kept, ",")
	return t
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

// keyword checks one key and its value against the kind of its field.
func (w *walker) keyword(key, value string, s *shape) {
	if slices.Contains(anyKeys, key) {
		return
	}
	target := s
	if s.elem != nil && !s.isMap {
		if slices.Contains(listKeys, key) {
			w.listValue(key, value)
			return
		}
		if target = s.elem; target.elem != nil || key == "default" {
			w.fail("tag_invalid", "has the key %q in its jsonschema tag, which cannot be set on this list; set the schema "+
				"in InferOptions.Types",
				clip.Text(key, 60))
			return
		}
	}
	var allowed []string
	switch target.jsonType() {
	case "string":
		allowed = stringKeys
	case "number", "integer":
		allowed = numberKeys
	case "boolean":
		allowed = []string{"default"}
	}
	if !slices.Contains(allowed, key) {
		w.fail("tag_invalid", "has the key %q in its jsonschema tag, which is not known for %s; known are %s",
			clip.Text(key, 60),
			target.describe(), strings.Join(slices.Concat(anyKeys, allowed), ", "))
		return
	}
	if problem := checkValue(key, value, target.jsonType()); problem != "" {
		w.fail("tag_invalid", "has %s in its jsonschema tag, which must be %s", clip.Text(key+"="+value, 80), problem)
	}
}

func (w *walker) listValue(key, value string) {
	if key == "uniqueItems" {
		if value != "true" {
			w.fail("tag_invalid", "has %s in its jsonschema tag, which must be uniqueItems=true", clip.Text(key+"="+value, 80))
		}
	} else if problem := checkValue(key, value, "array"); problem != "" {
		w.fail("tag_invalid", "has %s in its jsonschema tag, which must be %s", clip.Text(key+"="+value, 80), problem)
	}
}

// checkValue returns what the value of a key must be, or "" if it is valid.
func checkValue(key, value, jsonType string) string {
	switch {
	case slices.Contains(countKeys, key):
		if _, err := strconv.ParseUint(value, 10, 31); err != nil {
			return "a count"
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

// jsonType returns the "type" of a scalar, or "".
func (s *shape) jsonType() string {
	if s.plain == nil || s.elem != nil {
		return ""
	}
	switch s.plain.Kind() {
	case reflect.String:
		return "string"
	case reflect.Int64:
		return "integer"
	case reflect.Float64:
		return "number"
	case reflect.Bool:
		return "boolean"
	}
	if s.plain == timeType || s.plain == bytesType {
		return "string"
	}
	return ""
}

// describe returns the kind of a field for messages.
func (s *shape) describe() string {
	switch {
	case s.jsonType() != "":
		return article(s.jsonType())
	case s.isMap:
		return "a map"
	case s.elem != nil:
		return "a list"
	case s.plain == anyType:
		return "a field whose schema is open or set in InferOptions.Types"
	}
	return "a struct"
}

func article(noun string) string {
	if strings.ContainsRune("aeiou", rune(noun[0])) {
		return "an " + noun
	}
	return "a " + noun
}
