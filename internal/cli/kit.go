// Package cli is what all commands share: how a command line is run, refused and interrupted, the
// flags of a model and of methods, input, output, progress, and the exit statuses.
package cli

import (
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/headwater-ml/headwater/gonbext/render"
	"github.com/headwater-ml/headwater/internal/message"
)

// MaxMessage is how many columns of an error are shown; file names and tokens can be of any length.
const MaxMessage = 2000

// Kit is one run of the command: its streams, and what its models take.
type Kit struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// modelBytes is how many bytes the open models keep. outsideHeap is how many of them Go does
	// not count, less what Go counts and the models do not use.
	modelBytes, outsideHeap int64
	// backend is the line on the backend that was said latest, so that two models on the same one
	// have one line.
	backend string
	// line is the line of progress that was made latest; nil before the first.
	line *Progress
}

// Names in errors come from users and files and can be of any length. What is longer than longQuote
// in quotes, or than longWord without a space, such as a path, is cut, so that what follows can be
// read.
const (
	longQuote = 100
	longWord  = 300
)

var (
	quotes = regexp.MustCompile(`"(?:[^"\\\n]|\\.)*"`)
	words  = regexp.MustCompile(`\S+`)
)

// cutNames cuts the long names of an error: of a quoted one the beginning remains, of a path also
// the end.
func cutNames(text string) string {
	text = quotes.ReplaceAllStringFunc(text, func(quoted string) string {
		if len(quoted) <= longQuote {
			return quoted
		}
		return strings.ToValidUTF8(quoted[:60], "") + `…"`
	})
	return words.ReplaceAllStringFunc(text, func(word string) string {
		if len(word) <= longWord {
			return word
		}
		begin, end := word[:100], word[len(word)-60:]
		return strings.ToValidUTF8(begin, "") + "…" + strings.ToValidUTF8(end, "")
	})
}

// oneLine joins lines. Python that an error shows on lines of its own remains Python.
var oneLine = strings.NewReplacer(":\n\t", ": ", "\n\t", "; ", "\n", "; ")

// Say writes the text to standard error, always as one line.
func (k *Kit) Say(format string, args ...any) {
	text := oneLine.Replace(strings.TrimSpace(message.Sprintf(format, args...)))
	fmt.Fprintf(k.Stderr, "headwater: %s\n", render.Visible(text, MaxMessage))
}
