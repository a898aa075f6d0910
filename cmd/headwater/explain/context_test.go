package explain

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/internal/cli/clitest"
	"github.com/headwater-ml/headwater/internal/sources"
)

const story = "mary has the red key . john has the blue lamp . anna has the old book ."

// storyFile writes a document for the embedded model.
func storyFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "story.txt")
	clitest.Write(t, path, []byte(story+"\n"))
	return path
}

// asked runs headwater context on a story and returns its JSON.
func asked(t *testing.T, args ...string) *sources.Result {
	t.Helper()
	var r sources.Result
	out := headwater.Output(t, append([]string{
		"context", "--backend", "go", "--question", "who has the lamp ?", "--format", "json",
	}, args...)...)
	must(t, json.Unmarshal([]byte(out), &r))
	return &r
}

// TestContext: the sentence about john is the strongest for john, in the answer of the model and in
// one that is given, and another one for another part of the answer.
func TestContext(t *testing.T) {
	path := storyFile(t)
	r := asked(t, "--target", "john", path)
	if !strings.HasPrefix(strings.TrimSpace(r.Answer), "john") || r.Target != "john" ||
		len(r.Methods) != 2 || r.Names[0] != path {
		t.Errorf("answer %q, target %q, %d methods of %q", r.Answer, r.Target, len(r.Methods),
			r.Names)
	}
	for _, s := range r.Methods {
		if s.Ranked()[0] != 1 {
			t.Errorf("%s: source %d is the strongest for john, want 1", s.Method, s.Ranked()[0])
		}
	}
	given := asked(t, "--answer", "john", "--methods", "leave-one-out", path)
	if got, want := given.Methods[0].Values[1], r.Methods[1].Values[1]; len(given.Methods) != 1 ||
		given.LogProbability != r.LogProbability || got != want {
		t.Errorf("the given answer has %v and score %v, the model's own %v and %v",
			given.LogProbability, got, r.LogProbability, want)
	}
	other := asked(t, "--answer", "anna", "--methods", "leave-one-out", path)
	if at := other.Methods[0].Ranked()[0]; at != 2 {
		t.Errorf("source %d is the strongest for anna, want 2", at)
	}
	again := asked(t, "--target", "john", path)
	a, _ := json.Marshal(r)
	b, _ := json.Marshal(again)
	if string(a) != string(b) {
		t.Error("two runs give other bytes")
	}
}

// TestContextInputs: documents come from several files and standard input, and are divided as --by
// says.
func TestContextInputs(t *testing.T) {
	path := storyFile(t)
	args := []string{
		"context", "--backend", "go", "--question", "who has the lamp ?", "--answer", "john",
		"--methods", "leave-one-out", "--format", "json",
	}
	var r sources.Result
	utf16 := "\xff\xfe"
	for _, b := range "mary has the old cup ." {
		utf16 += string(b) + "\x00"
	}
	for _, in := range []string{"\ufeffmary has the old cup .", utf16} {
		out := headwater.MustExecute(t, in, append(args, path, "-")...)
		must(t, json.Unmarshal([]byte(out), &r))
		if len(r.Sources) != 4 || r.Sources[3].Document != 1 || !strings.Contains(r.Prompt,
			"book .\n\nmary has the old cup . who has") {
			t.Errorf("sources %v of the prompt %q", r.Sources, r.Prompt)
		}
	}
	out := headwater.Output(t, append(args, "--by", "0:22,23:47", "--template",
		"{question} {context} {question}", path)...)
	must(t, json.Unmarshal([]byte(out), &r))
	if len(r.Sources) != 2 || r.Sources[1].Text != "john has the blue lamp ." ||
		r.Prompt != "who has the lamp ? "+story+" who has the lamp ?" {
		t.Errorf("sources %v of the prompt %q", r.Sources, r.Prompt)
	}
}

// TestContextForms: the text and the page say the same.
func TestContextForms(t *testing.T) {
	path := storyFile(t)
	args := []string{
		"context", "--backend", "go", "--question", "who has the lamp ?", "--answer", "john", path,
	}
	text := headwater.Output(t, append(args, "--top", "2")...)
	page := headwater.Output(t, append(args, "--format", "html")...)
	for name, out := range map[string]string{"text": text, "page": page} {
		for _, want := range []string{
			"context-cite", "leave-one-out", "john has the blue lamp .", "LDS ",
			"on 32 held-out ablations", "drop without the top 1", "64 ablations",
			"were in the cache",
		} {
			if !strings.Contains(out, want) {
				t.Errorf("the %s lacks %q:\n%s", name, want, out)
			}
		}
	}
	if !strings.Contains(text, "… and 1 more") {
		t.Errorf("--top 2 of 3:\n%s", text)
	}
	file := filepath.Join(t.TempDir(), "page.html")
	headwater.Output(t, append(args, "--format", "html", "-o", file)...)
	if got, err := os.ReadFile(file); err != nil || string(got) != page {
		t.Errorf("the file differs from standard output: %v", err)
	}
}

// TestContextPageHasNoFolder: a page is sent to others, so it has the names of the files and of the
// model without their folders.
func TestContextPageHasNoFolder(t *testing.T) {
	story := storyFile(t)
	dir := filepath.Dir(story)
	data, err := filepath.Abs(filepath.Join(clitest.Root, "internal", "tiny", "data"))
	must(t, err)
	other, model := filepath.Join(dir, "other.txt"), filepath.Join(dir, "model")
	must(t, errors.Join(os.WriteFile(other, []byte("peter has the box ."), 0o600),
		os.Symlink(data, model)))
	page := headwater.Output(t, "context", "--backend", "go", "--model", model, "--format",
		"html", "--question", "who has the lamp ?", "--answer", "john", story, other)
	if strings.Contains(page, dir) || !strings.Contains(page, "[other.txt] ") ||
		!strings.Contains(page, ">model model ") {
		t.Errorf("the page has the folder %s, or lacks the names:\n%s", dir, page)
	}
	same := []string{"a/notes.txt", "b/notes.txt"}
	if got := withoutFolders(same); !slices.Equal(got, same) {
		t.Errorf("the names of %q are %q", same, got)
	}
}

// TestContextRefusals: one clear line for each.
func TestContextRefusals(t *testing.T) {
	path, dir := storyFile(t), t.TempDir()
	file := func(name, text string) string {
		at := filepath.Join(dir, name)
		clitest.Write(t, at, []byte(text))
		return at
	}
	empty, one := file("empty.txt", " \n"), file("one.txt", "mary has the red key .")
	binary, latin := file("a.png", "\x89PNG\r\n\x1a\n\x00"), file("latin.txt", "caf\xe9 . a .")
	long := file("long.txt", strings.Repeat(story+" ", 6))
	in := func(args ...string) []string {
		return append([]string{"context", "--backend", "go", "-o", "OUT"}, args...)
	}
	q := func(args ...string) []string {
		return in(append([]string{"--question", "who has the lamp ?"}, args...)...)
	}
	headwater.CheckRefusals(t, []clitest.Refusal{
		{"no file", q(), "", 2, "context needs a file with text"},
		{"no question", in(path), "", 2, "context needs a --question"},
		{"missing", q("nope.txt"), "", 1, "nope.txt: no such file"},
		{"directory", q(dir), "", 1, "is a directory; name files with text"},
		{"empty", q(empty), "", 2, "empty.txt has no text; leave it out"},
		{"one sentence", q(one), "", 2, "the documents have 1 of the sentences that are compared"},
		{"no text", q(binary), "", 1, "a.png is no text: byte 0 is 0x89; give a text in UTF-8"},
		{"other coding", q(latin), "", 1, "latin.txt is no text: byte 3 is 0xe9"},
		{
			"long", q("--model", "planted-induction", "--answer", "red", long), "", 2,
			"planted-induction reads at most 32 in all; give fewer or shorter documents",
		},
		{
			"long for an answer", q("--model", "planted-induction", long), "", 2,
			"planted-induction reads at most 32 in all; give fewer or shorter documents",
		},
		{"words", q("--answer", "Paris", path), "", 2, `"Paris", which is not in the`},
		{"a language", q("--to", "fr", path), "", 2, `"tiny" does not translate; leave out --from and --to`},
		{"empty answer", q("--answer", " ", path), "", 2, "the answer is white space"},
		{"target", q("--answer", "john", "--target", "mary", path), "", 2, `not contain "mary"`},
		{"two inputs", q("-", "-"), "", 2, "- is standard input, which can be read once"},
		{"template", q("--template", "{question}", path), "", 2, "has {context} 0 times"},
		{"unasked", q("--template", "{context}", path), "", 2, "--template has no {question}"},
		{"method", q("--methods", "lime", path), "", 2, `method "lime" of sources is unknown`},
		{"by", q("--by", "word", path), "", 2, "want sentence, paragraph, or bytes"},
		{"ablations", q("--ablations", "3", path), "", 2, "want a whole number from 8 to 4096"},
		{"penalty", q("--penalty", "-1", path), "", 2, "want a number from 0 to 100"},
		{"form", q("--format", "pdf", path), "", 2, `--format "pdf" is unknown`},
		{"palette", q("--palette", "perceptual", path), "", 2, "--palette is for html"},
		{"chat", q("--chat", path), "", 1, "has no chat template: it was not trained"},
		{"encoder", q("--model", "tiny-mlm", path), "", 2, "does not continue a text"},
	})
}
