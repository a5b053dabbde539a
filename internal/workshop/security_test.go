package workshop

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	threatHeading = regexp.MustCompile("(?m)^### (.*)$")
	testName      = regexp.MustCompile("`((?:[a-z][a-z0-9]*/)*(?:[a-z][a-z0-9]*\\.)?)((?:Test|Fuzz)[A-Za-z0-9_]*)`")
)

// Each test that SECURITY.md names exists, and each public package has a table there.
func TestThreatModel(t *testing.T) {
	text, err := os.ReadFile("../../SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}
	tests := testsOfPackages(t)
	for _, problem := range threatProblems(string(text), tests, publicPackages(t)) {
		t.Error(problem)
	}
}

func TestThreatModelProblems(t *testing.T) {
	tests := map[string][]string{"proxy": {"TestA"}, "internal/redact": {"FuzzText"}}
	for _, test := range []struct {
		name, text string
		want       []string
	}{
		{"all there", "### `proxy`\n\n| x | y | z | tests |\n| --- | --- | --- | --- |\n| a | b | c | `TestA`, `internal/redact.FuzzText` |\n", nil},
		{"misspelt", "### `proxy`\n\n| a | b | c | `TestB` |\n", []string{"SECURITY.md: proxy has no test TestB"}},
		{"of another package", "### `proxy`\n\n| a | b | c | `internal/redact.TestA` |\n", []string{"SECURITY.md: internal/redact has no test TestA"}},
		{"a row without a test", "### `proxy`\n\n| a | b | c | later |\n", []string{"SECURITY.md: a row of proxy names no test: | a | b | c | later |"}},
		{"a test outside the last column", "### `proxy`\n\n| a | b | `TestA` | later |\n", []string{"SECURITY.md: a row of proxy names no test: | a | b | `TestA` | later |"}},
		{"a package without a heading", "### `ledger`\n", []string{"SECURITY.md has no heading for proxy", "SECURITY.md: ledger is not a public package"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := threatProblems(test.text, tests, []string{"proxy"})
			if !slices.Equal(got, test.want) {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
		})
	}
}

// threatProblems compares the text of SECURITY.md with the tests of each package.
func threatProblems(text string, tests map[string][]string, public []string) []string {
	var problems, headings []string
	at := threatHeading.FindAllStringSubmatchIndex(text, -1)
	for i, h := range at {
		name := strings.Trim(text[h[2]:h[3]], "`")
		headings = append(headings, name)
		end := len(text)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		if next := strings.Index(text[h[1]:end], "\n## "); next >= 0 {
			end = h[1] + next
		}
		for line := range strings.Lines(text[h[1]:end]) {
			line = strings.TrimSpace(line)
			if !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "| ---") || strings.HasSuffix(line, "| tests |") {
				continue
			}
			cells := strings.Split(strings.Trim(line, "|"), " | ")
			named := testName.FindAllStringSubmatch(cells[len(cells)-1], -1)
			if len(named) == 0 {
				problems = append(problems, "SECURITY.md: a row of "+name+" names no test: "+line)
			}
			for _, n := range named {
				of := name
				if n[1] != "" {
					of = strings.TrimSuffix(n[1], ".")
				}
				if !slices.Contains(tests[of], n[2]) {
					problems = append(problems, "SECURITY.md: "+of+" has no test "+n[2])
				}
			}
		}
	}
	for _, p := range public {
		if !slices.Contains(headings, p) {
			problems = append(problems, "SECURITY.md has no heading for "+p)
		}
	}
	for _, h := range headings {
		if h != "All packages" && !slices.Contains(public, h) {
			problems = append(problems, "SECURITY.md: "+h+" is not a public package")
		}
	}
	return problems
}

// testsOfPackages has the names of the tests and fuzz targets in each folder of the repository.
func testsOfPackages(t *testing.T) map[string][]string {
	t.Helper()
	tests := make(map[string][]string)
	files(t, []string{".go"}, func(name, text string) {
		if !strings.HasSuffix(name, "_test.go") {
			return
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
		if err != nil {
			t.Error(err)
			return
		}
		for _, decl := range file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if ok && f.Recv == nil && (strings.HasPrefix(f.Name.Name, "Test") || strings.HasPrefix(f.Name.Name, "Fuzz")) {
				tests[path.Dir(name)] = append(tests[path.Dir(name)], f.Name.Name)
			}
		}
	})
	return tests
}

// publicPackages are the folders with code that programs outside the repository can import.
func publicPackages(t *testing.T) []string {
	t.Helper()
	var list []string
	files(t, []string{".go"}, func(name, text string) {
		dir := path.Dir(name)
		inside := slices.Contains(strings.Split(filepath.ToSlash(dir), "/"), "internal")
		if !inside && dir != "." && !strings.HasPrefix(dir, "examples/") && !strings.HasSuffix(name, "_test.go") && !slices.Contains(list, dir) {
			list = append(list, dir)
		}
	})
	if len(list) < 10 {
		t.Fatalf("%d public packages", len(list))
	}
	slices.Sort(list)
	return list
}
