package render

import (
	"fmt"
	"slices"
	"strings"

	"github.com/headwater-ml/headwater/attribution"
)

// shownKind is a kind of head that a picture marks. Letter marks it in the map; Heads are those of
// the kind, as layer · heads + head, the best first, and Notes what was measured of each.
type shownKind struct {
	Name   string   `json:"name"`
	Letter string   `json:"letter"`
	Heads  []int    `json:"heads"`
	Notes  []string `json:"notes"`
}

// findKinds reads the kinds of heads, if they are known.
func (h *headsDrawing) findKinds(r Heads) {
	scores := r.Explanation.HeadKinds
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
		if kind.Name == attribution.FirstTokenHead {
			shown.Letter = "·" // of most heads
		}
		for _, i := range kind.Heads {
			var note string
			if kind.Random == nil {
				note = rounded(kind.Text[i]) + " of what heads copied here"
			} else {
				note = rounded(kind.Random[i]) + " of its attention on random tokens"
				if kind.Text != nil {
					note += ", " + rounded(kind.Text[i]) + " here"
				}
			}
			if scores.Without != nil {
				note += fmt.Sprintf("; without it their loss grows by %.2f nats", scores.Without[i])
			}
			shown.Notes = append(shown.Notes, note)
		}
		if len(kind.Heads) > 0 {
			h.kinds = append(h.kinds, shown)
		}
	}
}

// kindsOf returns the name, the letter and the note of each kind of a head.
func (h *headsDrawing) kindsOf(layer, head int) (names, letters, notes []string) {
	for _, kind := range h.kinds {
		if i := slices.Index(kind.Heads, layer*h.Heads+head); i >= 0 {
			names, letters = append(names, kind.Name), append(letters, kind.Letter)
			notes = append(notes, kind.Name+": "+kind.Notes[i])
		}
	}
	return names, letters, notes
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
			percent, _, _ := strings.Cut(kind.Notes[i], " of")
			heads = append(heads, fmt.Sprintf("%d.%d %s", head/h.Heads, head%h.Heads, percent))
		}
		lines = append(lines, fmt.Sprintf("%s (%s), %d of %d heads: %s", kind.Name, kind.Letter,
			len(kind.Heads), h.Layers*h.Heads, strings.Join(heads, " · ")))
	}
	return lines
}
