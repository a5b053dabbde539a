package catalog

import (
	"errors"
	"fmt"
	"net/http"
)

// upload creates a tool from a file.
func (h *Handler) upload(c *call) (answer, error) {
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
	if h.opts.Register != nil {
		if err := h.vacant(c, r); err != nil {
			return answer{}, err
		}
		if err := h.register(c, r, "Failed to register plugin"); err != nil {
			return answer{}, err
		}
	}
	if err := h.store.Create(c.ctx(), r); err != nil {
		return answer{}, err
	}
	return answer{r.public(), "Tool uploaded successfully"}, nil
}

// uploadUpdate gives a tool another file.
func (h *Handler) uploadUpdate(c *call) (answer, error) {
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
	if h.opts.Register != nil {
		if f.patch.Name != nil { // otherwise the tool has its name already
			if err := h.vacant(c, r); err != nil {
				return answer{}, err
			}
		}
		if err := h.register(c, r, "Failed to update plugin"); err != nil {
			return answer{}, err
		}
	}
	r, err = h.updateLive(c, change)
	return answer{r.public(), "Tool updated successfully"}, err
}

// adopt copies what the file defines.
func (r *StoredTool) adopt(p *Plugin, source []byte) {
	r.PluginClassName, r.ModuleName, r.ScriptContent = p.ClassName, p.ModuleName, string(source)
}

// checkUpload applies the rules of fields, then the rules of files.
func (h *Handler) checkUpload(c *call, ps *problems, p Patch, f *form) (*Plugin, error) {
	if f.file == nil {
		ps.add("file", ruleMissing, "is required: a part with a Python file")
	}
	if p.Type != nil && *p.Type == Native {
		ps.add("tool_type", ruleFixed, "must be custom: files are those of custom tools")
	}
	if err := h.check(c, ps, p); err != nil {
		return nil, err
	}
	return CheckPlugin(f.filename, f.file, &h.opts.Plugin)
}

// vacant reports a conflict if another tool has the name, so that Register is not called in vain.
func (h *Handler) vacant(c *call, tool StoredTool) error {
	records, err := h.store.List(c.ctx(), c.account, "")
	if err != nil {
		return err
	}
	for _, r := range records {
		if r.Name == tool.Name && r.ID != tool.ID {
			return &Error{Code: CodeConflict}
		}
	}
	return nil
}

// register calls Register. A panic counts as an error.
func (h *Handler) register(c *call, r StoredTool, message string) (err error) {
	defer func() {
		if p := recover(); p != nil {
			if p == http.ErrAbortHandler {
				panic(p)
			}
			err = panicked(p, message)
		}
	}()
	err = h.opts.Register(c.ctx(), r.clone().ListItem)
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*Error](err); ok && e.Code == CodePlugin {
		return e
	}
	if c.ctx().Err() != nil {
		return err
	}
	return &failure{code: CodeServer, status: http.StatusInternalServerError, message: message,
		reason: fmt.Sprintf("Register failed with a %T", err)}
}
