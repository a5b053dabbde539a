package jsonschema

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf16"
)

// aheadBody is the expression inside a look-ahead.
type aheadBody struct {
	body string
	not  bool
}

// splitLookAheads takes the look-aheads directly after "^" out of an expression: ^(?!A)B matches where
// ^B does and ^A does not. It returns the expression as it is if it begins otherwise, or has an
// alternative beside them, which the "^" does not concern.
func splitLookAheads(s string) (ahead []aheadBody, rest string) {
	if !strings.HasPrefix(s, "^(?=") && !strings.HasPrefix(s, "^(?!") {
		return nil, s
	}
	rest = s[1:]
	for strings.HasPrefix(rest, "(?=") || strings.HasPrefix(rest, "(?!") {
		end, _ := groupEnd(rest[len("(?="):])
		if end < 0 {
			return nil, s
		}
		end += len("(?=")
		ahead = append(ahead, aheadBody{rest[len("(?="):end], rest[2] == '!'})
		rest = rest[end+1:]
		if rest != "" && strings.ContainsRune("*+?{", rune(rest[0])) {
			return nil, s // a repeated look-ahead
		}
	}
	if _, alternative := groupEnd(rest); alternative {
		return nil, s
	}
	return ahead, "^" + rest
}

// groupEnd returns the place of the parenthesis that closes the group in which s begins, or -1 if there
// is none. It reports whether the group has alternatives.
func groupEnd(s string) (end int, alternative bool) {
	open, class := 0, false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\':
			i++
		case class:
			class = c != ']'
		case c == '[':
			class = true
		case c == '(':
			open++
		case c == ')' && open == 0:
			return i, alternative
		case c == ')':
			open--
		case c == '|' && open == 0:
			alternative = true
		}
	}
	return -1, alternative
}

// What ECMAScript means by \s, and by \S inside a class. Both end in a range, so that a hyphen after them is itself.
const (
	space    = `\t-\r \x{a0}\x{1680}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff}\x{2000}-\x{200a}`
	notSpace = `\x{0}-\x{8}\x{e}-\x{1f}!-\x{9f}\x{a1}-\x{167f}\x{1681}-\x{1fff}\x{200b}-\x{2027}\x{202a}-\x{202e}` +
		`\x{2030}-\x{205e}\x{2060}-\x{2fff}\x{3001}-\x{fefe}\x{ff00}-\x{10ffff}`
)

// dotAll is a flag with which a dot is any character.
var dotAll = regexp.MustCompile(`\(\?[a-zA-Z]*s[a-zA-Z]*[-:)]`)

// translated writes an expression of ECMAScript as RE2 needs it. What RE2 does not have stays as it is,
// and does not compile.
func translated(s string) string {
	var b strings.Builder
	all := dotAll.MatchString(s)
	for class := false; s != ""; {
		n, text := 1, s[:1]
		switch {
		case s[0] == '\\':
			n, text = escape(s, class)
		case class:
			class = s[0] != ']'
		case strings.HasPrefix(s, "[]"):
			n, text = 2, `[^\x{0}-\x{10ffff}]`
		case strings.HasPrefix(s, "[^]"):
			n, text = 3, `[\x{0}-\x{10ffff}]`
		case s[0] == '[':
			class = true
		case s[0] == '.' && !all:
			text = `[^\n\r\x{2028}\x{2029}]`
		}
		b.WriteString(text)
		s = s[n:]
	}
	return b.String()
}

// escapes are those that contain digits or a name: \u{X}, a pair of surrogates, \uXXXX, and \p{Script=Greek}.
var escapes = regexp.MustCompile(`^\\(?:u\{([0-9A-Fa-f]{1,6})\}|u([Dd][89ABab][0-9A-Fa-f]{2})\\u([Dd][C-Fc-f][0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|` +
	`([pP])\{(?:Script|sc|General_Category|gc)=([A-Za-z_]+)\}|c([A-Za-z]))`)

// escape translates the escape with which s begins, inside or outside of a class. It returns how long it is.
func escape(s string, class bool) (n int, text string) {
	if m := escapes.FindStringSubmatch(s); m != nil {
		switch {
		case m[2] != "":
			high, _ := strconv.ParseUint(m[2], 16, 16)
			low, _ := strconv.ParseUint(m[3], 16, 16)
			return len(m[0]), fmt.Sprintf(`\x{%x}`, utf16.DecodeRune(rune(high), rune(low)))
		case m[5] != "":
			return len(m[0]), `\` + m[5] + `{` + m[6] + `}`
		case m[7] != "":
			return len(m[0]), fmt.Sprintf(`\x{%x}`, m[7][0]%32)
		}
		return len(m[0]), `\x{` + m[1] + m[4] + `}`
	}
	if len(s) == 1 {
		return 1, s
	}
	switch {
	case s[1] == 's' && class:
		return 2, space
	case s[1] == 's':
		return 2, "[" + space + "]"
	case s[1] == 'S' && class:
		return 2, notSpace
	case s[1] == 'S':
		return 2, "[^" + space + "]"
	case s[1] == 'b' && class:
		return 2, `\x{8}`
	case s[1] == '0' && (len(s) == 2 || s[2] < '0' || s[2] > '9'):
		return 2, `\x{0}`
	}
	return 2, s[:2]
}
