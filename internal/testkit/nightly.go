package testkit

import "os"

// Nightly reports whether tests do all that they can: .ci/nightly sets TOOLWIRE_NIGHTLY. Otherwise
// what starts hundreds of programs or answers a thousand runs is reduced.
var Nightly = os.Getenv("TOOLWIRE_NIGHTLY") != ""

// Full reports whether tests compute at full size: in the nightly without the race detector, with which a
// simulation, or a file that is cut at each of its bytes, takes ten times as long and shows no other race.
var Full = Nightly && !Race

// Size returns full if tests compute at full size, and reduced otherwise.
func Size[T any](reduced, full T) T {
	if Full {
		return full
	}
	return reduced
}
