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

// TestHint checks what is said about errors in the words of Go 1.26.
func TestHint(t *testing.T) {
	c := newCells(t)
	const quotes = "texts stand in double quotes"
	for text, want := range map[string]string{
		"main.go:3:1: expected declaration, found gonbext":                         "put statements below a line %%",
		"unknown field maxToken in struct literal of type gonbext.Options":         "did you mean MaxTokens?",
		"unknown field Nothing in struct literal of type gonbext.Options":          "",
		"unknown field X in struct literal of type other.Type":                     "",
		"undefined: gonbext.explain":                                               "did you mean gonbext.Explain?",
		"undefined: fmt.Printn":                                                    "",
		"undefined: explain":                                                       `did you mean gonbext.Explain? a text stands in double quotes: "explain"`,
		"undefined: hello":                                                         `a text stands in double quotes: "hello"`,
		"e.Step undefined (type *gonbext.Explanation has no field or method Step)": "did you mean Steps?",
		"(type *attribution.Explanation has no field or method Groupe)":            "",
		"illegal rune literal":                                                     quotes,
		"cannot use 'a' (untyped rune constant 97) as string value":                quotes,
		"curly quotation mark '“' (use neutral '\"')":                              quotes,
		"string literal not terminated":                                            quotes,
		"missing ',' in argument list":                                             quotes,
		"exit status 1":                                                            "",
	} {
		if got := c.hint(text); !strings.HasPrefix(got, want) || (want == "") != (got == "") {
			t.Errorf("hint(%q) = %q, want %q", text, got, want)
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
		"e := gonbext.Last()\ne.":                        nil,
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
		"status": "ok", "matches": []any{"Size"}, "cursor_start": 15., "cursor_end": 17.,
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
	want := map[string]any{
		"evalue":    "expected declaration\nput statements below a line %%",
		"traceback": []any{"a", "put statements below a line %%"},
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
