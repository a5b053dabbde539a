package doctor

import (
	"crypto/rand"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/schema"
)

// canary returns a text that appears nowhere else.
func canary() string { return "canary-" + rand.Text() }

// readOutputs compiles the output_schema of each tool. What of it cannot be checked allows any result.
func (c *checkup) readOutputs() {
	c.outputs = map[string]*schema.Validator{}
	for _, t := range c.given.World.Tools {
		if len(t.OutputSchema) == 0 {
			continue
		}
		if validator, err := schema.Compile(t.OutputSchema, &schema.CompileOptions{AllowUnchecked: true}); err == nil {
			c.outputs[t.Name] = validator
		}
	}
}

// allows reports whether a tool may return a result. A tool without an output_schema may return any.
func (c *checkup) allows(tool string, result json.RawMessage) bool {
	validator := c.outputs[tool]
	return validator == nil || validator.Validate(result) == nil
}

const (
	maxMarked = 512 << 10 // size of a result that is marked: with the marks it stays below 1 MiB
	maxMarks  = 20
)

// put adds text to the strings of a result, as far as the tool's output_schema allows. Ids stay as
// they are, because the agent may look them up. If inside is false, or no string may change, the
// text becomes a further member of the result. put reports whether the text is in the result.
func (c *checkup) put(q *request, result json.RawMessage, text string, inside bool) (json.RawMessage, bool) {
	if len(result) > maxMarked || !json.Valid(result) {
		return result, false
	}
	root := rawjson.Any(result)
	allowed := func() bool {
		marked, err := rawjson.Encode(root)
		return err == nil && c.allows(q.tool, marked)
	}
	left := min(maxMarks, 1+maxMarked/10/len(text))
	placed := false
	var walk func(value any, set func(any))
	walk = func(value any, set func(any)) {
		switch v := value.(type) {
		case string:
			if left == 0 || strings.Contains(q.arguments, string(rawjson.Quote(v))) {
				return
			}
			set(strings.TrimSpace(v + " " + text))
			if allowed() {
				left, placed = left-1, true
			} else {
				set(v)
			}
		case []any:
			for i := range v {
				walk(v[i], func(value any) { v[i] = value })
			}
		case map[string]any:
			for _, name := range slices.Sorted(maps.Keys(v)) {
				if lower := strings.ToLower(name); lower != "id" && !strings.HasSuffix(lower, "_id") && !strings.HasSuffix(name, "Id") {
					walk(v[name], func(value any) { v[name] = value })
				}
			}
		}
	}
	if inside {
		walk(root, func(value any) { root = value })
	}
	if object, ok := root.(map[string]any); ok && !placed {
		object["doctor"] = text
		if placed = allowed(); !placed {
			delete(object, "doctor")
		}
	}
	marked, err := rawjson.Encode(root)
	if err != nil || !placed {
		return result, false
	}
	return marked, true
}
