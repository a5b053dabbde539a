//go:build race

package manifest_test

// The tools of these tests are the test binary, which starts slowly with the race detector.
const raceDetector = true
