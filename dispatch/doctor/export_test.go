package doctor

import "time"

// Shows looks for a marker in a text.
var Shows = shows

// SetSlowCall changes how long slow_tool lets a call wait, and returns how long it was.
func SetSlowCall(d time.Duration) (before time.Duration) {
	before, slowCall = slowCall, d
	return before
}
