package canary

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// secretName matches names of fields that may hold a secret.
var secretName = regexp.MustCompile(`(?i)token|secret|auth|(^|api|access|private)_?key|passw|credential|cookie|header|scriptcontent|environ|envelope|upstream|url`)

// textual matches types that may hold a secret text.
var textual = regexp.MustCompile(`^(\*|\[\]|map\[\w+\])*(string|byte|any|http\.Header|url\.URL|url\.Values|json\.RawMessage|redact\.Hidden)$`)

// A structType is a struct of the module.
type structType struct {
	name   string            // package path below the module's, a dot, and the type's name
	fields map[string]string // the type of each field, as it is written, by name
	uses   []string          // the names of the structs that it mentions
}

// structTypes parses the packages of the module. Nested modules, examples and internal packages are
// not in its API.
func structTypes(t *testing.T, root string) map[string]*structType {
	t.Helper()
	types := map[string]*structType{}
	files := token.NewFileSet()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		if d.IsDir() {
			if strings.HasPrefix(d.Name(), ".") && rel != "." || d.Name() == "internal" || d.Name() == "examples" || d.Name() == "testdata" {
				return filepath.SkipDir
			}
			if nested, _ := filepath.Glob(filepath.Join(path, "go.mod")); nested != nil && rel != "." {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		dir := filepath.ToSlash(filepath.Dir(rel))
		imports := map[string]string{}
		for _, spec := range file.Imports {
			if below, ok := strings.CutPrefix(strings.Trim(spec.Path.Value, `"`), "github.com/toolwire/toolwire/"); ok {
				name := below[strings.LastIndexByte(below, '/')+1:]
				if spec.Name != nil {
					name = spec.Name.Name
				}
				imports[name] = below
			}
		}
		for _, decl := range file.Decls {
			gen, ok := decl.(*ast.GenDecl)
			if !ok || gen.Tok != token.TYPE {
				continue
			}
			for _, spec := range gen.Specs {
				spec := spec.(*ast.TypeSpec)
				if st, ok := spec.Type.(*ast.StructType); ok {
					s := &structType{name: dir + "." + spec.Name.Name, fields: map[string]string{}}
					s.read(st, dir, imports)
					types[s.name] = s
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return types
}

func (s *structType) read(st *ast.StructType, dir string, imports map[string]string) {
	for _, field := range st.Fields.List {
		written := expr(field.Type)
		for _, name := range field.Names {
			s.fields[name.Name] = written
		}
		if field.Names == nil {
			s.fields[written] = written
		}
		ast.Inspect(field.Type, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncType:
				return false // fmt and encoding/json do not look into functions
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); ok && imports[x.Name] != "" {
					s.uses = append(s.uses, imports[x.Name]+"."+n.Sel.Name)
				}
				return false
			case *ast.Ident:
				s.uses = append(s.uses, dir+"."+n.Name)
			}
			return true
		})
	}
}

// expr writes a type as the source does, as far as textual needs it.
func expr(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.StarExpr:
		return "*" + expr(e.X)
	case *ast.SelectorExpr:
		return expr(e.X) + "." + e.Sel.Name
	case *ast.ArrayType:
		return "[]" + expr(e.Elt)
	case *ast.MapType:
		return "map[" + expr(e.Key) + "]" + expr(e.Value)
	case *ast.IndexExpr: // such as redact.Hidden[string]
		return expr(e.X)
	}
	return "?"
}

// mayHoldSecrets returns the exported structs that may hold a secret, with the field that says so.
func mayHoldSecrets(types map[string]*structType) map[string]string {
	why := map[string]string{}
	for name, s := range types {
		for field, written := range s.fields {
			if secretName.MatchString(field) && (textual.MatchString(written) || strings.HasPrefix(written, "map[string]")) {
				why[name] = field
			}
		}
	}
	for changed := true; changed; {
		changed = false
		for name, s := range types {
			for _, used := range s.uses {
				if why[name] == "" && why[used] != "" {
					why[name], changed = used, true
				}
			}
		}
	}
	for name := range why {
		if !ast.IsExported(name[strings.LastIndexByte(name, '.')+1:]) {
			delete(why, name)
		}
	}
	return why
}

// TestEveryTypeThatMayHoldASecretIsInTheTable finds types by the names of their fields, and by what
// they hold. A type that it finds is printed with a secret in it, or stands in noSecrets with the
// reason why it holds none.
func TestEveryTypeThatMayHoldASecretIsInTheTable(t *testing.T) {
	found := mayHoldSecrets(structTypes(t, "../../.."))
	if found["proxy.Client"] == "" {
		t.Error("proxy.Client is not found, which holds a redact.Hidden: has that type another name now?")
	}
	printed := map[string]bool{}
	for _, row := range table(t) {
		printed[row.name] = true
	}
	for name, why := range found {
		if !printed[name] && noSecrets[name] == "" {
			t.Errorf("%s may hold a secret (%s): add it to the table in table_test.go, or to noSecrets with the reason", name, why)
		}
		if printed[name] && noSecrets[name] != "" {
			t.Errorf("%s is in the table and in noSecrets", name)
		}
	}
	for name := range noSecrets {
		if found[name] == "" {
			t.Errorf("%s is in noSecrets, but it is not found to hold a secret: remove it", name)
		}
	}
}

// noSecrets has the exported types with a field whose name or type lets one expect a secret, and
// why it is not one.
var noSecrets = map[string]string{
	"dispatch/dispatchtest.Task":     "ProxyURL is where a test's platform is served; the token is not in it",
	"dispatch/eval.Case":             "holds a Task",
	"dispatch/doctor.Options":        "holds a Task",
	"proxy.AttemptInfo":              "Header has what observers add to a request, not what the client sends",
	"proxy.AttemptEnd":               "holds an AttemptInfo",
	"proxy/proxytest.Run":            "Token is made up: it opens only the platform that made it, until the run ends",
	"proxy/proxytest.Platform":       "holds its runs",
	"proxy/proxytest.Request":        "holds a Run",
	"dispatch/cassette.Options":      "Upstream is the base URL of the proxy, without user info or query",
	"dispatch/cassette.Interaction":  "Headers has only the error's type and whether SDKs repeat the request",
	"dispatch/cassette.Deviation":    "holds an Interaction",
	"manifest/webhook.Tool":          "URLs of tools are part of the definitions that agents see",
	"manifest/toolbox.ClientOptions": "BaseURL is the address of the platform, without user info or query",
	"manifest/toolbox.Tool":          "URLs of tools are part of the definitions that agents see",
}
