package workshop

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/toolwire/toolwire"

// The table in docs/design.md of what each package brings into an importer's build agrees with go list.
func TestTableOfBuilds(t *testing.T) {
	const begin, end = "<!-- internal/workshop checks this table. -->\n", "<!-- end of the table -->\n"
	design, err := os.ReadFile(filepath.Join("..", "..", "docs", "design.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(design), begin)
	table, _, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("docs/design.md has no table between %q and %q", begin, end)
	}
	if want := tableOfBuilds(t); table != want {
		t.Errorf("the table in docs/design.md differs from the code. It has\n%s\nwant\n%s", table, want)
	}
}

// tableOfBuilds returns the table, with a row for the packages that bring the same.
func tableOfBuilds(t *testing.T) string {
	t.Helper()
	list := exec.Command("go", "list", "-deps", "-f", `{{.ImportPath}}	{{with .Module}}{{.Path}}{{end}}	{{join .Imports " "}}`, module+"/...")
	list.Dir = filepath.Join("..", "..")
	var stderr bytes.Buffer
	list.Stderr = &stderr
	out, err := list.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	graph := builds{modules: map[string]string{}, imports: map[string][]string{}}
	for line := range strings.Lines(string(out)) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		graph.modules[fields[0]], graph.imports[fields[0]] = fields[1], strings.Fields(fields[2])
	}

	type row struct{ packages, modules []string }
	rows := map[string]*row{}
	for _, path := range slices.Sorted(maps.Keys(graph.imports)) {
		name, ours := strings.CutPrefix(path, module+"/")
		if !ours || strings.Contains("/"+name+"/", "/internal/") || strings.HasPrefix(name, "examples/") {
			continue
		}
		modules, http := graph.of(path)
		if http {
			modules = append(modules, "`net/http`")
		}
		key := strings.Join(modules, ", ")
		if rows[key] == nil {
			rows[key] = &row{modules: modules}
		}
		rows[key].packages = append(rows[key].packages, "`"+name+"`")
	}
	if len(rows) < 3 {
		t.Fatalf("go list names %d packages and %d kinds of build", len(graph.imports), len(rows))
	}
	var b strings.Builder
	b.WriteString("| packages | bring |\n| --- | --- |\n")
	for _, r := range slices.SortedFunc(maps.Values(rows), func(x, y *row) int {
		return cmp.Or(cmp.Compare(len(x.modules), len(y.modules)), slices.Compare(x.packages, y.packages))
	}) {
		fmt.Fprintf(&b, "| %s | %s |\n", strings.Join(r.packages, ", "), strings.Join(r.modules, ", "))
	}
	return b.String()
}

// builds are the imports of packages, and the modules that the packages are in.
type builds struct {
	modules map[string]string
	imports map[string][]string
}

// of returns the other modules in the build of a package, sorted, and whether net/http is in it.
func (b builds) of(path string) (modules []string, http bool) {
	seen, found := map[string]bool{}, map[string]bool{}
	var visit func(path string)
	visit = func(path string) {
		if seen[path] {
			return
		}
		seen[path] = true
		if m := b.modules[path]; m != "" && m != module {
			found["`"+m+"`"] = true
		}
		for _, imported := range b.imports[path] {
			visit(imported)
		}
	}
	visit(path)
	return slices.Sorted(maps.Keys(found)), seen["net/http"]
}

// What lies in the root's internal is below all public packages.
func TestImportsOfInternalPackages(t *testing.T) {
	list := exec.Command("go", "list", "-f", `{{$p := .ImportPath}}{{range .Imports}}{{$p}}	{{.}}{{"\n"}}{{end}}`, "./internal/...")
	list.Dir = filepath.Join("..", "..")
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		from, to, found := strings.Cut(strings.TrimSpace(line), "\t")
		if found && strings.HasPrefix(to, module+"/") && !strings.HasPrefix(to, module+"/internal/") {
			t.Errorf("%s imports %s", from, to)
		}
	}
}
