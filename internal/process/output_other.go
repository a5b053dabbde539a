//go:build !unix

package process

import (
	"errors"
	"os"
	"time"
)

// drainWait is how long a pipe is read after [wake]. The pipes of these systems have no deadlines.
const drainWait = 500 * time.Millisecond

// An output reads a pipe until its end, or until it is closed.
type output struct {
	pipe *os.File
	open bool // the pipe was closed before its end
}

func newOutput(pipe *os.File) *output { return &output{pipe: pipe} }

func wake(pipe *os.File) { time.AfterFunc(drainWait, func() { _ = pipe.Close() }) }

// Read implements io.Reader.
func (o *output) Read(p []byte) (n int, err error) {
	n, err = o.pipe.Read(p)
	o.open = errors.Is(err, os.ErrClosed)
	return n, err
}
