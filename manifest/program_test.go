package manifest_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/manifest"
)

func sameFile(t *testing.T, a, b string) bool {
	t.Helper()
	infoA, errA := os.Stat(a)
	infoB, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(infoA, infoB)
}

// binDir creates a folder with tools/bin. It returns both paths without symbolic links.
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
	if !ok || e.Code != "program_unavailable" || len(e.Problems) != 3 || e.Problems[1].Tool != "c" ||
		e.Problems[1].Pointer != "/tools/2/command/0" || e.Problems[1].Code != "program_unavailable" {
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
