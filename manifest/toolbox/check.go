package toolbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/toolwire/toolwire/internal/clip"
	"github.com/toolwire/toolwire/internal/reasoning"
	"github.com/toolwire/toolwire/schema"
)

// checker finds everything that is wrong with a document whose form is right, and prepares what is right.
type checker struct {
	options  *Options
	doc      *document
	problems []Problem
}

func (c *checker) add(place, name, field, rule, format string, args ...any) {
	c.problems = append(c.problems, Problem{place, clip.Text(name, 128), field, rule, fmt.Sprintf(format, args...)})
}

func (c *checker) adapters() []adapter {
	list := make([]adapter, 0, len(c.doc.adapters))
	for _, entry := range c.doc.adapters {
		a := adapter{Adapter: entry.Adapter}
		if a.Name == "" && !c.wrongType(entry.place, "name") {
			c.add(entry.place, "", "name", "adapter_missing", "is required: tools name their adapter by it")
		}
		for _, other := range list {
			if other.is(a.Name) || other.is(a.ID) {
				c.add(entry.place, a.Name, "name", "adapter_duplicate", "or id is taken by an earlier adapter")
				break
			}
		}
		validate, problems := compile(a.ConfigSchema, c.options.Limits)
		for _, p := range problems {
			c.add(entry.place, a.Name, "config_schema"+p.Pointer, string(p.Code), "%s", p.Message)
		}
		a.validate = validate
		list = append(list, a)
	}
	return list
}

// tools checks all tools; what schema.Validate says of them comes tool by tool with the rest.
func (c *checker) tools() []*tool {
	entries := c.doc.tools
	declared := make([]schema.Tool, len(entries))
	for i, entry := range entries {
		declared[i] = schema.Tool{Name: entry.Name, Description: entry.Description, InputSchema: entry.Parameters}
		if entry.Parameters == nil {
			declared[i].InputSchema = json.RawMessage(`{"type":"object"}`)
		}
	}
	found := make(map[int][]schema.Problem)
	if err := schema.Validate(context.Background(), declared, &schema.ValidateOptions{Limits: c.options.Limits}); err != nil {
		if invalid, ok := errors.AsType[*schema.Error](err); ok {
			for _, p := range invalid.Problems {
				found[p.Index] = append(found[p.Index], p)
			}
		}
	}
	list := make([]*tool, 0, len(entries))
	needsSecret := false
	for i := range entries {
		entry := &entries[i]
		for _, p := range found[i] {
			if p.Code == "name_missing" && c.wrongType(entry.place, "name") {
				continue
			}
			field := strings.TrimPrefix(p.Pointer, "/")
			if rest, ok := strings.CutPrefix(field, "input_schema"); ok {
				field = "parameters" + rest
			}
			message := p.Message
			if p.Code == "name_duplicate" {
				message = "is taken by an earlier tool; names must be unique in all adapters"
			}
			c.add(entry.place, entry.Name, field, string(p.Code), "%s", message)
		}
		c.kind(entry)
		c.belongs(entry)
		needsSecret = needsSecret || entry.URL != ""
		if len(c.problems) == 0 {
			list = append(list, c.prepare(entry, declared[i].InputSchema))
		}
	}
	if needsSecret && c.options.SecretFunc == nil {
		c.add("options", "", "Secret", "option_invalid", "is required: there are external tools, whose servers verify it")
	}
	return list
}

// kind checks what decides between an internal and an external tool.
func (c *checker) kind(entry *toolEntry) {
	place, name := entry.place, entry.Name
	switch {
	case entry.Handler != "" && entry.URL != "":
		c.add(place, name, "handler", "handler_and_url", "stands beside url; a tool is either internal or external")
	case entry.Handler == "" && entry.URL == "" && !c.wrongType(entry.place, "handler") && !c.wrongType(entry.place, "url"):
		c.add(place, name, "handler", "handler_or_url_missing", "and url are missing; a tool needs one of them")
	}
	if entry.Handler != "" {
		if !dottedName.MatchString(entry.Handler) {
			c.add(place, name, "handler", "handler_invalid", "must be a dotted name such as contacts.create_contact")
		} else if c.options.Handlers[entry.Handler] == nil {
			c.add(place, name, "handler", "handler_unregistered", "names %s, for which Options.Handlers has no function; it has %s",
				clip.Text(entry.Handler, 128), someOf(c.options.Handlers))
		}
	}
	for _, link := range []struct{ field, text string }{{"url", entry.URL}, {"detail_url", entry.DetailURL}} {
		if link.text == "" {
			continue
		}
		u, err := url.Parse(link.text)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.Fragment != "" {
			c.add(place, name, link.field, "url_invalid", "must be an absolute http or https URL without user and fragment")
		}
	}
}

// wrongType reports whether a member is there, but not as a string.
func (c *checker) wrongType(place, field string) bool {
	return slices.ContainsFunc(c.doc.problems, func(p Problem) bool { return p.Place == place && p.Field == field })
}

func someOf(handlers map[string]Handler) string {
	names := slices.Sorted(maps.Keys(handlers))
	switch {
	case len(names) == 0:
		return "none"
	case len(names) > 5:
		return strings.Join(names[:5], ", ") + fmt.Sprintf(" and %d more", len(names)-5)
	}
	return strings.Join(names, ", ")
}

// belongs finds the tool's adapter, by the place where the tool stands or by name or id, and notes its name.
func (c *checker) belongs(entry *toolEntry) {
	named := slices.IndexFunc(c.doc.adapters, func(a adapterEntry) bool {
		return entry.Adapter != "" && (entry.Adapter == a.Name || entry.Adapter == a.ID)
	})
	switch {
	case entry.Adapter != "" && named < 0:
		c.add(entry.place, entry.Name, "adapter", "adapter_unknown", "names no adapter of this document")
	case entry.in >= 0 && named >= 0 && named != entry.in:
		c.add(entry.place, entry.Name, "adapter", "adapter_unknown", "is not the one that the tool stands in")
	case entry.in >= 0:
		entry.Adapter = c.doc.adapters[entry.in].Name
	case named >= 0:
		entry.Adapter = c.doc.adapters[named].Name
	}
}

func (c *checker) prepare(entry *toolEntry, parameters json.RawMessage) *tool {
	validate, problems := compile(parameters, c.options.Limits)
	for _, p := range problems { // schema.Validate has found none
		c.add(entry.place, entry.Name, "parameters"+p.Pointer, string(p.Code), "%s", p.Message)
	}
	t := &tool{
		Tool: entry.Tool, validate: validate, reasoning: reasoning.Declared(parameters),
		forModel: reasoning.Inject(entry.Parameters), run: c.options.Handlers[entry.Handler],
	}
	t.forPeer = encode(struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Parameters  json.RawMessage `json:"parameters,omitempty"`
	}{t.Name, t.Description, t.Parameters})
	return t
}
