package terminal

import (
	"io"
	"strconv"
	"strings"
)

// Columns returns the width of a terminal: the variable COLUMNS, or else 80. getenv is os.Getenv.
func Columns(getenv func(string) string) int {
	if n, err := strconv.Atoi(getenv("COLUMNS")); err == nil && n >= 40 {
		return n
	}
	return 80
}

// Wrap returns a writer that breaks the lines of each Write as [WrapLine] does. w is a terminal for [Is] and [Colour] if
// the writer below is one.
func Wrap(w io.Writer, columns int) io.Writer { return &wrapper{w, columns} }

type wrapper struct {
	w       io.Writer
	columns int
}

func (w *wrapper) Write(p []byte) (int, error) {
	var b strings.Builder
	for line := range strings.Lines(string(p)) {
		text, end := strings.CutSuffix(line, "\n")
		b.WriteString(WrapLine(text, w.columns))
		if end {
			b.WriteByte('\n')
		}
	}
	if _, err := io.WriteString(w.w, b.String()); err != nil {
		return 0, err
	}
	return len(p), nil
}

// WrapLine breaks a line between words, so that it fits into columns. It continues below the last column of a table
// that begins in the left half, or else with its indentation. Words that are too long stay whole, and so does a command
// after "$ ", which can be copied then.
func WrapLine(line string, columns int) string {
	var b strings.Builder
	indent, column, rest := 0, 0, line
	for wrapped := false; rest != ""; {
		word := strings.TrimLeft(rest, " ")
		if strings.HasPrefix(word, "$ ") {
			b.WriteString(rest)
			break
		}
		gap := len(rest) - len(word)
		if i := strings.IndexByte(word, ' '); i >= 0 {
			word = word[:i]
		}
		if !wrapped && (gap >= 2 || column == 0 && gap > 0) && column+gap <= columns/2 {
			indent = column + gap
		}
		size := width(colours.ReplaceAllString(word, ""))
		if column > indent && column+gap+size > columns {
			b.WriteString("\n" + strings.Repeat(" ", indent) + word)
			column, wrapped = indent, true
		} else {
			b.WriteString(rest[:gap] + word)
			column += gap
		}
		column, rest = column+size, rest[gap+len(word):]
	}
	return b.String()
}
