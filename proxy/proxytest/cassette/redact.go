package cassette

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Redacted stands on a tape where a secret was.
const Redacted = "[redacted]"

// minSecret is how long a run token must be to be looked for in bodies: a shorter one is no secret, and common words
// would be taken for it.
const minSecret = 8

// redactor takes secrets out of what is recorded, and out of requests before they are compared with it. What it returns
// it would return unchanged, so that tapes can be redacted again. It is immutable.
type redactor struct {
	usual  bool // the usual names, and credentials in texts
	more   func(pointer, name string) bool
	tokens []string // the run token as it may be written, the longest first
}

// withTokens returns a redactor that also knows these run tokens.
func (r *redactor) withTokens(tokens []string) *redactor {
	var forms []string
	for _, token := range tokens {
		if len(token) < minSecret {
			continue
		}
		quoted := string(appendString(nil, token))
		escaped, _ := json.Marshal(token) // with <, > and & as \u003c
		forms = append(forms, token, url.QueryEscape(token), url.PathEscape(token),
			quoted[1:len(quoted)-1], string(escaped[1:len(escaped)-1]),
			base64.RawStdEncoding.EncodeToString([]byte(token)), base64.RawURLEncoding.EncodeToString([]byte(token)))
	}
	slices.SortFunc(forms, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	with := *r
	with.tokens = slices.Compact(forms)
	return &with
}

// body redacts a body: JSON as its value, anything else as text. raw is the body's own text, compact, as long as nothing
// had to be taken out.
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

// value redacts v in place and reports whether anything had to be taken out.
func (r *redactor) value(at string, v *value) (changed bool) {
	switch v.kind {
	case '{':
		secretValue := r.pair(at, v)
		for i, name := range v.names {
			here := r.at(at, name)
			if v.items[i].kind != 'n' && v.items[i].kind != 't' && v.items[i].kind != 'f' && // those hide nothing
				(r.secret(here, name) || secretValue && strings.EqualFold(name, "value")) {
				if v.items[i].kind != '"' || v.items[i].text != Redacted {
					v.items[i], changed = &value{kind: '"', text: Redacted}, true
				}
				continue
			}
			if r.value(here, v.items[i]) {
				changed = true
			}
			if clean := r.text(name); clean != name {
				for slices.Contains(v.names, clean) { // names stay unique
					clean += "'"
				}
				v.names[i], changed = clean, true
			}
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
		if clean := r.token(v.text); clean != v.text {
			*v, changed = value{kind: '"', text: Redacted}, true
		}
	}
	return changed
}

// pair reports whether an object is a header or parameter in the form {"name": "Authorization", "value": …}.
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

// string redacts what a string says, as JSON if it holds JSON.
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

// Credentials in texts.
var (
	bearerText = regexp.MustCompile(`(?i)\b(bearer|basic)(\s+|%20|\+)[A-Za-z0-9._~+/=-]{12,}`)
	headerText = regexp.MustCompile(`(?i)\b((?:proxy-)?authorization|(?:set-)?cookie)(\s*:\s*)[^\r\n"']+`)
	userInfo   = regexp.MustCompile(`(://[^/\s:@"']*):[^/\s@"']+@`)
	assignment = regexp.MustCompile(`(?i)([a-z0-9_.-]*(?:authorization|(?:api|access|secret|private)[-_. ]?key|tokens?|` +
		`passwords?|passwd|passphrase|pwd|secrets?|cookies?|credentials?|jwt))` +
		`(\\*["']?\s*[=:]\s*(?:(?:bearer|basic)\s+)?\\*)("[^"]*"|'[^']*'|["']?[^&\s#"',;]+)`)
)

// text redacts free text: the run token anywhere, and credentials that can be told by what stands before them.
func (r *redactor) text(s string) string {
	s = r.token(s)
	if !r.usual {
		return s
	}
	if strings.Contains(s, "://") {
		s = userInfo.ReplaceAllString(s, "${1}:"+Redacted+"@")
	}
	if !strings.ContainsAny(s, " =:+%\t\n") || !announced(s) {
		return s // as most strings are
	}
	s = headerText.ReplaceAllString(s, "${1}${2}"+Redacted)
	s = bearerText.ReplaceAllString(s, "${1}${2}"+Redacted)
	return assignment.ReplaceAllStringFunc(s, func(match string) string {
		part := assignment.FindStringSubmatch(match)
		if !secretName(part[1]) || strings.Trim(part[3], `"'`) == Redacted {
			return match
		}
		quote := part[3][:1]
		if quote != `"` && quote != "'" {
			quote = ""
		}
		return part[1] + part[2] + quote + Redacted + quote
	})
}

// announced reports whether a text has a word that may stand before a credential, so that the others need no closer look.
func announced(s string) bool {
	s = strings.ToLower(s)
	return slices.ContainsFunc([]string{
		"authorization", "key", "token", "passw", "passphrase", "pwd", "secret", "cookie", "credential", "jwt", "bearer", "basic",
	}, func(word string) bool { return strings.Contains(s, word) })
}

// at is the pointer to a member or element, for those who ask.
func (r *redactor) at(at, segment string) string {
	if r.more == nil {
		return ""
	}
	return below(at, segment)
}

// token takes the run token out.
func (r *redactor) token(s string) string {
	for _, form := range r.tokens {
		s = strings.ReplaceAll(s, form, Redacted)
	}
	return s
}

func (r *redactor) secret(at, name string) bool {
	return r.usual && secretName(name) || r.more != nil && r.more(at, name)
}

// secretEndings are how names of secrets end, in lower case and without separators.
var secretEndings = []string{
	"authorization", "apikey", "accesskey", "secretkey", "privatekey", "token", "password", "passwd", "passphrase", "pwd",
	"secret", "cookie", "credential", "passwords", "secrets", "cookies", "credentials",
}

func secretName(name string) bool {
	var buffer [64]byte
	plain := buffer[:0]
	for _, c := range []byte(name) {
		switch {
		case c == '-' || c == '_' || c == '.' || c == ' ':
		case c >= 'A' && c <= 'Z':
			plain = append(plain, c+'a'-'A')
		default:
			plain = append(plain, c)
		}
	}
	switch string(plain) {
	case "tokens", "jwt", "bearer":
		return true
	}
	for _, ending := range secretEndings {
		if len(plain) >= len(ending) && string(plain[len(plain)-len(ending):]) == ending {
			return true
		}
	}
	return false
}
