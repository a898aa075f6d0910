package message

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestWithoutPackages removes names of packages where a message or a part of it begins, and leaves
// what a user wrote.
func TestWithoutPackages(t *testing.T) {
	for text, want := range map[string]string{
		"":                               "",
		"models: no disk":                "no disk",
		"gonbext: models: hub: a/b: no":  "a/b: no",
		"line 2: attribution: no prompt": "line 2: no prompt",
		"tinny: did you mean tiny? hub: tinny: no (engine: off)": "tinny: did you mean tiny? tinny: no (off)",
		"one; render: two":                  "one; two",
		`models: "models: a; hub: b" is no`: `"models: a; hub: b" is no`,
		`"a": models: no`:                   `"a": no`,
		`"attribution: x`:                   `"attribution: x`,
		"one\nhub: two\n\thub: three":       "one\ntwo\n\tthree",
		"xlaplugin: pip: exit status 1":     "pip: exit status 1",
		"models: models: no config.json":    "models: no config.json",
		"open models: no such file":         "open models: no such file",
		"my-models: no disk":                "my-models: no disk",
		"the models: three":                 "the models: three",
	} {
		if got := WithoutPackages(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestPackagesIsComplete finds every text in the code that begins with the name of a package of
// this project, as errors do, and checks that [WithoutPackages] knows the name.
func TestPackagesIsComplete(t *testing.T) {
	names, begins := map[string]bool{}, map[string]string{}
	for _, root := range []string{"attribution", "models", "gonbext", "internal"} {
		err := filepath.WalkDir(filepath.Join("..", "..", root), func(
			path string, d fs.DirEntry, err error,
		) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && d.Name() == "testdata":
				return filepath.SkipDir
			case filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go"):
				return nil
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil,
				parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			names[file.Name.Name] = true
			ast.Inspect(file, func(n ast.Node) bool {
				if text, ok := n.(*ast.BasicLit); ok && text.Kind == token.STRING {
					value, _ := strconv.Unquote(text.Value)
					if name, _, found := strings.Cut(value, ": "); found {
						begins[name] = path
					}
				}
				if pair, ok := n.(*ast.KeyValueExpr); ok {
					key, _ := pair.Key.(*ast.Ident)
					text, ok := pair.Value.(*ast.BasicLit)
					if ok && key != nil && key.Name == "Package" {
						value, _ := strconv.Unquote(text.Value)
						begins[value] = path
					}
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	found := 0
	for name, path := range begins {
		if !names[name] || name == "pip" {
			continue
		}
		found++
		if !slices.Contains(packages, name) {
			t.Errorf("a message of %s begins with %q, which WithoutPackages does not know", path, name)
		}
	}
	if found < 20 {
		t.Errorf("%d names found; the code was not read", found)
	}
}
