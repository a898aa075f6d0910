package kernel

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// newCells returns the rules for cells that know this module.
func newCells(t *testing.T) *cells {
	t.Helper()
	goCommand(t)
	t.Setenv("GOFLAGS", "") // go doc would write into this module's go.sum
	clone, err := builtFrom()
	must(t, err)
	return &cells{StartOptions: StartOptions{
		Source: clone, Values: map[string][]string{"Methods": {"flow", "value-zeroing"}},
		Near: func(name string, known []string) []string {
			for _, k := range known {
				if strings.EqualFold(strings.TrimRight(k, "s"), name) {
					return []string{k}
				}
			}
			return nil
		},
	}}
}

// TestRunnable checks which cells run as others.
func TestRunnable(t *testing.T) {
	for code, want := range map[string]string{
		"gonbext.Explain?":        "!*go doc gonbext.Explain; of=",
		" ??gonbext.Options\n":    "!*go doc gonbext.Options; of=",
		"%help":                   "!*go doc gonbext\n%help",
		"%exec f \"a\"":           "%exec f \"a\"\n//",
		"%exec f \"a\"\n//":       "%exec f \"a\"\n//\n//",
		"gonbext":                 "gonbext",
		"%%\nf(\"why ?\")":        "%%\nf(\"why ?\")",
		"a; rm -r .?":             "a; rm -r .?",
		"%%\n// %exec\nprintln()": "%%\n// %exec\nprintln()",
	} {
		if got := runnable(code); !strings.HasPrefix(got, want) ||
			strings.HasPrefix(want, "!") == (got == want) && want != "!*go doc gonbext\n%help" {
			t.Errorf("runnable(%q) = %q, want %q", code, got, want)
		}
	}
}

// TestHint checks what is said about errors in the words of Go 1.26. A cell matters where the same
// error has several causes.
func TestHint(t *testing.T) {
	c := newCells(t)
	if want := strings.Count(hintsText, "\nerror "); len(hints) != want {
		t.Errorf("%d hints of %d are read", len(hints), want)
	}
	const (
		quotes = `texts stand in double quotes, and fields with their names in braces: ` +
			`gonbext.Explain("the keys", gonbext.Options{MaxTokens: 3})`
		either = `a text stands in double quotes, "keys"; a variable ends with its cell, unless ` +
			`it is declared above %%`
		blocks = "blocks stand in braces: for i := range 3 { f(i) }, if x == 3 { f(x) }"
	)
	for _, test := range []struct{ text, cell, want string }{
		{"main.go:3:1: expected declaration, found gonbext", "", "put statements below a line %%"},
		{"unknown field maxToken in struct literal of type gonbext.Options", "", "did you mean MaxTokens?"},
		{"unknown field Nothing in struct literal of type gonbext.Options", "", "gonbext.Options? in a cell of its own lists its fields"},
		{"unknown field By in struct literal of type gonbext.Model", "", "By is a field of gonbext.Options"},
		{"unknown field Layer in struct literal of type gonbext.Options", "", "Layer is a field of gonbext.Show"},
		{"undefined: gonbext.explain", "", "did you mean gonbext.Explain?"},
		{"undefined: gonbext", `gonbext.explain("a")`, "did you mean gonbext.Explain?"},
		{"undefined: gonbext", `gonbext.paint("a")`, "names of a package begin with a capital letter"},
		{"undefined: headwater", `headwater.Explain("a")`, "did you mean gonbext.Explain?"},
		{"undefined: headwater", `headwater.paint("a")`, `the package is gonbext, as in gonbext.Explain("the keys")`},
		{"undefined: fmt.Printn", "", "fmt? in a cell of its own lists its names"},
		{"undefined: attribution", "attribution.Names()", "declare attribution in this cell, or above the line %% of an earlier one; import packages there"},
		{"undefined: explain", `explain("a")`, "did you mean gonbext.Explain?"},
		{"undefined: keys", "gonbext.Explain(keys)", either},
		{"undefined: keys", "gonbext.Model{Name: keys}", either},
		{"undefined: e", "e = gonbext.Last()", "a new variable needs :=, as in e := 3"},
		{"undefined: e", "if e == 3 {", "declare e in this cell, or above the line %% of an earlier one; import packages there"},
		{"undefined: True", "Chat: True}", "Go writes true, false and nil"},
		{"e.Step undefined (type *gonbext.Explanation has no field or method Step)", "", "did you mean Steps?"},
		{"e.Draw undefined (type *gonbext.Explanation has no field or method Draw)", "", "gonbext.Explanation? in a cell of its own lists what it has"},
		{"declared and not used: n\nundefined: True", "", "Go writes true, false and nil"},
		{"declared and not used: n", "", "use n in this cell, or leave it out"},
		{"illegal rune literal", "", quotes},
		{"cannot use 'a' (untyped rune constant 97) as string value", "", quotes},
		{"curly quotation mark '“' (use neutral '\"')", "", quotes},
		{"string literal not terminated", "", quotes},
		{"missing ',' in argument list", "gonbext.Explain(the keys)", quotes},
		{"missing ',' in argument list", `gonbext.Explain(f"the {x}")`, `values are put into a text by fmt.Sprintf("the %v", name)`},
		{"expected '==', found '='", `gonbext.Explain("a", MaxTokens=3)`, quotes},
		{`invalid field name "MaxTokens" in struct literal`, "", quotes},
		{"too few values in struct literal of type gonbext.Model", "", quotes},
		{"missing ',' in composite literal (and 1 more errors)", "", "close each { by }, and put commas between fields"},
		{"missing ',' before newline in composite literal", "", "end the line with a comma, or close its bracket there"},
		{`cannot use "direct" (untyped string constant) as []string value in struct literal`, "", `a list is written []string{"direct"}`},
		{`cannot use ("direct") (untyped string constant "direct") as []string value in struct`, "", `a list is written []string{"direct"}`},
		{"unexpected comma; expecting ]", "", `a list is written []string{"direct", "rollout"}`},
		{"expected type, found '}'", "", `a list is written []string{"direct", "rollout"}`},
		{"cannot use 3 (untyped int constant) as *int value in struct literal", "", "a number that may be missing is written new(3)"},
		{`cannot use "3" (untyped string constant) as int value in struct literal`, "", "numbers have no quotes: 3"},
		{"cannot use 3.5 (untyped float constant) as int value in struct literal (truncated)", "", "write a whole number, without a point"},
		{`cannot use "yes" (untyped string constant) as bool value in struct literal`, "", "write true or false, without quotes"},
		{
			`cannot use "smollm2" (constant of type string) as gonbext.Setting value in argument`, "",
			`settings are gonbext.Options{MaxTokens: 3}, gonbext.Model{Name: "smollm2"} and gonbext.Show{By: "word"}`,
		},
		{`cannot use "a" (untyped string constant) as *gonbext.Explanation value in argument`, "", `give it what gonbext.Explain("the keys") or gonbext.Last() returns`},
		{"assignment mismatch: 2 variables but gonbext.Explain returns 1 value", "", "an error is returned by gonbext.TryExplain and the other functions with Try"},
		{"cannot index gonbext.Explain (value of type func(prompt string) *gonbext.Explanation)", "", "functions are called with parentheses: f(x)"},
		{"mismatched types untyped string and int", "", `fmt.Sprint("a", 3) makes one text of values`},
		{"expected '{', found in (and 1 more errors)", "", blocks},
		{"illegal label declaration (and 2 more errors)", "", blocks},
		{"illegal character U+0023 '#'", "", "comments begin with //"},
		{"import path must be a string", "", `a package is imported by its path: import "` + modulePath + `/gonbext"`},
		{"exit status 1", "", ""},
	} {
		if got := c.hint(test.text, test.cell); got != test.want {
			t.Errorf("hint(%q, %q) = %q, want %q", test.text, test.cell, got, test.want)
		}
	}
}

// TestComplete checks which names complete a cell. Names of others are left to gopls.
func TestComplete(t *testing.T) {
	c := newCells(t)
	for before, want := range map[string][]string{
		"gonbext.Model{": {"Name", "Backend", "DType", "MaxMemory"},
		"f(1, gonbext.Model{\n\tName: \"a\",\n\tBa":      {"Backend"},
		"gonbext.Model{Name: g(struct{}{}), D":           {"DType"},
		"gonbext.Show{ke":                                {},
		"gonbext.Show{ki":                                {"Kind"},
		"gonbext.Show{Kind: ":                            nil,
		"gonbext.Options{Methods: []string{\"":           {"flow", "value-zeroing"},
		"gonbext.Options{Methods: []string{\"a\", \"val": {"value-zeroing"},
		"gonbext.Options{Continuation: \"val":            nil,
		"gonbext.expl":                                   {"Explain", "ExplainArgs", "Explanation"},
		"e := gonbext.Last()\ne.St":                      {"Steps", "Studies"},
		"e, err := gonbext.TryExplain(\"a\")\ne.Met":     {"Methods"},
		"r := gonbext.Reproduce(\"s1\")\nr.none":         {},
		"e := other.Last()\ne.":                          nil,
		"fmt.":                                           nil,
		"":                                               nil,
	} {
		got, begin := c.complete(before)
		if len(want) == 0 && len(got) == 0 {
			continue
		}
		if d := cmp.Diff(want, got); d != "" || !strings.HasSuffix(before, begin) {
			t.Errorf("complete(%q) = %q after %q:\n%s", before, got, begin, d)
		}
	}
}

// TestChange checks the messages: a request that is answered here asks GoNB for nothing, and its
// reply has the names; all others stay.
func TestChange(t *testing.T) {
	c := newCells(t)
	change := func(kind, id, parent, content string) (all map[string]any) {
		t.Helper()
		if changed := c.change(kind, id, parent, []byte(content)); changed != nil {
			must(t, json.Unmarshal(changed, &all))
		}
		return all
	}
	const code = `"é gonbext.Show{si, 1"`
	asked := change("complete_request", "1", "", `{"code":`+code+`,"cursor_pos":17,"x":1}`)
	if d := cmp.Diff(map[string]any{"code": "%%writefile", "cursor_pos": 0., "x": 1.}, asked); d != "" {
		t.Error(d)
	}
	for _, want := range []map[string]any{{
		"status": "ok", "matches": []any{"Sinks", "Size"}, "cursor_start": 15., "cursor_end": 17.,
		"metadata": map[string]any{},
	}, nil} { // once
		if d := cmp.Diff(want, change("complete_reply", "2", "1", `{"matches":[]}`)); d != "" {
			t.Error(d)
		}
	}
	if got := change("execute_request", "3", "", `{"code":"%exec f","silent":false}`); !cmp.Equal(
		got, map[string]any{"code": "%exec f\n//", "silent": false}) {
		t.Errorf("a cell is sent as %v", got)
	}
	change("execute_request", "4", "", `{"code":"%%\nf(f\"a\")"}`)
	for _, kind := range []string{"error", "execute_reply", "error"} { // in any order
		got := change(kind, "", "4", `{"evalue":"missing ',' in argument","traceback":[]}`)
		if text, _ := got["evalue"].(string); !strings.Contains(text, "fmt.Sprintf") {
			t.Errorf("%s about a cell: %v", kind, got)
		}
	}
	want := map[string]any{
		"evalue":    "put statements below a line %%\nexpected declaration",
		"traceback": []any{"put statements below a line %%", "a"},
	}
	for _, kind := range []string{"error", "execute_reply"} {
		got := change(kind, "", "", `{"evalue":"expected declaration","traceback":["a"]}`)
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", kind, d)
		}
	}
	for kind, content := range map[string]string{
		"execute_reply":    `{"status":"ok","execution_count":3}`,
		"execute_request":  `{"code":"%%\n//"}`,
		"stdin":            `[]`,
		"complete_request": `{"code":"fmt.","cursor_pos":1e300}`,
		"stream":           `{"evalue":"expected declaration"}`,
		"error":            `{"evalue":7,"traceback":7}`,
	} {
		if got := change(kind, "1", "1", content); got != nil {
			t.Errorf("%s of %s is changed to %v", content, kind, got)
		}
	}
}
