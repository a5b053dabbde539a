// Package terminal writes for people: text with a little colour where colour can be seen, and
// aligned tables. It is for the programs and reports of this module.
package terminal

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"

	"github.com/toolwire/toolwire/internal/text"
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

// colours are what [Paint] and a rewritten line add to a text.
var colours = regexp.MustCompile(`\x1b\[[0-9]*[mK]|\r`)

// Is reports whether w is a terminal.
func Is(w io.Writer) bool {
	if wrapped, ok := w.(*wrapper); ok {
		w = wrapped.w
	}
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

// Entry returns an entry of a timeline: a label in ten columns, and a text from outside, clean, whose
// following lines are indented, so that none of them looks like another entry.
func Entry(label, s string) string {
	return fmt.Sprintf("%-10s %s\n", label, strings.ReplaceAll(text.Clean(s), "\n", "\n           "))
}
