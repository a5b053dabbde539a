// Package terminal writes for people: text with a little colour where colour can be seen, and
// aligned tables. It is for the programs and reports of this module.
package terminal

import (
	"io"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Style is what a piece of text means. Colour repeats what the words say; nothing is said by colour
// alone.
type Style int

// The styles.
const (
	Plain Style = iota
	Good
	Warn
	Bad
	Faint
	Strong
)

var codes = [...]string{Plain: "", Good: "\x1b[32m", Warn: "\x1b[33m", Bad: "\x1b[31m", Faint: "\x1b[2m", Strong: "\x1b[1m"}

// Is reports whether w is a terminal.
func Is(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&(os.ModeDevice|os.ModeCharDevice) == os.ModeDevice|os.ModeCharDevice
}

// Colour reports whether colour is wanted on w: on a terminal, unless the environment has NO_COLOR
// (no-color.org) or a TERM of dumb. getenv is os.Getenv.
func Colour(w io.Writer, getenv func(string) string) bool {
	return Is(w) && getenv("NO_COLOR") == "" && getenv("TERM") != "dumb"
}

// Paint puts text into a style, if colour is true.
func Paint(colour bool, style Style, text string) string {
	if !colour || style == Plain || text == "" {
		return text
	}
	return codes[style] + text + "\x1b[0m"
}

// Clean makes text from outside fit for a terminal: escape sequences, other control characters and
// characters that change the direction of writing become visible or a space, so that what an agent
// says cannot steer the screen. Line breaks stay.
func Clean(text string) string {
	clean := func(r rune) rune {
		switch {
		case r == '\n':
			return r
		case r == '\t' || r == '\r':
			return ' '
		case r == utf8.RuneError || unicode.IsControl(r) || unicode.In(r, unicode.Bidi_Control):
			return '\uFFFD'
		}
		return r
	}
	return strings.Map(clean, text)
}

// Cut shortens text to at most n characters, the last of which is then an ellipsis.
func Cut(text string, n int) string {
	if utf8.RuneCountInString(text) <= n {
		return text
	}
	return string([]rune(text)[:max(n-1, 0)]) + "…"
}
