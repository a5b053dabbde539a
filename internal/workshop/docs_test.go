// Package workshop checks what the pages say: their links and anchors, the code and commands that they
// show, the tables of rules and builds in docs/design.md, and the tests that SECURITY.md names.
package workshop

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// The pages are the Markdown files in the root and in docs. A marker holds until the next heading,
// or for the whole page if it stands before the first heading of the second level:
//
//	<!-- not compiled: reason -->   the blocks of Go and text are in no file
//	<!-- not run: reason -->        the commands are not in the gate

var (
	fence   = regexp.MustCompile("^\\s*```(\\S*)\\s*$")
	heading = regexp.MustCompile(`^(#+) (.*)$`)
	marker  = regexp.MustCompile(`^<!-- not (compiled|run): \S.* -->$`)
	link    = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	styled  = regexp.MustCompile("`([^`]*)`|\\[([^\\]]*)\\]\\([^)]*\\)")
)

// files calls see for each text file of the repository whose name ends in one of the suffixes.
func files(t *testing.T, suffixes []string, see func(name, text string)) {
	t.Helper()
	n := 0
	err := filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := filepath.ToSlash(strings.TrimPrefix(path, filepath.FromSlash("../../")))
		if entry.IsDir() && (entry.Name() == "testdata" || name == ".git") {
			return filepath.SkipDir
		}
		if entry.IsDir() || filepath.Dir(path) == filepath.Join("..", "..", "internal", "workshop") || !slices.Contains(suffixes, filepath.Ext(name)) {
			return nil
		}
		text, err := os.ReadFile(path)
		n++
		see(name, string(text))
		return err
	})
	if err != nil || n < 50 {
		t.Errorf("%d files, %v", n, err)
	}
}

// A page is one Markdown file.
type page struct {
	name    string
	anchors []string
	links   []string
	blocks  []block
}

type block struct {
	language string
	lines    []string
	marked   map[string]bool // compiled, run
}

func pages(t *testing.T) []page {
	t.Helper()
	var list []page
	for _, pattern := range []string{"../../*.md", "../../docs/*.md"} {
		names, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, parse(filepath.ToSlash(strings.TrimPrefix(name, filepath.FromSlash("../../"))), string(text)))
		}
	}
	if len(list) < 5 {
		t.Fatalf("%d pages", len(list))
	}
	return list
}

func parse(name, text string) page {
	p := page{name: name}
	whole, section := make(map[string]bool), make(map[string]bool)
	var open *block
	seen := make(map[string]int)
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if f := fence.FindStringSubmatch(line); f != nil {
			if open == nil {
				marked := map[string]bool{"compiled": whole["compiled"] || section["compiled"], "run": whole["run"] || section["run"]}
				open = &block{language: strings.ToLower(f[1]), marked: marked}
			} else {
				p.blocks = append(p.blocks, *open)
				open = nil
			}
			continue
		}
		if open != nil {
			open.lines = append(open.lines, line)
			continue
		}
		if h := heading.FindStringSubmatch(line); h != nil {
			if len(p.anchors) == 1 {
				whole = section
			}
			section = make(map[string]bool)
			p.anchors = append(p.anchors, slug(h[2], seen))
		}
		if m := marker.FindStringSubmatch(line); m != nil {
			section[m[1]] = true
		}
		for _, l := range link.FindAllStringSubmatch(line, -1) {
			p.links = append(p.links, l[1])
		}
	}
	return p
}

// slug is the anchor that GitHub gives to a heading.
func slug(text string, seen map[string]int) string {
	text = styled.ReplaceAllString(text, "$1$2")
	s := strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, text)
	seen[s]++
	if n := seen[s]; n > 1 {
		return s + "-" + string(rune('0'+n-1))
	}
	return s
}

// Each link inside the repository leads to a file, and each anchor to a heading.
func TestLinksOfPages(t *testing.T) {
	list := pages(t)
	anchors := make(map[string][]string)
	for _, p := range list {
		anchors[p.name] = p.anchors
	}
	checked := 0
	for _, p := range list {
		for _, l := range p.links {
			if strings.Contains(l, ":") {
				continue // another site
			}
			target, anchor, has := strings.Cut(l, "#")
			to := p.name
			if target != "" {
				to = path.Join(path.Dir(p.name), target)
			}
			checked++
			if _, err := os.Stat(filepath.Join("..", "..", filepath.FromSlash(to))); err != nil {
				t.Errorf("%s: the link %s leads to no file", p.name, l)
			} else if has && !slices.Contains(anchors[to], anchor) {
				t.Errorf("%s: %s has no heading #%s", p.name, to, anchor)
			}
		}
	}
	if checked < 20 {
		t.Errorf("only %d links were found", checked)
	}
}

// Each link of a Go comment to the glossary names one of its headings.
func TestLinksToTheGlossary(t *testing.T) {
	list := pages(t)
	i := slices.IndexFunc(list, func(p page) bool { return p.name == "docs/glossary.md" })
	if i < 0 {
		t.Fatal("docs/glossary.md is missing")
	}
	inGo, checked := regexp.MustCompile(`/docs/glossary\.md#([\w-]+)`), 0
	files(t, []string{".go"}, func(name, text string) {
		for _, l := range inGo.FindAllStringSubmatch(text, -1) {
			if checked++; !slices.Contains(list[i].anchors, l[1]) {
				t.Errorf("%s: the glossary has no heading #%s", name, l[1])
			}
		}
	})
	if checked < 20 {
		t.Errorf("only %d links were found", checked)
	}
}

// Each function in the table of the design is in the file that the table names.
func TestRulesAreDecidedWhereTheDesignSays(t *testing.T) {
	text, err := os.ReadFile("../../docs/design.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "\n## Where the rules are decided\n")
	table, _, _ = strings.Cut(table, "\n## ")
	named := regexp.MustCompile("\\[`([\\w.]+)`\\]\\(\\.\\./([\\w/.]+)\\)").FindAllStringSubmatch(table, -1)
	if rows := strings.Count(table, "\n|") - 2; len(named) < max(rows, 20) {
		t.Errorf("%d functions are named in %d rows", len(named), rows)
	}
	for _, m := range named {
		if name, file := m[1], m[2]; !slices.Contains(declared(t, file), name) {
			t.Errorf("%s does not declare %s", file, name)
		}
	}
}

// declared returns the functions, the methods as T.Name, and the types that a Go file declares.
func declared(t *testing.T, file string) (names []string) {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", "..", filepath.FromSlash(file)), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range parsed.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			name := d.Name.Name
			if d.Recv != nil {
				receiver := strings.TrimPrefix(types.ExprString(d.Recv.List[0].Type), "*")
				receiver, _, _ = strings.Cut(receiver, "[") // without type parameters
				name = receiver + "." + name
			}
			names = append(names, name)
		case *ast.GenDecl:
			for _, s := range d.Specs {
				if s, ok := s.(*ast.TypeSpec); ok {
					names = append(names, s.Name.Name)
				}
			}
		}
	}
	return names
}

// The index names every page.
func TestIndexOfPages(t *testing.T) {
	list := pages(t)
	i := slices.IndexFunc(list, func(p page) bool { return p.name == "docs/README.md" })
	if i < 0 {
		t.Fatal("docs/README.md is missing")
	}
	for _, p := range list {
		if name, ok := strings.CutPrefix(p.name, "docs/"); ok && name != "README.md" && !slices.Contains(list[i].links, name) {
			t.Errorf("docs/README.md has no link to %s", name)
		}
	}
}

// Each block of Go and Python stands in a file of this repository too, so the gate compiles it, and runs it
// if it is in a test. Each block of text is what code prints, so it stands in the comment of an
// example. Indentation, blank lines and slashes of comments do not count.
func TestGoOfPages(t *testing.T) {
	var code strings.Builder
	files(t, []string{".go", ".py"}, func(_, text string) {
		code.WriteString("\n")
		code.WriteString(unindented(strings.Split(text, "\n")))
	})
	blocks := 0
	for _, p := range pages(t) {
		for _, b := range p.blocks {
			if b.language != "go" && b.language != "text" && b.language != "python" || b.marked["compiled"] {
				continue
			}
			blocks++
			if !strings.Contains(code.String(), "\n"+unindented(b.lines)) {
				t.Errorf("%s: this is in no file of Go or Python; copy it from a test or an example, or write <!-- not compiled: reason --> under the heading:\n%s",
					p.name, strings.Join(b.lines, "\n"))
			}
		}
	}
	if blocks < 10 {
		t.Errorf("only %d blocks of Go were found", blocks)
	}
}

// unindented returns lines without indentation and slashes of comments, and without blank lines,
// each ending in a newline.
func unindented(lines []string) string {
	var b strings.Builder
	for _, line := range lines {
		line = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "//"))
		if line != "" {
			b.WriteString(line)
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// Each command is run by the gate or the nightly, or the page says why it is not.
func TestCommandsOfPages(t *testing.T) {
	var gate []byte
	for _, script := range []string{"run", "nightly"} {
		text, err := os.ReadFile("../../.ci/" + script)
		if err != nil {
			t.Fatal(err)
		}
		gate = append(gate, text...)
	}
	quotes := strings.NewReplacer(`"`, "'")
	commands := 0
	for _, p := range pages(t) {
		for _, b := range p.blocks {
			for _, line := range b.lines {
				command, ok := strings.CutPrefix(line, "$ ")
				if !ok || b.language != "console" || b.marked["run"] {
					continue
				}
				commands++
				command, _, _ = strings.Cut(command, "  #")
				if !strings.Contains(quotes.Replace(string(gate)), quotes.Replace(command)) {
					t.Errorf("%s: neither .ci/run nor .ci/nightly runs this command; add it there, or write <!-- not run: reason --> under the heading: %s", p.name, command)
				}
			}
		}
	}
	if commands < 5 {
		t.Errorf("only %d commands were found", commands)
	}
}
