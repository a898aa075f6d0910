package prose

import (
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strings"
	"testing"
)

// dialect is wording of comments on names. A name that holds or returns something does not speak:
// a function reports whether, and a field is.
var dialect = []string{"says whether", "says which", "says what"}

// inDialect are folders whose comments still have it. The list only gets shorter.
var inDialect = []string{"gonbext", "gonbext/render"}

// TestDialect searches the comments of all Go files for the dialect.
func TestDialect(t *testing.T) {
	walk(t, isGo, func(name string, text []byte) {
		if slices.Contains(append(inDialect, "internal/prose"), path.Dir(name)) {
			return
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, name, text, parser.ParseComments)
		must(t, err)
		for _, group := range file.Comments {
			comment := strings.Join(strings.Fields(group.Text()), " ")
			for _, phrase := range dialect {
				if strings.Contains(comment, phrase) {
					t.Errorf("%s: a comment has %q; write: reports whether, is, are, or a noun",
						files.Position(group.Pos()), phrase)
				}
			}
		}
	})
}
