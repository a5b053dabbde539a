package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// module is the path of the root module.
const module = "github.com/toolwire/toolwire"

// modules are the folders of the modules that have benchmarks.
var modules = []string{".", filepath.Join("internal", "workshop", "sdks")}

// A pkg is a package with benchmarks.
type pkg struct {
	ImportPath                string
	Dir                       string
	TestGoFiles, XTestGoFiles []string

	module     string
	benchmarks []benchmark
}

// A benchmark is a function of a test file.
type benchmark struct{ name, doc string }

// name is the import path inside of the repository.
func (p *pkg) name() string { return strings.TrimPrefix(p.ImportPath, module+"/") }

// first are the packages whose sections come first. The others are in the order of import paths.
var first = []string{"internal/benchmarks/served", "dispatch", "proxy", "internal/workshop/sdks/peers"}

// discover returns the packages with benchmarks, in the order of their sections.
func discover(ctx context.Context) ([]*pkg, error) {
	var found []*pkg
	for _, module := range modules {
		list, err := command(ctx, "go", "list", "-C", module, "-json=ImportPath,Dir,TestGoFiles,XTestGoFiles", "./...")
		if err != nil {
			return nil, err
		}
		for d := json.NewDecoder(bytes.NewReader(list)); ; {
			p := &pkg{module: module}
			if err := d.Decode(p); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return nil, err
			}
			if err := p.parse(); err != nil {
				return nil, err
			}
			if len(p.benchmarks) > 0 {
				found = append(found, p)
			}
		}
	}
	place := func(p *pkg) int {
		if i := slices.Index(first, p.name()); i >= 0 {
			return i
		}
		return len(first)
	}
	slices.SortStableFunc(found, func(a, b *pkg) int { return place(a) - place(b) })
	return found, nil
}

// parse finds the benchmarks.
func (p *pkg) parse() error {
	for _, name := range append(p.TestGoFiles, p.XTestGoFiles...) {
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, parser.ParseComments)
		if err != nil {
			return err
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Benchmark") {
				p.benchmarks = append(p.benchmarks, benchmark{f.Name.Name, f.Doc.Text()})
			}
		}
	}
	return nil
}

// command returns the standard output of a command.
func command(ctx context.Context, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", strings.Join(append([]string{name}, args...), " "), err)
	}
	return out, nil
}
