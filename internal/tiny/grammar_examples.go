package tiny

import (
	_ "embed"
	"slices"
	"strings"
)

// An Example is a prompt that the toy model can continue.
type Example struct {
	Prompt string
	Kind   Kind
	// Note is what to look at.
	Note string
	// Expected is the next word. For agreement, any verb in the same number is as good.
	Expected string
	// HeldOut reports whether the prompt combines words that were never together in training.
	HeldOut bool
}

// Examples returns prompts of the grammar. The first three show it best.
func Examples() []Example { return slices.Clone(examples) }

//go:embed examples.txt
var exampleText string

// examples are those of examples.txt: a prompt, then on a line of its own the kind, the expected
// word, "new" if it is held out, and the note.
var examples = func() []Example {
	var all []Example
	lines := strings.Split(strings.TrimSpace(exampleText), "\n")
	for pair := range slices.Chunk(lines, 2) {
		what, note, _ := strings.Cut(strings.TrimSpace(pair[1]), ": ")
		words := strings.Fields(what)
		all = append(all, Example{
			Prompt: pair[0], Kind: Kind(slices.Index(kindNames[:], words[0])), Note: note,
			Expected: words[1], HeldOut: len(words) > 2,
		})
	}
	return all
}()
