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
func (r *redactor) body(body []byte) (v *value, raw json.RawMessage, text string) {
	v, err := parseValue(body)
	if err != nil {
		return nil, nil, r.text(string(body))
	}
	changed := r.value("", v)
	encoded := v.encode()
	if !changed {
		encoded = compact(body)
	}
	return v, encoded, ""
}

// value redacts v in place and reports whether it changed.
func (r *redactor) value(at string, v *value) (changed bool) {
	switch v.kind {
	case '{':
		secretValue := r.pair(at, v)
		for i, name := range v.names {
			here := r.at(at, name)
			hides := v.items[i].kind != 'n' && v.items[i].kind != 't' && v.items[i].kind != 'f'
			switch {
			case hides && (r.secret(here, name) || secretValue && isValue(name)):
				if v.items[i].kind != '"' || v.items[i].text != Redacted {
					v.items[i], changed = &value{kind: '"', text: Redacted}, true
				}
			case r.value(here, v.items[i]):
				changed = true
			}
		}
		if r.rename(v) {
			changed = true
		}
	case '[':
		for i, item := range v.items {
			if r.value(r.at(at, strconv.Itoa(i)), item) {
				changed = true
			}
		}
	case '"':
		if clean := r.string(v.text); clean != v.text {
			v.text, changed = clean, true
		}
	case '0':
		if clean := r.tokens.Text(v.text); clean != v.text {
			*v, changed = value{kind: '"', text: Redacted}, true
		}
	}
	return changed
}

// rename redacts the names of the members of an object. The names stay unique.
func (r *redactor) rename(object *value) (changed bool) {
	var taken map[string]int // how often a name has been given
	for i, name := range object.names {
		clean := r.text(name)
		if clean == name {
			continue
		}
		if taken == nil {
			taken = make(map[string]int, len(object.names))
			for _, other := range object.names {
				taken[other] = 1
			}
		}
		unique, n := clean, taken[clean]
		for ; taken[unique] > 0; unique = strconv.Itoa(n) + " " + clean {
			n++
		}
		taken[clean], taken[unique] = max(n, 1), max(taken[unique], 1)
		object.names[i], changed = unique, true
	}
	return changed
}

// isValue reports whether a member of this name has the value of a pair.
func isValue(name string) bool {
	return strings.EqualFold(name, "value") || strings.EqualFold(name, "values")
}

// pair reports whether an object is a header or parameter in the form {"name": "Authorization",
// "value": …}.
func (r *redactor) pair(at string, object *value) bool {
	for i, name := range object.names {
		switch strings.ToLower(name) {
		case "name", "key", "header":
			if of := object.items[i]; of.kind == '"' && r.secret(r.at(at, "value"), of.text) {
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
			return string(v.encode())
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
