//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package eval

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// openExclusive opens or creates a file that only one run may write. The system ends the lock when
// the file is closed or the process ends.
func openExclusive(name string) (*os.File, error) {
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err == nil {
		return file, nil
	}
	_ = file.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, inUse(name)
	}
	return nil, fmt.Errorf("%s cannot be locked against other runs: %w", name, err)
}
