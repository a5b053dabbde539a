package manifest_test

import (
	"runtime"
	"syscall"
	"testing"
)

func joinParent() {}

func childAttributes(string) *syscall.SysProcAttr { return nil }

// TestRunner stands for the tests of runner_unix_test.go.
func TestRunner(t *testing.T) {
	t.Skipf("the tests of running programs need /bin/sh, signals and process groups, which %s does not have", runtime.GOOS)
}
