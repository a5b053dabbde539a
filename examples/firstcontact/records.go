package main

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/toolwire/toolwire/internal/rawjson"
)

// catalog returns the exchanges with a catalog, by their paths.
func (e *evidence) catalog() []*exchange {
	var list []*exchange
	for _, x := range e.of("client") {
		if strings.HasPrefix(x.path(), "/tools") {
			list = append(list, x)
		}
	}
	return list
}

// data returns the content of a catalog's envelope, or the whole document.
func data(doc json.RawMessage) json.RawMessage {
	if has(doc, "success") && has(doc, "data") {
		return at(doc, "/data")
	}
	return doc
}

// records returns the tool records of a response. list tells that they are those of a list.
func records(doc json.RawMessage) (found []json.RawMessage, list bool) {
	doc = data(doc)
	if rawjson.Kind(doc) == '[' {
		return slices.Collect(rawjson.Elements(doc)), true
	}
	if has(doc, "id") || has(doc, "name") {
		return []json.RawMessage{doc}, false
	}
	return nil, false
}

func judgeCatalogType(e *evidence, f *finding) {
	for _, x := range e.catalog() {
		sent := ""
		for _, name := range []string{"tool_type", "type"} {
			if field(x, name) != "" {
				sent = name
			}
		}
		switch method := x.request.Method; {
		case sent != "" && (method == http.MethodPost || method == http.MethodPut):
			if x.ok() {
				f.as(sent == "tool_type", place(&x.response), "a record is accepted with %s", sent)
			}
			for problem := range rawjson.Elements(at(body(&x.response), "/detail")) {
				for segment := range rawjson.Elements(at(problem, "/loc")) {
					if name := rawjson.Text(segment); field(x, name) != "" || name == "type" || name == "tool_type" {
						f.as(false, place(&x.response), "%d names the field %s", x.response.Status, name)
					}
				}
			}
		}
		if !x.ok() {
			continue
		}
		list, _ := records(body(&x.response))
		for _, record := range list {
			switch {
			case has(record, "tool_type"):
				f.as(true, place(&x.response), "a record has the member tool_type")
			case has(record, "type"):
				f.as(true, place(&x.response), "a record has the member type, which is read too")
			case has(record, "framework"):
				f.as(false, place(&x.response), "a record has neither tool_type nor type")
			}
		}
	}
}

// field returns the value of a field of a form or of a JSON object that is sent.
func field(x *exchange, name string) string {
	if x.request.Body == nil {
		return ""
	}
	for _, part := range x.request.Body.Form {
		if part[0] == name {
			return part[1]
		}
	}
	return text(body(&x.request), rawjson.Token(name))
}

func judgeToolboxPages(e *evidence, f *finding) {
	for _, x := range e.of("client") {
		path := x.path()
		if x.request.Method != http.MethodGet || !strings.HasPrefix(path, "/toolbox/") {
			continue
		}
		first := !strings.Contains(x.request.Target, "offset")
		doc := body(&x.response)
		switch status := x.response.Status; {
		case (status == 400 || status == 422) && first:
			f.as(false, place(&x.response), "the first request, which has no parameters of paging, is refused: %d",
				status)
		case !x.ok() || len(doc) == 0:
		case kind(doc) == "array":
			f.as(false, place(&x.response), "the list has no envelope; the client takes it as whole")
		case !has(doc, "results"):
			f.as(false, place(&x.response), "the response has no list results")
		case !has(doc, "pagination"):
			f.as(false, place(&x.response), "the list has no member pagination")
		case !has(at(doc, "/pagination"), "has_more"):
			f.as(false, place(&x.response), "the member pagination has no has_more")
		default:
			f.as(true, place(&x.response), "a list has results and pagination")
		}
	}
}

func judgeSourcePath(e *evidence, f *finding) {
	for _, x := range e.catalog() {
		path := x.path()
		if x.request.Method != http.MethodGet || x.response.Status == 0 {
			continue
		}
		switch {
		case strings.HasSuffix(path, "/source") && x.ok():
			f.as(true, place(&x.response), "the source is at /source")
		case strings.HasSuffix(path, "/script") && x.ok():
			f.as(false, place(&x.response), "the source is at /script")
		case strings.HasSuffix(path, "/script") && x.response.Status == http.StatusNotFound:
			f.as(false, place(&x.response), "the source is neither at /source nor at /script")
		}
	}
}

func judgeRedactedScripts(e *evidence, f *finding) {
	for _, x := range e.catalog() {
		if x.request.Method != http.MethodGet || !x.ok() {
			continue
		}
		found, list := records(body(&x.response))
		if !list {
			continue
		}
		for _, record := range found {
			script := at(record, "/script_content")
			switch s := rawjson.Text(script); {
			case script == nil:
				f.as(true, place(&x.response), "script_content is absent from a list")
			case kind(script) == "null", kind(script) == "string" && s == "":
				f.as(true, place(&x.response), "script_content is null or empty in a list")
			case strings.HasPrefix(s, "<masked"), kind(script) == "string" && !isShape(s) && !isSource(s):
				f.as(true, place(&x.response), "script_content is a mask in a list")
			case kind(script) == "string":
				f.as(false, place(&x.response), "script_content is %s in a list: source, or an unknown mask", s)
			default:
				f.as(false, place(&x.response), "script_content is of the kind %s in a list", kind(script))
			}
		}
	}
}

// isSource reports whether the content of a capture with content is more than a mask.
func isSource(s string) bool { return len(s) > 40 || strings.Contains(s, "\n") }

// judgeDeletedNames follows the names of a catalog through the capture.
func judgeDeletedNames(e *evidence, f *finding) {
	type key struct {
		session int
		value   string
	}
	names := map[key]string{} // of the tools, by id
	live := map[key]string{}  // the ids of the tools that are not deleted, by name
	gone := map[key]string{}  // those of the deleted ones
	for _, x := range e.catalog() {
		in := func(value string) key { return key{x.request.Session, value} }
		segments := strings.Split(strings.TrimPrefix(x.path(), "/tools/"), "/")
		id, last := in(segments[0]), segments[len(segments)-1]
		name := field(x, "name")
		switch method, status := x.request.Method, x.response.Status; {
		case method == http.MethodDelete && x.ok():
			if n := names[id]; n != "" {
				delete(live, in(n))
				gone[in(n)] = segments[0]
			}
		case method == http.MethodPost && last == "restore":
			taken := names[id] != "" && live[in(names[id])] != "" && live[in(names[id])] != segments[0]
			if taken && (status == http.StatusConflict || x.ok()) {
				f.as(status == http.StatusConflict, place(&x.response),
					"a deleted tool whose name is taken is restored: status %d", status)
			}
			if x.ok() && names[id] != "" {
				live[in(names[id])] = segments[0]
				delete(gone, in(names[id]))
			}
		case method == http.MethodPost && (last == "" || last == "tools" || last == "upload") && name != "":
			if gone[in(name)] != "" && live[in(name)] == "" && (status == http.StatusConflict || x.ok()) {
				f.as(x.ok(), place(&x.response), "a tool with the name of a deleted one is created: status %d", status)
			}
		}
		if !x.ok() || x.request.Method == http.MethodDelete {
			continue
		}
		found, _ := records(body(&x.response))
		for _, record := range found {
			if deleted := at(record, "/deleted_at"); deleted != nil && kind(deleted) != "null" {
				continue
			}
			if id, name := text(record, "/id"), text(record, "/name"); id != "" && name != "" {
				names[in(id)] = name
				live[in(name)] = id
			}
		}
	}
}
