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

// splitLookAheads takes the look-aheads directly after "^" out of an expression: ^(?!A)B matches where ^B does and
// ^A does not. It returns the expression as it is if it begins otherwise, or has an alternative beside them, which
// the "^" does not concern.
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
	if end, alternative := groupEnd(rest); end >= 0 || alternative {
		return nil, s
	}
	return ahead, "^" + rest
}

// groupEnd returns the place of the parenthesis that closes the group in which s begins, or -1 if there is none. It
// reports whether the group has alternatives.
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
			if strings.HasPrefix(s[i+1:], "^") {
				i++
			}
			if strings.HasPrefix(s[i+1:], "]") {
				return -1, true // an empty class, which RE2 reads otherwise
			}
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

// escapes are those of ECMAScript that RE2 writes otherwise.
var escapes = regexp.MustCompile(`\\u\{([0-9A-Fa-f]{1,6})\}|\\u([Dd][89ABab][0-9A-Fa-f]{2})\\u([Dd][C-Fc-f][0-9A-Fa-f]{2})|\\u([0-9A-Fa-f]{4})|` +
	`\\([pP])\{(?:Script|sc|General_Category|gc)=([A-Za-z_]+)\}|\\.`)

// translated writes \uXXXX as \x{XXXX}, and \p{Script=Greek} as \p{Greek}. RE2 has the other properties under the
// same names, or not at all.
func translated(s string) string {
	if !strings.Contains(s, `\u`) && !strings.Contains(s, `=`) {
		return s
	}
	return escapes.ReplaceAllStringFunc(s, func(escape string) string {
		m := escapes.FindStringSubmatch(escape)
		switch {
		case m[1] != "" || m[4] != "":
			return `\x{` + m[1] + m[4] + `}`
		case m[2] != "":
			high, _ := strconv.ParseUint(m[2], 16, 16)
			low, _ := strconv.ParseUint(m[3], 16, 16)
			return fmt.Sprintf(`\x{%x}`, utf16.DecodeRune(rune(high), rune(low)))
		case m[5] != "":
			return `\` + m[5] + `{` + m[6] + `}`
		}
		return escape
	})
}
