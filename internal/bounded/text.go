package bounded

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clean makes text from outside fit for a terminal: escape sequences, other control characters and
// characters that change the direction of writing become visible or a space, so that what an agent
// says cannot steer the screen. Line breaks stay; U+2028 and U+2029 become spaces.
func Clean(text string) string {
	clean := func(r rune) rune {
		switch {
		case r == '\n':
			return r
		case r == '\t' || r == '\r' || r == '\u2028' || r == '\u2029':
			return ' '
		case r == utf8.RuneError || unicode.IsControl(r) || unicode.In(r, unicode.Bidi_Control):
			return '\uFFFD'
		}
		return r
	}
	return strings.Map(clean, text)
}

// Lines returns text from outside for people: clean, and at most n characters of it. Of a longer
// text it returns the beginning, an ellipsis and the length of the whole, such as "… (2048 bytes)".
func Lines(text string, n int) string {
	head, rest := begin(text, n)
	return Clean(head) + rest
}

// Line is [Lines] on one line: line breaks become spaces.
func Line(text string, n int) string { return strings.ReplaceAll(Lines(text, n), "\n", " ") }

// Plural returns a number and a noun, such as 1 case, 2 cases, 2 dispatches and 2 properties.
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if strings.HasSuffix(noun, "ch") {
		noun += "e"
	} else if stem, is := strings.CutSuffix(noun, "y"); is {
		noun = stem + "ie"
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// Paragraph is [Lines] for a test: the following lines are indented, so that none looks like an entry of
// its own. Line breaks at the end are removed.
func Paragraph(text string, n int) string {
	return strings.ReplaceAll(strings.TrimRight(Lines(text, n), "\n"), "\n", "\n  ")
}

// Quoted is [Lines] in quotation marks, with the escapes of a Go string. The length is outside of
// the quotation marks.
func Quoted(text string, n int) string {
	head, rest := begin(text, n)
	return strconv.Quote(head) + rest
}

// begin returns the first n characters, and what to write after them.
func begin(text string, n int) (head, rest string) {
	for i := range text {
		if n == 0 {
			return text[:i], fmt.Sprintf("… (%d bytes)", len(text))
		}
		n--
	}
	return text, ""
}
