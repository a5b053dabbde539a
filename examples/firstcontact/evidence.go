package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/toolwire/toolwire/dispatch/capture"
	"github.com/toolwire/toolwire/internal/rawjson"
)

// evidence is a capture, read for the judges.
type evidence struct {
	exchanges []*exchange
	captures  int
	runs      map[string]bool
	content   bool
	from, to  time.Time
	problems  []string
	surprises []string
}

// exchange is a request and its response. Either may be empty, if a line is missing.
type exchange struct {
	request, response capture.Record
}

// An observation is what one line shows.
type observation struct {
	place string
	text  string
}

// newEvidence joins the records.
func newEvidence(records []capture.Record) *evidence {
	e := &evidence{runs: map[string]bool{}}
	type key struct {
		session int
		number  int64
	}
	known := map[key]*exchange{}
	lost, closed := map[int]int64{}, map[int]bool{}
	for _, r := range records {
		switch r.Kind {
		case "start":
			e.captures++
			e.content = e.content || r.Content
		case "end":
			closed[r.Session] = true
		case "broken":
			e.problems = append(e.problems, fmt.Sprintf("line %d is left out: %s", r.Line, r.Problem))
			continue
		}
		lost[r.Session] = max(lost[r.Session], r.Lost)
		if e.from.IsZero() || r.Time.Before(e.from) {
			e.from = r.Time
		}
		if r.Time.After(e.to) {
			e.to = r.Time
		}
		if r.Kind != "request" && r.Kind != "response" {
			continue
		}
		k := key{r.Session, r.Exchange}
		x := known[k]
		if x == nil {
			x = &exchange{}
			known[k] = x
			e.exchanges = append(e.exchanges, x)
		}
		if r.Kind == "request" {
			x.request = r
		} else {
			x.response = r
		}
		if r.Run != "" {
			e.runs[fmt.Sprint(r.Session, r.Run)] = true
		}
	}
	for _, session := range slices.Sorted(maps.Keys(lost)) {
		if n := lost[session]; n > 0 {
			e.problems = append(e.problems,
				fmt.Sprintf("capture %d lacks %s that could not be written", session, count(int(n), "message")))
		}
	}
	for session := range e.captures {
		if !closed[session+1] {
			e.problems = append(e.problems,
				fmt.Sprintf("capture %d has no end: it was not closed, and messages may be missing", session+1))
		}
	}
	e.surprises = surprises(e)
	return e
}

// place names the line of a record.
func place(r *capture.Record) string {
	line := fmt.Sprintf("line %d", r.Line)
	if r.Run != "" {
		line = r.Run + ", " + line
	}
	return line
}

// of returns the exchanges of a side that have a request.
func (e *evidence) of(side string) []*exchange {
	var list []*exchange
	for _, x := range e.exchanges {
		if x.request.Line > 0 && x.request.Side == side {
			list = append(list, x)
		}
	}
	return list
}

// path returns the target without its placeholder and its query: /tools/get_order.
func (x *exchange) path() string {
	path, _, _ := strings.Cut(x.request.Target, "?")
	if _, after, found := strings.Cut(path, "/"); found {
		return "/" + after
	}
	return ""
}

// isTool and isTrace report whether the exchange is a call of a tool or a trace event.
func (x *exchange) isTool() bool {
	return x.request.Side == "call" && strings.HasPrefix(x.path(), "/tools/")
}

func (x *exchange) isTrace() bool {
	return x.request.Side == "call" && strings.HasPrefix(x.path(), "/traces/")
}

// ok reports whether the response has a status of success.
func (x *exchange) ok() bool { return x.response.Status >= 200 && x.response.Status <= 299 }

// body returns the JSON of a message; nil if it is not JSON.
func body(r *capture.Record) json.RawMessage {
	if r.Body == nil {
		return nil
	}
	return r.Body.JSON
}

// at returns the value at the pointer, nil if there is none.
func at(doc json.RawMessage, pointer string) json.RawMessage {
	if len(doc) == 0 {
		return nil
	}
	value, _ := rawjson.At(doc, pointer)
	return value
}

// text returns the string at the pointer. It may be a shape.
func text(doc json.RawMessage, pointer string) string { return rawjson.Text(at(doc, pointer)) }

// isShape reports whether a text stands for a value.
func isShape(text string) bool { return strings.HasPrefix(text, "<") && strings.HasSuffix(text, ">") }

// kind tells what a value is, or was before a shape replaced it: object, array, string, number,
// boolean, null, or "" if there is none.
func kind(v json.RawMessage) string {
	if s := rawjson.Text(v); isShape(s) {
		word, _, _ := strings.Cut(s[1:len(s)-1], " ")
		switch word {
		case "integer", "decimal", "exponent", "negative":
			return "number"
		case "masked":
			return "string"
		}
		return word
	}
	switch rawjson.Kind(v) {
	case '{':
		return "object"
	case '[':
		return "array"
	case '"':
		return "string"
	case '0':
		return "number"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	}
	return ""
}

// has reports whether an object has a member, or its shape says so.
func has(v json.RawMessage, name string) bool {
	if s := rawjson.Text(v); isShape(s) {
		_, names, _ := strings.Cut(strings.Trim(s, "<>"), ": ")
		return slices.Contains(strings.Fields(names), name)
	}
	return rawjson.Member(v, name) != nil
}

// errorClass returns the error class of a response, "" if it has none.
func (x *exchange) errorClass() string {
	doc := body(&x.response)
	for _, pointer := range []string{"/detail/error_class", "/error_class"} {
		if class := text(doc, pointer); class != "" {
			return class
		}
	}
	return ""
}
