package prose

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"strconv"
	"strings"
	"testing"
)

// TestErrorsKnowTheirPackage finds errors that begin with the name of a package of this project as
// a part of their text: a user would see it. [message.Package.Errorf] writes it for developers.
//
// [message.Package.Errorf]: https://pkg.go.dev/github.com/headwater-ml/headwater/internal/message
func TestErrorsKnowTheirPackage(t *testing.T) {
	names := map[string]bool{}
	begins := map[string]string{} // where an error begins with a word and a colon
	files := token.NewFileSet()
	walk(t, isGo, func(name string, text []byte) {
		if strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "cmd/") {
			return
		}
		names[path.Base(path.Dir(name))] = true
		file, err := parser.ParseFile(files, name, text, parser.SkipObjectResolution)
		must(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) == 0 {
				return true
			}
			fun, _ := call.Fun.(*ast.SelectorExpr)
			if fun == nil || fun.Sel.Name != "Errorf" && fun.Sel.Name != "New" {
				return true
			}
			first := call.Args[0]
			for sum, ok := first.(*ast.BinaryExpr); ok; sum, ok = first.(*ast.BinaryExpr) {
				first = sum.X
			}
			if value, ok := first.(*ast.BasicLit); ok && value.Kind == token.STRING {
				format, _ := strconv.Unquote(value.Value)
				if word, _, ok := strings.Cut(format, ": "); ok {
					begins[files.Position(call.Pos()).String()] = word
				}
			}
			return true
		})
	})
	for at, word := range begins {
		if names[word] {
			t.Errorf("%s: an error begins with the package %q in its text; write pkg.Errorf", at, word)
		}
	}
	if len(names) < 40 || len(begins) < 40 {
		t.Errorf("%d packages and %d errors found; the code was not read", len(names), len(begins))
	}
}
