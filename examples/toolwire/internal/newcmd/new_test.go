package newcmd

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/examples/toolwire/internal/evalcmd"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

// every calls test for each kind with each model. The files were written by the command.
func every(t *testing.T, test func(t *testing.T, p port, files map[string]string)) {
	for _, kind := range []string{"endpoint", "codemode"} {
		for _, model := range modelNames() {
			t.Run(kind+"/"+model, func(t *testing.T) {
				dir := filepath.Join(t.TempDir(), "new", "agent")
				var stdout, stderr bytes.Buffer
				args := []string{"-kind", kind, "-model", model, "-module", "example.com/support", "-replace", "../../../..", dir}
				if status := Run(args, &stdout, &stderr); status != 0 || !strings.Contains(stdout.String(), "go mod tidy") {
					t.Fatalf("status %d\n%s%s", status, stdout.String(), stderr.String())
				}
				test(t, port{Kind: kind, Model: model}, read(t, dir))
			})
		}
	}
}

func read(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(filepath.Join(dir, name))
		files[name] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestFiles(t *testing.T) {
	want := []string{
		".github/workflows/test.yml", ".gitignore", "README.md", "agent.go", "agent_test.go", "go.mod", "main.go", "main_test.go",
		"testdata/tasks.csv", "testdata/world.json", "tools.go", "tools_schema.json", "tools_test.go",
	}
	every(t, func(t *testing.T, p port, files map[string]string) {
		want := want
		if p.Model != "none" {
			want = slices.Insert(slices.Clone(want), slices.Index(want, "go.mod"), "answer_test.go")
		}
		var names []string
		for name, text := range files {
			names = append(names, name)
			if p.Model != "openai" && strings.Contains(text, "OPENAI_") {
				t.Errorf("%s names variables of OpenAI", name)
			}
			if lines := strings.Count(text, "\n"); strings.HasSuffix(name, ".go") && lines >= 150 {
				t.Errorf("%s has %d lines", name, lines)
			}
		}
		slices.Sort(names)
		if !slices.Equal(names, want) {
			t.Errorf("%q", names)
		}
	})
}

// The gate compiles and tests what is written here. This test finds the cheaper mistakes: Go that is
// not formatted, and a name that is declared twice because of files that belong to different layers.
func TestGo(t *testing.T) {
	every(t, func(t *testing.T, _ port, files map[string]string) {
		declared := map[string]string{}
		set := token.NewFileSet()
		for name, text := range files {
			if !strings.HasSuffix(name, ".go") {
				continue
			}
			formatted, err := format.Source([]byte(text))
			if err != nil || string(formatted) != text {
				t.Errorf("%s is not formatted: %v", name, err)
			}
			for i, line := range strings.Split(text, "\n") {
				if n := len([]rune(strings.ReplaceAll(line, "\t", "    "))); n > 128 {
					t.Errorf("%s:%d: %d columns", name, i+1, n)
				}
			}
			parsed, err := parser.ParseFile(set, name, text, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, decl := range parsed.Decls {
				if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil {
					if other := declared[f.Name.Name]; other != "" {
						t.Errorf("%s and %s declare %s", other, name, f.Name.Name)
					}
					declared[f.Name.Name] = name
				}
			}
		}
		for _, name := range []string{"main", "newAgent", "target", "world", "TestTasks", "TestDoctor", "TestToolsSchema"} {
			if declared[name] == "" {
				t.Errorf("%s is not declared", name)
			}
		}
	})
}

func TestGoMod(t *testing.T) {
	every(t, func(t *testing.T, p port, files map[string]string) {
		root, err := filepath.Abs("../../../..")
		if err != nil {
			t.Fatal(err)
		}
		mod := files["go.mod"]
		for _, part := range []string{
			"module example.com/support\n", "\ngo 1.26.0\n", "require github.com/toolwire/toolwire v0.0.0\n",
			"\ntool github.com/toolwire/toolwire/examples/toolwire\n",
			fmt.Sprintf("replace github.com/toolwire/toolwire => %q\n", root),
		} {
			if !strings.Contains(mod, part) {
				t.Errorf("%q is missing in\n%s", part, mod)
			}
		}
		for _, s := range sdks {
			if strings.Contains(mod, s.module+" "+s.version) != (s.model == p.Model) {
				t.Errorf("%s: %s\n%s", p.Model, s.module, mod)
			}
			if !strings.Contains(mod, s.module) && strings.Contains(files["README.md"], s.name) {
				t.Errorf("the README names %s", s.name)
			}
		}
		if strings.Contains(files["README.md"], "{{") || !strings.Contains(files["README.md"], "# support\n") || !strings.Contains(files[".gitignore"], "\n/support\n") {
			t.Errorf("the name is missing in\n%s\n%s", files["README.md"], files[".gitignore"])
		}
	})
}

// The agent in Python answers all tasks of its dataset, and the driver runs it as a program.
func TestPython(t *testing.T) {
	t.Chdir(t.TempDir()) // outside of a checkout
	var stdout, stderr bytes.Buffer
	if status := Run([]string{"-kind", "python", "agent"}, &stdout, &stderr); status != 0 || !strings.Contains(stdout.String(), "-- python3 '"+filepath.Join("agent", "driver.py")+"'\n") {
		t.Fatalf("status %d\n%s%s", status, stdout.String(), stderr.String())
	}
	names := slices.Sorted(maps.Keys(read(t, "agent")))
	if want := []string{"README.md", "code_agent.py", "driver.py", "testdata/tasks.csv", "testdata/world.json", "tools_schema.json"}; !slices.Equal(names, want) {
		t.Errorf("%q", names)
	}
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("python3, which runs the driver that was written, is not on this machine")
	}
	t.Chdir("agent")
	stdout.Reset()
	args := []string{"-dataset", "testdata/tasks.csv", "-world", "testdata/world.json", "--", "python3", "driver.py"}
	if status := evalcmd.Run(t.Context(), args, &stdout, &stderr); status != 0 || !strings.Contains(stdout.String(), ": 4 passed\n") {
		t.Errorf("status %d\n%s%s", status, stdout.String(), stderr.String())
	}
}

// A release needs no checkout: it writes its version.
func TestReleased(t *testing.T) {
	info := func(path, version string, replace *debug.Module) *debug.BuildInfo {
		return &debug.BuildInfo{Main: debug.Module{Path: path, Version: version, Replace: replace}}
	}
	for want, built := range map[string][]*debug.BuildInfo{
		"v0.1.0":      {info(toolwire, "v0.1.0", nil)},
		"v0.1.0-rc.1": {info(toolwire, "v0.1.0-rc.1", nil)},
		"": {
			info(toolwire, "(devel)", nil), info(toolwire, "v0.0.0-20261123064717-a8da542d12e5", nil), info(toolwire, "v0.1.0+dirty", nil),
			info(toolwire, "v0.1.1-0.20261123064717-a8da542d12e5", nil), info(toolwire, "v0.1.0-rc.1.0.20261123064717-a8da542d12e5", nil),
			info(toolwire, "v0.0.0", &debug.Module{Path: "../toolwire"}), info("example.com/fork", "v0.1.0", nil),
		},
	} {
		for _, b := range built {
			if got := released(b); got != want {
				t.Errorf("%v: %q, want %q", b.Main, got, want)
			}
		}
	}
	p := &port{Kind: "endpoint", Model: "none", Module: "agent", Version: "v0.1.0"}
	t.Chdir(t.TempDir())
	if _, err := p.check([]string{"new"}); err != nil {
		t.Fatal(err)
	}
	files, err := p.files()
	if err != nil {
		t.Fatal(err)
	}
	const want = "module agent\n\ngo 1.26.0\n\nrequire github.com/toolwire/toolwire v0.1.0\n\ntool github.com/toolwire/toolwire/examples/toolwire\n"
	if got := string(files["go.mod"]); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// The program of a module has the name that go build gives it.
func TestName(t *testing.T) {
	for module, name := range map[string]string{
		"example.com/agent/v2": "agent", "example.com/agent/v10": "agent", "example.com/agent/v1": "v1", "v2": "v2",
		"example.com/agent.v2": "agent.v2", "agent/v02": "v02",
	} {
		files, err := (&port{Kind: "endpoint", Model: "none", Module: module}).files()
		if err != nil {
			t.Fatal(err)
		}
		for file, part := range map[string]string{"README.md": "# " + name + "\n", ".gitignore": "/" + name + "\n", "go.mod": "module " + module + "\n"} {
			if !strings.Contains(string(files[file]), part) {
				t.Errorf("%s: %q is missing in %s:\n%s", module, part, file, files[file])
			}
		}
	}
}

// Without -replace the command uses the checkout that it runs in. Outside of one it says what is
// missing, and writes nothing.
func TestCheckout(t *testing.T) {
	root, err := filepath.Abs("../../../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "agent")
	var stdout, stderr bytes.Buffer
	if status := Run([]string{dir}, &stdout, &stderr); status != 0 || !strings.Contains(read(t, dir)["go.mod"], fmt.Sprintf("replace github.com/toolwire/toolwire => %q\n", root)) {
		t.Errorf("status %d: %s\n%s", status, stderr.String(), read(t, dir)["go.mod"])
	}
	outside := t.TempDir()
	t.Chdir(outside)
	if err := os.WriteFile("go.mod", []byte("module example.com/other\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	stdout.Reset()
	if status := Run([]string{"agent"}, &stdout, &stderr); status != 2 || stdout.Len() > 0 || !strings.Contains(stderr.String(), outside+" is not in a checkout") ||
		!strings.Contains(stderr.String(), "name one with -replace") {
		t.Errorf("status %d: %s%s", status, stdout.String(), stderr.String())
	}
	if got := read(t, outside); len(got) != 1 {
		t.Errorf("something was written: %v", got)
	}
}

// The world for toolwire eval is the one of the tests, and declares the tools of tools_schema.json.
func TestWorld(t *testing.T) {
	every(t, func(t *testing.T, _ port, files map[string]string) {
		world, err := proxytest.ParseWorld([]byte(files["testdata/world.json"]))
		if err != nil {
			t.Fatal(err)
		}
		for name := range world.Behaviors {
			if !strings.Contains(files["tools_schema.json"], fmt.Sprintf("%q", name)) {
				t.Errorf("%s is not in tools_schema.json", name)
			}
		}
		if len(world.Behaviors) != 2 {
			t.Errorf("%d behaviors", len(world.Behaviors))
		}
	})
}

// The examples are tested with the same versions. What has no example is tested in the workshop.
func TestVersions(t *testing.T) {
	text, err := os.ReadFile("../../../../go.mod")
	if err != nil || !strings.Contains(string(text), "\ngo "+goVersion+"\n") {
		t.Errorf("go.mod does not have go %s: %v", goVersion, err)
	}
	for _, s := range sdks {
		tested := filepath.Join("../../..", s.model, "go.mod")
		if s.model == "bedrock" || s.model == "ollama" {
			tested = "../../../../internal/workshop/sdks/go.mod"
		}
		text, err := os.ReadFile(tested)
		if err != nil || !strings.Contains(string(text), s.module+" "+s.version+"\n") || !strings.Contains(string(text), s.more) {
			t.Errorf("%s does not have %s %s: %v", tested, s.module, s.version, err)
		}
	}
}

func TestMistakes(t *testing.T) {
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "notes"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	plain := filepath.Join(full, "notes")
	for _, tt := range []struct {
		name  string
		args  []string
		parts []string
	}{
		{"nothing", nil, []string{"name the folder"}},
		{"two folders", []string{"a", "b"}, []string{`name one folder, after the flags: ["a" "b"]`}},
		{"a flag after the folder", []string{"a", "-kind", "codemode"}, []string{"after the flags"}},
		{"everything", []string{"-kind", "server", "-model", "gpt", "-module", "a b", "-replace", full, full}, []string{
			`-kind is endpoint, codemode or python, not "server"`, `-model is one of none, openai, anthropic, genai, bedrock, ollama, not "gpt"`,
			`-module is not the path of a module, such as example.com/agent: "a b"`, "-replace is not a folder with the go.mod of", full + " is not empty",
		}},
		{"a model in Python", []string{"-kind", "python", "-model", "openai", filepath.Join(full, "x")}, []string{"-model, -module and -replace are for an agent in Go"}},
		{"a file", []string{plain}, []string{plain}},
		{"below a file", []string{filepath.Join(plain, "x")}, []string{plain}},
		{"our path", []string{"-module", toolwire + "/agent", filepath.Join(full, "x")}, []string{"Toolwire's own path"}},
		{"a relative module", []string{"-module", "../agent", filepath.Join(full, "x")}, []string{"-module is not"}},
		{"an empty element", []string{"-module", "example.com//agent", filepath.Join(full, "x")}, []string{"-module is not"}},
		{"an unknown flag", []string{"-framework", "openai", filepath.Join(full, "x")}, []string{"-framework"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			if status := Run(tt.args, &stdout, &stderr); status != 2 || stdout.Len() > 0 {
				t.Errorf("status %d: %s", status, stdout.String())
			}
			for _, part := range tt.parts {
				if !strings.Contains(stderr.String(), part) {
					t.Errorf("%q is missing in\n%s", part, stderr.String())
				}
			}
			if got := read(t, full); len(got) != 1 {
				t.Errorf("something was written: %v", got)
			}
		})
	}
}

// All folders that are missing are made, the outermost first.
func TestFoldersAreMade(t *testing.T) {
	dir := t.TempDir()
	if err := write(filepath.Join(dir, "a", "b"), map[string][]byte{"c/d/e": []byte("text")}); err != nil {
		t.Fatal(err)
	}
	if got := read(t, dir); got["a/b/c/d/e"] != "text" {
		t.Errorf("%v", got)
	}
}

// If a file cannot be written, all others are removed again, and the folders that were made.
func TestNothingIsLeft(t *testing.T) {
	for _, existing := range []bool{false, true} {
		dir := t.TempDir()
		to := filepath.Join(dir, "a", "b")
		if existing {
			to = dir
		}
		err := write(to, map[string][]byte{"one": nil, "two/three": nil, "two/three/four": nil})
		if err == nil {
			t.Fatal("a file was taken for a folder")
		}
		if entries, err := os.ReadDir(dir); len(entries) > 0 || err != nil {
			t.Errorf("%v is left, %v", entries, err)
		}
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "two"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := write(dir, map[string][]byte{"one": nil, "two": nil}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("%v", err)
	}
	if got := read(t, dir); len(got) != 1 || got["two"] != "mine" {
		t.Errorf("%v", got)
	}
}
