package doctor

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"unicode/utf16"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/internal/bounded"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/proxy/proxytest"
	"github.com/toolwire/toolwire/schema"
)

const (
	unwrapAdvice = `Return the member response of the proxy's answer from the tool, as it is.`
	showAdvice   = "Return messages with the tool results, so that it can be seen."
	hidden       = "the answer does not repeat what a tool returned"
	anEnvelope   = "the model was given the whole trace envelope of the proxy, not its member response"
)

// unwrap judges the run with marked results.
func (c *checkup) unwrap(ctx context.Context) Finding {
	e := c.runAlone(ctx)
	if f, unclear := c.unclear(e); unclear {
		return f
	}
	switch rows := toolRows(e.result); {
	case enveloped(said(e.result)):
		return failed(unwrapAdvice, anEnvelope)
	case c.visible:
		return good("the model was given the response without its envelope")
	case !e.marked.Load():
		return skipped("", "the output_schema of the tools leaves no room for a mark in their results")
	case len(rows) > 0 && !e.repeatedBy(rows):
		return failed(unwrapAdvice+" Remove the tool's original body.", "the tool messages have another content than what the proxy answered: %s",
			c.quote(rows[0]))
	}
	return skipped(showAdvice, hidden)
}

// repeatedBy reports whether rows contain a value of a result, though not the mark: the tool may hand on
// a part of its result.
func (e *episode) repeatedBy(rows []string) bool {
	text := strings.Join(rows, "\n")
	for _, q := range e.seen(isTool) {
		for _, value := range scalars(q.result, nil) {
			if len(value) > 2 && shows(text, value) {
				return true
			}
		}
	}
	return false
}

// scalars appends the texts of the strings and numbers in a JSON value.
func scalars(value json.RawMessage, to []string) []string {
	switch rawjson.Kind(value) {
	case '{':
		for _, member := range rawjson.Members(value) {
			to = scalars(member, to)
		}
	case '[':
		for element := range rawjson.Elements(value) {
			to = scalars(element, to)
		}
	case '"':
		to = append(to, rawjson.Unquote(value))
	case '0':
		to = append(to, string(value))
	}
	return to
}

// kinds are results of other JSON types, or other texts. %s stands for the mark of the run.
var kinds = []struct {
	name   string
	result string // JSON
	seen   string // what the answer has to repeat; "" if that says nothing
	part   bool   // the text may be a part of a result, too
	long   bool   // the agent may shorten it in its answer
}{
	{name: "text", result: `"%s"`, seen: "%s"},
	{name: "a list", result: `["%s"]`, seen: "%s"},
	{name: "a number", result: "743190452", seen: "743190452"},
	{name: "null", result: "null"},
	{name: "HTML", result: `"<html><body>%s</body></html>"`, seen: "%s"},
	{name: "100 KB of text", result: `"%s` + strings.Repeat(" and more", 11_000) + `"`, seen: "%s", part: true, long: true},
	{name: "text that is not ASCII", result: `"Grüße 漢字 🎉 %s"`, seen: "Grüße 漢字 🎉 %s", part: true},
}

// resultKinds dispatches the sample once for each kind of result that a tool of the sample may return.
func (c *checkup) resultKinds(ctx context.Context) (f Finding) {
	const do = "Hand the member response on as it is: it is decoded already, and text that is not JSON is a string."
	var altered, others, played []string // altered results are faults
	possible := false
	for _, k := range kinds {
		mark := canary()
		result, seen := json.RawMessage(strings.Replace(k.result, "%s", mark, 1)), strings.Replace(k.seen, "%s", mark, 1)
		whole := slices.ContainsFunc(c.sample.result.Calls, func(call proxytest.Call) bool { return c.allows(call.Tool, result) })
		if !whole && !k.part {
			continue
		}
		var placed atomic.Bool
		e := c.dispatch(ctx, &episode{alter: always(reply{result: func(q *request, old json.RawMessage) json.RawMessage {
			changed, ok := result, c.allows(q.tool, result)
			if !ok && k.part {
				changed, ok = c.put(q, old, rawjson.Unquote(result), true)
			}
			if !ok {
				return old
			}
			placed.Store(true)
			return changed
		}})})
		if ctx.Err() != nil {
			return interrupted()
		}
		if !placed.Load() {
			possible = possible || len(e.seen(isTool)) == 0
			continue
		}
		possible, played = true, append(played, k.name)
		rows := toolRows(e.result)
		switch {
		case !e.result.WouldBeGraded() && k.name == "text" && c.decodesTwice(ctx):
			altered = append(altered, "text that is JSON is decoded once more; text that is not makes the run fail: "+c.failure(e.result))
		case !e.result.WouldBeGraded():
			others = append(others, k.name+": "+c.failure(e.result))
		case !c.visible || seen == "" || shows(said(e.result), seen):
		case len(rows) > 0:
			altered = append(altered, k.name+": the model was given something else: "+c.quote(rows[0]))
		case !k.long:
			others = append(others, k.name+": the answer does not have it, although it has other results")
		}
	}
	details := append(altered, others...)
	wrong := fmt.Sprintf("%d kinds of results go wrong", len(details))
	if len(details) == 1 {
		wrong = "1 kind of results goes wrong"
	}
	switch {
	case !possible:
		return skipped("", "the output_schema of the tools allows no result of another kind")
	case len(played) == 0:
		return noCall()
	case len(altered) > 0:
		f = failed(do, "%s", wrong)
	case len(details) > 0:
		f = warning(do+" Declare an output_schema for a tool that does not return such results.", "%s", wrong)
	case !c.visible:
		f = good("the runs complete with results of all kinds; the answers do not show what arrives")
	default:
		f = good("results of all kinds arrive")
	}
	f.Details = details
	f.Sent = fmt.Sprintf("%s; the tool calls are answered with %s, where the output_schema allows it",
		bounded.Plural(len(played), "dispatch"), strings.Join(played, ", "))
	return f
}

// decodesTwice reports whether the run completes when each result is a string with the JSON that the
// world has.
func (c *checkup) decodesTwice(ctx context.Context) bool {
	e := c.dispatch(ctx, &episode{alter: always(reply{result: func(_ *request, result json.RawMessage) json.RawMessage {
		return rawjson.Quote(string(result))
	}})})
	return e.result.WouldBeGraded() && len(e.seen(isTool)) > 0
}

// canary returns a text that appears nowhere else.
func canary() string { return "canary-" + rand.Text() }

// readOutputs compiles the output_schema of each tool. What of it cannot be checked allows any result.
func (c *checkup) readOutputs() {
	c.outputs = map[string]*schema.Validator{}
	for _, t := range c.task.World.Tools {
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

// toolRows returns the contents of the tool messages that the agent returned last.
func toolRows(r *dispatchtest.Result) []string {
	return rows(r.Dispatch.Body, dispatch.RoleTool)
}

// rows returns the contents of the messages with a role in a response. Malformed messages count, too.
func rows(response string, role dispatch.Role) (rows []string) {
	messages := object([]byte(response))["messages"]
	if rawjson.Kind(messages) != '[' {
		return nil
	}
	for row := range rawjson.Elements(messages) {
		if rawjson.Kind(row) != '{' || rawjson.Unquote(rawjson.Member(row, "role")) != string(role) {
			continue
		}
		content := rawjson.Member(row, "content")
		text := dispatch.Content(content).String()
		if text == "" && rawjson.Kind(content) != '"' {
			text = string(content)
		}
		rows = append(rows, text)
	}
	return rows
}

// said returns all text of a run that a result can be in: the answer, and the arguments of calls.
func said(r *dispatchtest.Result) string {
	texts := append(toolRows(r), r.FinalResponse)
	for _, call := range toolCalls(&r.Log) {
		texts = append(texts, string(call.Arguments))
	}
	return strings.Join(texts, "\n")
}

// enveloped reports whether text has the trace envelope of the proxy.
func enveloped(text string) bool {
	return strings.Contains(text, "matched_rule_index") || strings.Contains(text, "latency_ms") && strings.Contains(text, "tool_name")
}

// shows reports whether text has marker, as it is or in escaped JSON.
func shows(text, marker string) bool {
	quoted := string(rawjson.Quote(marker))
	return strings.Contains(text, marker) || strings.Contains(text, quoted[1:len(quoted)-1]) || strings.Contains(text, ascii(marker))
}

// ascii escapes text as JSON encoders do that write ASCII only.
func ascii(text string) string {
	var b strings.Builder
	for _, unit := range utf16.Encode([]rune(text)) {
		if unit < 0x80 {
			b.WriteByte(byte(unit))
		} else {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.String()
}

// object returns the members of a JSON object, or nil if body is not one.
func object(body []byte) (members map[string]json.RawMessage) {
	if json.Unmarshal(body, &members) != nil {
		return nil
	}
	return members
}
