package main

import (
	"archive/zip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A repository with a root module, a public nested module, and one of an example.
var files = map[string]string{
	"LICENSE":      "Do what you like.\n",
	"CHANGELOG.md": "# Changelog\n\n## v0.2.0, not released\n\n- New.\n\n## v0.1.0, 2026-01-02\n",
	"go.mod":       "module github.com/example/lib\n\ngo 1.26.0\n",
	"lib.go":       "package lib\n\nconst Name = \"lib\"\n",
	"a/b/go.mod":   "module github.com/example/lib/a/b\n\ngo 1.26.0\n\nreplace github.com/example/lib => ../..\n\nrequire github.com/example/lib v0.1.0\n",
	"a/b/b.go":     "package b\n\nimport \"github.com/example/lib\"\n\nconst Name = lib.Name + \"/a/b\"\n",
	"examples/go.mod": "module github.com/example/lib/examples\n\ngo 1.26.0\n\nreplace github.com/example/lib => ../\n\n" +
		"require github.com/example/lib v0.1.0\n",
	"examples/main.go": "package main\n\nimport \"github.com/example/lib\"\n\nfunc main() { print(lib.Name) }\n",
}

// repository writes the files and those in which the test differs; a file with no text is left out.
func repository(t *testing.T, differ map[string]string) string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	root := t.TempDir()
	for _, set := range []map[string]string{files, differ} {
		for name, text := range set {
			path := filepath.Join(root, filepath.FromSlash(name))
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			if text == "" {
				if err := os.Remove(path); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}} {
		if _, err := output(root, nil, "git", args...); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func read(t *testing.T, parts ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(parts...))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A program that has only the rehearsal's proxy imports both public modules. Files that are not
// tracked are not in the release.
func TestRehearse(t *testing.T) {
	root := repository(t, nil)
	if err := os.WriteFile(filepath.Join(root, "a", "b", "untracked.go"), []byte("package broken"), 0o644); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := rehearse(root, dir, t.Output()); err != nil {
		t.Fatal(err)
	}
	if got, want := read(t, dir, "modules"), "github.com/example/lib\ngithub.com/example/lib/a/b\n"; got != want {
		t.Errorf("modules:\n%s", got)
	}
	if got := read(t, root, "a/b/go.mod"); got != files["a/b/go.mod"] {
		t.Errorf("the tree itself has changed:\n%s", got)
	}
	version := strings.TrimSpace(read(t, dir, "version"))
	if !strings.HasPrefix(version, "v0.2.0-rehearsal.t") {
		t.Errorf("version %s", version)
	}

	program := t.TempDir()
	env := []string{"GOPROXY=" + fileURL(filepath.Join(dir, "proxy")), "GONOPROXY=", "GOPRIVATE=", "GOSUMDB=off", "GOWORK=off",
		"GOMODCACHE=" + filepath.Join(t.TempDir(), "cache"), "GOFLAGS=-modcacherw"}
	source := "package main\n\nimport (\n\t\"github.com/example/lib\"\n\t\"github.com/example/lib/a/b\"\n)\n\nfunc main() { println(lib.Name + \" \" + b.Name) }\n"
	if err := os.WriteFile(filepath.Join(program, "main.go"), []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"mod", "init", "example.com/program"},
		{"get", "github.com/example/lib/a/b@" + version},
		{"mod", "tidy"},
		{"vet", "./..."},
	} {
		if _, err := output(program, env, "go", args...); err != nil {
			t.Fatal(err)
		}
	}
	if got := read(t, program, "go.mod"); strings.Count(got, version) != 2 || strings.Contains(got, "replace") {
		t.Errorf("go.mod of the program:\n%s", got)
	}
}

func TestRehearseFails(t *testing.T) {
	for name, tt := range map[string]struct {
		differ map[string]string
		want   string
	}{
		"no licence":     {map[string]string{"LICENSE": ""}, "github.com/example/lib: the zip file has no LICENSE"},
		"no section":     {map[string]string{"CHANGELOG.md": "# Changelog\n\n## Unreleased\n"}, `no section such as "## v0.1.0, not released"`},
		"large file":     {map[string]string{"a/b/data.txt": strings.Repeat("0123456789abcdef", maxFile/16) + "."}, "github.com/example/lib/a/b: data.txt has 262145 bytes"},
		"other path":     {map[string]string{"a/b/go.mod": "module github.com/example/lib/b\n"}, "a/b/go.mod: the module path is github.com/example/lib/b and not github.com/example/lib/a/b"},
		"replace":        {map[string]string{"go.mod": "module github.com/example/lib\n\nreplace example.com/x => ./x\n"}, "go.mod has a replace"},
		"no root module": {map[string]string{"go.mod": ""}, "has no module at its root"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := rehearse(repository(t, tt.differ), t.TempDir(), t.Output()); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want an error with %s", err, tt.want)
			}
		})
	}
}

func TestPrepare(t *testing.T) {
	root := repository(t, nil)
	version, err := nextVersion(root)
	if err != nil || version != "v0.2.0" {
		t.Fatal(version, err)
	}
	modules, err := prepare(root, version, time.Date(2026, 11, 22, 23, 0, 0, 0, time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"CHANGELOG.md":    strings.Replace(files["CHANGELOG.md"], "not released", "2026-11-22", 1),
		"go.mod":          files["go.mod"],
		"a/b/go.mod":      strings.Replace(files["a/b/go.mod"], "v0.1.0", "v0.2.0", 1),
		"examples/go.mod": strings.Replace(files["examples/go.mod"], "v0.1.0", "v0.2.0", 1),
	} {
		if got := read(t, root, name); got != want {
			t.Errorf("%s:\n%s", name, got)
		}
	}
	if got, want := plan(modules, version), `git commit -am 'Release v0.2.0'
git tag -a -m 'github.com/example/lib v0.2.0' v0.2.0
git tag -a -m 'github.com/example/lib/a/b v0.2.0' a/b/v0.2.0
git push --atomic origin main v0.2.0 a/b/v0.2.0
`; got != want {
		t.Errorf("plan:\n%s", got)
	}
	if _, err := prepare(root, version, time.Now()); err == nil || !strings.Contains(err.Error(), `no section "## v0.2.0, not released"`) {
		t.Errorf("a version is prepared twice: %v", err)
	}
}

// What fails can be prepared again: the changelog has its day when everything else is done.
func TestPrepareAgain(t *testing.T) {
	root := repository(t, map[string]string{"go.mod": "module github.com/example/lib\n\nreplace example.com/x => ./x\n"})
	for range 2 {
		if _, err := prepare(root, "v0.2.0", time.Now()); err == nil || !strings.Contains(err.Error(), "go.mod has a replace") {
			t.Errorf("%v", err)
		}
	}
	if got := read(t, root, "CHANGELOG.md"); got != files["CHANGELOG.md"] {
		t.Errorf("CHANGELOG.md:\n%s", got)
	}
}

// The go command makes no such zip files; a change of its rules, or of the tree's, must be seen.
func TestCheckZip(t *testing.T) {
	root, nested := module{Dir: ".", Path: "example.com/m"}, module{Dir: "a/b", Path: "example.com/m/a/b"}
	for name, tt := range map[string]struct {
		m     module
		names []string
		want  string
	}{
		"good":          {root, []string{"go.mod", "LICENSE", "a/b.go"}, ""},
		"good nested":   {nested, []string{"go.mod", "LICENSE", "b.go"}, ""},
		"no go.mod":     {root, []string{"LICENSE"}, "has no go.mod"},
		"nested":        {root, []string{"go.mod", "LICENSE", "a/b/b.go"}, "a/b/b.go, which belongs to example.com/m/a/b"},
		"unknown":       {root, []string{"go.mod", "LICENSE", "c/go.mod"}, "has the nested module c"},
		"other version": {root, []string{"go.mod", "LICENSE", "/v0.0.1/m.go"}, "has example.com/m@/v0.0.1/m.go"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "m.zip")
			f, err := os.Create(file)
			if err != nil {
				t.Fatal(err)
			}
			w := zip.NewWriter(f)
			for _, n := range tt.names {
				if !strings.HasPrefix(n, "/") {
					n = "v0.1.0/" + n
				}
				if _, err := w.Create(tt.m.Path + "@" + n); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
			_, err = checkZip(file, tt.m, []module{root, nested}, "v0.1.0")
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("%v, want an error with %q", err, tt.want)
			}
		})
	}
}
