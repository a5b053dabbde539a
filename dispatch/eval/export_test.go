package eval

import "io"

// Limits are the limits of Read that tests make smaller. 0 is the limit of Read.
type Limits struct {
	Bytes                                int64
	Cell, Rows, Columns, Cells, Problems int
}

// ReadWithin is Read with other limits.
func ReadWithin(r io.Reader, l Limits) (*Dataset, error) {
	o := defaultLimits
	if l.Bytes > 0 {
		o.bytes = l.Bytes
	}
	for _, set := range []struct {
		to    *int
		given int
	}{{&o.cell, l.Cell}, {&o.rows, l.Rows}, {&o.columns, l.Columns}, {&o.cells, l.Cells}, {&o.problems, l.Problems}} {
		if set.given > 0 {
			*set.to = set.given
		}
	}
	return read(r, o)
}
