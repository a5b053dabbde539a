package toolbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/toolwire/toolwire/internal/clip"
	"github.com/toolwire/toolwire/internal/rawjson"
)

// document is a document of the right form, whose contents are not checked.
type document struct {
	peer     bool // the platform wrote it, not the caller
	adapters []adapterEntry
	tools    []toolEntry
	problems []Problem
}

type adapterEntry struct {
	Adapter
	place place
}

type toolEntry struct {
	Tool
	of    Adapter // what the tool says about its adapter
	place place
	in    int // the index of the adapter that contains it, or -1
}

// place is where something stands in a document.
type place struct{ text, pointer string }

func (p place) element(i int) place {
	return place{fmt.Sprintf("%s[%d]", p.text, i), p.pointer + "/" + strconv.Itoa(i)}
}

// problem describes what is wrong with a member, or with the whole place if pointer is "". pointer
// is a JSON Pointer into the place. name is the name of an adapter or tool, if it has one.
func (p place) problem(name, pointer, code, message string) Problem {
	text := p.text
	if name != "" {
		text += " " + strconv.Quote(clip.Text(name, 128))
	}
	text += ": "
	if pointer != "" {
		text += pointer[1:] + " "
	}
	return Problem{Code: code, Pointer: p.pointer + pointer, Message: text + message}
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
		return nil, &Error{Code: CodeJSON, Message: err.Error(), Err: err}
	}
	return d, nil
}

// root returns what reads a valid document of one of the four forms.
func (d *document) root(data json.RawMessage) func(r *rawjson.Reader) error {
	if rawjson.Kind(data) == '[' {
		return func(r *rawjson.Reader) error { return d.toolList(r, place{"tools", ""}, -1) }
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
		return d.listing
	case has(toolMembers):
		return func(r *rawjson.Reader) error { return d.tool(r, place{"tool", ""}, -1) }
	}
	return func(r *rawjson.Reader) error {
		d.problems = append(d.problems, Problem{Code: "tools_missing",
			Message: "the document has no tools: it must be one definition, a list of them, " +
				"or an object with tools, adapters or results"})
		return r.Object(rootMembers, func(string) error { return nil })
	}
}

// whole reads a document with adapters and tools.
func (d *document) whole(r *rawjson.Reader) error {
	return r.Object(rootMembers, func(name string) error {
		at := place{name, "/" + name}
		switch name {
		case "adapters":
			return d.list(r, at, d.adapter)
		case "tools":
			return d.toolList(r, at, -1)
		}
		return nil
	})
}

// listing reads a response of the platform's API, which must have all tools.
func (d *document) listing(r *rawjson.Reader) error {
	return r.Object(listingMembers, func(name string) error {
		if name == "results" {
			if r.Kind() == 'n' {
				d.wrongType(place{name, "/" + name}, "", "must be a list", 'n')
			}
			return d.toolList(r, place{name, "/" + name}, -1)
		}
		raw, err := r.Value()
		more := name == "next" && rawjson.Kind(raw) != 'n' || string(rawjson.Member(raw, "has_more")) == "true"
		if err == nil && more {
			d.problems = append(d.problems, Problem{Code: "listing_incomplete", Pointer: "/" + name,
				Message: name + " says that the listing has more pages; Client.Tools reads all of them"})
		}
		return err
	})
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
func (d *document) list(r *rawjson.Reader, at place, each func(r *rawjson.Reader, at place) error) error {
	kind := r.Kind()
	raw, err := r.Value()
	if err != nil {
		return err
	}
	if kind != '[' {
		if kind != 'n' {
			d.wrongType(at, "", "must be a list", kind)
		}
		return nil
	}
	i := 0
	for entry := range rawjson.Elements(raw) {
		at := at.element(i)
		i++
		err := d.read(entry, func(r *rawjson.Reader) error {
			if kind := r.Kind(); kind != '{' {
				d.wrongType(at, "", "must be an object", kind)
				return nil
			}
			return each(r, at)
		})
		if err != nil { // the case of a name: Read has checked the rest with the whole document
			d.problems = append(d.problems, at.problem("", "", "wrong_case", problemOf(err)))
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

func (d *document) adapter(r *rawjson.Reader, at place) error {
	i := len(d.adapters)
	d.adapters = append(d.adapters, adapterEntry{place: at})
	return d.object(r, adapterMembers, func(name string) (err error) {
		a := &d.adapters[i]
		switch name {
		case "id":
			err = d.id(r, at, name, &a.ID)
		case "name":
			err = d.text(r, at, name, &a.Name)
		case "description":
			err = d.text(r, at, name, &a.Description)
		case "config_schema":
			err = schemaOf(r, &a.ConfigSchema)
		case "tools":
			if !d.peer {
				err = d.toolList(r, place{at.text + ".tools", at.pointer + "/tools"}, i)
			}
		}
		return err
	})
}

func (d *document) toolList(r *rawjson.Reader, at place, adapter int) error {
	return d.list(r, at, func(r *rawjson.Reader, at place) error { return d.tool(r, at, adapter) })
}

func (d *document) tool(r *rawjson.Reader, at place, adapter int) error {
	t := toolEntry{place: at, in: adapter}
	err := d.object(r, toolMembers, func(name string) (err error) {
		switch name {
		case "name":
			err = d.text(r, at, name, &t.Name)
		case "description":
			err = d.text(r, at, name, &t.Description)
		case "parameters":
			err = schemaOf(r, &t.Parameters)
		case "handler":
			err = d.text(r, at, name, &t.Handler)
		case "url":
			err = d.text(r, at, name, &t.URL)
		case "detail_url":
			err = d.text(r, at, name, &t.DetailURL)
		case "adapter":
			err = d.reference(r, at, &t.of)
			t.Adapter = t.of.Name
		}
		return err
	})
	if err == nil {
		d.tools = append(d.tools, t)
	}
	return err
}

// text reads a string. Null means "".
func (d *document) text(r *rawjson.Reader, at place, member string, into *string) (err error) {
	if kind := r.Kind(); kind != '"' && kind != 'n' {
		d.wrongType(at, "/"+member, "must be a string", kind)
		_, err = r.Value()
		return err
	}
	*into, err = r.String()
	return err
}

// id reads a string or a number, whose digits are the id.
func (d *document) id(r *rawjson.Reader, at place, member string, into *string) error {
	if r.Kind() == '0' {
		raw, err := r.Value()
		*into = string(raw)
		return err
	}
	return d.text(r, at, member, into)
}

// reference reads what a tool says about its adapter: a name or an id, or an object with both.
func (d *document) reference(r *rawjson.Reader, at place, into *Adapter) error {
	if r.Kind() != '{' {
		return d.id(r, at, "adapter", &into.Name)
	}
	err := d.object(r, adapterMembers[:2], func(name string) error {
		if name == "id" {
			return d.id(r, at, "adapter/id", &into.ID)
		}
		if name == "name" {
			return d.text(r, at, "adapter/name", &into.Name)
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

func (d *document) wrongType(at place, pointer, must string, kind byte) {
	d.problems = append(d.problems, at.problem("", pointer, "wrong_type", must+", not "+rawjson.KindName(kind)))
}
