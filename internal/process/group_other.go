//go:build !unix && !windows

package process

import (
	"errors"
	"fmt"
	"runtime"
)

const inlineInput = 0

type group struct{}

func startGroup(*Command, pipes) (*group, error) {
	return nil, fmt.Errorf("programs cannot be run on %s: %w", runtime.GOOS, errors.ErrUnsupported)
}

func (*group) terminate()          {}
func (*group) kill()               {}
func (*group) awaitExit()          {}
func (*group) reap() (int, string) { return -1, "" }
