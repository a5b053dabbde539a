package testkit_test

import (
	"bytes"
	"io"
	"testing"

	"github.com/toolwire/toolwire/internal/testkit"
)

// test is a test whose end its caller decides.
type test struct {
	testing.TB
	bytes.Buffer
	cleanup func()
}

func (t *test) Output() io.Writer { return t }
func (t *test) Cleanup(f func())  { t.cleanup = f }

func TestOutputEndsWithTheTest(t *testing.T) {
	var tb test
	w := testkit.Output(&tb)
	_, _ = io.WriteString(w, "in time\n")
	tb.cleanup()
	if n, err := io.WriteString(w, "too late\n"); n != 9 || err != nil || tb.String() != "in time\n" {
		t.Errorf("%d %v, output %q", n, err, tb.String())
	}
}
