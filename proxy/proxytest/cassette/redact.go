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
	headerText = regexp.MustCompile(`(?i)\b((?:proxy-)?authorization|(?:set-)?cookie)(\s*:\s*)[^\r\n"']+`)
	bearerText = regexp.MustCompile(`(?i)\b(bearer|basic)(\s+|%20|\+)[A-Za-z0-9._~+/=-]{12,}`)
	userInfo   = regexp.MustCompile(`(://[^/\s:@"']*):[^/\s@"']+@`)
)

// text redacts free text: the run token anywhere, and credentials that can be told by what stands before them.
func (r *redactor) text(s string) string {
	s = r.token(s)
	if !r.usual || !strings.ContainsAny(s, " =:+%\t\n") {
		return s // as most strings are
	}
	if strings.Contains(s, "://") {
		s = userInfo.ReplaceAllString(s, "${1}:"+Redacted+"@")
	}
	lower := strings.ToLower(s)
	if strings.Contains(lower, "authorization") || strings.Contains(lower, "cookie") {
		s = headerText.ReplaceAllString(s, "${1}${2}"+Redacted)
	}
	if strings.Contains(lower, "bearer") || strings.Contains(lower, "basic") {
		s = bearerText.ReplaceAllString(s, "${1}${2}"+Redacted)
	}
	return assignments(s)
}

// assignments redacts what a text assigns to the name of a secret: password=…, "api_key": "…", &token=….
func assignments(s string) string {
	var b strings.Builder
	done := 0 // what is in b
	for i := 0; i < len(s); i++ {
		if s[i] != '=' && s[i] != ':' {
			continue
		}
		name := strings.TrimRight(s[done:i], " \t\r\n\"'\\")
		if at := strings.LastIndexFunc(name, notInName); !secretName(name[at+1:]) {
			continue
		}
		from, to := assigned(s, i+1)
		if from < to && s[from:to] != Redacted {
			b.WriteString(s[done:from])
			b.WriteString(Redacted)
			done = to
		}
		i = max(i, to-1)
	}
	if done == 0 {
		return s
	}
	return b.String() + s[done:]
}

func notInName(c rune) bool {
	return !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '.' || c == '-')
}

// assigned finds the value that begins at or after i: what is in quotes, or reaches to the next separator.
func assigned(s string, i int) (from, to int) {
	skip := func(cut string) { i = len(s) - len(strings.TrimLeft(s[i:], cut)) }
	skip(" \t\r\n\\")
	for _, scheme := range []string{"bearer ", "basic "} {
		if len(s) >= i+len(scheme) && strings.EqualFold(s[i:i+len(scheme)], scheme) {
			i += len(scheme)
			skip(" \t\r\n\\")
		}
	}
	if i < len(s) && (s[i] == '"' || s[i] == '\'') {
		return i + 1, closing(s, i)
	}
	if end := strings.IndexAny(s[i:], "& \t\r\n#\"',;"); end >= 0 {
		return i, i + end
	}
	return i, len(s)
}

// closing finds where the quotation ends that begins at i: before a quote that is escaped if the opening one is, and not if
// not. One that is not closed reaches to the end of the line.
func closing(s string, i int) int {
	escaped := s[i-1] == '\\'
	for j := i + 1; j < len(s); j++ {
		if s[j] == s[i] && (s[j-1] == '\\') == escaped {
			if escaped {
				return j - 1
			}
			return j
		}
	}
	if end := strings.IndexAny(s[i:], "\r\n"); end >= 0 {
		return i + end
	}
	return len(s)
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
