package jsonpath

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// MaxLen is how many bytes a path may have.
const MaxLen = 256

// A Root is the document that a path starts in.
type Root uint8

const (
	Response Root = iota // $ or a bare name: the tool's response
	Args                 // $args: the arguments of the call
)

type kind uint8

const (
	member     kind = iota // .name, ["name"], ['name']
	index                  // [n]
	wildcard               // .*, [*]
	descendant             // ..name
)

type segment struct {
	kind  kind
	name  string
	index int
}

// Syntax is a path that passed the gate.
type Syntax struct {
	Text string // as it was written
	Root Root
	segs []segment
}

// Many reports whether the path has a wildcard or a descent, so that it selects a list of values
// and not one value.
func (s Syntax) Many() bool {
	for _, seg := range s.segs {
		if seg.kind == wildcard || seg.kind == descendant {
			return true
		}
	}
	return false
}

// Parse accepts the paths that the library evaluates correctly: $ (the response), $args (the
// arguments) or a bare name, followed by .name, ["name"], ['name'], [n], .*, [*] and at most one
// ..name. The forms are those of RFC 9535 without the white space that it allows between segments.
// The error is a sentence for the author of the path.
func Parse(text string) (Syntax, error) {
	if text == "" {
		return Syntax{}, fmt.Errorf("is empty; write a path such as $.order_id")
	}
	if len(text) > MaxLen {
		return Syntax{}, fmt.Errorf("has %d bytes; at most %d are allowed", len(text), MaxLen)
	}
	if !utf8.ValidString(text) {
		return Syntax{}, fmt.Errorf("is not valid UTF-8")
	}
	s := Syntax{Text: text}
	rest, isPath := strings.CutPrefix(text, "$")
	if !isPath {
		name, rest := shorthand(text)
		if name == "" || rest != "" {
			return Syntax{}, fmt.Errorf("does not start with $; write a path such as $.order_id")
		}
		s.segs = []segment{{kind: member, name: name}}
		return s, nil
	}
	if after, ok := strings.CutPrefix(rest, "args"); ok && (after == "" || after[0] == '.' || after[0] == '[') {
		s.Root, rest = Args, after
	}
	descents := 0
	for rest != "" {
		seg, after, err := next(rest)
		if err != nil {
			return Syntax{}, fmt.Errorf("%w (at byte %d)", err, len(text)-len(rest)+1)
		}
		if seg.kind == descendant {
			if descents++; descents > 1 {
				return Syntax{}, fmt.Errorf("has more than one .. segment; one is allowed")
			}
		}
		s.segs = append(s.segs, seg)
		rest = after
	}
	return s, nil
}

func next(text string) (seg segment, rest string, err error) {
	if after, ok := strings.CutPrefix(text, ".."); ok {
		name, rest := shorthand(after)
		if name == "" {
			return seg, "", fmt.Errorf("has .. without a plain name after it; only ..name is allowed")
		}
		return segment{kind: descendant, name: name}, rest, nil
	}
	if after, ok := strings.CutPrefix(text, ".*"); ok {
		return segment{kind: wildcard}, after, nil
	}
	if after, ok := strings.CutPrefix(text, "[*]"); ok {
		return segment{kind: wildcard}, after, nil
	}
	if after, ok := strings.CutPrefix(text, "."); ok {
		name, rest := shorthand(after)
		if name == "" {
			return seg, "", fmt.Errorf(`has a . without a plain name after it; write other names as ["name"]`)
		}
		return segment{kind: member, name: name}, rest, nil
	}
	if after, ok := strings.CutPrefix(text, "["); ok {
		return bracket(after)
	}
	return seg, "", fmt.Errorf("has something that is neither .name nor [...]; operators and functions are not allowed")
}

func bracket(text string) (seg segment, rest string, err error) {
	switch {
	case text == "":
		return seg, "", fmt.Errorf("has a [ that is not closed")
	case text[0] == '"' || text[0] == '\'':
		seg.kind = member
		if seg.name, rest, err = quoted(text); err != nil {
			return seg, "", err
		}
	case text[0] == '?':
		return seg, "", fmt.Errorf("has a filter; filters are not allowed, name the members instead")
	case text[0] == '-':
		return seg, "", fmt.Errorf("has a negative index; only indexes from the start are allowed")
	case text[0] >= '0' && text[0] <= '9':
		digits := len(text) - len(strings.TrimLeft(text, "0123456789"))
		seg.kind = index
		n, err := strconv.ParseInt(text[:digits], 10, 64)
		if err != nil || n >= 1<<53 || digits > 1 && text[0] == '0' {
			return seg, "", fmt.Errorf("has an index that is not a plain number below 2^53")
		}
		seg.index = int(min(n, math.MaxInt)) // an int of 32 bits cannot index such an array
		rest = text[digits:]
	default:
		return seg, "", fmt.Errorf(`has a bracket that is none of ["name"], [n] and [*]`)
	}
	if strings.HasPrefix(rest, ",") {
		return seg, "", fmt.Errorf("selects several things in one bracket; write one name, index or * per bracket")
	}
	if strings.HasPrefix(rest, ":") {
		return seg, "", fmt.Errorf("has a slice; slices are not allowed, use [n] or [*]")
	}
	rest, ok := strings.CutPrefix(rest, "]")
	if !ok {
		return seg, "", fmt.Errorf("has a bracket that is none of [\"name\"], [n] and [*]")
	}
	return seg, rest, nil
}

// shorthand splits off the longest prefix that RFC 9535 allows as a name after a dot.
func shorthand(text string) (name, rest string) {
	for i := 0; i < len(text); i++ {
		c := text[i]
		letter := c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= utf8.RuneSelf
		if !letter && (i == 0 || c < '0' || c > '9') {
			return text[:i], text[i:]
		}
	}
	return text, ""
}

// quoted reads a string literal of RFC 9535. It may have the escapes of JSON, and an escaped quote
// of its own kind.
func quoted(text string) (name, rest string, err error) {
	quote := text[0]
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		switch c := text[i]; {
		case c == quote:
			return b.String(), text[i+1:], nil
		case c < 0x20:
			return "", "", fmt.Errorf("has a control character in a name; escape it")
		case c != '\\':
			b.WriteByte(c)
		default:
			r, n := escape(text[i+1:], quote)
			if n == 0 {
				return "", "", fmt.Errorf("has an escape in a name that JSON does not know")
			}
			b.WriteRune(r)
			i += n
		}
	}
	return "", "", fmt.Errorf("has a name that is not closed with %c", quote)
}

// escape reads what follows a backslash. It returns the character and its length in bytes, which is
// 0 if the escape is not valid.
func escape(text string, quote byte) (r rune, n int) {
	if text == "" {
		return 0, 0
	}
	switch c := text[0]; c {
	case quote, '\\', '/':
		return rune(c), 1
	case 'b':
		return '\b', 1
	case 'f':
		return '\f', 1
	case 'n':
		return '\n', 1
	case 'r':
		return '\r', 1
	case 't':
		return '\t', 1
	case 'u':
		high, ok := hex4(text[1:])
		if !ok || high >= 0xDC00 && high < 0xE000 {
			return 0, 0
		}
		if high < 0xD800 || high >= 0xE000 {
			return high, 5
		}
		if !strings.HasPrefix(text[5:], `\u`) {
			return 0, 0
		}
		low, ok := hex4(text[7:])
		if !ok || low < 0xDC00 || low >= 0xE000 {
			return 0, 0
		}
		return (high-0xD800)<<10 + (low - 0xDC00) + 0x10000, 11
	}
	return 0, 0
}

func hex4(text string) (rune, bool) {
	if len(text) < 4 || strings.Trim(text[:4], "0123456789abcdefABCDEF") != "" {
		return 0, false
	}
	v, err := strconv.ParseUint(text[:4], 16, 32)
	return rune(v), err == nil
}
