package tokenizer

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
)

// refusals are the cases of testdata/refusals.json: what stands in a file, and what the error says.
type refusals struct {
	// Files are a name, a trained file, what stands in it instead, and a part of the error text.
	Files [][4]json.RawMessage
	// Parts are keys of gpt2.json, as in [editedFile], with another value. In Models, the whole
	// file has a model alone. Each error names the key.
	Parts, Models []refusedValue
	// Unsupported are what a later version may have. The last is the key that the error names.
	Unsupported []refusedValue
	// Patterns are regular expressions.
	Patterns [][2]string
}

// refusedValue is a key, its value and a part of the error text.
type refusedValue [3]json.RawMessage

// text returns the text at a place of the case.
func (c refusedValue) text(t *testing.T, i int) (s string) {
	t.Helper()
	must(t, json.Unmarshal(c[i], &s))
	return s
}

// TestRefusals has one case for each error about a file or a regular expression.
func TestRefusals(t *testing.T) {
	data, err := os.ReadFile("testdata/refusals.json")
	must(t, err)
	var cases refusals
	must(t, json.Unmarshal(data, &cases))
	check := func(c refusedValue, file []byte, prefix string) {
		t.Helper()
		_, err := Parse(file, "some.json")
		want := c.text(t, 2)
		if err == nil || !strings.HasPrefix(err.Error(), "tokenizer: some.json: "+prefix) ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %q", c, err, want)
		}
	}
	for _, c := range cases.Files {
		var name, kind, want string
		var parts map[string]json.RawMessage
		must(t, errors.Join(json.Unmarshal(c[0], &name), json.Unmarshal(c[1], &kind),
			json.Unmarshal(c[2], &parts), json.Unmarshal(c[3], &want)))
		var edits []string
		for key, value := range parts {
			edits = append(edits, key, string(value))
		}
		_, err := Parse(editedFile(t, kind, edits...), "some.json")
		checkJSONError(t, name, err, want)
		if errors.As(err, new(*unsupportedError)) {
			t.Errorf("%s: error %v says unsupported, want malformed", name, err)
		}
	}
	for _, c := range cases.Parts {
		check(c, editedFile(t, "gpt2", c.text(t, 0), string(c[1])), "")
	}
	for _, c := range cases.Models {
		check(c, []byte(withModel(string(c[1]))), "model")
	}
	for _, c := range cases.Unsupported {
		_, err := Parse(editedFile(t, "gpt2", c.text(t, 0), string(c[1])), "file")
		var u *unsupportedError
		if !errors.As(err, &u) || u.Key != c.text(t, 2) || len(u.Supported) == 0 {
			t.Errorf("%s: error %v, want an unsupportedError of the key", c, err)
		}
	}
	for _, c := range append(cases.Patterns, [2]string{"a\xff", "is not valid UTF-8"}) {
		if _, err := newRegex(c[0]); err == nil || !strings.Contains(err.Error(), c[1]) {
			t.Errorf("%q: error %v, want one with %q", c[0], err, c[1])
		}
	}
}

// checkJSONError checks that an error about some.json has a text, is short, and speaks of JSON.
func checkJSONError(t *testing.T, name string, err error, want string) {
	t.Helper()
	if err == nil {
		t.Errorf("%s: no error", name)
		return
	}
	text := err.Error()
	if !strings.Contains(text, want) || !strings.HasPrefix(text, "tokenizer: some.json: ") ||
		len(text) > 500 {
		t.Errorf("%s: error %.600s, want %q", name, text, want)
	}
	for _, word := range []string{"Go ", "unmarshal", "struct", ": json: ", "type file"} {
		if strings.Contains(text, word) {
			t.Errorf("%s: error %.600s says %q", name, text, word)
		}
	}
}
