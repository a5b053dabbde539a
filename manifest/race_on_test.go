//go:build race

package manifest_test

// A test binary with the race detector takes many times longer to start, and every tool of these tests is one.
const raceDetector = true
