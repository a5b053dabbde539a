package text

import (
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
func Clean(s string) string {
	var b strings.Builder
	for i, line := range strings.Split(s, "\n") {
		line = strings.Map(harmless, line)
		if begin := strings.TrimLeftFunc(line, blank); i > 0 && !strings.HasPrefix(begin, "|") || command(begin) {
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
