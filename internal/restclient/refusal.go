package restclient

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"unicode"

	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/text"
)

// Words are what a server may use in a failure to name a place of the request.
type Words struct {
	Tools   map[string]bool // names of tools; nil if the server says nothing about single tools
	List    string          // the pointer to the list that a member index counts in
	Members []string        // members of the body; a failure may have messages under their names
}

// Said is what a server says about a failure.
type Said struct {
	Class      string // the first member error_class
	Statements []Statement
}

// A Statement is one message.
type Statement struct {
	Tool    string // the tool that it is about, if the server names one
	Code    string // of the server
	Pointer string // a JSON Pointer into the request, as the server says it; "" if it names no place
	Message string
	Summary bool // other statements say what it is about
}

const (
	maxBody       = 1 << 20 // bytes of a body that is read
	maxMessage    = 1 << 10 // bytes of one message
	maxPointer    = 512     // bytes
	maxStep       = 80      // bytes of one token of a pointer
	maxName       = 128     // bytes of the name of a tool
	maxStatements = 100
	maxNesting    = 16     // levels of a body that are examined
	maxValues     = 10_000 // values of a body that are examined
)

// Message returns the messages that name no place, joined in order, at most 1 KiB.
func (s *Said) Message() string {
	var parts []string
	for _, one := range s.Statements {
		if one.Pointer == "" && one.Tool == "" && !slices.Contains(parts, one.Message) {
			parts = append(parts, one.Message)
		}
	}
	return text.Cut(strings.Join(parts, ": "), maxMessage)
}

// Hide returns a text of the server on one line, without secrets.
func (a *Response) Hide(text string) string { return a.hide.Redact(OneLine(text)) }

// OneLine returns a text on one line of valid UTF-8, without control characters and invisible ones.
func OneLine(text string) string {
	return strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		switch {
		case unicode.IsControl(r):
			return ' '
		case unicode.Is(unicode.Cf, r): // includes changes of the writing direction
			return -1
		}
		return r
	}, text)), " ")
}

// said reads the body of a refusal. The documents hardly define such bodies, so said searches JSON for
// messages. It takes other text as a message, except HTML and text that is almost JSON, which may
// contain anything. Of members with the same name it reads the first.
func (a *Response) said() Said {
	s := search{response: a}
	body := bytes.TrimSpace(a.Body)
	switch {
	case len(body) == 0 || body[0] == '<' || strings.Contains(a.Header.Get("Content-Type"), "html"):
	case strings.IndexByte(`{["`, body[0]) < 0:
		s.add(Statement{Message: string(body)})
	case rawjson.Read(body, rawjson.Limits{Mode: rawjson.Liberal}, func(*rawjson.Reader) error { return nil }) == nil:
		s.value(body, Statement{}, 0)
	}
	return s.said
}

// search collects the statements of a body. It examines no value twice.
type search struct {
	response *Response
	said     Said
	values   int
}

// The members with messages, and those that contain more statements. "detail" is FastAPI's.
var (
	messages   = []string{"message", "msg", "reason", "error", "errors", "detail", "details"}
	containers = []string{"error", "errors", "detail", "details", "tools", "problems"}
)

// value reads a value. at has what is known about its statements.
func (s *search) value(v json.RawMessage, at Statement, depth int) {
	if depth > maxNesting || len(s.said.Statements) >= maxStatements || s.values >= maxValues {
		return
	}
	s.values++
	switch rawjson.Kind(v) {
	case '"':
		at.Message = rawjson.Unquote(v)
		s.add(at)
	case '[':
		for element := range rawjson.Elements(v) {
			s.value(element, at, depth+1)
		}
	case '{':
		s.object(v, at, depth+1)
	}
}

func (s *search) add(one Statement) {
	if one.Message = text.Cut(s.response.Hide(one.Message), maxMessage); one.Message != "" {
		s.said.Statements = append(s.said.Statements, one)
	}
}

// object reads an entry as FastAPI sends it, {"loc": […], "msg": "…", "type": "…"}, an entry for a tool
// with its name or index, or messages by the name of a tool or of a member. It skips members that
// repeat the request.
func (s *search) object(v json.RawMessage, at Statement, depth int) {
	o, words := objectOf(v), &s.response.r.Words
	if s.said.Class == "" {
		s.said.Class = s.code(o.first("error_class"))
	}
	entry, before := s.locate(o, at), len(s.said.Statements)
	var own []string
	for _, name := range messages {
		if said := s.response.Hide(o.first(name)); said != "" && !slices.Contains(own, said) {
			own = append(own, said)
		}
	}
	for _, name := range containers {
		if kind := rawjson.Kind(o[name]); kind == '{' || kind == '[' {
			s.value(o[name], entry, depth)
			delete(o, name)
		}
	}
	for name := range rawjson.Members(v) {
		at, value := at, o[name]
		delete(o, name)
		switch {
		case value == nil: // read before
		case words.Tools[name]:
			at.Tool = name
			s.value(value, at, depth)
		case len(own) == 0 && slices.Contains(words.Members, name):
			at.Pointer += rawjson.Token(name)
			s.value(value, at, depth)
		}
	}
	if len(own) > 0 {
		entry.Summary = len(s.said.Statements) > before
		entry.Message = text.Cut(strings.Join(own, ": "), maxMessage)
		s.said.Statements = slices.Insert(s.said.Statements, before, entry)
	}
}

// locate returns at with the code, the tool and the pointer of an object. It hides secrets before it
// cuts and escapes the tokens.
func (s *search) locate(o object, at Statement) Statement {
	hide, words := s.response.Hide, &s.response.r.Words
	if code := s.code(o.first("code", "type")); code != "" {
		at.Code = code
	}
	if name := o.first("tool", "tool_name", "name"); name != "" && words.Tools != nil {
		at.Tool = text.Cut(hide(name), maxName)
	}
	if i := o.first("index"); i != "" && words.List != "" {
		at.Pointer = words.List + "/" + i
	}
	if loc := o["loc"]; rawjson.Kind(loc) == '[' && string(loc) != "[]" {
		at.Pointer = ""
		for step := range rawjson.Elements(loc) {
			if one := Scalar(step); one != "" && len(at.Pointer) < maxPointer {
				at.Pointer += rawjson.Token(text.Cut(hide(one), maxStep))
			}
		}
	}
	place := o.first("pointer", "field")
	if place != "" && place[0] != '/' {
		place = rawjson.Token(place)
	}
	at.Pointer = text.Cut(hide(at.Pointer+place), maxPointer)
	return at
}

// code returns a text that looks like a code, or "".
func (s *search) code(said string) string { return text.Code(s.response.Hide(said)) }

type object map[string]json.RawMessage

func objectOf(v json.RawMessage) object {
	o := object{}
	for name, value := range rawjson.Members(v) {
		if o[name] == nil {
			o[name] = value
		}
	}
	return o
}

// first returns the content of the first of these members that is a string or a number, and not empty.
func (o object) first(names ...string) string {
	for _, name := range names {
		if text := Scalar(o[name]); text != "" {
			return text
		}
	}
	return ""
}

// Scalar returns the content of a string, the digits of a number, and "" for anything else.
func Scalar(v json.RawMessage) string {
	if rawjson.Kind(v) == '0' {
		return string(v)
	}
	return rawjson.Unquote(v)
}
