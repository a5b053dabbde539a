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

// Apply applies the difference of two trajectories to the first. It returns the result, and how many calls
// the difference removes and adds.
func Apply(from, to Trajectory) (result Trajectory, removed, added int) {
	next := 0
	for _, e := range from.difference(to) {
		result = append(result, from[next:e.at]...)
		next = e.at
		if e.removed != nil {
			next, removed = next+1, removed+1
		}
		if e.added != nil {
			result, added = append(result, *e.added), added+1
		}
	}
	return append(result, from[next:]...), removed, added
}
