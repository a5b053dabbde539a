package eval

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/toolwire/toolwire/internal/rawjson"
)

// jsonLine is a line of JSON Lines: its cells, or what is wrong with it.
type jsonLine struct {
	number int
	cells  []string // in the order of the columns
	kinds  []byte   // of their values
	bad    string
}

// readLines reads JSON Lines. The members of an object are the cells of a row: a string is the text of
// the cell, null is an empty cell, and other values are their JSON.
func (d *reader) readLines() {
	var lines []jsonLine
	columns, places := []string{}, map[string]int{}
	number := 0
	d.first = []int{}
	for text := range strings.SplitSeq(string(d.data), "\n") {
		text = strings.TrimPrefix(text, mark) // of a file that was put behind another one
		if number++; strings.TrimSpace(text) == "" {
			continue
		}
		line := jsonLine{number: number}
		if line.bad = notJSON("line", text, '{', "an object"); line.bad == "" {
			for name, value := range rawjson.Members(json.RawMessage(text)) {
				at, known := places[name]
				if !known {
					at = len(columns)
					places[name], columns, d.first = at, append(columns, name), append(d.first, number)
				}
				line.cells = append(line.cells, slices.Repeat([]string{""}, max(0, at+1-len(line.cells)))...)
				line.kinds = append(line.kinds, slices.Repeat([]byte{0}, max(0, at+1-len(line.kinds)))...)
				line.cells[at], line.kinds[at] = cellOf(value), rawjson.Kind(value)
			}
		}
		if len(columns) > d.limits.columns {
			d.whole(tooLarge, "the lines have more than %d different members", d.limits.columns)
			return
		}
		if lines = append(lines, line); len(lines) > d.limits.rows {
			d.whole(tooLarge, "the file has more than %d rows", d.limits.rows)
			return
		}
		if len(lines)*len(columns) > d.limits.cells { // as many as CSV would have
			d.whole(tooLarge, "the file has more than %d cells", d.limits.cells)
			return
		}
	}
	bad := slices.ContainsFunc(lines, func(l jsonLine) bool { return l.bad != "" })
	if len(columns) > 0 || !bad {
		d.readHeader(columns)
	}
	for _, line := range lines {
		d.row, d.line, d.kinds = line.number, line.number, line.kinds
		if line.bad != "" {
			d.problem(invalidRow, -1, "%s", line.bad)
		} else {
			d.set.rows = append(d.set.rows, d.readRow(append(line.cells, slices.Repeat([]string{""}, len(columns)-len(line.cells))...)))
		}
	}
}

// cellOf returns the cell that a member stands for.
func cellOf(value json.RawMessage) string {
	switch rawjson.Kind(value) {
	case '"':
		return rawjson.Unquote(value)
	case 'n':
		return ""
	}
	return string(value)
}

// locate sets the place of problems to the line in which a column is first, or to the whole file for
// -1. The header of a CSV file is one line.
func (d *reader) locate(column int) {
	switch {
	case d.first == nil:
	case column < 0:
		d.row, d.line = 0, 0
	default:
		d.row, d.line = d.first[column], d.first[column]
	}
}
