package schema_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// TestEveryCodeIsDocumented: programs rely on the codes, and the package comment promises to list them all.
func TestEveryCodeIsDocumented(t *testing.T) {
	files := token.NewFileSet()
	doc, err := parser.ParseFile(files, "doc.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	listed := strings.Fields(doc.Doc.Text())
	seen := map[string]string{}
	for _, name := range []string{"code.go", "instance_error.go"} {
		file, err := parser.ParseFile(files, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || len(spec.Values) != 1 || !strings.HasPrefix(spec.Names[0].Name, "Code") && !strings.HasPrefix(spec.Names[0].Name, "Lint") {
				return true
			}
			code := strings.Trim(spec.Values[0].(*ast.BasicLit).Value, `"`)
			if !slices.Contains(listed, code) {
				t.Errorf("%s, %q, is not in the package comment", spec.Names[0].Name, code)
			}
			if other, ok := seen[code]; ok {
				t.Errorf("%s and %s are both %q", spec.Names[0].Name, other, code)
			}
			seen[code] = spec.Names[0].Name
			return true
		})
	}
	if len(seen) < 50 {
		t.Errorf("found %d codes only", len(seen))
	}
}
