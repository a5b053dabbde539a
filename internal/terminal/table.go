package terminal

import (
	"io"
	"strings"

	"github.com/toolwire/toolwire/internal/bounded"
)

// Cell is one cell of a [Table]. Its text may have several lines.
type Cell struct {
	Text  string
	Style Style
	Right bool // aligned to the right, as numbers are
}

// PlainCell returns a cell without a style.
func PlainCell(text string) Cell { return Cell{Text: text} }

// Table is rows of cells in aligned columns, two spaces apart. The last column is not padded. The
// zero Table is empty.
type Table struct {
	rows [][]Cell
}

// Row adds a row. Cells are cleaned, see [bounded.Clean]. Rows may differ in length.
func (t *Table) Row(cells ...Cell) {
	row := make([]Cell, len(cells))
	for i, c := range cells {
		c.Text = bounded.Clean(c.Text)
		row[i] = c
	}
	t.rows = append(t.rows, row)
}

// Write writes the table, in colour or not. It returns the first error of w.
func (t *Table) Write(w io.Writer, colour bool) error {
	var widths []int
	for _, row := range t.rows {
		for i, c := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			if i == len(row)-1 && i > 0 && i < len(widths)-1 {
				continue // a short row's last cell may run over the columns that it does not have
			}
			for line := range strings.Lines(c.Text) {
				widths[i] = max(widths[i], width(strings.TrimRight(line, "\n")))
			}
		}
	}
	var b strings.Builder
	for _, row := range t.rows {
		writeRow(&b, row, widths, colour)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// writeRow writes a row, of as many lines as its longest cell has.
func writeRow(b *strings.Builder, row []Cell, widths []int, colour bool) {
	lines := make([][]string, len(row))
	height := 1
	for i, c := range row {
		lines[i] = strings.Split(c.Text, "\n")
		height = max(height, len(lines[i]))
	}
	for n := range height {
		var pending strings.Builder // spaces are written only before something
		for i, c := range row {
			text := ""
			if n < len(lines[i]) {
				text = lines[i][n]
			}
			pad := strings.Repeat(" ", max(0, widths[i]-width(text)))
			if c.Right {
				pending.WriteString(pad)
			}
			if text != "" {
				b.WriteString(pending.String() + Paint(colour, c.Style, text))
				pending.Reset()
			}
			if !c.Right {
				pending.WriteString(pad)
			}
			pending.WriteString("  ")
		}
		b.WriteByte('\n')
	}
}
