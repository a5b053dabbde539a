//go:build !race

package nightly

// Race reports whether the race detector is on.
const Race = false
