package gonbext_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/gonbext/render"
)

// TestViewsPage: docs/views.md has the table of the registered views, as it is printed here.
func TestViewsPage(t *testing.T) {
	const path, from, to = "../docs/views.md", "<!-- views -->\n", "<!-- end -->"
	named := func(m render.Media) string {
		var names []string
		for i, name := range []string{"text", "page", "figure"} {
			if m&(1<<i) != 0 {
				names = append(names, name)
			}
		}
		return strings.Join(names, ", ")
	}
	var b strings.Builder
	b.WriteString("| `--view` | shows | takes |\n|---|---|---|\n")
	for _, kind := range render.Kinds() {
		v := render.Show{Kind: kind}.View()
		var takes []string
		for _, name := range slices.Sorted(maps.Keys(v.Takes)) {
			if strings.HasPrefix(name, "all-") || name == "methods" { // as a view needs them
				continue
			}
			takes = append(takes, "`"+name+"`")
			if m := v.Takes[name] & v.Media & render.InAll; m != v.Media&render.InAll {
				takes[len(takes)-1] += " (" + named(m) + ")"
			}
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", kind, v.Help, strings.Join(takes, ", "))
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), from)
	if has, _, _ := strings.Cut(rest, to); has != b.String() {
		t.Errorf("%s has between the lines %q and %q\n%s\nwant\n%s", path, from, to, has,
			b.String())
	}
}
