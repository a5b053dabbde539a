package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// A module is one go.mod file of the tree.
type module struct {
	Dir  string // below the root, with slashes; "." for the root
	Path string
	Mod  modFile
}

// modFile is what go mod edit -json prints.
type modFile struct {
	Module  struct{ Path string }
	Require []struct{ Path, Version string }
	Replace []struct {
		Old, New struct{ Path, Version string }
	}
}

// public reports whether programs outside of the repository import the module.
func (m module) public() bool {
	return !slices.ContainsFunc(strings.Split(m.Dir, "/"), func(part string) bool {
		return part == "internal" || part == "examples"
	})
}

// tag returns the tag that makes a version of the module.
func (m module) tag(version string) string { return path.Join(m.Dir, version) }

// allModules returns the modules of a tree, the root first.
func allModules(root string) ([]module, error) {
	var list []module
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "testdata" || entry.Name() == ".git"):
			return filepath.SkipDir
		case entry.IsDir() || entry.Name() != "go.mod":
			return nil
		}
		dir, err := filepath.Rel(root, filepath.Dir(file))
		if err != nil {
			return err
		}
		m := module{Dir: filepath.ToSlash(dir)}
		text, err := output(filepath.Dir(file), nil, "go", "mod", "edit", "-json")
		if err == nil {
			err = json.Unmarshal([]byte(text), &m.Mod)
		}
		m.Path = m.Mod.Module.Path
		list = append(list, m)
		return err
	})
	slices.SortFunc(list, func(a, b module) int { return cmp.Compare(a.Path, b.Path) })
	if err == nil && (len(list) == 0 || list[0].Dir != ".") {
		err = fmt.Errorf("%s has no module at its root", root)
	}
	for _, m := range list {
		if want := path.Join(list[0].Path, m.Dir); err == nil && m.Path != want {
			err = fmt.Errorf("%s/go.mod: the module path is %s and not %s", m.Dir, m.Path, want)
		}
	}
	return list, err
}

// section is the heading of a version in CHANGELOG.md.
var section = regexp.MustCompile(`(?m)^## (v\d+\.\d+\.\d+), (.+)$`)

const notReleased = "not released"

// nextVersion returns the version of the newest section of CHANGELOG.md.
func nextVersion(root string) (string, error) {
	text, err := os.ReadFile(filepath.Join(root, "CHANGELOG.md"))
	if err != nil {
		return "", err
	}
	first := section.FindSubmatch(text)
	if first == nil {
		return "", fmt.Errorf("CHANGELOG.md has no section such as \"## v0.1.0, %s\"", notReleased)
	}
	return string(first[1]), nil
}

// prepare gives a tree the go.mod files and the changelog of a version, and returns its public
// modules. Nested modules keep their replace lines: a replace counts only in the main module, so the
// repository builds at every commit, and importers get the version that is required.
func prepare(root, version string, now time.Time) ([]module, error) {
	all, err := allModules(root)
	if err != nil {
		return nil, err
	}
	if len(all[0].Mod.Replace) > 0 {
		return nil, fmt.Errorf("go.mod has a replace; go install and go run refuse such a module")
	}
	inTree := func(path string) bool {
		return slices.ContainsFunc(all, func(m module) bool { return m.Path == path })
	}
	var public []module
	for _, m := range all {
		edit := []string{"mod", "edit"}
		for _, r := range m.Mod.Require {
			if inTree(r.Path) {
				edit = append(edit, "-require="+r.Path+"@"+version)
			}
		}
		if len(edit) > 2 {
			if _, err := output(filepath.Join(root, filepath.FromSlash(m.Dir)), nil, "go", edit...); err != nil {
				return nil, err
			}
		}
		if m.public() {
			public = append(public, m)
		}
	}
	return public, date(filepath.Join(root, "CHANGELOG.md"), version, now) // last, because it cannot be done twice
}

// date writes the day of the release into the heading of the version. A rehearsal uses
// the heading of its release, which may have a day already.
func date(changelog, version string, now time.Time) error {
	text, err := os.ReadFile(changelog)
	if err != nil {
		return err
	}
	base, _, rehearsal := strings.Cut(version, "-")
	old, dated := []byte("## "+base+", "+notReleased+"\n"), []byte("## "+base+", "+now.UTC().Format(time.DateOnly)+"\n")
	if !bytes.Contains(text, old) {
		if rehearsal {
			return nil
		}
		return fmt.Errorf("CHANGELOG.md has no section \"## %s, %s\"", base, notReleased)
	}
	return os.WriteFile(changelog, bytes.Replace(text, old, dated, 1), 0o644)
}

// plan is what remains to be done by hand after prepare.
func plan(modules []module, version string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "git commit -am 'Release %s'\n", version)
	tags := make([]string, 0, len(modules))
	for _, m := range modules {
		tags = append(tags, m.tag(version))
		fmt.Fprintf(&b, "git tag -a -m '%s %s' %s\n", m.Path, version, m.tag(version))
	}
	fmt.Fprintf(&b, "git push --atomic origin main %s\n", strings.Join(tags, " "))
	return b.String()
}

// output runs a command in dir, with these variables beside the environment, and returns what it
// prints without the newline at the end.
func output(dir string, env []string, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s%s", name, strings.Join(args, " "), err, out, stderr.Bytes())
	}
	return strings.TrimSuffix(string(out), "\n"), nil
}
