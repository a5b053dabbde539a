// Package testkit has what tests of several packages need: assertions under test, waiting for a time
// limit, canned transports, kinds of documents, the sizes of the nightly, and what the public test kits
// write to the output of a test.
package testkit

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"
)

// recordingTB keeps failures and output to itself.
type recordingTB struct {
	testing.TB
	texts    []string
	output   bytes.Buffer
	cleanups []func()
}

func (r *recordingTB) Helper()           {}
func (r *recordingTB) Output() io.Writer { return &r.output }
func (r *recordingTB) Cleanup(f func())  { r.cleanups = append(r.cleanups, f) }
func (r *recordingTB) Errorf(f string, args ...any) {
	r.texts = append(r.texts, fmt.Sprintf(f, args...))
}
func (r *recordingTB) Error(args ...any)            { r.Errorf("%s", fmt.Sprint(args...)) }
func (r *recordingTB) Fatal(args ...any)            { r.Error(args...); panic(r) }
func (r *recordingTB) Fatalf(f string, args ...any) { r.Errorf(f, args...); panic(r) }

func (r *recordingTB) Context() context.Context {
	if r.TB == nil {
		return context.Background()
	}
	return r.TB.Context()
}

// Run returns the failures of body and of its cleanups, one per line, and its output. They do not
// fail t, which may be nil outside of tests.
func Run(t testing.TB, body func(t testing.TB)) (failures, output string) {
	r := &recordingTB{TB: t}
	defer func() {
		if p := recover(); p != nil && p != any(r) {
			panic(p)
		}
		for _, cleanup := range slices.Backward(r.cleanups) {
			cleanup()
		}
		failures, output = strings.Join(r.texts, "\n"), r.output.String()
	}()
	body(r)
	return "", ""
}

// Failures returns the failures of body, one per line. They do not fail t.
func Failures(t testing.TB, body func(t testing.TB)) string {
	failures, _ := Run(t, body)
	return failures
}

// Patiently runs a test that has to exceed a time limit, with growing limits, until it passes: a
// limit that is too short for the rest of the test does not count. How long that takes depends on
// the machine.
func Patiently(t *testing.T, test func(t testing.TB, limit time.Duration)) {
	t.Helper()
	for limit := time.Second; limit < 2*time.Minute; limit *= 4 {
		if Failures(t, func(t testing.TB) { test(t, limit) }) == "" {
			return
		}
	}
	test(t, 2*time.Minute)
}
