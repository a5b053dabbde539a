package httpcall

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"unicode"

	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/redact"
	"github.com/toolwire/toolwire/internal/text"
)

// A Refusal is what a server says in the body of a response that refuses a request. Its texts are on one line
// and contain no secret.
type Refusal struct {
	Class      string   // the first error_class, or class of a member error or detail
	Codes      []string // the codes, errors and details that may be a class
	Statements []Statement
	Partial    bool   // there are no entries, and members that are not read may say more
	Text       string // the first KiB of the body
}

// A Statement is one message.
type Statement struct {
	Code    string // of the server
	Pointer string // a JSON Pointer into the request, as the server says it; "" if it names no place
	Message string
	Entry   bool // one of a list
}

const (
	maxMessage    = 1 << 10 // bytes of one message
	maxPointer    = 512     // bytes
	maxStep       = 80      // bytes of one token of a pointer
	maxStatements = 100
)

// Message returns the messages that name no place, joined in order, at most 1 KiB.
func (r *Refusal) Message() string {
	var parts []string
	for _, one := range r.Statements {
		if one.Pointer == "" && !slices.Contains(parts, one.Message) {
			parts = append(parts, one.Message)
		}
	}
	return text.Cut(strings.Join(parts, ": "), maxMessage)
}

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

// ReadRefusal reads FastAPI's {"detail": …}, {"message": "…"} and {"error": …}. A detail or error is a text, an
// object with error_class, code and message, or a list of {"loc": […], "msg": "…", "type": "…"}. An object that
// repeats one of these names says nothing. Other JSON has no statements, nor has HTML or broken JSON, which may
// contain anything. A body of other text is one message.
func ReadRefusal(header http.Header, body []byte, secrets *redact.Set) Refusal {
	r := refusalReader{secrets: secrets}
	r.Text = r.cut(string(body), maxMessage)
	switch body = bytes.TrimSpace(body); {
	case len(body) == 0 || body[0] == '<' || strings.Contains(header.Get("Content-Type"), "html"):
	case strings.IndexByte(`{["`, body[0]) < 0:
		r.add(Statement{Message: string(body)})
	case rawjson.Check(body, rawjson.Limits{Mode: rawjson.Liberal}) == nil:
		r.value(body, 0)
	}
	r.Partial = r.Partial && !slices.ContainsFunc(r.Statements, func(s Statement) bool { return s.Entry })
	return r.Refusal
}

type refusalReader struct {
	Refusal
	secrets *redact.Set
}

// value reads the body, or at level 1 and 2 a member of it.
func (r *refusalReader) value(v json.RawMessage, level int) {
	switch rawjson.Kind(v) {
	case '"':
		if level > 0 {
			r.addCode(v)
		}
		r.add(Statement{Message: rawjson.Unquote(v)})
	case '[':
		for entry := range rawjson.Elements(v) {
			if len(r.Statements) == maxStatements {
				return
			}
			m, _ := refusalMembers(entry)
			one := r.statement(m)
			one.Message, one.Entry = cmp.Or(one.Message, rawjson.Unquote(entry)), true
			r.Partial = r.Partial || one.Message == ""
			r.add(one)
		}
	case '{':
		if level > 1 {
			r.Partial = true
			return
		}
		m, more := refusalMembers(v)
		r.Partial = r.Partial || more
		r.Class = cmp.Or(r.Class, r.code(m["error_class"]))
		if level > 0 {
			r.Class = cmp.Or(r.Class, r.code(m["class"]))
		}
		r.addCode(m["code"])
		r.add(r.statement(m))
		for _, name := range []string{"detail", "error", "details", "problems"} {
			r.value(m[name], level+1)
		}
	}
}

var refusalNames = []string{
	"error_class", "class", "code", "type", "message", "msg", "detail", "details", "error", "problems", "loc",
	"pointer", "field",
}

// refusalMembers returns the members of an object that have one of refusalNames, and whether there are more. It
// returns none if one of these names is repeated.
func refusalMembers(v json.RawMessage) (m map[string]json.RawMessage, more bool) {
	if rawjson.Kind(v) != '{' {
		return nil, true
	}
	m = map[string]json.RawMessage{}
	err := rawjson.Read(v, rawjson.Limits{Mode: rawjson.Liberal}, func(r *rawjson.Reader) error {
		return r.Object(nil, func(name string) (err error) {
			if !slices.Contains(refusalNames, name) {
				more = true
				return nil
			}
			m[name], err = r.Value()
			return err
		}, refusalNames...)
	})
	if err != nil {
		return nil, true
	}
	return m, more
}

// statement reads a message with its code and its place.
func (r *refusalReader) statement(m map[string]json.RawMessage) Statement {
	s := Statement{
		Code:    cmp.Or(r.code(m["code"]), r.code(m["type"])),
		Message: cmp.Or(rawjson.Scalar(m["message"]), rawjson.Scalar(m["msg"])),
	}
	for step := range rawjson.Elements(m["loc"]) {
		if one := rawjson.Scalar(step); one != "" && len(s.Pointer) < maxPointer {
			s.Pointer += rawjson.Token(r.cut(one, maxStep))
		}
	}
	place := cmp.Or(rawjson.Scalar(m["pointer"]), rawjson.Scalar(m["field"]))
	if place != "" && place[0] != '/' {
		place = rawjson.Token(place)
	}
	s.Pointer = text.Cut(cmp.Or(s.Pointer, r.cut(place, maxPointer)), maxPointer)
	return s
}

func (r *refusalReader) add(s Statement) {
	if s.Message = r.cut(s.Message, maxMessage); s.Message != "" && len(r.Statements) < maxStatements {
		r.Statements = append(r.Statements, s)
	}
}

func (r *refusalReader) addCode(v json.RawMessage) {
	if code := r.code(v); code != "" {
		r.Codes = append(r.Codes, code)
	}
}

// code returns a text that looks like a code, or "".
func (r *refusalReader) code(v json.RawMessage) string {
	return text.Code(r.secrets.Redact(OneLine(rawjson.Scalar(v))))
}

// cut removes secrets before it cuts: a part of a secret is not recognized as one.
func (r *refusalReader) cut(s string, limit int) string {
	return text.Cut(r.secrets.Redact(OneLine(s)), limit)
}
