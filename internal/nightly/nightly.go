// Package nightly tells tests how much to do.
package nightly

import "os"

// Full reports whether tests do all that they can: .ci/nightly sets TOOLWIRE_NIGHTLY. Otherwise
// what starts hundreds of programs or answers a thousand runs is reduced.
var Full = os.Getenv("TOOLWIRE_NIGHTLY") != ""

// Or returns the full size if Full is set, and the reduced one otherwise.
func Or[T any](reduced, full T) T {
	if Full {
		return full
	}
	return reduced
}
