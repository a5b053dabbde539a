package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A stub is what a function of a library does instead.
type stub struct{ module, file, function, body string }

const (
	jsonpath   = "github.com/PaesslerAG/jsonpath"
	jsonschema = "github.com/invopop/jsonschema"
	nothing    = "return func(context.Context, interface{}, interface{}, ambiguousMatcher) {}"
)

// The libraries do the work: with stubs in their place no path selects anything, and nothing is
// inferred. A stub is a copy of a library with another function, and a go.mod that replaces the
// library with it; the flag -overlay does not reach into the module cache.
func TestTheLibrariesDoTheWork(t *testing.T) {
	all := run(t)
	unevaluated := run(t,
		stub{jsonpath, "jsonpath.go", "func New(path string) (gval.Evaluable, error) {",
			"return func(context.Context, interface{}) (interface{}, error) { return nil, context.Canceled }, nil"},
		stub{jsonpath, "placeholder.go",
			"func (kv keyValueMatcher) visitElements(c context.Context, v interface{}, visit keyValueVisitor) (err error) {",
			"return nil"})
	withoutLists := run(t,
		stub{jsonpath, "selector.go", "func multiSelector(keys []gval.Evaluable) ambiguousSelector {",
			"if len(keys) > 0 { " + nothing + " }"}, // without keys it is *
		stub{jsonpath, "selector.go", "func rangeSelector(min, max, step gval.Evaluable) ambiguousSelector {", nothing},
		stub{jsonpath, "selector.go", "func mapper(c context.Context, r, v interface{}, match ambiguousMatcher) {", "return"})
	uninferred := run(t, stub{jsonschema, "reflect.go",
		"func (r *Reflector) reflectTypeToSchema(definitions Definitions, t reflect.Type) *Schema {", "return new(Schema)"})
	const missing = " matched nothing"
	for i, line := range all {
		if !strings.HasPrefix(line, "path ") {
			if !strings.Contains(line, `"exclusiveMinimum":0`) || strings.Contains(uninferred[i], `"type"`) {
				t.Errorf("%s\nwithout the library: %s", line, uninferred[i])
			}
			continue
		}
		path := strings.Fields(line)[1]
		if strings.HasSuffix(line, missing) || !strings.HasSuffix(unevaluated[i], missing) {
			t.Errorf("%s\nwithout the library: %s", line, unevaluated[i])
		}
		lists := strings.ContainsAny(path, ":,0123456789") || strings.Contains(path, "..")
		if lists != strings.HasSuffix(withoutLists[i], missing) {
			t.Errorf("%s\nwithout the library's slices, lists and descents: %s", line, withoutLists[i])
		}
	}
	if len(all) < 10 {
		t.Errorf("the program has printed %d lines", len(all))
	}
}

// run runs the program with stubs and returns its lines.
func run(t *testing.T, stubs ...stub) []string {
	t.Helper()
	dir := t.TempDir()
	modfile := filepath.Join(dir, "go.mod")
	for from, to := range map[string]string{"../go.mod": modfile, "../go.sum": filepath.Join(dir, "go.sum")} {
		text, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range stubs {
		library := filepath.Join(dir, filepath.Base(s.module))
		if _, err := os.Stat(library); err != nil {
			from := strings.TrimSpace(output(t, "go", "list", "-m", "-f", "{{.Dir}}", s.module))
			if err := os.CopyFS(library, os.DirFS(from)); err != nil {
				t.Fatal(err)
			}
			output(t, "go", "mod", "edit", "-replace", s.module+"="+library, modfile)
		}
		file := filepath.Join(library, s.file)
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		before, after, ok := strings.Cut(string(source), s.function)
		if !ok {
			t.Fatalf("%s has no %s", s.file, s.function)
		}
		if err := os.Chmod(file, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(before+s.function+"\nif true { "+s.body+" }\n"+after), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return strings.Split(strings.TrimSpace(output(t, "go", "run", "-modfile", modfile, ".")), "\n")
}

func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	var stderr strings.Builder
	c := exec.Command(name, args...)
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, stderr.String())
	}
	return string(out)
}
