// This file guesses. It hides from tapes, which people share, what looks like a credential in free text:
// the values of names and schemes that are known to carry one. It misses others, and hides some innocent
// text. A [Set] hides the secrets that it is given and does not guess.

package redact

import (
	"net/url"
	"regexp"
	"strings"
)

// Credentials in texts.
var (
	headerName = regexp.MustCompile("(?i)([\"'`]?)\\b(?:(?:proxy-)?authorization|(?:set-)?cookie)\\s*:\\s*")
	bearerText = regexp.MustCompile(`(?i)\b(bearer|basic)(\s+|%20|\+)[A-Za-z0-9._~+/=-]{12,}`)
	userInfo   = regexp.MustCompile(`(://[^/\s:@"']*):[^/\s@"']+@`)
)

// redact redacts free text: the secrets of the set anywhere, and credentials that follow a known name.
func (r *Redactor) redact(s string, decoded int) string {
	s = r.Secrets.Redact(s)
	if !r.Credentials || !strings.ContainsAny(s, " =:+%\t\n") {
		return s // most strings have none of these
	}
	if strings.Contains(s, "://") {
		s = userInfo.ReplaceAllString(s, "${1}:"+Placeholder+"@")
	}
	lower := strings.ToLower(s)
	if strings.Contains(lower, "authorization") || strings.Contains(lower, "cookie") {
		s = headers(s)
	}
	if strings.Contains(lower, "bearer") || strings.Contains(lower, "basic") {
		s = bearerText.ReplaceAllString(s, "${1}${2}"+Placeholder)
	}
	return r.assignments(s, decoded)
}

// headers redacts the values of headers, to the end of the line or of the quotation that the name
// begins.
func headers(s string) string {
	hidden, done := marks{size: len(s)}, 0
	for _, at := range headerName.FindAllStringSubmatchIndex(s, -1) {
		from, to := at[1], len(s)
		if from < done {
			continue
		}
		if quote := at[2]; quote < at[3] {
			to = closing(s, quote)
		} else if end := strings.IndexAny(s[from:], "\r\n"); end >= 0 {
			to = from + end
		}
		if from < to {
			hidden.add(from, to)
			done = to
		}
	}
	return hidden.apply(s)
}

// assignments redacts what a text assigns to the name of a secret: password=…, "api_key": "…",
// &token=…. A value of any other name may be percent-encoded, so its decoded form is redacted,
// too.
func (r *Redactor) assignments(s string, decoded int) string {
	var b strings.Builder
	done := 0 // s[:done] has been written to b
	seen := 0 // the values in s[:seen] have been decoded
	for i := 0; i < len(s); i++ {
		if s[i] != '=' && s[i] != ':' {
			continue
		}
		name := strings.TrimRight(s[done:i], " \t\r\n\"'`\\")
		if at := strings.LastIndexFunc(name, notInName); !SecretName(parameter(name[at+1:])) {
			if s[i] == '=' && i >= seen {
				seen = i + 1 + separator(s[i+1:])
				if clean, changed := r.encoded(s[i+1:seen], decoded); changed {
					b.WriteString(s[done : i+1])
					b.WriteString(clean)
					done, i = seen, seen-1
				}
			}
			continue
		}
		from, to := assigned(s, i+1)
		if from < to && s[from:to] != Placeholder {
			b.WriteString(s[done:from])
			b.WriteString(Placeholder)
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
	return !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("_.-%[]", c))
}

// parameter returns the last part of a name of a query or form: api_key for api%5Fkey,
// user[api_key] and api_key[0].
func parameter(name string) string {
	if strings.Contains(name, "%") {
		if plain, err := url.QueryUnescape(name); err == nil {
			name = plain
		}
	}
	for strings.HasSuffix(name, "]") {
		open := strings.LastIndexByte(name, '[')
		if inner := name[open+1 : len(name)-1]; open < 0 || strings.Trim(inner, "0123456789") != "" {
			return inner
		}
		name = name[:open]
	}
	return name
}

// maxDecoded is how often a value is percent-decoded.
const maxDecoded = 4

// encoded redacts a value that may be percent-encoded.
func (r *Redactor) encoded(s string, decoded int) (clean string, changed bool) {
	if !strings.Contains(s, "%") || decoded == maxDecoded {
		return s, false
	}
	plain, err := url.QueryUnescape(s)
	if err != nil {
		return s, false
	}
	if clean = r.content(plain, decoded+1); clean == plain {
		return s, false
	}
	return url.QueryEscape(clean), true
}

// separator returns the length of the value without quotes that s begins with.
func separator(s string) int {
	if end := strings.IndexAny(s, "& \t\r\n#\"',;"); end >= 0 {
		return end
	}
	return len(s)
}

// assigned returns the place of the value that begins at or after i. A value is in quotes or
// brackets, or reaches to the next separator.
func assigned(s string, i int) (from, to int) {
	skip := func(cut string) { i = len(s) - len(strings.TrimLeft(s[i:], cut)) }
	skip("=>") // of := and =>
	skip(" \t\r\n\\")
	for _, scheme := range []string{"bearer ", "basic "} {
		if len(s) >= i+len(scheme) && strings.EqualFold(s[i:i+len(scheme)], scheme) {
			i += len(scheme)
			skip(" \t\r\n\\")
		}
	}
	if i == len(s) {
		return i, i
	}
	switch s[i] {
	case '"', '\'', '`':
		return i + 1, closing(s, i)
	case '{', '[':
		to = bracket(s, i)
		for to < len(s) && s[to] != ']' && !notInName(rune(s[to])) { // a word that follows without a space
			to++
		}
		return i, to
	}
	return i, i + separator(s[i:])
}

// bracket returns the end of the object or list that begins at i, behind its bracket. If the
// bracket is not closed, it returns the end of the text.
func bracket(s string, i int) int {
	depth := 0
	for ; i < len(s); i++ {
		switch s[i] {
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		case '"':
			if i = closing(s, i); i < len(s) && s[i] == '\\' {
				i++
			}
		}
	}
	return len(s)
}

// closing returns the end of the quotation that begins at i, before the closing quote. The closing
// quote is escaped if the opening one is. A quotation that is not closed ends with the line.
func closing(s string, i int) int {
	escaped := i > 0 && s[i-1] == '\\'
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
