package catalog

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/internal/httpserve"
	"github.com/toolwire/toolwire/internal/rawjson"
)

// public returns the tool without its source.
func (r StoredTool) public() ListItem {
	item := r.ListItem
	item.ScriptContent = ""
	return item
}

func (h *handler) list(c *call) (answer, error) {
	var t Type
	query, err := url.ParseQuery(c.r.URL.RawQuery)
	if err != nil { // the unreadable part may be a filter
		return answer{}, invalid("query", toolwire.Problem{Code: ruleText, Message: "cannot be read; is it escaped?"})
	}
	if values, ok := query["type"]; ok {
		t = Type(values[0])
		if len(values) > 1 {
			return answer{}, invalid("query", at("type", ruleRepeated, "must be given once"))
		}
		if t != Native && t != Custom {
			return answer{}, invalid("query", at("type", ruleEnum, textType))
		}
	}
	records, err := h.store.List(c.ctx(), c.account, t)
	if err != nil {
		return answer{}, err
	}
	return answer{records, "Tools retrieved successfully"}, nil
}

func (h *handler) create(c *call) (answer, error) {
	p, ps, err := h.readJSON(c)
	if err != nil {
		return answer{}, err
	}
	ps.require(p)
	if err := h.check(c, &ps, p); err != nil {
		return answer{}, err
	}
	r := StoredTool{ListItem: ListItem{ID: newID(), Tool: h.finish(c, p.apply(Tool{}))}}
	if err := h.store.Create(c.ctx(), r); err != nil {
		return answer{}, err
	}
	return answer{r.public(), "Tool created successfully"}, nil
}

// finish sets the fields that every tool has.
func (h *handler) finish(c *call, t Tool) Tool {
	t.AccountID = c.account
	t.Version = cmp.Or(t.Version, defaultVersion)
	return t
}

// check applies the rules of tools and the rules of this handler.
func (h *handler) check(c *call, ps *problems, p Patch) error {
	ps.check(p)
	if p.AccountID != nil && *p.AccountID != "" && !strings.EqualFold(*p.AccountID, c.account) {
		ps.add("account_id", ruleAccount, "is not the account of the key; leave it out")
	}
	if p.Description != nil && utf8.RuneCountInString(*p.Description) > maxField {
		ps.add("description", ruleTooLong, "is too long for this catalog")
	}
	return ps.error("", "")
}

// readJSON reads a body with the members of a tool.
func (h *handler) readJSON(c *call) (Patch, problems, error) {
	media, _, err := mime.ParseMediaType(c.r.Header.Get("Content-Type"))
	if err != nil || media != "application/json" {
		return Patch{}, nil, invalid("body", toolwire.Problem{Code: ruleJSON, Message: "Content-Type must be application/json"})
	}
	c.read = true
	body, err := httpserve.ReadBody(c.w, c.r, h.maxBody, time.Now().Add(h.opts.BodyTimeout))
	if err != nil {
		return Patch{}, nil, bodyError(c, err)
	}
	return readRecord(body, rawjson.Strict, nil)
}

func (h *handler) get(c *call) (answer, error) {
	r, err := h.find(c)
	return answer{r.public(), "Tool retrieved successfully"}, err
}

// find returns a tool that is not deleted.
func (h *handler) find(c *call) (StoredTool, error) {
	r, err := h.store.Get(c.ctx(), c.account, c.id)
	if err == nil && !r.DeletedAt.IsZero() {
		err = errNotFound
	}
	return r, err
}

var errNotFound = &toolwire.Error{Package: "catalog", Code: toolwire.CodeNotFound}

// updateLive changes a tool that is not deleted.
func (h *handler) updateLive(c *call, change func(*StoredTool) error) (StoredTool, error) {
	return h.store.Update(c.ctx(), c.account, c.id, func(r *StoredTool) error {
		if !r.DeletedAt.IsZero() {
			return errNotFound
		}
		return change(r)
	})
}

func (h *handler) put(c *call) (answer, error) {
	p, ps, err := h.readJSON(c)
	if err != nil {
		return answer{}, err
	}
	replace := p.Name != nil && p.Framework != nil && p.Type != nil
	if err := h.check(c, &ps, p); err != nil {
		return answer{}, err
	}
	r, err := h.updateLive(c, func(r *StoredTool) error {
		before := r.Tool
		if replace {
			before = Tool{}
		}
		t := h.finish(c, p.apply(before))
		if t.Type != Custom && r.ScriptContent != "" {
			return invalid("body", at("tool_type", ruleFixed, "must stay custom: the tool has source code"))
		}
		r.Tool = t
		return nil
	})
	return answer{r.public(), "Tool updated successfully"}, err
}

func (h *handler) remove(c *call) (answer, error) {
	_, err := h.updateLive(c, func(r *StoredTool) error {
		r.DeletedAt = time.Now().UTC()
		return nil
	})
	return confirmation(c, "Tool deleted successfully"), err
}

func (h *handler) restore(c *call) (answer, error) {
	_, err := h.store.Update(c.ctx(), c.account, c.id, func(r *StoredTool) error {
		if r.DeletedAt.IsZero() {
			return errNotFound
		}
		r.DeletedAt = time.Time{}
		return nil
	})
	return confirmation(c, "Tool restored successfully"), err
}

func confirmation(c *call, message string) answer {
	return answer{map[string]string{"id": c.id, "message": message}, message}
}

func (h *handler) source(c *call) (answer, error) {
	r, err := h.find(c)
	if err == nil && r.ScriptContent == "" {
		err = errNotFound
	}
	source := map[string]string{"id": c.id, "script": r.ScriptContent, "script_content": r.ScriptContent}
	return answer{source, "Tool script retrieved successfully"}, err
}

// bodyError separates a body that ends early from a request whose context ended. net/http ends the
// context in both cases.
func bodyError(c *call, err error) error {
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errBody
	case err == httpserve.ErrTooLarge || err == httpserve.ErrTimeout || c.ctx().Err() != nil:
		return err
	}
	return errBody
}

// upload creates a tool from a file.
func (h *handler) upload(c *call) (answer, error) {
	f, err := h.readForm(c)
	if err != nil {
		return answer{}, err
	}
	p, ps := f.patch, f.problems
	if p.Framework == nil {
		p.Framework = new(LangChain)
	}
	if p.Type == nil {
		p.Type = new(Custom)
	}
	plugin, err := h.checkUpload(c, &ps, p, f)
	if err != nil {
		return answer{}, err
	}
	if p.Name == nil {
		if plugin.Name == "" {
			return answer{}, invalid("body", at("name", ruleMissing, "is required: the file has no class with a literal name"))
		}
		p.Name = &plugin.Name
	}
	if p.Description == nil {
		p.Description = &plugin.Description
	}
	if err := h.check(c, &ps, p); err != nil { // the texts from the file
		return answer{}, err
	}
	r := StoredTool{ListItem: ListItem{ID: newID(), Tool: h.finish(c, p.apply(Tool{}))}}
	r.adopt(plugin, f.file)
	if err := h.register(c, r, true, "Failed to register plugin"); err != nil {
		return answer{}, err
	}
	if err := h.store.Create(c.ctx(), r); err != nil {
		return answer{}, err
	}
	return answer{r.public(), "Tool uploaded successfully"}, nil
}

// uploadUpdate gives a tool another file.
func (h *handler) uploadUpdate(c *call) (answer, error) {
	f, err := h.readForm(c)
	if err != nil {
		return answer{}, err
	}
	r, err := h.find(c)
	if err != nil {
		return answer{}, err
	}
	if r.Type != Custom {
		return answer{}, invalid("path", at("tool_id", ruleFixed, "is of a native tool; only custom tools have files"))
	}
	plugin, err := h.checkUpload(c, &f.problems, f.patch, f)
	if err != nil {
		return answer{}, err
	}
	change := func(r *StoredTool) error {
		r.Tool = h.finish(c, f.patch.apply(r.Tool))
		r.Type = Custom
		r.adopt(plugin, f.file)
		return nil
	}
	_ = change(&r)
	if err := h.register(c, r, f.patch.Name != nil, "Failed to update plugin"); err != nil {
		return answer{}, err
	}
	r, err = h.updateLive(c, change)
	return answer{r.public(), "Tool updated successfully"}, err
}

// adopt copies what the file defines.
func (r *StoredTool) adopt(p *Plugin, source []byte) {
	r.PluginClassName, r.ModuleName, r.ScriptContent = p.ClassName, p.ModuleName, string(source)
}

// checkUpload applies the rules of fields, then the rules of files.
func (h *handler) checkUpload(c *call, ps *problems, p Patch, f *form) (*Plugin, error) {
	if f.file == nil {
		ps.add("file", ruleMissing, "is required: a part with a Python file")
	}
	if p.Type != nil && *p.Type == Native {
		ps.add("tool_type", ruleFixed, "must be custom: only custom tools have files")
	}
	if err := h.check(c, ps, p); err != nil {
		return nil, err
	}
	return CheckPlugin(f.filename, f.file, &h.opts.Plugin)
}

// register calls Register, if there is one. It first looks for the name of the tool if that is new, so
// that Register is not called in vain. A panic of Register counts as an error.
func (h *handler) register(c *call, tool StoredTool, named bool, message string) error {
	if h.opts.Register == nil {
		return nil
	}
	if named {
		records, err := h.store.List(c.ctx(), c.account, "")
		if err != nil {
			return err
		}
		if slices.ContainsFunc(records, func(r StoredTool) bool { return r.Name == tool.Name && r.ID != tool.ID }) {
			return &toolwire.Error{Package: "catalog", Code: toolwire.CodeConflict}
		}
	}
	err := contain(message, func() error { return h.opts.Register(c.ctx(), tool.clone().ListItem) })
	if f, panicked := errors.AsType[*failure](err); panicked {
		return f
	}
	if err == nil || toolwire.CodeOf(err) == codePlugin || c.ctx().Err() != nil {
		return err
	}
	return serverError(message, slog.String("reason", fmt.Sprintf("Register failed with a %T", err)))
}
