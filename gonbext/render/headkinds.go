package render

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/headwater-ml/headwater/internal/study/heads"
)

// shownKind is a kind of head that a picture marks. Letter marks it in the map; Heads are those of
// the kind, as layer · heads + head, the best first, notes what was measured of each, and figures
// that in a number.
type shownKind struct {
	Name           string `json:"name"`
	Letter         string `json:"letter"`
	Heads          []int  `json:"heads"`
	notes, figures []string
}

// neededKind names the heads that a picture marks because the loss rises most without them. It has
// no notes: what the loss does without a head is told of every head.
const neededKind, neededLetter = "needed", "!"

// findKinds reads the kinds of heads, if they are known.
func (h *headsDrawing) findKinds(r Heads) {
	scores := heads.Of(r.Explanation)
	if scores == nil {
		return
	}
	scores = scores.OnText(r.Explanation, r.Attention)
	h.kindsBy = fmt.Sprintf("What heads do, by the mean share of their attention where %d random "+
		"tokens are read the second time (%s by chance) on the token after the first occurrence "+
		"(induction), the token before, the first occurrence (duplicate) and the first token of "+
		"all; of name movers, by their part of what all heads wrote into generated words from "+
		"where the same word stands before. A kind tells what a head reads, and not what it is "+
		"needed for.", scores.Repeated, rounded(scores.Chance))
	for _, kind := range scores.Kinds {
		shown := shownKind{Name: kind.Name, Letter: kind.Name[:1], Heads: kind.Heads}
		if kind.Name == heads.FirstToken {
			shown.Letter = "·" // of most heads
		}
		for _, i := range kind.Heads {
			score, of := kind.Text, " of what heads copied in this text"
			if kind.Random != nil {
				score, of = kind.Random, " of its attention on random tokens"
				if kind.Text != nil {
					of += ", " + rounded(kind.Text[i]) + " on average in this text"
				}
			}
			shown.figures = append(shown.figures, rounded(score[i]))
			shown.notes = append(shown.notes, rounded(score[i])+of)
		}
		if len(kind.Heads) > 0 {
			h.kinds = append(h.kinds, shown)
		}
	}
	if h.without = scores.Without; h.without == nil {
		return
	}
	h.kindsBy += fmt.Sprintf(" That is told by the loss where these tokens are read the second "+
		"time, %.2f nats: a head is needed if it rises by far more without that head, whose "+
		"output is set to its mean, than without most others.", scores.Loss)
	needed := shownKind{Name: neededKind, Letter: neededLetter, Heads: scores.Needed()}
	for _, i := range needed.Heads {
		needed.figures = append(needed.figures, fmt.Sprintf("+%.2f nats", h.without[i]))
	}
	if needed.Heads != nil {
		h.kinds = append(h.kinds, needed)
	}
}

// kindsOf returns the name, the letter and the note of each kind of a head, and what the loss does
// without the head, if that is known.
func (h *headsDrawing) kindsOf(layer, head int) (names, letters, notes []string) {
	at := layer*h.Heads + head
	for _, kind := range h.kinds {
		i := slices.Index(kind.Heads, at)
		if i < 0 {
			continue
		}
		letters = append(letters, kind.Letter)
		if kind.notes != nil {
			names, notes = append(names, kind.Name), append(notes, kind.Name+": "+kind.notes[i])
		}
	}
	if h.without != nil {
		does := "rises"
		if h.without[at] < 0 {
			does = "falls"
		}
		notes = append(notes, fmt.Sprintf("without it the loss on random tokens %s %.2f nats",
			does, math.Abs(h.without[at])))
	}
	return names, letters, notes
}

// kindWords names the kinds of a head in a sentence, each with the text that tells it: “, on random
// tokens an induction head, in this text a name mover,”. At one token a head may do something else.
func (h *headsDrawing) kindWords(layer, head int) (words string) {
	names, _, _ := h.kindsOf(layer, head)
	var read []string
	for _, name := range names {
		if name == heads.NameMover {
			words = ", in this text a " + name + ","
			continue
		}
		read = append(read, strings.ReplaceAll(name, " ", "-")+" head")
	}
	if read == nil {
		return words
	}
	article := "a "
	if strings.HasPrefix(read[0], "i") {
		article = "an "
	}
	return ", on random tokens " + article + and(read) + cmp.Or(words, ",")
}

// headName names a head, with so many places for its numbers: “layer 23 head 7 (induction)”.
func (h *headsDrawing) headName(layer, head, places int) string {
	label := h.e.Model.LayerLabel(layer)
	name := h.layerWord(1) + right(label, places) + fmt.Sprintf(" head %*d", places, head)
	if kinds, _, _ := h.kindsOf(layer, head); kinds != nil {
		name += " (" + strings.Join(kinds, ", ") + ")"
	}
	return name
}

// kindLines list the heads of each kind, below how they were found; none without kinds.
func (h *headsDrawing) kindLines() (lines []string) {
	if h.kindsBy != "" {
		lines = []string{h.kindsBy}
	}
	for _, kind := range h.kinds {
		var heads []string
		for i, head := range kind.Heads[:min(len(kind.Heads), listedHeads)] {
			heads = append(heads, fmt.Sprintf("%d.%d %s", head/h.Heads, head%h.Heads,
				kind.figures[i]))
		}
		lines = append(lines, fmt.Sprintf("%s (%s), %d of %d heads: %s", kind.Name, kind.Letter,
			len(kind.Heads), h.Layers*h.Heads, strings.Join(heads, " · ")))
	}
	return lines
}
