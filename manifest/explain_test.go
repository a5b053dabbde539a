package manifest_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolwire/toolwire/manifest"
)

func sameFile(t *testing.T, a, b string) bool {
	t.Helper()
	infoA, errA := os.Stat(a)
	infoB, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(infoA, infoB)
}

// binDir makes a folder with tools/bin and returns both, without symbolic links in their paths.
func binDir(t *testing.T) (dir, bin string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	bin = filepath.Join(dir, "tools", "bin")
	if err := os.MkdirAll(bin, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir, bin
}

func TestExplain(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("symbolic links need a privilege on Windows")
	}
	dir, bin := binDir(t)
	body := []byte("#!/bin/sh\necho {}\n")
	if err := os.WriteFile(filepath.Join(dir, "real"), body, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(dir, "real"), filepath.Join(bin, "link")); err != nil {
		t.Fatal(err)
	}
	m := load(t, &manifest.Options{Dir: dir, LookupEnv: lookup(map[string]string{"PATH": "p", "HOME": "", "TZ": "secret"})},
		entry{"name": "link", "command": []string{"./tools/bin/link", "-v"}, "timeoutSec": 9, "envPassthrough": []string{"TZ", "NOT_SET"}},
		entry{"name": "plain", "command": []string{filepath.Join(dir, "real")}},
		entry{"name": "missing", "command": []string{"./tools/bin/missing"}},
		entry{"name": "folder", "command": []string{dir}})

	e, err := m.Explain("link")
	sum := sha256.Sum256(body)
	if err != nil || e.Tool != "link" || !slices.Equal(e.Argv, []string{filepath.Join(bin, "link"), "-v"}) || e.Target != filepath.Join(dir, "real") ||
		e.SHA256 != hex.EncodeToString(sum[:]) || e.WorkDir != dir || !slices.Equal(e.Env, []string{"PATH", "TZ"}) || e.Timeout != 9*time.Second {
		t.Errorf("%+v, %v", e, err)
	}
	e.Argv[0] = "changed"
	if again, _ := m.Explain("link"); again.Argv[0] == "changed" {
		t.Error("a caller changed the manifest")
	}
	if e, err := m.Explain("plain"); err != nil || e.Target != "" || e.SHA256 == "" || e.Timeout != 30*time.Second {
		t.Errorf("%+v, %v", e, err)
	}
	if e, err := m.Explain("missing"); code(t, err) != manifest.CodeUnavailable || !errors.Is(err, fs.ErrNotExist) ||
		e.Argv[0] != filepath.Join(bin, "missing") || e.SHA256 != "" {
		t.Errorf("%+v, %v", e, err)
	}
	if _, err := m.Explain("folder"); code(t, err) != manifest.CodeUnavailable || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("%v", err)
	}
	if _, err := m.Explain("nobody"); code(t, err) != manifest.CodeUnknownTool {
		t.Errorf("%v", err)
	}
}

func TestCheckPrograms(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no executable bit")
	}
	dir, bin := binDir(t)
	for name, mode := range map[string]os.FileMode{"good": 0o700, "plain": 0o600} {
		if err := os.WriteFile(filepath.Join(bin, name), nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	o := &manifest.Options{Dir: dir}
	if err := load(t, o, entry{"name": "a", "command": []string{"./tools/bin/good"}}).CheckPrograms(); err != nil {
		t.Error(err)
	}
	err := load(t, o,
		entry{"name": "a", "command": []string{"./tools/bin/none"}},
		entry{"name": "b", "command": []string{"./tools/bin/good"}},
		entry{"name": "c", "command": []string{"./tools/bin/plain"}},
		entry{"name": "d", "command": []string{dir}}).CheckPrograms()
	e, ok := errors.AsType[*manifest.Error](err)
	if !ok || e.Code != manifest.CodeUnavailable || len(e.Problems) != 3 || e.Problems[1].Index != 2 || e.Problems[1].Rule != manifest.RuleProgramMissing {
		t.Fatalf("%+v", err)
	}
	want := []string{
		`configured tool "a" is unavailable: no such file or directory (program "` + filepath.Join(bin, "none") + `")`,
		`configured tool "c" is unavailable: permission denied (program "` + filepath.Join(bin, "plain") + `")`,
		`configured tool "d" is unavailable: is a directory (program "` + dir + `")`,
	}
	if got := strings.Split(err.Error(), "\n"); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", err, strings.Join(want, "\n"))
	}
}
