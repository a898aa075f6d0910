package kernel

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// cells changes what Jupyter and GoNB say to each other about cells:
//
//   - gonbext.Explain? shows documentation, and %help begins with that of gonbext.
//   - %exec runs without a line of Go below it.
//   - An error of the compiler gets a line about what to do.
//   - Tab completes names of this module without gopls, and values within quotes.
//
// It is safe for concurrent use.
type cells struct {
	StartOptions

	completions sync.Map // from the id of a request to the content of its reply
	sent        sync.Map // from the id of a request to its cell
}

// change returns other content of a message, or nil; see [relay].
func (c *cells) change(kind, id, parent string, content []byte) []byte {
	var all map[string]any
	if !slices.Contains([]string{
		"execute_request", "execute_reply", "error", "complete_request", "complete_reply",
	}, kind) || json.Unmarshal(content, &all) != nil {
		return nil
	}
	code, _ := all["code"].(string)
	switch kind {
	case "execute_request":
		c.sent.Store(id, code)
		if all["code"] = runnable(code); all["code"] == code {
			return nil
		}
	case "execute_reply", "error":
		text, _ := all["evalue"].(string)
		trace, _ := all["traceback"].([]any)
		cell, _ := c.sent.Load(parent)
		if kind == "execute_reply" { // the error comes beside it, so the cell is kept for one more
			old, _ := c.sent.Swap("answered", parent)
			c.sent.Delete(old)
		}
		hint := c.hint(text, fmt.Sprint(cell))
		if hint == "" {
			return nil
		}
		// Above the lines that the compiler says of the program that GoNB made of the cell.
		all["evalue"], all["traceback"] = hint+"\n"+text, slices.Insert(trace, 0, any(hint))
	case "complete_request":
		at, _ := all["cursor_pos"].(float64)
		before := []rune(code)
		before = before[:min(len(before), max(0, int(at)))]
		names, begin := c.complete(string(before))
		if names == nil {
			return nil
		}
		c.completions.Store(id, map[string]any{
			"status": "ok", "matches": names, "metadata": map[string]any{},
			"cursor_start": len(before) - len([]rune(begin)), "cursor_end": len(before),
		})
		all["code"], all["cursor_pos"] = "%%writefile", 0 // GoNB answers at once, with nothing
	case "complete_reply":
		reply, ok := c.completions.LoadAndDelete(parent)
		if !ok {
			return nil
		}
		all = reply.(map[string]any)
	}
	changed, _ := json.Marshal(all) // of JSON
	return changed
}

var (
	question = regexp.MustCompile(`^\s*\?*([\w.]+)\?*\s*$`)
	execLine = regexp.MustCompile(`(?m)^%exec\s`)
)

// runnable returns a cell as GoNB runs it. Of a type that another one declares, the documentation
// of that follows, which has the fields.
func runnable(code string) string {
	switch m := question.FindStringSubmatch(code); {
	case m != nil && strings.Contains(code, "?"):
		return "!*go doc " + m[1] + "; of=$(go doc " + m[1] + " | sed -n " +
			`'s/^type [A-Za-z]* \([a-z]*\.[A-Z][A-Za-z]*\)$/\1/p'); test -z "$of" || go doc $of`
	case strings.TrimSpace(code) == "%help":
		return "!*go doc gonbext\n%help"
	case execLine.MatchString(code):
		return code + "\n//" // GoNB runs no cell without Go
	}
	return code
}

// The ends of a cell before the cursor that complete knows.
var (
	inQuotes = regexp.MustCompile(`(\w+):\s*(?:\[\]string\{(?:\s*"[^"\n]*"\s*,)*\s*)?"([^"\n]*)$`)
	inBraces = regexp.MustCompile(`(\w+)\.(\w+)\{((?:(?:[^{}]|\{[^{}]*\})*,)?)\s*(\w*)$`)
	afterDot = regexp.MustCompile(`\b(\w+)\.(\w*)$`)
)

// complete returns the names that complete a cell before the cursor, and the part of them that
// stands there; nil if they are left to gopls.
func (c *cells) complete(before string) (names []string, begin string) {
	given := ""
	if m := inQuotes.FindStringSubmatch(before); m != nil {
		names, begin = c.Values[m[1]], m[2]
	} else if m := inBraces.FindStringSubmatch(before); m != nil {
		names = c.exported(m[1], m[2], docFields)
		given, begin = m[3], m[4]
	} else if m := afterDot.FindStringSubmatch(before); m != nil {
		names, begin = c.exported(m[1], "", docNames), m[2]
		made := regexp.MustCompile(`\b` + m[1] + `(?:, \w+)? :?= gonbext\.(\w+)\(`)
		if f := made.FindStringSubmatch(before); f != nil {
			for _, of := range c.exported("gonbext", f[1], docReturns) {
				names = c.exported("gonbext", of, docFields, docMethods)
			}
		}
		slices.Sort(names)
	}
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return !strings.HasPrefix(strings.ToLower(name), strings.ToLower(begin)) ||
			strings.Contains(given, name+":")
	}), begin
}

// What go doc prints: names of a package, fields of a type, its methods, the type that a function
// returns, and a type that another one declares.
var (
	docNames   = regexp.MustCompile(`(?m)^ *(?:func|type|var|const) ([A-Z]\w*)`)
	docFields  = regexp.MustCompile(`(?m)^\t([A-Z]\w*(?:, [A-Z]\w*)*) `)
	docReturns = regexp.MustCompile(`(?m)^func .*\) \(?\*?([A-Z]\w*)`)
	docMethods = regexp.MustCompile(`(?m)^func \([^)]*\) (\w+)`)
	docType    = regexp.MustCompile(`(?m)^type \w+ (?:= )?(\w+)\.(\w+)$`)
)

// exported returns the names that go doc prints of a package of this module or of one of its types.
func (c *cells) exported(pkg, typ string, kinds ...*regexp.Regexp) (names []string) {
	for range 3 {
		near, _ := filepath.Glob(filepath.Join(c.Source, pkg, "*.go"))
		far, _ := filepath.Glob(filepath.Join(c.Source, "*", pkg, "*.go"))
		files := append(near, far...)
		if pkg == "" || len(files) == 0 {
			break
		}
		args := append([]string{"doc", "-short", filepath.Dir(files[0])}, strings.Fields(typ)...)
		text, err := goOutput(context.Background(), "go", c.Source, os.Environ(), args...)
		if err != nil {
			break
		}
		for _, kind := range kinds {
			for _, m := range kind.FindAllStringSubmatch(text, -1) {
				names = append(names, strings.Split(m[1], ", ")...)
			}
		}
		of := docType.FindStringSubmatch(text)
		if typ == "" || of == nil {
			break
		}
		pkg, typ = of[1], of[2]
	}
	return names
}

// hints are the rules of hints.txt: the pattern of an error, that of a cell, and the hint.
//
//go:embed hints.txt
var hintsText string

var hints = regexp.MustCompile(`(?m)^error +(.+)\n(?:cell +(.+)\n)?hint +(.+)`).
	FindAllStringSubmatch(hintsText, -1)

// hint returns a line about what to do about an error of the compiler in a cell, or "".
func (c *cells) hint(text, cell string) string {
	for _, h := range hints {
		words := regexp.MustCompile(h[1])
		m := words.FindStringSubmatchIndex(text)
		if m == nil {
			continue
		}
		of := func(template string) string {
			return string(words.ExpandString(nil, template, text, m))
		}
		in := regexp.MustCompile(of(h[2])).FindStringSubmatch(cell)
		if in == nil {
			continue
		}
		// Some words are not names of a package or type; then none is near.
		pkg, typ, word := cmp.Or(of("$pkg"), "gonbext"), of("$type"), of("$word")
		kinds, begin, sentence := []*regexp.Regexp{docNames}, pkg+".", of(h[3])
		if typ != "" {
			kinds, begin = []*regexp.Regexp{docFields, docMethods}, ""
		}
		if len(in) > 1 && word == "" {
			word = in[1]
		}
		if near := c.Near(word, c.exported(pkg, typ, kinds...)); near != nil {
			return "did you mean " + begin + near[0] + "?"
		}
		for _, other := range []string{"Options", "Model", "Show"} {
			if typ != "" && slices.Contains(c.exported(pkg, other, docFields), word) {
				return word + " is a field of " + pkg + "." + other
			}
		}
		return sentence
	}
	return ""
}
