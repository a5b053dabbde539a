package jsonschema

import (
	"encoding/json"
	"strings"
)

// Check returns the faults that [Compile] returns, at a lower cost. Most schemas are plain and can
// be accepted without compiling. Only the others are compiled.
func Check(raw []byte, o *Options) []Fault {
	c := newCompiler(o)
	return c.merge(c.check(raw))
}

func (c *compiler) check(raw []byte) (err error) {
	defer contain(&err)
	doc, err := c.read(raw, base)
	if err != nil {
		return err
	}
	if c.plainRoot(doc) {
		return nil
	}
	_, err = c.compileDocument(doc)
	return err
}

// plainRoot recognizes schemas that are certainly valid: trees without references, with only the
// keywords of [compiler.plain], of the drafts in which these have the same meaning. It does not
// decide about others.
func (c *compiler) plainRoot(doc any) bool {
	obj, ok := doc.(map[string]any)
	if !ok {
		return false
	}
	switch obj["$schema"] {
	case nil, // read has removed a null
		"https://json-schema.org/draft/2020-12/schema", "http://json-schema.org/draft-07/schema#":
	default:
		return false
	}
	for name, value := range obj {
		if name != "$schema" && !c.plainKeyword(name, value) {
			return false
		}
	}
	return true
}

func (c *compiler) plain(v any) bool {
	switch v := v.(type) {
	case bool:
		return true
	case map[string]any:
		for name, value := range v {
			if !c.plainKeyword(name, value) {
				return false
			}
		}
		return true
	}
	return false
}

// plainKeyword follows the meta-schemas of drafts 7 and 2020-12.
func (c *compiler) plainKeyword(name string, v any) (ok bool) {
	switch shapes[name] {
	case anything:
		return true
	case schemaOf:
		return c.plain(v)
	case schemas:
		members, ok := v.(map[string]any)
		for _, one := range members {
			ok = ok && c.plain(one)
		}
		return ok
	case listOf:
		list, ok := v.([]any)
		for _, one := range list {
			ok = ok && c.plain(one)
		}
		return ok && len(list) > 0
	case values:
		_, ok = v.([]any)
	case names:
		return uniqueTexts(v)
	case typeName:
		switch v {
		case "object", "string", "integer", "number", "boolean", "array", "null":
			return true
		}
		return false
	case text:
		_, ok = v.(string)
	case expression:
		word, isText := v.(string)
		if !isText {
			return false
		}
		_, err := c.patterns.compile(word)
		return err == nil
	case number:
		_, ok = v.(json.Number)
	case count:
		n, isNumber := v.(json.Number)
		return isNumber && strings.Trim(string(n), "0123456789") == ""
	case truth:
		_, ok = v.(bool)
	case listed:
		return false
	default: // other members are unknown to every draft and may be anything
		return true
	}
	return ok
}

func uniqueTexts(v any) bool {
	list, ok := v.([]any)
	seen := map[string]bool{}
	for _, one := range list {
		text, isText := one.(string)
		ok = ok && isText && !seen[text]
		seen[text] = true
	}
	return ok
}
