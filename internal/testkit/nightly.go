package testkit

import "os"

// Nightly reports whether tests do all that they can: .ci/nightly sets TOOLWIRE_NIGHTLY. Otherwise
// what starts hundreds of programs or answers a thousand runs is reduced.
var Nightly = os.Getenv("TOOLWIRE_NIGHTLY") != ""

// Size returns full in the nightly, and reduced otherwise.
func Size[T any](reduced, full T) T {
	if Nightly {
		return full
	}
	return reduced
}
