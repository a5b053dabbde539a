package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/printer"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// surface is what one package exports.
type surface struct {
	path  string // below the module's root
	names []name
}

// A name is one exported identifier with its declaration.
type name struct {
	kind string // func, type, method, field, const, var
	of   string // the type of a method or field
	decl string // on one line
}

func (s *surface) lines() []string {
	lines := make([]string, 0, len(s.names))
	for _, n := range s.names {
		lines = append(lines, n.kind+" "+n.decl)
	}
	slices.Sort(lines)
	return slices.Compact(lines)
}

// read finds the packages that other modules can import: not internal, not examples, not commands,
// and not those of nested modules, which have a surface of their own.
func read(root string) ([]*surface, error) {
	var packages []*surface
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		base := entry.Name()
		if path != root {
			_, nested := os.Stat(filepath.Join(path, "go.mod"))
			if nested == nil || base == "internal" || base == "examples" || base == "testdata" || strings.HasPrefix(base, ".") {
				return filepath.SkipDir
			}
		}
		p, err := readPackage(root, path)
		if p != nil && len(p.names) > 0 {
			packages = append(packages, p)
		}
		return err
	})
	return packages, err
}

// readPackage parses the files that belong to a build on Linux, so that the result is the same on
// every system.
func readPackage(root, dir string) (*surface, error) {
	system := build.Default
	system.GOOS, system.GOARCH, system.CgoEnabled = "linux", "amd64", false
	list, err := system.ImportDir(dir, 0)
	if _, none := err.(*build.NoGoError); none {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	path, err := filepath.Rel(root, dir)
	if err != nil || list.Name == "main" {
		return nil, err
	}
	p := &surface{path: filepath.ToSlash(path)}
	files := token.NewFileSet()
	for _, name := range list.GoFiles {
		file, err := parser.ParseFile(files, filepath.Join(dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, decl := range file.Decls {
			p.add(decl)
		}
	}
	return p, nil
}

func (s *surface) add(decl ast.Decl) {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		s.addFunc(d)
	case *ast.GenDecl:
		inherited := ""
		for _, spec := range d.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				s.addType(spec)
			case *ast.ValueSpec:
				// In a const group a type holds for the names below that have no value of their
				// own.
				if spec.Type != nil || len(spec.Values) > 0 {
					inherited = typeText(spec.Type)
				}
				s.addValues(d.Tok.String(), spec, inherited)
			}
		}
	}
}

func (s *surface) addFunc(d *ast.FuncDecl) {
	if !d.Name.IsExported() {
		return
	}
	signature := strings.TrimPrefix(text(d.Type), "func")
	if d.Recv == nil {
		s.names = append(s.names, name{kind: "func", decl: d.Name.Name + signature})
		return
	}
	receiver := d.Recv.List[0].Type
	if of := typeName(receiver); ast.IsExported(of) {
		s.names = append(s.names, name{kind: "method", of: of, decl: "(" + text(receiver) + ") " + d.Name.Name + signature})
	}
}

func (s *surface) addType(spec *ast.TypeSpec) {
	if !spec.Name.IsExported() {
		return
	}
	of, assign := spec.Name.Name, " "
	if spec.Assign.IsValid() {
		assign = " = "
	}
	parameters := ""
	if spec.TypeParams != nil {
		parts := make([]string, 0, len(spec.TypeParams.List))
		for _, p := range spec.TypeParams.List {
			parts = append(parts, fieldText(p))
		}
		parameters = "[" + strings.Join(parts, ", ") + "]"
	}
	switch t := spec.Type.(type) {
	case *ast.StructType:
		s.names = append(s.names, name{kind: "type", decl: of + parameters + assign + "struct"})
		s.addFields(of, t.Fields, "field")
	case *ast.InterfaceType:
		s.names = append(s.names, name{kind: "type", decl: of + parameters + assign + "interface"})
		s.addFields(of, t.Methods, "method")
	default:
		s.names = append(s.names, name{kind: "type", decl: of + parameters + assign + text(t)})
	}
}

func (s *surface) addFields(of string, fields *ast.FieldList, kind string) {
	for _, f := range fields.List {
		tag := ""
		if f.Tag != nil {
			tag = " " + f.Tag.Value
		}
		if len(f.Names) == 0 { // embedded
			if ast.IsExported(typeName(f.Type)) {
				s.names = append(s.names, name{kind: kind, of: of, decl: of + "." + text(f.Type) + " embedded" + tag})
			}
			continue
		}
		for _, id := range f.Names {
			if !id.IsExported() {
				continue
			}
			decl := of + "." + id.Name
			if kind == "method" {
				decl += strings.TrimPrefix(text(f.Type), "func")
			} else {
				decl += " " + text(f.Type) + tag
			}
			s.names = append(s.names, name{kind: kind, of: of, decl: decl})
		}
	}
}

func (s *surface) addValues(kind string, spec *ast.ValueSpec, typ string) {
	for i, id := range spec.Names {
		if !id.IsExported() {
			continue
		}
		decl := id.Name
		if typ != "" {
			decl += " " + typ
		}
		if kind == "const" && i < len(spec.Values) { // a value is part of a constant's promise
			decl += " = " + text(spec.Values[i])
		}
		s.names = append(s.names, name{kind: kind, decl: decl})
	}
}

func fieldText(f *ast.Field) string {
	names := make([]string, 0, len(f.Names))
	for _, id := range f.Names {
		names = append(names, id.Name)
	}
	return strings.TrimSpace(strings.Join(names, ", ") + " " + text(f.Type))
}

// typeName returns the name of a type behind pointers and type arguments, or "".
func typeName(e ast.Expr) string {
	switch t := e.(type) {
	case *ast.Ident:
		return t.Name
	case *ast.SelectorExpr:
		return t.Sel.Name
	case *ast.StarExpr:
		return typeName(t.X)
	case *ast.IndexExpr:
		return typeName(t.X)
	case *ast.IndexListExpr:
		return typeName(t.X)
	}
	return ""
}

func typeText(e ast.Expr) string {
	if e == nil {
		return ""
	}
	return text(e)
}

// text prints a node on one line.
func text(node any) string {
	var b bytes.Buffer
	_ = printer.Fprint(&b, token.NewFileSet(), node) // a bytes.Buffer does not fail
	return strings.Join(strings.Fields(b.String()), " ")
}

// table counts names by package and kind. Fields are counted for types whose name ends in Options:
// those are the options, and the others describe data.
func table(packages []*surface) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-34s %6s %6s %6s %8s %8s %6s %6s\n", "package", "funcs", "types", "methods", "options", "fields", "consts", "vars")
	all := map[string]int{}
	for _, p := range packages {
		n := map[string]int{}
		for _, id := range p.names {
			kind := id.kind
			if kind == "field" && strings.HasSuffix(id.of, "Options") {
				kind = "option"
			}
			n[kind]++
			all[kind]++
		}
		row(&b, p.path, n)
	}
	row(&b, "all", all)
	return b.String()
}

func row(b *strings.Builder, path string, n map[string]int) {
	fmt.Fprintf(b, "%-34s %6d %6d %6d %8d %8d %6d %6d\n", path, n["func"], n["type"], n["method"], n["option"], n["field"], n["const"], n["var"])
}
