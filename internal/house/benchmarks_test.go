package house

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The page of benchmarks has a section for each benchmark, and for no other. Its figures come from
// the program that writes it.
func TestPageOfBenchmarks(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "benchmarks.md"))
	if err != nil {
		t.Fatal(err)
	}
	var sections, functions []string
	for _, heading := range regexp.MustCompile(`(?m)^### (Benchmark\w+ in \S+)$`).FindAllStringSubmatch(string(page), -1) {
		sections = append(sections, heading[1])
	}
	function := regexp.MustCompile(`(?m)^func (Benchmark\w+)\(b \*testing\.B\)`)
	files(t, []string{".go"}, func(name, text string) {
		if strings.HasSuffix(name, "_test.go") {
			for _, f := range function.FindAllStringSubmatch(text, -1) {
				functions = append(functions, f[1]+" in "+path.Dir(name))
			}
		}
	})
	for _, f := range functions {
		if !slices.Contains(sections, f) {
			t.Errorf("docs/benchmarks.md has no section for %s; run go run ./internal/benchmarks", f)
		}
	}
	for _, s := range sections {
		if !slices.Contains(functions, s) {
			t.Errorf("docs/benchmarks.md has a section for %s, which does not exist; run go run ./internal/benchmarks", s)
		}
	}
	if len(sections) < 15 {
		t.Errorf("only %d sections were found", len(sections))
	}
}
