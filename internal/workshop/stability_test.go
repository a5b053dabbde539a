package workshop

import (
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
)

// The table of the README and the comment of each public package say the same about its stability.
func TestStability(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]string{} // stability by package
	for _, row := range regexp.MustCompile(`(?m)^\| (stable|settling|experimental) \| (.*) \|$`).FindAllStringSubmatch(string(readme), -1) {
		for _, name := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[2], -1) {
			listed[strings.TrimPrefix(name[1], "toolwire")] = row[1]
		}
	}
	said := map[string]string{}
	sentence := regexp.MustCompile(`This package is (stable|settling|experimental), as the README explains\.`)
	files(t, []string{".go"}, func(name, text string) {
		folder := strings.TrimPrefix(path.Dir(name), ".")
		if strings.HasSuffix(name, "_test.go") || strings.Contains("/"+folder+"/", "/internal/") || strings.HasPrefix(folder, "examples") {
			return
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), name, text, parser.PackageClauseOnly|parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		if m := sentence.FindStringSubmatch(parsed.Doc.Text()); m != nil || said[folder] == "" {
			said[folder] = append(m, "", "")[1]
		}
	})
	if !maps.Equal(listed, said) || len(said) < 20 {
		t.Errorf("the README has %v, the package comments have %v", listed, said)
	}
}
