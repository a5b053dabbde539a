package report

import (
	"io"
	"sync"
)

// TB is the part of testing.TB that [Output] needs. Packages for production import this one, but
// not testing.
type TB interface {
	Output() io.Writer
	Cleanup(func())
}

// Output returns a writer to the output of the test, which discards what is written after the test
// has ended: an agent may outlive the test that dispatched it.
func Output(t TB) io.Writer {
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
