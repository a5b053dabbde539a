package main

import (
	"archive/zip"
	"fmt"
	"os"
	"path"
	"strings"
)

// What a module may weigh, since every importer downloads it.
const (
	maxFile = 256 << 10 // bytes of one file
	maxZip  = 3 << 20   // bytes of the zip file
)

// checkZip examines the zip file of a module and returns a line about its size.
func checkZip(file string, m module, all []module, version string) (string, error) {
	info, err := os.Stat(file)
	if err != nil {
		return "", fmt.Errorf("%s: the go command made no zip file: %w", m.Path, err)
	}
	if info.Size() > maxZip {
		return "", fmt.Errorf("%s: the zip file has %d bytes, want at most %d", m.Path, info.Size(), maxZip)
	}
	r, err := zip.OpenReader(file)
	if err != nil {
		return "", err
	}
	defer func() { _ = r.Close() }()

	var unpacked, tests uint64
	has := map[string]bool{}
	for _, f := range r.File {
		name, ok := strings.CutPrefix(f.Name, m.Path+"@"+version+"/")
		if !ok {
			return "", fmt.Errorf("%s: the zip file has %s", m.Path, f.Name)
		}
		has[name] = true
		if f.UncompressedSize64 > maxFile {
			return "", fmt.Errorf("%s: %s has %d bytes, want at most %d", m.Path, name, f.UncompressedSize64, maxFile)
		}
		if path.Base(name) == "go.mod" && name != "go.mod" {
			return "", fmt.Errorf("%s: the zip file has the nested module %s", m.Path, path.Dir(name))
		}
		for _, other := range all {
			if inside, err := below(m.Dir, other.Dir); err == nil && strings.HasPrefix(name, inside+"/") {
				return "", fmt.Errorf("%s: the zip file has %s, which belongs to %s", m.Path, name, other.Path)
			}
		}
		unpacked += f.UncompressedSize64
		if strings.HasSuffix(name, "_test.go") || strings.Contains("/"+name, "/testdata/") {
			tests += f.UncompressedSize64
		}
	}
	for _, name := range []string{"go.mod", "LICENSE"} {
		if !has[name] {
			return "", fmt.Errorf("%s: the zip file has no %s", m.Path, name)
		}
	}
	return fmt.Sprintf("%s %s: %d files, %d KiB, zipped %d KiB; tests and their data are %d KiB of that",
		m.Path, version, len(r.File), unpacked>>10, info.Size()>>10, tests>>10), nil
}

// below returns the folder of a nested module relative to the folder of the module around it.
func below(outer, inner string) (string, error) {
	if outer == "." && inner != "." {
		return inner, nil
	}
	if rest, ok := strings.CutPrefix(inner, outer+"/"); ok {
		return rest, nil
	}
	return "", fmt.Errorf("%s is not below %s", inner, outer)
}
