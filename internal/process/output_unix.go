//go:build unix

package process

import (
	"errors"
	"io"
	"os"
	"syscall"
	"time"
)

// An output reads a pipe until its end. After [wake] it reads what the pipe holds, and does not wait for more.
type output struct {
	pipe  *os.File
	woken bool
	left  int  // bytes that may be read after wake
	open  bool // the pipe was empty, or it is filled as fast as it is read, and has not ended
}

// mostHeld is more than a pipe holds. Without it, a process that writes all the time would never be left.
const mostHeld = 16 << 20

func newOutput(pipe *os.File) *output { return &output{pipe: pipe, left: mostHeld} }

// wake makes the output of a pipe return when the pipe is empty.
func wake(pipe *os.File) { _ = pipe.SetReadDeadline(time.Unix(1, 0)) }

var errHeld = errors.New("nothing more is in the pipe")

// Read implements io.Reader.
func (o *output) Read(p []byte) (n int, err error) {
	if !o.woken {
		n, err = o.pipe.Read(p)
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return n, err
		}
		o.woken = true
		_ = o.pipe.SetReadDeadline(time.Time{}) // else the next lines would not read either
	}
	if o.left <= 0 {
		o.open = true
		return 0, errHeld
	}
	raw, err := o.pipe.SyscallConn()
	if err != nil {
		return 0, err
	}
	closed := raw.Read(func(fd uintptr) bool {
		for n, err = syscall.Read(int(fd), p); err == syscall.EINTR; n, err = syscall.Read(int(fd), p) {
		}
		return true // whatever the result, so that the poller does not wait
	})
	switch {
	case closed != nil:
		return 0, closed
	case err == syscall.EAGAIN:
		o.open = true
		return 0, errHeld
	case err != nil:
		return 0, err
	case n == 0:
		return 0, io.EOF
	}
	o.left -= n
	return n, nil
}
