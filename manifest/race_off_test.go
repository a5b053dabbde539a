//go:build !race

package manifest_test

const raceDetector = false
