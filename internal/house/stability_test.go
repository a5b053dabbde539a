package house

import (
	"go/build"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// doc.go lists every package that others can import, of all modules, either as stable or as
// experimental. A stable package imports no experimental one.
func TestStability(t *testing.T) {
	text, err := os.ReadFile("../../doc.go")
	if err != nil {
		t.Fatal(err)
	}
	const stable, experimental = "// These packages are stable.", "// These packages are experimental."
	_, rest, found := strings.Cut(string(text), stable)
	first, rest, both := strings.Cut(rest, experimental)
	second, _, ended := strings.Cut(rest, "// Neither promise ")
	if !found || !both || !ended {
		t.Fatalf("doc.go has no lists after %q and %q", stable, experimental)
	}
	entry := regexp.MustCompile(`(?m)^//   - \[(` + regexp.QuoteMeta(module) + `/\S+)\]$`)
	list := func(text string) (paths []string) {
		for _, m := range entry.FindAllStringSubmatch(text, -1) {
			paths = append(paths, m[1])
		}
		if !slices.IsSorted(paths) {
			t.Errorf("doc.go: this list is not sorted: %q", paths)
		}
		return paths
	}
	isStable, isExperimental := list(first), list(second)

	imports := public(t)
	if len(imports) < 15 {
		t.Fatalf("only %d packages were found", len(imports))
	}
	for _, p := range slices.Sorted(maps.Keys(imports)) {
		switch s, e := slices.Contains(isStable, p), slices.Contains(isExperimental, p); {
		case !s && !e:
			t.Errorf("doc.go does not say whether %s is stable or experimental; add it to one of the lists under Stability", p)
		case s && e:
			t.Errorf("doc.go has %s in both lists", p)
		case s:
			for _, imported := range imports[p] {
				if slices.Contains(isExperimental, imported) {
					t.Errorf("%s is stable and imports %s, which is experimental", p, imported)
				}
			}
		}
	}
	for _, p := range slices.Concat(isStable, isExperimental) {
		if _, ok := imports[p]; !ok {
			t.Errorf("doc.go lists %s, which is not a package that others can import", p)
		}
	}
}

// public returns the packages of all modules that others can import, with what they import.
func public(t *testing.T) map[string][]string {
	t.Helper()
	root := filepath.Join("..", "..")
	imports := map[string][]string{}
	err := filepath.WalkDir(root, func(dir string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() || dir == root {
			return err
		}
		switch base := entry.Name(); {
		case base == "internal", base == "examples", base == "testdata", strings.HasPrefix(base, "."):
			return filepath.SkipDir
		}
		p, err := build.Default.ImportDir(dir, 0)
		if _, none := err.(*build.NoGoError); none {
			return nil
		}
		if err != nil || p.Name == "main" {
			return err
		}
		below, err := filepath.Rel(root, dir)
		imports[path.Join(module, filepath.ToSlash(below))] = p.Imports
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return imports
}
