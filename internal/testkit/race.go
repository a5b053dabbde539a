//go:build race

package testkit

// Race reports whether the race detector is on. It makes code several times slower, sees no other
// process, and changes what is allocated.
const Race = true
