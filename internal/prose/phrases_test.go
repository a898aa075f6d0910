// Package prose checks how the project is written: plain phrases in every text, and short lines
// in Go files. It holds tests only. They read the sources and take about a second.
package prose

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/internal/testhelp"
)

var must = testhelp.Must // ends a test at an error

// phrases lists wording that makes a reader in a second language stop, with the plain words to
// write instead. Every entry must be wrong wherever it stands: a phrase that is right in some
// sentences does not belong here. Case does not matter, whole words count, and a space also
// matches a line break between two lines of a comment.
var phrases = []struct {
	banned  []string
	instead string
}{
	{[]string{"to be had"}, "available"},
	{[]string{
		"that is none", "that are none", "which is none", "which are none", "who is none",
		"it is none", "one is none", "what is none",
	}, "is not one, is invalid"},
	{[]string{"is none of", "are none of"}, "is not one of"},
	{[]string{
		"that is no answer", "that is no cell", "that is no character", "that is no checkpoint",
		"that is no golden", "that is no link", "that is no model", "that is no number",
		"that is no part", "that is no plugin", "that is no sum", "that is no text",
		"that is no token", "that is no tracer", "that is no word", "which is no commit",
		"which is no gpu", "which is no model", "which is no number", "that is no valid",
	}, "that is not a"},
	{[]string{
		"that are no answer", "that are no character", "that are no number", "that are no numbers",
		"that are no parts", "that are no power", "that are no token", "that are no tokens",
	}, "that are not"},
	{[]string{"dear", "dearer", "dearest", "dearly", "dearMap"}, "expensive"},
	{[]string{"of an encoder"}, "for an encoder, an encoder's"},
	{[]string{"of a decoder"}, "for a decoder, a decoder's"},
	{[]string{"for ever"}, "forever"},
	{[]string{"so far as"}, "if, where"},
	{[]string{"lest"}, "so that … not"},
	{[]string{"whoever"}, "a caller that, anyone who"},
	{[]string{"anew"}, "again"},
	{[]string{
		"thereof", "whereof", "wherein", "therein", "thereupon", "whereupon", "whence", "thence",
		"hither", "whither",
	}, "of it, in which, from where"},
	{[]string{
		"behind a norm", "behind its norm", "behind that norm", "behind the norm",
		"behind the final norm", "behind the last norm", "behind the norms", "behind every norm",
		"behind a layer", "behind the layer", "behind the last layer", "behind every layer",
		"behind each layer", "behind a block", "behind the block", "behind the last block",
		"behind every block", "behind the attention", "behind its attention",
		"behind the residual", "behind the embedding", "behind the embeddings",
	}, "after"},
	{[]string{"met is"}, "the verb after its subject: … is met"},
	{
		[]string{". told is", ". shown is", ". named is", ". kept is", ". left is", ". counted is"},
		"the verb after its subject: … is shown",
	},
}

// TestPhrases searches every text file for the phrases.
func TestPhrases(t *testing.T) {
	walk(t, isProse, func(path string, text []byte) {
		joined, lines := joinLines(withoutPictures(string(text)))
		joined = lower(joined)
		for _, p := range phrases {
			for _, phrase := range p.banned {
				for _, at := range find(joined, lower(phrase)) {
					t.Errorf("%s:%d: %q; say: %s", path, lines.at(at), phrase, p.instead)
				}
			}
		}
	})
}

// picture finds the pictures of a notebook, whose letters are no words.
var picture = regexp.MustCompile(`"image/png": "[^"]*"`)

// withoutPictures returns the text of a file with all its lines and without pictures.
func withoutPictures(text string) string { return picture.ReplaceAllString(text, `""`) }

// find returns the offsets at which a phrase stands in a text as whole words.
func find(text, phrase string) []int {
	var offsets []int
	for from := 0; ; {
		i := strings.Index(text[from:], phrase)
		if i < 0 {
			return offsets
		}
		begin := from + i
		from = begin + len(phrase)
		if (begin == 0 || !isLetter(text[begin-1]) || !isLetter(phrase[0])) &&
			(from == len(text) || !isLetter(text[from])) {
			offsets = append(offsets, begin)
		}
	}
}

func isLetter(c byte) bool { return 'a' <= c && c <= 'z' }

// lower returns a text with A to Z as a to z. Unlike strings.ToLower it keeps all offsets.
func lower(text string) string {
	out := []byte(text)
	for i, c := range out {
		if 'A' <= c && c <= 'Z' {
			out[i] = c + 'a' - 'A'
		}
	}
	return string(out)
}

func TestFind(t *testing.T) {
	for _, c := range []struct {
		text, phrase string
		want         int
	}{
		{"flow is dear.", "dear", 1},
		{"dear dear", "dear", 2},
		{"dearth and endear", "dear", 0},
		{"it ends. kept is a row", ". kept is", 1},
		{"it ends. kept isles", ". kept is", 0},
	} {
		if got := find(c.text, c.phrase); len(got) != c.want {
			t.Errorf("%q stands in %q at %v, want %d places", c.phrase, c.text, got, c.want)
		}
	}
}

// isProse returns whether a file holds text that somebody wrote to be read.
func isProse(path string) bool {
	if path == "internal/prose/phrases_test.go" {
		return false
	}
	switch filepath.Ext(path) {
	case ".go", ".md", ".sh", ".py", ".ipynb", ".js", ".yml":
		return true
	}
	return filepath.Base(path) == "Makefile"
}

// lineBreak is the end of one line with the indentation and the comment mark of the next line.
var lineBreak = regexp.MustCompile(`[ \t]*\n[ \t]*(?://|#)?[ \t]*`)

// lineStarts holds the offset at which each line of a joined text begins.
type lineStarts []int

// at returns the number of the line, from 1, that holds the byte at offset.
func (l lineStarts) at(offset int) int {
	line, found := slices.BinarySearch(l, offset)
	if found {
		line++
	}
	return line
}

// joinLines replaces each line break with one space, so that a phrase may cross a line. A blank
// line leaves two spaces, so that no phrase crosses it.
func joinLines(text string) (string, lineStarts) {
	var joined strings.Builder
	starts := lineStarts{0}
	last := 0
	for _, at := range lineBreak.FindAllStringIndex(text, -1) {
		joined.WriteString(text[last:at[0]])
		joined.WriteByte(' ')
		starts = append(starts, joined.Len())
		last = at[1]
	}
	joined.WriteString(text[last:])
	return joined.String(), starts
}

func TestJoinLines(t *testing.T) {
	joined, lines := joinLines("// It waits for\n\t// ever.\n\nEnd dear\n")
	if want := "// It waits for ever.  End dear "; joined != want {
		t.Fatalf("joined text %q, want %q", joined, want)
	}
	for word, want := range map[string]int{"for": 1, "ever": 2, "dear": 4} {
		if got := lines.at(strings.Index(joined, word)); got != want {
			t.Errorf("%q is on line %d, want %d", word, got, want)
		}
	}
}

// walk calls do with every file of the repository for which wanted is true. Paths are relative
// to the root of the repository. Hidden folders and what make writes into out are left out.
func walk(t *testing.T, wanted func(path string) bool, do func(path string, text []byte)) {
	t.Helper()
	const root = "../.."
	files := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		if d.IsDir() {
			if name != "." && strings.HasPrefix(name, ".") || name == "out" {
				return fs.SkipDir
			}
			return nil
		}
		if !d.Type().IsRegular() || !wanted(name) {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files++
		do(name, text)
		return nil
	})
	must(t, err)
	if files < 100 {
		t.Errorf("only %d files were read", files)
	}
}
