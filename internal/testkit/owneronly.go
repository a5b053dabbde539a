package testkit

import (
	"os"
	"runtime"
	"testing"
)

// OwnerOnly fails the test if a file does not have the mode 0600. Windows has no such modes.
func OwnerOnly(t testing.TB, path string) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Error(err)
		return
	}
	if mode := info.Mode().Perm(); runtime.GOOS != "windows" && mode != 0o600 {
		t.Errorf("%s has the mode %#o, want 0600", path, mode)
	}
}
