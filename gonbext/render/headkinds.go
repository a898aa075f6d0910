package render

import (
	"fmt"
	"slices"
	"strings"

	"github.com/headwater-ml/headwater/attribution"
)

// kindWords are what a head of each kind does.
var kindWords = map[string]string{
	attribution.InductionHead:      "reads the token after an earlier occurrence of its own",
	attribution.PreviousTokenHead:  "reads the token before",
	attribution.DuplicateTokenHead: "reads an earlier occurrence of its own token",
	attribution.FirstTokenHead:     "rests on the first token, and is of no other kind",
	attribution.NameMoverHead:      "writes into the prediction the token that it reads",
}

// shownKind is a kind of head that a picture marks.
type shownKind struct {
	Name string `json:"name"`
	// Letter marks it in the map. Heads are those of the kind, as layer · heads + head, the best
	// first, and Notes what was measured of each.
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
	for _, kind := range scores.Kinds {
		if len(kind.Heads) == 0 {
			continue
		}
		shown := shownKind{Name: kind.Name, Letter: kind.Name[:1], Heads: kind.Heads}
		if kind.Name == attribution.FirstTokenHead {
			shown.Letter = "·" // of most heads
		}
		for _, i := range kind.Heads {
			note := kind.Name + " head: "
			switch {
			case kind.Random == nil:
				note = fmt.Sprintf("%s: %s of what heads copied here", kind.Name,
					rounded(kind.Text[i]))
			case kind.Text == nil:
				note += rounded(kind.Random[i]) + " of its attention on random tokens"
			default:
				note += rounded(kind.Random[i]) + " of its attention on random tokens, " +
					rounded(kind.Text[i]) + " here"
			}
			if a := scores.Ablation; a != nil {
				note += fmt.Sprintf("; without it their loss grows by %.2f nats", a.Without[i])
			}
			shown.Notes = append(shown.Notes, note)
		}
		h.kinds = append(h.kinds, shown)
	}
	h.repeated, h.kindChance = scores.Repeated, scores.Chance
}

// kindsOf returns the name, the letter and the note of each kind of a head.
func (h *headsDrawing) kindsOf(layer, head int) (names, letters, notes []string) {
	for _, kind := range h.kinds {
		if i := slices.Index(kind.Heads, layer*h.Heads+head); i >= 0 {
			names, letters = append(names, kind.Name), append(letters, kind.Letter)
			notes = append(notes, kind.Notes[i])
		}
	}
	return names, letters, notes
}

// headName names a head in a list, with its kinds: “layer 23 head 0 (induction)”. The numbers have
// so many places.
func (h *headsDrawing) headName(layer, head, places int) string {
	name := fmt.Sprintf("layer %*d head %*d", places, layer, places, head)
	if kinds, _, _ := h.kindsOf(layer, head); kinds != nil {
		name += " (" + strings.Join(kinds, ", ") + ")"
	}
	return name
}

// kindLines list the heads of each kind, below how they were found; none without kinds.
func (h *headsDrawing) kindLines() (lines []string) {
	if h.repeated == 0 {
		return nil
	}
	lines = []string{fmt.Sprintf("What heads do, by the mean share of their attention where %d "+
		"random tokens are read the second time, %s by chance, and of name movers by their part "+
		"of what all heads wrote into generated words from where the same word stands before. "+
		"A kind is named by what a head reads, and not by what it is needed for.",
		h.repeated, rounded(h.kindChance))}
	for _, kind := range h.kinds {
		var heads []string
		for i, head := range kind.Heads[:min(len(kind.Heads), listedHeads)] {
			_, value, _ := strings.Cut(kind.Notes[i], ": ")
			percent, _, _ := strings.Cut(value, " of")
			heads = append(heads, fmt.Sprintf("%d.%d %s", head/h.Heads, head%h.Heads, percent))
		}
		if more := len(kind.Heads) - len(heads); more > 0 {
			heads = append(heads, fmt.Sprintf("and %d more", more))
		}
		lines = append(lines, fmt.Sprintf("%s (%s), %s: %s", kind.Name, kind.Letter,
			kindWords[kind.Name], strings.Join(heads, " · ")))
	}
	return lines
}
