package bounded

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clean makes text from outside fit for a report: what an agent says can neither steer a terminal nor write
// commands for the system that runs the report, such as a CI engine.
//
//   - Escape sequences, other control characters and characters that change the direction of writing become
//     visible or a space. Line breaks stay; U+2028 and U+2029 become spaces.
//   - Lines after the first begin with "| ", and so does a first line that begins with "::".
//   - "##[" becomes "## [", and so on for all words, because engines look for "##word[" anywhere in a line.
//
// Clean changes nothing that it has cleaned before.
func Clean(text string) string {
	var b strings.Builder
	for i, line := range strings.Split(text, "\n") {
		line = strings.Map(harmless, line)
		if begin := strings.TrimLeftFunc(line, blank); i > 0 && !strings.HasPrefix(begin, "|") || i == 0 && command(begin) {
			line = "| " + line
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(apart(line))
	}
	return b.String()
}

func harmless(r rune) rune {
	switch {
	case r == '\t' || r == '\r' || r == '\u2028' || r == '\u2029':
		return ' '
	case r == utf8.RuneError || unicode.IsControl(r) || unicode.In(r, unicode.Bidi_Control):
		return '\uFFFD'
	}
	return r
}

// unseen reports whether a reader that compares texts by their language ignores a character.
func unseen(r rune) bool {
	return unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

func blank(r rune) bool { return unicode.IsSpace(r) || unseen(r) }

// command reports whether a line begins with "::".
func command(line string) bool {
	rest, is := strings.CutPrefix(line, ":")
	return is && strings.HasPrefix(strings.TrimLeftFunc(rest, unseen), ":")
}

// apart writes a space between "##" and a word or a bracket.
func apart(line string) string {
	if !strings.Contains(line, "#") {
		return line
	}
	var b strings.Builder
	marks := 0
	for _, r := range line {
		switch {
		case r == '#':
			marks++
		case !unseen(r):
			if marks > 1 && (r == '[' || unicode.IsLetter(r)) {
				b.WriteByte(' ')
			}
			marks = 0
		}
		b.WriteRune(r)
	}
	return b.String()
}

// Lines returns text from outside for people: clean, and at most n characters of it. Of a longer
// text it returns the beginning, an ellipsis and the length of the whole, such as "… (2048 bytes)".
func Lines(text string, n int) string {
	head, rest := begin(text, n)
	return Clean(head) + rest
}

// Line is [Lines] on one line: line breaks become spaces.
func Line(text string, n int) string {
	head, rest := begin(text, n)
	return Clean(strings.ReplaceAll(head, "\n", " ")) + rest
}

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
	return strings.ReplaceAll(Lines(strings.TrimRight(text, "\n"), n), "\n", "\n  ")
}

// Quoted is [Lines] in quotation marks, with the escapes of a Go string. The length is outside of
// the quotation marks.
func Quoted(text string, n int) string {
	head, rest := begin(text, n)
	return apart(strconv.Quote(head)) + rest
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
