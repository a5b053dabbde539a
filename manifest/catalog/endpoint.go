package catalog

import (
	"cmp"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/toolwire/toolwire/internal/httpserve"
)

// public returns the tool without its source.
func (r StoredTool) public() ListItem {
	item := r.ListItem
	item.ScriptContent = ""
	return item
}

func (h *Handler) list(c *call) (answer, error) {
	var t Type
	query, err := url.ParseQuery(c.r.URL.RawQuery)
	if err != nil { // the unreadable part may be a filter
		return answer{}, invalid("query", Problem{Code: ruleText, Message: "cannot be read; is it escaped?"})
	}
	if values, ok := query["type"]; ok {
		t = Type(values[0])
		if len(values) > 1 {
			return answer{}, invalid("query", at("type", ruleRepeated, "must be given once"))
		}
		if t != Native && t != Custom {
			return answer{}, invalid("query", at("type", ruleEnum, "must be native or custom"))
		}
	}
	records, err := h.store.List(c.ctx(), c.account, t)
	if err != nil {
		return answer{}, err
	}
	items := make([]ListItem, len(records))
	for i, r := range records {
		items[i] = r.public()
	}
	return answer{items, "Tools retrieved successfully"}, nil
}

func (h *Handler) create(c *call) (answer, error) {
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
func (h *Handler) finish(c *call, t Tool) Tool {
	t.AccountID = c.account
	t.Version = cmp.Or(t.Version, DefaultVersion)
	return t
}

// check applies the rules of tools and those of this handler.
func (h *Handler) check(c *call, ps *problems, p Patch) error {
	ps.check(p)
	if p.AccountID != nil && *p.AccountID != "" && !strings.EqualFold(*p.AccountID, c.account) {
		ps.add("account_id", ruleAccount, "is not the account of the key; leave it out")
	}
	if most := h.opts.MaxDescription; p.Description != nil && most > 0 && utf8.RuneCountInString(*p.Description) > most {
		ps.add("description", ruleTooLong, "is too long for this catalog")
	}
	return ps.error("", textInvalid)
}

// readJSON reads a body with the members of a tool.
func (h *Handler) readJSON(c *call) (Patch, problems, error) {
	media, _, err := mime.ParseMediaType(c.r.Header.Get("Content-Type"))
	if err != nil || media != "application/json" {
		return Patch{}, nil, invalid("body", Problem{Code: ruleJSON, Message: "Content-Type must be application/json"})
	}
	c.read = true
	body, err := httpserve.ReadBody(c.w, c.r, h.maxBody, time.Now().Add(h.opts.BodyTimeout))
	if err != nil {
		return Patch{}, nil, bodyError(c, err)
	}
	return readPatch(body, ours)
}

func (h *Handler) get(c *call) (answer, error) {
	r, err := h.find(c)
	return answer{r.public(), "Tool retrieved successfully"}, err
}

// find returns a tool that is not deleted.
func (h *Handler) find(c *call) (StoredTool, error) {
	r, err := h.store.Get(c.ctx(), c.account, c.id)
	if err == nil && !r.DeletedAt.IsZero() {
		err = errNotFound
	}
	return r, err
}

var errNotFound = &Error{Code: CodeNotFound}

// updateLive changes a tool that is not deleted.
func (h *Handler) updateLive(c *call, change func(*StoredTool) error) (StoredTool, error) {
	return h.store.Update(c.ctx(), c.account, c.id, func(r *StoredTool) error {
		if !r.DeletedAt.IsZero() {
			return errNotFound
		}
		return change(r)
	})
}

func (h *Handler) put(c *call) (answer, error) {
	p, ps, err := h.readJSON(c)
	if err != nil {
		return answer{}, err
	}
	replace := h.opts.Put == PutReplace || h.opts.Put == PutByBody && p.complete()
	if replace {
		ps.require(p)
	}
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

func (h *Handler) remove(c *call) (answer, error) {
	_, err := h.updateLive(c, func(r *StoredTool) error {
		r.DeletedAt = time.Now().UTC()
		return nil
	})
	return confirmation(c, "Tool deleted successfully"), err
}

func (h *Handler) restore(c *call) (answer, error) {
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

func (h *Handler) source(c *call) (answer, error) {
	r, err := h.find(c)
	if err == nil && r.ScriptContent == "" {
		err = errNotFound
	}
	return answer{map[string]string{"id": c.id, "script": r.ScriptContent}, "Tool script retrieved successfully"}, err
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

var _ http.Handler = (*Handler)(nil)
