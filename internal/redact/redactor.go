package redact

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/toolwire/toolwire/internal/rawjson"
)

// A Redactor replaces secrets in recordings: in JSON by the names of members, in texts by the names
// and schemes of credentials, and the secrets of a set anywhere. Redacting a second time changes
// nothing. The zero Redactor replaces nothing. Its methods are safe for concurrent use if Member is.
type Redactor struct {
	Credentials bool                            // replace members with a [SecretName], and credentials in texts
	Member      func(pointer, name string) bool // reports whether a member is a secret, too; may be nil
	Secrets     *Set
}

// Body redacts a body: strict JSON as its value, anything else as text. raw is the compact JSON. If
// nothing was redacted, raw has the spelling of the body.
func (r *Redactor) Body(body []byte) (v *rawjson.Node, raw json.RawMessage, text string) {
	if rawjson.Check(body, rawjson.Limits{}) != nil {
		return nil, nil, r.Redact(string(body))
	}
	v = rawjson.Parse(body)
	changed := r.value("", v, 0)
	raw = v.Append(nil)
	if !changed {
		raw = rawjson.Compact(body)
	}
	return v, raw, ""
}

// Redact redacts a text that is not read as JSON.
func (r *Redactor) Redact(s string) string { return r.redact(s, 0) }

// value redacts v in place and reports whether it changed. decoded is how often the text that
// contains v was percent-decoded.
func (r *Redactor) value(at string, v *rawjson.Node, decoded int) (changed bool) {
	switch rawjson.Kind(v.Text) {
	case '{':
		secretValue := r.pair(at, v)
		for _, member := range v.Nodes {
			here := r.at(at, member.Name)
			kind := rawjson.Kind(member.Text)
			hides := kind != 'n' && kind != 't' && kind != 'f'
			switch {
			case hides && (r.secret(here, member.Name) || secretValue && isValue(member.Name)):
				if rawjson.Unquote(member.Text) != Placeholder {
					*member, changed = rawjson.Node{Name: member.Name, Text: rawjson.Quote(Placeholder)}, true
				}
			case r.value(here, member, decoded):
				changed = true
			}
		}
		if r.rename(v, decoded) {
			changed = true
		}
	case '[':
		for i, element := range v.Nodes {
			if r.value(r.at(at, strconv.Itoa(i)), element, decoded) {
				changed = true
			}
		}
	case '"':
		text := rawjson.Unquote(v.Text)
		if clean := r.content(text, decoded); clean != text {
			v.Text, changed = rawjson.Quote(clean), true
		}
	case '0':
		if number := string(v.Text); r.Secrets.Redact(number) != number {
			v.Text, changed = rawjson.Quote(Placeholder), true
		}
	}
	return changed
}

// rename redacts the names of the members of an object. The names stay unique.
func (r *Redactor) rename(object *rawjson.Node, decoded int) (changed bool) {
	var given map[string]int // how often a name has been given
	for _, member := range object.Nodes {
		clean := r.redact(member.Name, decoded)
		if clean == member.Name {
			continue
		}
		if given == nil {
			given = make(map[string]int, len(object.Nodes))
			for _, other := range object.Nodes {
				given[other.Name] = 1
			}
		}
		unique, n := clean, given[clean]
		for ; given[unique] > 0; unique = strconv.Itoa(n) + " " + clean {
			n++
		}
		given[clean], given[unique] = max(n, 1), max(given[unique], 1)
		member.Name, changed = unique, true
	}
	return changed
}

// isValue reports whether a member of this name has the value of a pair.
func isValue(name string) bool {
	return strings.EqualFold(name, "value") || strings.EqualFold(name, "values")
}

// pair reports whether an object is a header or parameter in the form {"name": "Authorization",
// "value": …}.
func (r *Redactor) pair(at string, object *rawjson.Node) bool {
	for _, m := range object.Nodes {
		switch strings.ToLower(m.Name) {
		case "name", "key", "header":
			if rawjson.Kind(m.Text) == '"' && r.secret(r.at(at, "value"), rawjson.Unquote(m.Text)) {
				return true
			}
		}
	}
	return false
}

// content redacts the content of a string, as JSON if it is JSON.
func (r *Redactor) content(s string, decoded int) string {
	trimmed := strings.TrimSpace(s)
	if trimmed == "" || trimmed[0] != '{' && trimmed[0] != '[' || rawjson.Check([]byte(s), rawjson.Limits{}) != nil {
		return r.redact(s, decoded)
	}
	v := rawjson.Parse([]byte(s))
	if !r.value("", v, decoded) {
		return s
	}
	return string(v.Append(nil))
}

// at returns the pointer to a member or element. It is "" if no function asks for pointers.
func (r *Redactor) at(at, segment string) string {
	if r.Member == nil {
		return ""
	}
	return at + rawjson.Token(segment)
}

func (r *Redactor) secret(at, name string) bool {
	return r.Credentials && SecretName(name) || r.Member != nil && r.Member(at, name)
}
