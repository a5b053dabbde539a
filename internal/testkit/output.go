package testkit

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/toolwire/toolwire/proxy"
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

// WaitReason says in words why a client waits, and what to do about it.
func WaitReason(w proxy.WaitInfo) string {
	if w.Err == nil {
		return fmt.Sprintf("a run token may make %d requests in %s. In a testing/synctest bubble the wait takes no time; "+
			"proxytest.Options{RatePerMinute: -1} lifts the limit", w.Limit, w.Window)
	}
	if e, _ := errors.AsType[*proxy.Error](w.Err); e != nil && e.Status != 0 {
		return strings.TrimSpace(fmt.Sprintf("the proxy answered %d %s", e.Status, e.Class))
	}
	return "the proxy did not answer"
}

// WaitLine is the line of a wait for the output of a test.
func WaitLine(w proxy.WaitInfo) string {
	return fmt.Sprintf("%s waits %s: %s\n", w.Name, w.Expected, WaitReason(w))
}
