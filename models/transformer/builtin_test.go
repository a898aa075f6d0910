package transformer_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strings"
	"testing"
)

// builtinMixings are the files of the mixings of this package. Each registers its own.
var builtinMixings = []string{
	"alti.go", "attention.go", "norms.go", "valuezeroing.go",
}

// TestBuiltinMixingsUseWhatPluginsCan: a mixing of this package imports nothing internal and uses
// no unexported name of the rest of the package, so a plugin of another module could do the same.
func TestBuiltinMixingsUseWhatPluginsCan(t *testing.T) {
	files := map[string]*ast.File{}
	entries, err := os.ReadDir(".")
	must(t, err)
	for _, e := range entries {
		name := e.Name()
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		if files[name], err = parser.ParseFile(token.NewFileSet(), name, nil, 0); err != nil {
			t.Fatal(err)
		}
	}
	private := map[string]string{} // file by unexported name, without the files of mixings
	for name, f := range files {
		registers := slices.Contains(used(f), "RegisterMixing") && name != "api.go"
		if listed := slices.Contains(builtinMixings, name); listed != registers {
			t.Errorf("%s: in the list of built-in mixings is %v, registers one is %v",
				name, listed, registers)
		}
		if registers {
			continue
		}
		for _, declared := range declared(f) {
			if !ast.IsExported(declared) && declared != "init" { // which nothing can use
				private[declared] = name
			}
		}
	}
	for _, name := range []string{"core", "parted", "newModel"} {
		if private[name] == "" {
			t.Fatalf("the test does not see %s, which the package declares", name)
		}
	}
	for _, name := range builtinMixings {
		for _, imported := range files[name].Imports {
			if strings.Contains(imported.Path.Value, "/internal/") {
				t.Errorf("%s imports %s, which a plugin cannot", name, imported.Path.Value)
			}
		}
		for _, use := range used(files[name]) {
			if where := private[use]; where != "" && use != "pkg" { // pkg only begins errors
				t.Errorf("%s uses %s of %s, which a plugin cannot", name, use, where)
			}
		}
	}
}

// used are all identifiers of a file, except variables that it introduces with := and the names of
// receivers, parameters and results.
func used(f *ast.File) []string {
	local := map[string]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE {
				for _, x := range n.Lhs {
					if id, ok := x.(*ast.Ident); ok {
						local[id.Name] = true
					}
				}
			}
		case *ast.FuncDecl:
			if n.Recv != nil && len(n.Recv.List[0].Names) > 0 {
				local[n.Recv.List[0].Names[0].Name] = true
			}
		case *ast.FuncType:
			for _, list := range []*ast.FieldList{n.Params, n.Results} {
				if list == nil {
					continue
				}
				for _, field := range list.List {
					for _, id := range field.Names {
						local[id.Name] = true
					}
				}
			}
		}
		return true
	})
	var names []string
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr: // a field or method, whatever variables there are
			names = append(names, n.Sel.Name)
		case *ast.Ident:
			if !local[n.Name] {
				names = append(names, n.Name)
			}
		}
		return true
	})
	return names
}

// declared are the names that a file adds to the package: of functions, methods, types, fields,
// constants and variables.
func declared(f *ast.File) []string {
	var names []string
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			names = append(names, d.Name.Name)
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.ValueSpec:
					for _, id := range spec.Names {
						names = append(names, id.Name)
					}
				case *ast.TypeSpec:
					names = append(names, spec.Name.Name)
				}
			}
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if s, ok := n.(*ast.StructType); ok {
			for _, field := range s.Fields.List {
				for _, id := range field.Names {
					names = append(names, id.Name)
				}
			}
		}
		return true
	})
	return names
}
