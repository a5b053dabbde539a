package testkit

import (
	"fmt"
	"io"
	"sync"
	"testing"
	"time"
)

// Output returns a writer to the output of the test, which discards what is written after the test
// has ended: an agent may outlive the test that dispatched it.
func Output(t testing.TB) io.Writer {
	w := &output{to: t.Output()}
	t.Cleanup(w.close)
	return w
}

type output struct {
	mu sync.Mutex
	to io.Writer // nil after the test
}

// Write implements io.Writer.
func (w *output) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.to == nil {
		return len(p), nil
	}
	return w.to.Write(p)
}

func (w *output) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.to = nil
}

// WaitReason returns the reason of a client's wait, and for a wait for the rate limit how a test avoids it.
func WaitReason(reason string, rateLimit bool) string {
	if rateLimit {
		reason += ". In a testing/synctest bubble the wait takes no time; proxytest.Options{RatePerMinute: -1} lifts the limit"
	}
	return reason
}

// WaitLine is the line of a wait for the output of a test.
func WaitLine(name string, expected time.Duration, reason string) string {
	return fmt.Sprintf("%s waits %s: %s\n", name, expected, reason)
}
