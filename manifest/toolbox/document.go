package toolbox

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/internal/problem"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/text"
)

// document is a document of the right form, whose contents are not checked.
type document struct {
	peer     bool // the platform wrote it, not the caller
	adapters []adapterEntry
	tools    []toolEntry
	problems problem.List[toolwire.Problem]
	wrong    map[string]bool // the pointers to members of the wrong type

	// misspelt has members that are probably handler or url, by the pointers to their tools, of as many
	// tools as a list of problems has.
	misspelt map[string]string

	pagination, next json.RawMessage // of a listing; nil if it has none
}

type adapterEntry struct {
	Adapter
	at string // the pointer to it
}

type toolEntry struct {
	Tool
	of Adapter // what the tool says about its adapter
	at string  // the pointer to it
	in int     // the index of the adapter that contains it, or -1
}

var (
	rootMembers    = []string{"adapters", "tools"}
	listingMembers = []string{"results", "pagination", "next"}
	adapterMembers = []string{"id", "name", "description", "config_schema", "tools"}
	toolMembers    = []string{"name", "description", "parameters", "handler", "url", "detail_url", "adapter"}
)

// decode reads a document and does not keep data. A member of the wrong type is a problem. Text
// that is not strict JSON is an error.
func decode(data []byte) (*document, error) {
	d := &document{}
	err := d.read(data, func(r *rawjson.Reader) error {
		_, err := r.Value()
		return err
	})
	if err == nil {
		err = d.read(data, d.root(data)) // the names of the members decide how
	}
	if err != nil {
		e := &Error{Code: toolwire.CodeInvalidJSON, Message: err.Error(), Err: err}
		if rawjson.IsForeign(data) {
			e.Message += rawjson.Convert
		}
		return nil, e
	}
	return d, nil
}

// root returns what reads a valid document of one of the four forms.
func (d *document) root(data json.RawMessage) func(r *rawjson.Reader) error {
	if rawjson.Kind(data) == '[' {
		return func(r *rawjson.Reader) error { return d.toolList(r, "", -1) }
	}
	var names []string
	for name := range rawjson.Members(data) {
		names = append(names, name)
	}
	has := func(any []string) bool {
		return slices.ContainsFunc(any, func(name string) bool { return slices.Contains(names, name) })
	}
	switch {
	case has(rootMembers):
		return d.whole
	case has(listingMembers[:1]):
		return d.wholeListing
	case has(toolMembers):
		return func(r *rawjson.Reader) error { return d.tool(r, "", -1) }
	}
	return func(r *rawjson.Reader) error {
		d.problems.Add("tools_missing", "", "the document has no tools: it must be one definition, a list of them, "+
			"or an object with tools, adapters or results")
		return r.Object(rootMembers, func(string) error { return nil })
	}
}

// whole reads a document with adapters and tools.
func (d *document) whole(r *rawjson.Reader) error {
	return r.Object(rootMembers, func(name string) error {
		switch name {
		case "adapters":
			return d.list(r, "/adapters", d.adapter)
		case "tools":
			return d.toolList(r, "/tools", -1)
		}
		return nil
	})
}

// listing reads a response of the platform's API.
func (d *document) listing(r *rawjson.Reader, results func(r *rawjson.Reader, at string) error) error {
	return d.object(r, listingMembers, func(name string) (err error) {
		switch name {
		case "results":
			return results(r, "/results")
		case "pagination":
			d.pagination, err = r.Value()
		case "next":
			d.next, err = r.Value()
		}
		return err
	})
}

// wholeListing reads a listing that must have all tools.
func (d *document) wholeListing(r *rawjson.Reader) error {
	err := d.listing(r, func(r *rawjson.Reader, at string) error {
		if r.Kind() == 'n' {
			d.wrongType(at, "must be a list", 'n')
		}
		return d.toolList(r, at, -1)
	})
	const more = "says that the listing has more pages; Client.Tools reads all of them"
	if string(rawjson.Member(d.pagination, "has_more")) == "true" {
		d.problems.Add("listing_incomplete", "/pagination", more)
	}
	if !rawjson.IsNull(d.next) {
		d.problems.Add("listing_incomplete", "/next", more)
	}
	return err
}

// read reads a value of the document.
func (d *document) read(raw []byte, walk func(r *rawjson.Reader) error) error {
	limits := rawjson.Limits{}
	if d.peer {
		limits.Mode = rawjson.Liberal
	}
	return rawjson.Read(raw, limits, walk)
}

// object reads an object. Names in another case are problems, unless the platform wrote them.
func (d *document) object(r *rawjson.Reader, names []string, member func(name string) error) error {
	if d.peer {
		return r.Object(nil, member, names...)
	}
	return r.Object(names, member)
}

// list reads an array of objects, each with a reader of its own.
func (d *document) list(r *rawjson.Reader, at string, each func(r *rawjson.Reader, at string) error) error {
	kind := r.Kind()
	raw, err := r.Value()
	if err != nil {
		return err
	}
	if kind != '[' {
		if kind != 'n' {
			d.wrongType(at, "must be a list", kind)
		}
		return nil
	}
	i := 0
	for entry := range rawjson.Elements(raw) {
		if max(i, len(d.adapters)+len(d.tools)) > maxListed {
			d.problems.Add("too_many", at, "has more than %d adapters and tools; the others are not read", maxListed)
			break
		}
		at := at + "/" + strconv.Itoa(i)
		i++
		err := d.read(entry, func(r *rawjson.Reader) error {
			if kind := r.Kind(); kind != '{' {
				d.wrongType(at, "must be an object", kind)
				return nil
			}
			return each(r, at)
		})
		if err != nil { // the case of a name: Read has checked the rest with the whole document
			d.problems.Add("wrong_case", at, "%s", problemOf(err))
		}
	}
	return nil
}

func problemOf(err error) string {
	if e, ok := errors.AsType[*rawjson.Error](err); ok {
		return e.Problem
	}
	return err.Error()
}

func (d *document) adapter(r *rawjson.Reader, at string) error {
	i := len(d.adapters)
	d.adapters = append(d.adapters, adapterEntry{at: at})
	a := &d.adapters[i]
	err := d.object(r, adapterMembers, func(name string) error {
		switch name {
		case "id":
			return d.id(r, at, name, &a.ID)
		case "name":
			return d.stringMember(r, at, name, &a.Name)
		case "description":
			return d.stringMember(r, at, name, &a.Description)
		case "config_schema":
			return schemaOf(r, &a.ConfigSchema)
		case "tools":
			if !d.peer {
				return d.toolList(r, at+"/tools", i)
			}
		}
		return nil
	})
	d.named(d.adapters[i].Name, at)
	return err
}

func (d *document) toolList(r *rawjson.Reader, at string, adapter int) error {
	return d.list(r, at, func(r *rawjson.Reader, at string) error { return d.tool(r, at, adapter) })
}

func (d *document) tool(r *rawjson.Reader, at string, adapter int) error {
	t := toolEntry{at: at, in: adapter}
	err := d.object(r, toolMembers, func(name string) error {
		switch name {
		case "name":
			return d.stringMember(r, at, name, &t.Name)
		case "description":
			return d.stringMember(r, at, name, &t.Description)
		case "parameters":
			return schemaOf(r, &t.Parameters)
		case "handler":
			return d.stringMember(r, at, name, &t.Handler)
		case "url":
			return d.stringMember(r, at, name, &t.URL)
		case "detail_url":
			return d.stringMember(r, at, name, &t.DetailURL)
		case "adapter":
			return d.reference(r, at, &t.of)
		}
		if len(d.misspelt) < 100 && text.Nearest(name, []string{"handler", "url"}) != "" {
			if d.misspelt == nil {
				d.misspelt = map[string]string{}
			}
			d.misspelt[at] = name
		}
		return nil
	})
	if t.Adapter = t.of.Name; err == nil {
		d.named(t.Name, at)
		d.tools = append(d.tools, t)
	}
	return err
}

// named reports an entry of a listing that has no name. [Parse] reports others.
func (d *document) named(name, at string) {
	if d.peer && name == "" {
		d.problems.Add("name_missing", at, "has no name")
	}
}

// stringMember reads a string. Null means "".
func (d *document) stringMember(r *rawjson.Reader, at string, member string, into *string) (err error) {
	if kind := r.Kind(); kind != '"' && kind != 'n' {
		d.wrongType(at+"/"+member, "must be a string", kind)
		_, err = r.Value()
		return err
	}
	*into, err = r.String()
	return err
}

// id reads a string or a number, whose digits are the id.
func (d *document) id(r *rawjson.Reader, at string, member string, into *string) error {
	if r.Kind() == '0' {
		raw, err := r.Value()
		*into = string(raw)
		return err
	}
	return d.stringMember(r, at, member, into)
}

// reference reads what a tool says about its adapter: a name or an id, or an object with both.
func (d *document) reference(r *rawjson.Reader, at string, into *Adapter) error {
	if r.Kind() != '{' {
		return d.id(r, at, "adapter", &into.Name)
	}
	err := d.object(r, adapterMembers[:2], func(name string) error {
		if name == "id" {
			return d.id(r, at, "adapter/id", &into.ID)
		}
		if name == "name" {
			return d.stringMember(r, at, "adapter/name", &into.Name)
		}
		return nil
	})
	if into.Name == "" {
		into.Name = into.ID
	}
	return err
}

// schemaOf reads a schema. Null means that there is none.
func schemaOf(r *rawjson.Reader, into *json.RawMessage) error {
	raw, err := r.Value()
	if string(raw) != "null" {
		*into = slices.Clone(raw)
	}
	return err
}

func (d *document) wrongType(pointer, must string, kind byte) {
	d.problems.Add("wrong_type", pointer, "%s, not %s", must, rawjson.KindName(kind))
	if d.wrong == nil {
		d.wrong = map[string]bool{}
	}
	d.wrong[pointer] = true
}
