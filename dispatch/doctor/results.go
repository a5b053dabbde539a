package doctor

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf16"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/text"
	"github.com/toolwire/toolwire/proxy/proxytest"
	"github.com/toolwire/toolwire/schema"
)

const (
	unwrapAdvice = `Return the member response of the proxy's answer from the tool, as it is.`
	showAdvice   = "Return messages with the tool results, so that it can be seen."
	hidden       = "the answer does not repeat what a tool returned"
	anEnvelope   = "the model was given the whole trace envelope of the proxy, not its member response"
)

// unwrap judges the run with marked results. Its ok has seen the mark in a tool message or the answer, and no
// envelope.
func (c *checkup) unwrap(_ context.Context, e *lone) Finding {
	if f, unclear := c.unclear(e); unclear {
		return f
	}
	switch rows := toolRows(e.result); {
	case enveloped(said(e.result)):
		return failed(unwrapAdvice, anEnvelope)
	case e.visible:
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

// A kind is a result of another JSON type, or another text.
type kind struct {
	name    string
	results []string // JSON; the first that the output_schema allows is sent. %s stands for the mark of the run
	seen    string   // what the answer has to repeat; "" for the result itself
	part    bool     // the text may be a part of a result, too
	long    bool     // the agent may shorten it in its answer
}

var kinds = []kind{
	{name: "text", results: []string{`"%s"`}, seen: "%s"},
	{name: "text that is JSON", results: []string{`"{\"%s\": 1.50E1}"`}, seen: "1.50E1"}, // who decodes and encodes it writes 15
	{name: "a list", results: []string{`["%s"]`}, seen: "%s"},
	{name: "a number", results: []string{largeNumber, "743190452"}},
	{name: "HTML", results: []string{`"<html><body>%s</body></html>"`}, seen: "%s"},
	{name: "100 KB of text", results: []string{`"%s` + strings.Repeat(" and more", 11_000) + `"`}, seen: "%s", part: true, long: true},
	{name: "text that is not ASCII", results: []string{`"Grüße 漢字 🎉 %s"`}, seen: "Grüße 漢字 🎉 %s", part: true},
}

const (
	largeNumber   = "9007199254740993" // the first integer that a float64 does not hold
	roundedNumber = "9007199254740"    // how each rounded form of it begins
)

// ordinary is the size of results that tools often return. A transcript may shorten larger ones.
const ordinary = 16 << 10

// empty are results that languages take for the lack of one.
var empty = []string{"null", "0", "false", `""`, "[]", "{}"}

// tried is what became of the results of one kind, or of several.
type tried struct {
	played  []string // the kinds that a run was given
	altered []string // that the model was given something else
	others  []string // other faults
	notes   []string // what is not as it was, and no fault
	visible bool     // answers repeat results
}

// resultKinds dispatches the sample once for each kind of result that a tool of the sample may return.
// Its ok has seen each of them that is not empty in a tool message or the answer, and at least 16 KiB of
// a long one in a tool message; the runs with empty ones complete; and no trace envelope in any of them.
func (c *checkup) resultKinds(ctx context.Context, alone *lone) (f Finding) {
	if f, unclear := c.unclear(alone); unclear {
		return f
	}
	t := tried{visible: alone.visible}
	possible := c.emptyResults(ctx, &t)
	for _, k := range kinds {
		possible = c.resultKind(ctx, k, &t) || possible
		if ctx.Err() != nil {
			return interrupted()
		}
	}
	const do = "Hand the member response on as it is: it is decoded already, and text that is not JSON is a string."
	details := append(t.altered, t.others...)
	wrong := fmt.Sprintf("%d kinds of results go wrong", len(details))
	if len(details) == 1 {
		wrong = "1 kind of results goes wrong"
	}
	played := strings.Join(t.played, ", ")
	switch {
	case !possible:
		return skipped("", "the output_schema of the tools allows no result of another kind")
	case len(t.played) == 0:
		return noCall()
	case len(t.altered) > 0:
		f = failed(do, "%s", wrong)
	case len(details) > 0:
		f = warning(do+" Declare an output_schema for a tool that does not return such results.", "%s", wrong)
	case !t.visible:
		f = skipped(showAdvice, "the runs complete with these results, but the answers do not show what arrives: %s", played)
	case len(t.notes) > 0:
		f = good("these results arrive, with an exception: %s", played)
	default:
		f = good("these results arrive as they are: %s", played)
	}
	f.Details = append(details, t.notes...)
	f.Sent = fmt.Sprintf("%s; the tool calls are answered with %s, where the output_schema allows it",
		text.Plural(len(c.now.episodes), "dispatch"), played)
	return f
}

// resultKind dispatches the sample with results of one kind. It reports whether the tools allow such a
// result.
func (c *checkup) resultKind(ctx context.Context, k kind, t *tried) (possible bool) {
	mark := canary()
	var result json.RawMessage
	for _, text := range k.results {
		result = json.RawMessage(strings.ReplaceAll(text, "%s", mark))
		if possible = c.allowed(result); possible {
			break
		}
	}
	if !possible && !k.part {
		return false
	}
	seen := cmp.Or(strings.ReplaceAll(k.seen, "%s", mark), string(result))
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
	if !placed.Load() {
		return possible || len(e.seen(isTool)) == 0
	}
	t.played = append(t.played, k.name)
	text, rows := said(e.result), toolRows(e.result)
	short := slices.IndexFunc(rows, func(row string) bool { return shows(row, seen) && len(row) < len(rawjson.Unquote(result)) })
	number := rawjson.Kind(result) == '0'
	switch {
	case !e.result.WouldBeGraded() && k.name == "text" && c.decodesTwice(ctx):
		t.altered = append(t.altered, "text that is JSON is decoded once more; text that is not makes the run fail: "+c.failure(e.result))
	case !e.result.WouldBeGraded():
		t.others = append(t.others, k.name+": "+c.failure(e.result))
	case enveloped(text):
		t.altered = append(t.altered, k.name+": "+anEnvelope)
	case !t.visible:
	case k.long && short >= 0 && len(rows[short]) < ordinary:
		t.others = append(t.others, fmt.Sprintf("%s: a tool message has only %d of %d bytes", k.name, len(rows[short]), len(result)))
	case shows(text, seen), number && strings.Contains(plainDigits(text), seen):
	case number && strings.Contains(plainDigits(text), roundedNumber):
		t.notes = append(t.notes, k.name+": the integer "+largeNumber+" arrives rounded, as integers above 2^53 do in JavaScript: return such "+
			"ids as text")
	case shows(text, mark) && len(rows) > 0 && k.name == "text that is JSON":
		t.altered = append(t.altered, k.name+" is decoded once more: "+c.quote(rows[0]))
	case len(rows) > 0:
		t.altered = append(t.altered, k.name+": the model was given something else: "+c.quote(rows[0]))
	case !k.long:
		t.others = append(t.others, k.name+": the answer does not have it, although it has other results")
	}
	return true
}

var separator = regexp.MustCompile(`(\d)[.,_'’\x{a0}\x{202f} ]`)

// plainDigits removes what people and programs write between the digits of a number.
func plainDigits(text string) string { return separator.ReplaceAllString(text, "$1") }

// A queue hands out results, each once. It is safe for concurrent use: a call may come late.
type queue struct {
	mu          sync.Mutex
	left, given []string
}

// take returns the first result that is left and that the tool may return.
func (q *queue) take(allowed func(string) bool) (result string, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	at := slices.IndexFunc(q.left, allowed)
	if at < 0 {
		return "", false
	}
	result = q.left[at]
	q.left, q.given = slices.Delete(q.left, at, at+1), append(q.given, result)
	return result, true
}

// taken returns the results that were taken since its last call, and whether others are left.
func (q *queue) taken() (given []string, more bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	given, q.given = q.given, nil
	return given, len(q.left) > 0
}

// emptyResults dispatches the sample until each empty result has been the answer to a call. It reports
// whether the tools allow one.
func (c *checkup) emptyResults(ctx context.Context, t *tried) (possible bool) {
	q := &queue{left: slices.DeleteFunc(slices.Clone(empty), func(value string) bool { return !c.allowed(json.RawMessage(value)) })}
	for more := len(q.left) > 0; more && ctx.Err() == nil; {
		e := c.dispatch(ctx, &episode{alter: always(reply{result: func(r *request, old json.RawMessage) json.RawMessage {
			value, ok := q.take(func(value string) bool { return c.allows(r.tool, json.RawMessage(value)) })
			if !ok {
				return old
			}
			return json.RawMessage(value)
		}})})
		var given []string
		if given, more = q.taken(); len(given) == 0 {
			return possible || len(e.seen(isTool)) == 0
		}
		possible = true
		t.empty(c, e, given)
	}
	return possible
}

// empty judges a run with empty results. That null or an empty text is worded in another way is a matter
// of style.
func (t *tried) empty(c *checkup, e *episode, given []string) {
	rows := toolRows(e.result)
	t.played = append(t.played, given...)
	switch names := strings.Join(given, ", "); {
	case !e.result.WouldBeGraded():
		t.others = append(t.others, names+": "+c.failure(e.result))
	case enveloped(said(e.result)):
		t.altered = append(t.altered, names+": "+anEnvelope)
	case t.visible && len(rows) > 0:
		text := strings.Join(rows, "; ")
		for _, value := range given {
			if (value == "0" || value == "false") && !strings.Contains(strings.ToLower(text), value) {
				t.altered = append(t.altered, value+": the model was given something else: "+c.quote(text))
			}
		}
	}
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

// allowed reports whether a tool that the sample called may return a result.
func (c *checkup) allowed(result json.RawMessage) bool {
	return slices.ContainsFunc(c.sample.result.Calls, func(call proxytest.Call) bool { return c.allows(call.Tool, result) })
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

// said returns all text of a run that a result can be in: the answers, and the arguments of calls.
func said(r *dispatchtest.Result) string {
	var texts []string
	for _, turn := range r.Turns {
		texts = append(append(texts, rows(turn.Body, dispatch.RoleTool)...), turn.FinalResponse)
	}
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
