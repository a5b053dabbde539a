package toolbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/internal/httpcall"
	"github.com/toolwire/toolwire/internal/problem"
	"github.com/toolwire/toolwire/internal/text"
	"github.com/toolwire/toolwire/internal/toolcall"
	"github.com/toolwire/toolwire/internal/toolresult"
	"github.com/toolwire/toolwire/schema"
)

// checker finds all problems of a document and prepares its tools.
type checker struct {
	options  *Options
	doc      *document
	open     bool // the document lists no adapters, so the tools declare them
	problems problem.List[toolwire.Problem]

	known      map[string]int  // the index of the first adapter with a name or id
	wrongTypes map[string]bool // the pointers to members of the wrong type
}

func newChecker(options *Options, doc *document, problems problem.List[toolwire.Problem]) *checker {
	problems.Join(doc.problems)
	return &checker{options: options, doc: doc, open: len(doc.adapters) == 0, problems: problems,
		known: make(map[string]int), wrongTypes: doc.wrong}
}

// learn remembers the name and the id of an adapter. It reports whether an earlier adapter has one
// of them.
func (c *checker) learn(a *Adapter, index int) (taken bool) {
	for _, key := range []string{a.Name, a.ID} {
		if first, known := c.known[key]; known && first != index {
			taken = true
		} else if key != "" {
			c.known[key] = index
		}
	}
	return taken
}

// tool adds a problem of a tool. pointer is a JSON Pointer into it.
func (c *checker) tool(entry *toolEntry, pointer, code, format string, args ...any) {
	c.problems.AddTool(text.Cut(entry.Name, 128), code, entry.at+pointer, format, args...)
}

func (c *checker) adapters() {
	for i := range c.doc.adapters {
		entry := &c.doc.adapters[i]
		if entry.Name == "" && !c.wrongTypes[entry.at+"/name"] {
			c.problems.Add("adapter_missing", entry.at+"/name", "is required: tools name their adapter by it")
		}
		if c.learn(&entry.Adapter, i) {
			c.problems.Add("adapter_duplicate", entry.at+"/name", "or the id belongs to an earlier adapter")
		}
		if _, invalid := compile(entry.ConfigSchema, true); invalid != nil { // nothing is validated by it
			problem.Under(&c.problems, entry.at+"/config_schema", invalid.Problems, invalid.More)
		}
	}
}

// tools checks all tools in their order.
func (c *checker) tools() []*tool {
	list := make([]*tool, 0, len(c.doc.tools))
	first, needsSecret := make(map[string]bool, len(c.doc.tools)), false
	for i := range c.doc.tools {
		entry := &c.doc.tools[i]
		declared := schema.Tool{Name: entry.Name, Description: entry.Description, InputSchema: entry.Parameters}
		if entry.Parameters == nil {
			declared.InputSchema = json.RawMessage(toolresult.NoArguments)
		}
		if !c.problems.Full() { // its schema costs more than the rest
			c.declaration(entry, declared)
		}
		if first[entry.Name] {
			c.tool(entry, "/name", "name_duplicate", "belongs to an earlier tool; names must be unique in all adapters")
		}
		first[entry.Name] = entry.Name != ""
		c.kind(entry)
		c.belongs(entry)
		needsSecret = needsSecret || entry.URL != ""
		if c.problems.Len() == 0 {
			list = append(list, c.prepare(entry, declared.InputSchema))
		}
	}
	if needsSecret && c.options.Secret == "" {
		c.problems.Add("invalid_option", "",
			"Options.Secret is required: the document has external tools, whose servers verify it")
	}
	return list
}

// declaration checks the name and the parameters of a tool.
func (c *checker) declaration(entry *toolEntry, declared schema.Tool) {
	add := func(p toolwire.Problem, advice string) {
		_, pointer := problem.Element(p.Pointer)
		if rest, ok := strings.CutPrefix(pointer, "/input_schema"); ok {
			pointer = "/parameters" + rest
		}
		if p.Code != "name_missing" || !c.wrongTypes[entry.at+"/name"] {
			c.tool(entry, pointer, p.Code, "%s%s", p.Message, advice)
		}
	}
	_, err := schema.Validate(context.Background(), []schema.Tool{declared}, nil)
	if invalid, ok := errors.AsType[*toolwire.Error](err); ok {
		for _, p := range invalid.Problems {
			add(p, "")
		}
		c.problems.More += invalid.More
	}
	if c.options.AllowUnchecked {
		return
	}
	for _, p := range toolcall.Refused(schema.Lint([]schema.Tool{declared}, nil)) {
		add(p, "; Options.AllowUnchecked accepts the tool without this check")
	}
}

// kind checks what makes a tool internal or external.
func (c *checker) kind(entry *toolEntry) {
	switch {
	case entry.Handler != "" && entry.URL != "":
		c.tool(entry, "/handler", "handler_and_url", "must not occur together with url; a tool is either internal or external")
	case entry.Handler == "" && entry.URL == "" && !c.wrongTypes[entry.at+"/handler"] &&
		!c.wrongTypes[entry.at+"/url"]:
		hint := ""
		if name := c.doc.misspelt[entry.at]; name != "" {
			hint = fmt.Sprintf("; is %q one of them?", text.Cut(name, 128))
		}
		c.tool(entry, "/handler", "handler_or_url_missing", "and url are missing; a tool needs one of them%s", hint)
	}
	if entry.Handler != "" {
		if !dottedName.MatchString(entry.Handler) {
			c.tool(entry, "/handler", "handler_invalid", "must be a dotted name such as contacts.create_contact")
		} else if _, given := c.options.Handlers[entry.Handler]; !given {
			c.tool(entry, "/handler", "handler_unregistered", "names %s, for which Options.Handlers has no function; it has %s",
				text.Cut(entry.Handler, 128), text.List(slices.Sorted(maps.Keys(c.options.Handlers))))
		}
	}
	for _, link := range []struct{ pointer, url string }{{"/url", entry.URL}, {"/detail_url", entry.DetailURL}} {
		if link.url != "" && !httpcall.IsLink(link.url) {
			c.tool(entry, link.pointer, "url_invalid", httpcall.LinkRule)
		}
	}
}

// belongs finds the adapter of a tool, which contains the tool or has the name or id that the tool
// gives. It sets entry.Adapter to the adapter's name. If the document lists no adapters, the tool's
// own words declare one.
func (c *checker) belongs(entry *toolEntry) {
	_, byName := c.known[entry.of.Name]
	_, byID := c.known[entry.of.ID]
	if c.open && entry.Adapter != "" && !byName && !byID {
		c.learn(&entry.of, len(c.doc.adapters))
		c.doc.adapters = append(c.doc.adapters, adapterEntry{Adapter: entry.of})
	}
	named, isKnown := c.known[entry.Adapter]
	switch {
	case entry.Adapter != "" && !isKnown:
		c.tool(entry, "/adapter", "adapter_unknown", "does not name an adapter of this document")
	case entry.in >= 0 && isKnown && named != entry.in:
		c.tool(entry, "/adapter", "adapter_unknown", "names another adapter than the one that contains the tool")
	case entry.in >= 0:
		entry.Adapter = c.doc.adapters[entry.in].Name
	case isKnown:
		entry.Adapter = c.doc.adapters[named].Name
	}
}

// prepare makes a tool of an entry without problems. The validator may still find one.
func (c *checker) prepare(entry *toolEntry, parameters json.RawMessage) *tool {
	validate, invalid := compile(parameters, c.options.AllowUnchecked)
	if invalid != nil {
		for _, p := range invalid.Problems {
			c.tool(entry, "/parameters"+p.Pointer, p.Code, "%s", p.Message)
		}
		c.problems.More += invalid.More
	}
	t := &tool{
		Tool: entry.Tool, called: toolcall.New(entry.Name, parameters, validate),
		forModel: toolcall.WithReasoning(entry.Parameters), run: c.options.Handlers[entry.Handler], adapter: -1,
	}
	if i, known := c.known[entry.Adapter]; known {
		t.adapter = i
	}
	t.bare, t.reasoned = t.definition(t.Parameters), t.definition(t.forModel)
	return t
}

// definition writes what a webhook reads of the tool.
func (t *tool) definition(parameters json.RawMessage) json.RawMessage {
	return encode(struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Parameters  json.RawMessage `json:"parameters,omitempty"`
	}{t.Name, t.Description, parameters})
}

// compile prepares a schema, or returns its problems. Without a schema everything is valid.
func compile(raw json.RawMessage, allowUnchecked bool) (validate func([]byte) error, invalid *toolwire.Error) {
	if len(raw) == 0 {
		raw = json.RawMessage("true")
	}
	v, err := schema.Compile(raw, &schema.CompileOptions{AllowUnchecked: allowUnchecked})
	if err == nil {
		return v.Validate, nil
	}
	invalid, _ = errors.AsType[*toolwire.Error](err) // Compile returns no other type
	return nil, invalid
}
