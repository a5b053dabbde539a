package capture

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/redact"
)

// printer writes the values of one message.
type printer struct {
	names   *placeholders
	content bool
	hide    *secrets
}

var (
	word       = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)
	memberName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]{0,63}$`)
	httpMethod = regexp.MustCompile(`^[A-Z]{1,16}$`)
)

func shape(kind string, size int) string { return fmt.Sprintf("<%s %d>", kind, size) }

// clean reports whether a text has no credential.
func (p *printer) clean(text string) bool { return !p.hide.more && p.hide.hidden(text) == text }

// name returns the name of a member, or its shape if it does not look like one.
func (p *printer) name(name string) string {
	if p.content {
		return p.text(name)
	}
	if memberName.MatchString(name) && p.clean(name) {
		return name
	}
	return shape("name", utf8.RuneCountInString(name))
}

func (p *printer) method(method string) string {
	if httpMethod.MatchString(method) && p.clean(method) {
		return method
	}
	return shape("method", len(method))
}

// plain returns a text of the protocol, or its shape if it is long, not ASCII, or has a credential.
func (p *printer) plain(text string) string {
	return p.ifClean(text, ' ', 200)
}

// ifClean returns a text of printable ASCII from lowest on, or its shape if it has other
// characters, more than most bytes, or a credential.
func (p *printer) ifClean(text string, lowest rune, most int) string {
	odd := strings.ContainsFunc(text, func(c rune) bool { return c < lowest || c > '~' })
	if odd || len(text) > most || !p.clean(text) {
		return shape("string", utf8.RuneCountInString(text))
	}
	return text
}

// text returns content without credentials. A text that is one becomes its placeholder.
func (p *printer) text(text string) string {
	if p.hide.is(text) {
		return p.names.of("token", text)
	}
	return p.hide.hidden(text)
}

// token returns the placeholder of a credential, behind its scheme.
func (p *printer) token(text string) string {
	if text == "" {
		return ""
	}
	if scheme, credential, ok := strings.Cut(text, " "); ok && (strings.EqualFold(scheme, "bearer") ||
		strings.EqualFold(scheme, "basic") || strings.EqualFold(scheme, "token")) {
		return scheme + " " + p.names.of("token", strings.TrimSpace(credential))
	}
	return p.names.of("token", text)
}

// id returns an id that is safe to log: an integer, or at most 128 visible characters.
func (p *printer) id(text string) string {
	return p.ifClean(text, '!', 128)
}

// maxPattern bounds a pattern. It is more than a label may have.
const maxPattern = 300

// pattern returns text with a for each letter, 9 for each digit, and x for each byte that is not
// ASCII.
func (p *printer) pattern(text string) string {
	if p.content {
		return p.text(text)
	}
	var b strings.Builder
	for i, c := range []byte(text) {
		switch {
		case i == maxPattern:
			return b.String() + shape("more", len(text)-i)
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
			b.WriteByte('a')
		case c >= '0' && c <= '9':
			b.WriteByte('9')
		case c >= 0x80:
			b.WriteByte('x')
		case c < ' ' || c == 0x7f:
			b.WriteByte('?')
		case strings.IndexByte(" /_-.:@", c) >= 0:
			b.WriteByte(c)
		default:
			b.WriteByte('!')
		}
	}
	return b.String()
}

// masked returns the shape of source code, or that of a mask in its place.
func masked(text string) string {
	rest := strings.ToLower(strings.Trim(text, "[]<>(){} \t\n"))
	masks := []string{"redacted", "hidden", "masked"}
	if strings.Trim(rest, "*•x.-#") == "" || slices.Contains(masks, rest) {
		return shape("masked", utf8.RuneCountInString(text))
	}
	return shape("string", utf8.RuneCountInString(text))
}

// headers returns headers with values as their policies say.
func (p *printer) headers(header http.Header) http.Header {
	out := http.Header{}
	for name, values := range header {
		policy := headerPolicy(name)
		shown := name
		if p.hide.hasFold(name) || !p.clean(name) || len(name) > 100 {
			shown = shape("name", len(name))
		}
		for _, value := range values[:min(len(values), 20)] {
			out[shown] = append(out[shown], p.scalar(value, policy))
		}
		slices.Sort(out[shown]) // headers whose names are hidden may be one
	}
	return out
}

// scalar returns a string as a policy says.
func (p *printer) scalar(text string, as policy) string {
	switch as {
	case plain:
		return p.plain(text)
	case ident:
		return p.id(text)
	case token:
		return p.token(text)
	case link:
		return p.url(text)
	case pattern:
		return p.pattern(text)
	}
	if as == words && word.MatchString(text) && p.clean(text) {
		return text
	}
	if as == tool && toolName.MatchString(text) && p.clean(text) {
		return text
	}
	if p.hide.is(text) {
		return p.names.of("token", text)
	}
	switch {
	case as == label && text != "" && !p.content:
		return p.names.of("id", text)
	case as == named && text != "" && !p.content:
		return p.names.of("name", text)
	case as == opaque: // a header that is not known may have a secret
		return shape("string", utf8.RuneCountInString(text))
	case p.content:
		return p.text(text)
	case as == script && text != "":
		return masked(text)
	case as == script:
		return ""
	}
	return shape("string", utf8.RuneCountInString(text))
}

// maxDepth bounds the nesting of what is written.
const maxDepth = 64

// value appends a value as its layout says. at is the name of the member.
func (p *printer) value(dst []byte, v json.RawMessage, l *layout, at string, depth int) []byte {
	if l == nil {
		l = contentLayout
	}
	kind := rawjson.Kind(v)
	opened := l.members != nil || p.content
	secret := l.as == token || l.as == content && redact.SecretName(at)
	hidden := p.content && secret && (kind == '{' || kind == '[' || kind == '0')
	number := kind == '0' && p.clean(string(v))
	switch {
	case kind == '"':
		as := l.as
		switch {
		case as == plain: // a number or a boolean is expected
			as = content
		case secret:
			as = token
		case l.only != nil && !slices.Contains(l.only, rawjson.Text(v)):
			as = content
		}
		return rawjson.AppendQuote(dst, p.scalar(rawjson.Text(v), as))
	case hidden, depth > maxDepth, kind == '{' && !opened, kind == '[' && !opened && l.as == content:
		return rawjson.AppendQuote(dst, shapeOf(v))
	case kind == '{':
		dst = append(dst, '{')
		unknown := 0
		for name, item := range rawjson.Members(v) {
			inner, known := l.members[name]
			if !known && !l.open && !p.content {
				unknown++
				continue
			}
			if dst[len(dst)-1] != '{' {
				dst = append(dst, ',')
			}
			dst = append(rawjson.AppendQuote(dst, p.name(name)), ':')
			dst = p.value(dst, item, inner, name, depth+1)
		}
		if unknown > 0 {
			if dst[len(dst)-1] != '{' {
				dst = append(dst, ',')
			}
			dst = append(dst, fmt.Sprintf(`"<members>":%d`, unknown)...)
		}
		return append(dst, '}')
	case kind == '[':
		dst = append(dst, '[')
		n := 0
		for item := range rawjson.Elements(v) {
			if n++; n > maxParts && !p.content {
				continue
			}
			if n > 1 {
				dst = append(dst, ',')
			}
			dst = p.value(dst, item, l, "", depth+1)
		}
		if n > maxParts && !p.content {
			dst = append(dst, fmt.Sprintf(`,"<elements %d>"`, n-maxParts)...)
		}
		return append(dst, ']')
	case kind == 'n':
		return append(dst, "null"...)
	case number && (p.content || l.as == plain || l.as == words && l.only == nil ||
		l.as == ident && len(v) <= 128):
		return append(dst, trimmed(v)...)
	case kind != '0' && (p.content || l.as == plain || l.as == words):
		return append(dst, trimmed(v)...)
	case kind == '0' && (l.as == label || l.as == named):
		return rawjson.AppendQuote(dst, p.names.of("id", string(trimmed(v))))
	}
	return rawjson.AppendQuote(dst, shapeOf(v))
}

func trimmed(v json.RawMessage) json.RawMessage {
	return json.RawMessage(strings.Trim(string(v), " \t\r\n"))
}

// telling are names of members that are written with the shape of an object, because they decide
// what it is. They are in the documents.
var telling = []string{
	"response", "error", "error_class", "detail", "messages", "session_id", "turn_id", "user_instruction",
	"latest_user_prompt", "input", "arguments", "args", "parameters", "harness_variant",
}

// shapeOf returns the shape of a value.
func shapeOf(v json.RawMessage) string {
	switch rawjson.Kind(v) {
	case '{':
		n, found := 0, []string{}
		for name := range rawjson.Members(v) {
			n++
			if slices.Contains(telling, name) && !slices.Contains(found, name) {
				found = append(found, name)
			}
		}
		if len(found) == 0 {
			return shape("object", n)
		}
		return fmt.Sprintf("<object %d: %s>", n, strings.Join(found, " "))
	case '[':
		n := 0
		for range rawjson.Elements(v) {
			n++
		}
		return shape("array", n)
	case '"':
		return shape("string", utf8.RuneCountInString(rawjson.Text(v)))
	case '0':
		text := string(trimmed(v))
		kind := "integer"
		if strings.ContainsAny(text, "eE") {
			kind = "exponent"
		} else if strings.Contains(text, ".") {
			kind = "decimal"
		}
		digits := 0
		for _, c := range text {
			if c >= '0' && c <= '9' {
				digits++
			}
		}
		if text[0] == '-' {
			kind = "negative " + kind
		}
		return shape(kind, digits)
	case 'n':
		return "<null>"
	}
	return "<boolean>"
}
