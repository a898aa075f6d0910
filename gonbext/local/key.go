package local

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"hash/fnv"
	"os"
	"path/filepath"
	"slices"
)

// cellKey identifies the code of the plugins of a notebook's cell. It is the same in all cells
// until one of them changes a plugin. It is empty in a program that is not a cell.
func cellKey() (string, error) {
	program, err := os.Executable()
	if err != nil {
		return "", pkg.Errorf("%w", err)
	}
	dir := os.Getenv("GONB_TMP_DIR")
	if dir == "" || !sameDir(dir, filepath.Dir(program)) {
		return "", nil
	}
	source, err := cellSource(dir)
	if err != nil {
		return "", err
	}
	declared, err := reachable(source)
	if err != nil {
		return "", err
	}
	files, err := ownModules(dir)
	if err != nil {
		return "", err
	}
	h := fnv.New32a()
	for _, s := range append(declared, files...) {
		fmt.Fprintf(h, "%s\x00", s)
	}
	return fmt.Sprintf("%08x", h.Sum32()), nil
}

// sameDir reports whether two paths lead to the same directory.
func sameDir(a, b string) bool {
	x, errA := os.Stat(a)
	y, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(x, y)
}

// cellSource returns the file that GoNB wrote from the cell and the declarations of earlier cells.
func cellSource(dir string) ([]byte, error) {
	source, err := os.ReadFile(filepath.Join(dir, "main.go"))
	if os.IsNotExist(err) {
		source, err = os.ReadFile(filepath.Join(dir, "main_test.go")) // a cell with tests
	}
	if err != nil {
		return nil, pkg.Errorf("the source of the cell: %w", err)
	}
	return source, nil
}

// reachable returns the declarations of a file that its init functions use, directly or through
// others, sorted. These make up the plugins; the helpers and texts of later cells do not. A
// variable whose value is computed by a call counts like an init function. A name matches wherever
// it stands, so the result may contain too many declarations.
func reachable(source []byte) ([]string, error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "main.go", source, parser.SkipObjectResolution)
	if err != nil {
		return nil, pkg.Errorf("the source of the cell: %w", err)
	}
	named := map[string][]ast.Node{}
	var next []ast.Node
	declare := func(node ast.Node, runs bool, names ...string) {
		for _, name := range names {
			named[name] = append(named[name], node)
		}
		if runs {
			next = append(next, node)
		}
	}
	for _, d := range file.Decls {
		eachDeclaration(d, declare)
	}
	seen := map[ast.Node]bool{}
	var texts []string
	for len(next) > 0 {
		node := next[len(next)-1]
		next = next[:len(next)-1]
		if seen[node] {
			continue
		}
		seen[node] = true
		texts = append(texts, string(source[node.Pos()-file.FileStart:node.End()-file.FileStart]))
		ast.Inspect(node, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				next = append(next, named[id.Name]...)
			}
			return true
		})
	}
	slices.Sort(texts) // GoNB has no fixed order for variables without a name
	return texts, nil
}

// eachDeclaration calls declare for each part of a declaration that can stand alone. names are the
// names that refer to it, for a method the name of its type. runs reports whether it runs before
// main.
func eachDeclaration(d ast.Decl, declare func(node ast.Node, runs bool, names ...string)) {
	if f, ok := d.(*ast.FuncDecl); ok {
		name := f.Name.Name
		if f.Recv != nil && len(f.Recv.List) > 0 {
			name = typeName(f.Recv.List[0].Type)
		}
		declare(f, f.Recv == nil && name == "init", name)
		return
	}
	group, ok := d.(*ast.GenDecl)
	if !ok {
		return
	}
	for _, spec := range group.Specs {
		switch s := spec.(type) {
		case *ast.TypeSpec:
			declare(s, false, s.Name.Name)
		case *ast.ValueSpec:
			var node ast.Node = s
			if group.Tok == token.CONST {
				node = group // the value of a constant may depend on those before it
			}
			for _, id := range s.Names {
				declare(node, group.Tok == token.VAR && calls(s), id.Name)
			}
		}
	}
}

// typeName returns the name of a receiver's type.
func typeName(e ast.Expr) string {
	name := ""
	ast.Inspect(e, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && name == "" {
			name = id.Name
		}
		return name == ""
	})
	return name
}

// calls reports whether a declaration contains a call.
func calls(s *ast.ValueSpec) (found bool) {
	ast.Inspect(s, func(n ast.Node) bool {
		_, call := n.(*ast.CallExpr)
		found = found || call
		return !found
	})
	return found
}
