package testkit_test

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/toolwire/toolwire/internal/testkit"
	"github.com/toolwire/toolwire/proxy"
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

func TestWaitLine(t *testing.T) {
	for _, tt := range []struct {
		wait proxy.WaitInfo
		want string
	}{
		{proxy.WaitInfo{Name: "get_order", Expected: time.Minute, Limit: 60, Window: time.Minute},
			"get_order waits 1m0s: a run token may make 60 requests in 1m0s. In a testing/synctest bubble the wait takes no time; " +
				"proxytest.Options{RatePerMinute: -1} lifts the limit\n"},
		{proxy.WaitInfo{Name: "get_order", Expected: time.Second, Err: &proxy.Error{Status: 429, Class: "rate_limited"}},
			"get_order waits 1s: the proxy answered 429 rate_limited\n"},
		{proxy.WaitInfo{Name: "thinking", Expected: time.Second, Err: &proxy.Error{Status: 503}},
			"thinking waits 1s: the proxy answered 503\n"},
		{proxy.WaitInfo{Name: "get_order", Expected: time.Second, Err: &proxy.Error{Err: errors.New("reset")}},
			"get_order waits 1s: the proxy did not answer\n"},
	} {
		if got := testkit.WaitLine(tt.wait); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}
