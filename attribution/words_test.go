package attribution_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
)

// The tokens of a word continue each other in a prompt as in an answer: letters, the points of
// numbers and apostrophes, and the bytes of one character, but no punctuation, no white space, no
// words of a script without spaces, and not the pieces of a text that has none.
func TestContinuesWord(t *testing.T) {
	for _, c := range []struct {
		texts []string
		want  string // the words, between bars
	}{
		{[]string{"I", " met", " G", "ret", "a", "."}, "I| met| Greta|."},
		{[]string{"a", "b", "\n", "c", " ", "1", " d", "."}, "ab|\n|c| |1| d|."},
		{[]string{"1", ",", "200", ",", " 3", ".", "5", ".", " x"}, "1,200|,| 3.5|.| x"},
		{[]string{"don", "'t", " (", "x", "_", "y", ")"}, "don't| (|x_y|)"},
		{[]string{"罗马", "斗兽", "\xe5", "\x9c", "\xba"}, "罗马|斗兽|场"},
		{slices.Repeat([]string{"ab"}, 13), strings.Repeat("ab|", 12) + "ab"},
		{slices.Repeat([]string{"ab"}, 12), strings.Repeat("ab", 12)},
		{[]string{"the", "Ġcat", "s"}, "the|Ġcats"},
	} {
		whole := strings.Join(c.texts, "")
		for _, answered := range []bool{false, true} {
			if !answered && strings.Contains(whole, "Ġ") {
				continue // the text of a prompt has no such marks
			}
			e := &attribution.Explanation{}
			for _, text := range c.texts {
				if answered {
					e.Steps = append(e.Steps, attribution.GeneratedToken{Text: text})
					continue
				}
				at := len(e.Prompt.Text)
				e.Prompt.Text += text
				e.Prompt.Texts = append(e.Prompt.Texts, text)
				e.Prompt.IDs = append(e.Prompt.IDs, 0)
				e.Prompt.Special = append(e.Prompt.Special, false)
				e.Prompt.Offsets = append(e.Prompt.Offsets, [2]int{at, at + len(text)})
			}
			var got strings.Builder
			for j, joins := range e.ContinuesWord() {
				if j > 0 && !joins {
					got.WriteByte('|')
				}
				got.WriteString(c.texts[j])
			}
			if got.String() != c.want {
				t.Errorf("answered %v: got %q, want %q", answered, got.String(), c.want)
			}
		}
	}
}
