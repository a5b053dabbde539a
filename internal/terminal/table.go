package terminal

import (
	"io"
	"strings"

	"github.com/toolwire/toolwire/internal/text"
)

// Cell is one cell of a [Table].
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

// Row adds a row. Cells are cleaned, see [text.Clean], and line breaks become spaces. Rows may differ in length.
func (t *Table) Row(cells ...Cell) {
	row := make([]Cell, len(cells))
	for i, c := range cells {
		c.Text = text.Clean(strings.ReplaceAll(c.Text, "\n", " "))
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
			widths[i] = max(widths[i], width(c.Text))
		}
	}
	var b strings.Builder
	for _, row := range t.rows {
		writeRow(&b, row, widths, colour)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func writeRow(b *strings.Builder, row []Cell, widths []int, colour bool) {
	var pending strings.Builder // spaces are written only before something
	for i, c := range row {
		pad := strings.Repeat(" ", max(0, widths[i]-width(c.Text)))
		if c.Right {
			pending.WriteString(pad)
		}
		if c.Text != "" {
			b.WriteString(pending.String() + Paint(colour, c.Style, c.Text))
			pending.Reset()
		}
		if !c.Right {
			pending.WriteString(pad)
		}
		pending.WriteString("  ")
	}
	b.WriteByte('\n')
}
