package main

import "go/ast"

// exported counts the names of a file. A method counts if its receiver is exported, too. A file for one
// system counts like any other, so a name that each of several systems has counts for each.
func exported(file *ast.File) (n int) {
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Name.IsExported() && (d.Recv == nil || receiver(d.Recv.List[0].Type).IsExported()) {
				n++
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.TypeSpec:
					if s.Name.IsExported() {
						n += 1 + members(s.Type)
					}
				case *ast.ValueSpec:
					for _, name := range s.Names {
						if name.IsExported() {
							n++
						}
					}
				}
			}
		}
	}
	return n
}

// failures counts the exported error types of a file, its types Code and its functions CodeOf.
func failures(file *ast.File) (n [3]int) {
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			switch {
			case d.Recv != nil && d.Name.Name == "Error" && receiver(d.Recv.List[0].Type).IsExported():
				n[0]++
			case d.Recv == nil && d.Name.Name == "CodeOf":
				n[2]++
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if s, ok := spec.(*ast.TypeSpec); ok && s.Name.Name == "Code" {
					n[1]++
				}
			}
		}
	}
	return n
}

// receiver returns the name of a receiver's type, without pointer and type parameters.
func receiver(t ast.Expr) *ast.Ident {
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			return x
		default:
			return ast.NewIdent("_")
		}
	}
}

// members counts the exported fields of a struct, or the methods of an interface.
func members(t ast.Expr) (n int) {
	var list *ast.FieldList
	switch x := t.(type) {
	case *ast.StructType:
		list = x.Fields
	case *ast.InterfaceType:
		list = x.Methods
	default:
		return 0
	}
	for _, field := range list.List {
		for _, name := range field.Names {
			if name.IsExported() {
				n++
			}
		}
	}
	return n
}
