package cli

import (
	"strings"
	"testing"
)

// Paragraphs are divided again for every width; a line that begins with a space stays, and so does
// a word that is longer than a line.
func TestWriteParagraphs(t *testing.T) {
	const text = "One two three\nfour.\n  {\"a line\": 1, \"as\": \"it is\"}\n" +
		"Five sixseveneight\n\nnine ten"
	for width, want := range map[int]string{
		9:  "One two\nthree\nfour.\n  {\"a line\": 1, \"as\": \"it is\"}\nFive\nsixseveneight\n\nnine ten\n",
		30: "One two three four.\n  {\"a line\": 1, \"as\": \"it is\"}\nFive sixseveneight\n\nnine ten\n",
	} {
		var got strings.Builder
		writeParagraphs(&got, text, width)
		if got.String() != want {
			t.Errorf("at %d columns: %q, want %q", width, got.String(), want)
		}
	}
}
