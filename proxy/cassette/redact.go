package cassette

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/redact"
)

// Redacted replaces a secret on a tape. It is "[redacted]".
const Redacted = redact.Placeholder

// minSecret is the length in bytes from which a run token is searched for in bodies. A shorter one
// is not a secret and may be a common word.
const minSecret = 8

// redactor removes secrets from recordings, and from requests before they are compared with a
// recording. A redacted text stays unchanged when it is redacted again. A redactor is immutable.
type redactor struct {
	usual   bool // redact members with the usual names, and credentials in texts
	more    func(pointer, name string) bool
	tokens  *redact.Set // the run tokens
	decoded int         // how often the current text has been percent-decoded
}

// withTokens returns a redactor that removes these run tokens, too.
func (r *redactor) withTokens(tokens []string) *redactor {
	with := *r
	short := func(token string) bool { return len(token) < minSecret }
	with.tokens = redact.New(slices.DeleteFunc(slices.Clone(tokens), short)...)
	return &with
}

// body redacts a body: JSON as its value, anything else as text. raw is the compact JSON. If
// nothing was redacted, raw has the spelling of the body.
func (r *redactor) body(body []byte) (v *rawjson.Node, raw json.RawMessage, text string) {
	v, err := parseValue(body)
	if err != nil {
		return nil, nil, r.text(string(body))
	}
	changed := r.value("", v)
	encoded := json.RawMessage(v.Append(nil))
	if !changed {
		encoded = rawjson.Compact(body)
	}
	return v, encoded, ""
}

// value redacts v in place and reports whether it changed.
func (r *redactor) value(at string, v *rawjson.Node) (changed bool) {
	switch rawjson.Kind(v.Text) {
	case '{':
		secretValue := r.pair(at, v)
		for _, member := range v.Nodes {
			here := r.at(at, member.Name)
			kind := rawjson.Kind(member.Text)
			hides := kind != 'n' && kind != 't' && kind != 'f'
			switch {
			case hides && (r.secret(here, member.Name) || secretValue && isValue(member.Name)):
				if rawjson.Unquote(member.Text) != Redacted {
					*member, changed = rawjson.Node{Name: member.Name, Text: rawjson.Quote(Redacted)}, true
				}
			case r.value(here, member):
				changed = true
			}
		}
		if r.rename(v) {
			changed = true
		}
	case '[':
		for i, element := range v.Nodes {
			if r.value(r.at(at, strconv.Itoa(i)), element) {
				changed = true
			}
		}
	case '"':
		text := rawjson.Unquote(v.Text)
		if clean := r.string(text); clean != text {
			v.Text, changed = rawjson.Quote(clean), true
		}
	case '0':
		if number := string(v.Text); r.tokens.Text(number) != number {
			v.Text, changed = rawjson.Quote(Redacted), true
		}
	}
	return changed
}

// rename redacts the names of the members of an object. The names stay unique.
func (r *redactor) rename(object *rawjson.Node) (changed bool) {
	var taken map[string]int // how often a name has been given
	for _, member := range object.Nodes {
		clean := r.text(member.Name)
		if clean == member.Name {
			continue
		}
		if taken == nil {
			taken = make(map[string]int, len(object.Nodes))
			for _, other := range object.Nodes {
				taken[other.Name] = 1
			}
		}
		unique, n := clean, taken[clean]
		for ; taken[unique] > 0; unique = strconv.Itoa(n) + " " + clean {
			n++
		}
		taken[clean], taken[unique] = max(n, 1), max(taken[unique], 1)
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
func (r *redactor) pair(at string, object *rawjson.Node) bool {
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

// string redacts the content of a string, as JSON if it is JSON.
func (r *redactor) string(s string) string {
	if trimmed := strings.TrimSpace(s); trimmed != "" && (trimmed[0] == '{' || trimmed[0] == '[') {
		if v, err := parseValue([]byte(s)); err == nil {
			if !r.value("", v) {
				return s
			}
			return string(v.Append(nil))
		}
	}
	return r.text(s)
}

// at returns the pointer to a member or element. It is "" if no function asks for pointers.
func (r *redactor) at(at, segment string) string {
	if r.more == nil {
		return ""
	}
	return at + rawjson.Token(segment)
}

func (r *redactor) secret(at, name string) bool {
	return r.usual && redact.SecretName(name) || r.more != nil && r.more(at, name)
}
