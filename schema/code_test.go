package schema_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Every code that the package puts into a problem is in the table of the package comment, and every code in the
// table is used.
func TestEveryCodeIsDocumented(t *testing.T) {
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	var table string
	for _, entry := range entries {
		name := entry.Name()
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		if file.Doc != nil {
			table = file.Doc.Text()
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				if position, ok := map[string]int{"add": 0, "Add": 0, "fail": 0, "oneProblem": 0, "note": 0}[called(n)]; ok && len(n.Args) > position {
					addCode(used, n.Args[position])
				}
			case *ast.KeyValueExpr:
				if key, ok := n.Key.(*ast.Ident); ok && strings.EqualFold(key.Name, "code") {
					addCode(used, n.Value)
				}
			case *ast.AssignStmt:
				if left, ok := n.Lhs[0].(*ast.Ident); ok && left.Name == "code" {
					addCode(used, n.Rhs[0])
				}
			}
			return true
		})
	}
	_, table, _ = strings.Cut(table, "# Codes of problems")
	table, _, _ = strings.Cut(table, "Tool of a problem")
	documented := strings.Fields(strings.ReplaceAll(table, ",", ""))
	for code := range used {
		if !slices.Contains(documented, code) {
			t.Errorf("%q is not in the package comment", code)
		}
	}
	if len(used) < 50 {
		t.Errorf("found %d codes only", len(used))
	}
	for _, code := range documented {
		if strings.Contains(code, "_") && !used[code] && !strings.HasPrefix(code, "schema_") && code != "unknown_tool" && code != "more_problems" {
			t.Errorf("%q is in the package comment and is not used", code)
		}
	}
}

func called(call *ast.CallExpr) string {
	switch f := call.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	}
	return ""
}

func addCode(used map[string]bool, value ast.Expr) {
	if literal, ok := value.(*ast.BasicLit); ok && literal.Kind == token.STRING {
		code, _ := strconv.Unquote(literal.Value)
		used[code] = true
	}
}
