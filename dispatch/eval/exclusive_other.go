//go:build !(darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd || windows)

package eval

import (
	"errors"
	"fmt"
	"os"
	"runtime"
)

// openExclusive returns an error: two runs that write one file would destroy it.
func openExclusive(name string) (*os.File, error) {
	return nil, fmt.Errorf("%s cannot be locked against other runs on %s: %w", name, runtime.GOOS, errors.ErrUnsupported)
}
