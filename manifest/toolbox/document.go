package toolbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/toolwire/toolwire/internal/clip"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/strictjson"
)

// document is a document of the right form, whose contents are not checked.
type document struct {
	adapters []adapterEntry
	tools    []toolEntry
	problems []Problem
}

type adapterEntry struct {
	adapter
	configSchema json.RawMessage
	place        place
}

type toolEntry struct {
	Tool
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
	adapterMembers = []string{"id", "name", "description", "config_schema", "tools"}
	toolMembers    = []string{"name", "description", "parameters", "handler", "url", "detail_url", "adapter"}
)

// decode reads a document and does not keep data. A member of the wrong type is a problem. Text
// that is not strict JSON is an error.
func decode(data []byte) (*document, error) {
	d := &document{}
	err := strictjson.Read(data, strictjson.Limits{}, func(r *strictjson.Reader) error {
		if r.Kind() == '[' {
			return d.toolList(r, place{"tools", ""}, -1)
		}
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
	})
	if err != nil {
		return nil, &Error{Code: CodeJSON, Message: err.Error(), Err: err}
	}
	return d, nil
}

// list reads an array of objects, each with a reader of its own.
func (d *document) list(r *strictjson.Reader, at place, each func(r *strictjson.Reader, at place) error) error {
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
		err := strictjson.Read(entry, strictjson.Limits{}, func(r *strictjson.Reader) error {
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
	if e, ok := errors.AsType[*strictjson.Error](err); ok {
		return e.Problem
	}
	return err.Error()
}

func (d *document) adapter(r *strictjson.Reader, at place) error {
	i := len(d.adapters)
	d.adapters = append(d.adapters, adapterEntry{place: at})
	return r.Object(adapterMembers, func(name string) (err error) {
		a := &d.adapters[i]
		switch name {
		case "id":
			err = d.text(r, at, name, &a.id)
		case "name":
			err = d.text(r, at, name, &a.name)
		case "description":
			err = d.text(r, at, name, new(string))
		case "config_schema":
			err = object(r, &a.configSchema)
		case "tools":
			err = d.toolList(r, place{at.text + ".tools", at.pointer + "/tools"}, i)
		}
		return err
	})
}

func (d *document) toolList(r *strictjson.Reader, at place, adapter int) error {
	return d.list(r, at, func(r *strictjson.Reader, at place) error {
		t := toolEntry{place: at, in: adapter}
		err := r.Object(toolMembers, func(name string) (err error) {
			switch name {
			case "name":
				err = d.text(r, at, name, &t.Name)
			case "description":
				err = d.text(r, at, name, &t.Description)
			case "parameters":
				err = object(r, &t.Parameters)
			case "handler":
				err = d.text(r, at, name, &t.Handler)
			case "url":
				err = d.text(r, at, name, &t.URL)
			case "detail_url":
				err = d.text(r, at, name, &t.DetailURL)
			case "adapter":
				err = d.text(r, at, name, &t.Adapter)
			}
			return err
		})
		if err == nil {
			d.tools = append(d.tools, t)
		}
		return err
	})
}

// text reads a string. Null means "".
func (d *document) text(r *strictjson.Reader, at place, member string, into *string) (err error) {
	if kind := r.Kind(); kind != '"' && kind != 'n' {
		d.wrongType(at, "/"+member, "must be a string", kind)
		_, err = r.Value()
		return err
	}
	*into, err = r.String()
	return err
}

// object reads a schema. Null means that there is none.
func object(r *strictjson.Reader, into *json.RawMessage) error {
	raw, err := r.Value()
	if string(raw) != "null" {
		*into = slices.Clone(raw)
	}
	return err
}

func (d *document) wrongType(at place, pointer, must string, kind byte) {
	d.problems = append(d.problems, at.problem("", pointer, "wrong_type", must+", not "+strictjson.KindName(kind)))
}
