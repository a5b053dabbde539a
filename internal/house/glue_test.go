package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// mostGlue is how many statements of an agent may connect an SDK with the library.
const mostGlue = 15

// sdkExamples are the modules whose agents are counted.
var sdkExamples = []string{"openai", "anthropic", "genai", "multiagent"}

// Each example on the SDK of a model's provider needs at most 15 statements of glue.
func TestGlueOfTheExamples(t *testing.T) {
	for _, example := range sdkExamples {
		dir := filepath.Join("..", "..", "examples", example)
		files, err := fs.Glob(os.DirFS(dir), "*.go")
		if err != nil {
			t.Fatal(err)
		}
		agents := 0
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") || name == "main.go" {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, name), nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			n := glue(file)
			t.Logf("%s/%s: %d statements", example, name, n)
			if n > mostGlue {
				t.Errorf("%s/%s has %d statements of glue, want at most %d", example, name, n, mostGlue)
			}
			if n > 0 {
				agents++
			}
		}
		if agents == 0 {
			t.Errorf("examples/%s has no agent", example)
		}
	}
}

// glue counts the statements of a file that use the library or what came from it, the checks of
// their errors, and returns of their results. The statements inside a counted check count only if
// they use the library too. Statements that use the SDK alone do not count.
func glue(file *ast.File) int {
	ours := map[string]bool{"run": true} // names of imports, and of variables that they have set
	for _, spec := range file.Imports {
		path := strings.Trim(spec.Path.Value, `"`)
		if strings.Contains(path, "/toolwire/") && !strings.Contains(path, "/examples/") {
			ours[path[strings.LastIndex(path, "/")+1:]] = true
		}
	}
	n, after := 0, false // after: the statement before was counted, so a check of its error counts
	var count func(list []ast.Stmt)
	count = func(list []ast.Stmt) {
		for _, s := range list {
			head, blocks := parts(s)
			uses := uses(head, ours)
			if check, ok := s.(*ast.IfStmt); ok && check.Init == nil && after && isErrCheck(check) {
				uses = true
			}
			if uses {
				n++
				if a, ok := s.(*ast.AssignStmt); ok {
					for _, left := range a.Lhs {
						if id, ok := left.(*ast.Ident); ok && id.Name != "_" && id.Name != "err" {
							ours[id.Name] = true
						}
					}
				}
			}
			for _, b := range blocks {
				after = false
				count(b)
			}
			after = uses
		}
	}
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
			after = false
			count(f.Body.List)
		}
	}
	return n
}

// parts splits a statement into what is evaluated and the blocks in it, which are bodies and
// function literals.
func parts(s ast.Stmt) (head []ast.Node, blocks [][]ast.Stmt) {
	ast.Inspect(s, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BlockStmt:
			blocks = append(blocks, n.List)
			return false
		case *ast.CaseClause:
			blocks = append(blocks, n.Body)
			return false
		case *ast.FuncLit:
			blocks = append(blocks, n.Body.List)
			return false
		case *ast.Ident:
			head = append(head, n)
		}
		return true
	})
	return head, blocks
}

func uses(nodes []ast.Node, ours map[string]bool) bool {
	for _, n := range nodes {
		if ours[n.(*ast.Ident).Name] {
			return true
		}
	}
	return false
}

// isErrCheck reports whether the statement is if err != nil.
func isErrCheck(s *ast.IfStmt) bool {
	b, ok := s.Cond.(*ast.BinaryExpr)
	if !ok || b.Op != token.NEQ {
		return false
	}
	id, ok := b.X.(*ast.Ident)
	return ok && id.Name == "err"
}
