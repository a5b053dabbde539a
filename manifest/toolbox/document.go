package toolbox

import (
	"encoding/json"
	"fmt"

	"github.com/toolwire/toolwire/internal/strictjson"
)

// document is what a file says, before anything is checked but the form.
type document struct {
	adapters []adapterEntry
	tools    []toolEntry
	problems []Problem
}

type adapterEntry struct {
	Adapter
	place string
}

type toolEntry struct {
	Tool
	place string
	in    int // the adapter that it stands in, -1 for none
}

var (
	rootMembers    = []string{"adapters", "tools"}
	adapterMembers = []string{"id", "name", "description", "config_schema", "tools"}
	toolMembers    = []string{"name", "description", "parameters", "handler", "url", "detail_url", "adapter"}
)

// decode reads a document and keeps nothing of its bytes. Members of the wrong type are problems; what is not strict JSON is an error.
func decode(data []byte) (*document, error) {
	d := &document{}
	err := strictjson.Read(data, strictjson.Limits{}, func(r *strictjson.Reader) error {
		if r.Kind() == '[' {
			return d.toolList(r, "tools", -1)
		}
		return r.Object(rootMembers, func(name string) error {
			switch name {
			case "adapters":
				return d.list(r, "adapters", d.adapter)
			case "tools":
				return d.toolList(r, "tools", -1)
			}
			return nil
		})
	})
	if err != nil {
		return nil, &Error{Code: CodeJSON, Message: err.Error(), Err: err}
	}
	return d, nil
}

// list reads an array of objects. Each is read on its own, since only so an array can be walked.
func (d *document) list(r *strictjson.Reader, place string, each func(r *strictjson.Reader, place string) error) error {
	kind := r.Kind()
	raw, err := r.Value()
	if err != nil {
		return err
	}
	var entries []json.RawMessage
	if kind != '[' || json.Unmarshal(raw, &entries) != nil {
		if kind != 'n' {
			d.wrongType(place, "", "", "must be a list", kind)
		}
		return nil
	}
	for i, entry := range entries {
		at := fmt.Sprintf("%s[%d]", place, i)
		err := strictjson.Read(entry, strictjson.Limits{}, func(r *strictjson.Reader) error {
			if kind := r.Kind(); kind != '{' {
				d.wrongType(at, "", "", "must be an object", kind)
				return nil
			}
			return each(r, at)
		})
		if err != nil { // the case of a member's name: everything else has been checked
			d.problems = append(d.problems, Problem{Place: at, Rule: "wrong_case", Message: problemOf(err)})
		}
	}
	return nil
}

func problemOf(err error) string {
	if e, ok := err.(*strictjson.Error); ok {
		return e.Problem
	}
	return err.Error()
}

func (d *document) adapter(r *strictjson.Reader, place string) error {
	i := len(d.adapters)
	d.adapters = append(d.adapters, adapterEntry{place: place})
	return r.Object(adapterMembers, func(name string) (err error) {
		a := &d.adapters[i]
		switch name {
		case "id":
			err = d.text(r, place, name, &a.ID)
		case "name":
			err = d.text(r, place, name, &a.Name)
		case "description":
			err = d.text(r, place, name, &a.Description)
		case "config_schema":
			err = object(r, &a.ConfigSchema)
		case "tools":
			err = d.toolList(r, place+".tools", i)
		}
		return err
	})
}

func (d *document) toolList(r *strictjson.Reader, place string, adapter int) error {
	return d.list(r, place, func(r *strictjson.Reader, place string) error {
		t := toolEntry{place: place, in: adapter}
		err := r.Object(toolMembers, func(name string) (err error) {
			switch name {
			case "name":
				err = d.text(r, place, name, &t.Name)
			case "description":
				err = d.text(r, place, name, &t.Description)
			case "parameters":
				err = object(r, &t.Parameters)
			case "handler":
				err = d.text(r, place, name, &t.Handler)
			case "url":
				err = d.text(r, place, name, &t.URL)
			case "detail_url":
				err = d.text(r, place, name, &t.DetailURL)
			case "adapter":
				err = d.text(r, place, name, &t.Adapter)
			}
			return err
		})
		if err == nil {
			d.tools = append(d.tools, t)
		}
		return err
	})
}

// text reads a string; null is as good as nothing.
func (d *document) text(r *strictjson.Reader, place, field string, into *string) (err error) {
	if kind := r.Kind(); kind != '"' && kind != 'n' {
		d.wrongType(place, "", field, "must be a string", kind)
		_, err = r.Value()
		return err
	}
	*into, err = r.String()
	return err
}

// object reads a schema; null is as good as nothing. Whether it is one is judged later.
func object(r *strictjson.Reader, into *json.RawMessage) error {
	raw, err := r.Value()
	if string(raw) != "null" {
		*into = raw
	}
	return err
}

func (d *document) wrongType(place, name, field, must string, kind byte) {
	d.problems = append(d.problems, Problem{Place: place, Name: name, Field: field, Rule: "wrong_type",
		Message: must + ", not " + strictjson.KindName(kind)})
}
