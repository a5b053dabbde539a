package problem

import "fmt"

// Limit sets a limit of the options that is 0 to its default; a default of 0 is no limit. If the limit is
// negative, Limit calls reject with its name and what to do.
func Limit[T ~int | ~int64](reject func(name, rule string), name string, limit *T, def T) {
	switch {
	case *limit < 0 && def == 0:
		reject(name, "must not be negative; use 0 for no limit")
	case *limit < 0:
		reject(name, fmt.Sprintf("must not be negative; use 0 for the default of %v", def))
	case *limit == 0:
		*limit = def
	}
}
