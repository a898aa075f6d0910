package render

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/focus"
	"github.com/headwater-ml/headwater/attribution/study/heads"
)

// writtenBy says which heads are listed where what they wrote is known, and in what order.
const (
	wroteMost = "heads that wrote most, for or against it"
	writtenBy = "Each head is named with what it wrote directly into the logit of the token (the " +
		"parts of the method direct, by head; − is against it), the token that it looked at " +
		"most, sinks apart, and the share of its attention there. The order is by the size of " +
		"what it wrote. What later layers made of a head's output is not in it: patching of " +
		"heads measures that."
	// notWritten follows listedBy.
	notWritten = "What each head wrote into a logit is not known here: it is of models that " +
		"predict the next token, and not of files."
)

// listing says which heads are listed, after some words.
func (h *headsDrawing) listing(words string) string {
	if h.written() {
		return words + wroteMost + ". " + writtenBy
	}
	return words + lookMore + " from where it is predicted. " + listedBy +
		" Sinks and the looking token are left out. " + notWritten
}

// logits is the scale of what heads wrote; [scale.limit] is not used.
var logits = scale{signed: true, digits: 2}

// wroteText writes what a head wrote, in logits.
func wroteText(x float64) string { return minus(logits.value(x)) }

// writes returns what heads wrote into the logit of what is predicted at token i, nil if that is
// not known.
func (h *headsDrawing) writes(i int) *heads.Writes {
	if t := h.predictions[i]; t >= 0 {
		return heads.Wrote(h.e.Steps[t])
	}
	return nil
}

// written reports whether it is known of a token what heads wrote.
func (h *headsDrawing) written() bool {
	return slices.ContainsFunc(h.e.Steps,
		func(g attribution.GeneratedToken) bool { return heads.Wrote(g) != nil })
}

// best returns the head that is open at token i: the one that wrote most of what is predicted
// there, or, where that is not known, that of [focus.Attention.Best].
func (h *headsDrawing) best(i int) (focus.Look, bool) {
	w := h.writes(i)
	if w == nil {
		return h.Best(i, h.wroteLayer(h.predictions[i]))
	}
	return slices.MaxFunc(h.Writers(i, w.Heads), func(a, b focus.Look) int {
		switch {
		case a.Wrote > b.Wrote:
			return 1
		case a.Wrote < b.Wrote:
			return -1
		}
		return 0
	}), true
}

// listed returns the heads that are listed for token i, at most k: those that wrote most, or, where
// that is not known, those of [focus.Attention.Strongest].
func (h *headsDrawing) listed(i, k int) (ofLayer, others []focus.Look) {
	if w := h.writes(i); w != nil {
		all := slices.DeleteFunc(h.Writers(i, w.Heads),
			func(b focus.Look) bool { return b.Wrote == 0 })
		return nil, all[:min(k, len(all))]
	}
	return h.Strongest(i, h.wroteLayer(h.predictions[i]), k)
}

// against names what a prediction is compared with, "" if nothing.
func against(w *heads.Writes) string {
	switch {
	case w.Contrast != "":
		return "minus that of “" + tokenName(w.Contrast) + "”"
	case w.Foils > 0:
		return fmt.Sprintf("minus the mean of the next %d", w.Foils)
	}
	return ""
}

// allWrote says what all heads wrote together: “all heads together wrote
// +8.1; its logit minus … is +12.3”.
func allWrote(w *heads.Writes) string {
	sum := 0.0
	for _, x := range w.Heads {
		sum += x
	}
	return fmt.Sprintf("all heads together wrote %s; its logit%s is %s", wroteText(sum),
		strings.TrimRight(" "+against(w), " "), wroteText(w.Value))
}

// subject begins a sentence on a head: “For Mary and against John, head 3 of layer 23, a name
// mover, wrote more than any other, +2.31, and looked ”. heads.js writes the same.
func (h *headsDrawing) subject(layer, head, i int) (s Phrase) {
	w, t := h.writes(i), h.predictions[i]
	switch {
	case t >= 0 && !h.e.Model.Reads():
		word := h.wordOf(len(h.e.Prompt.Texts) + t)
		if s = append(Phrase{{text: "Before "}}, word...); w != nil {
			s[0].text = "For "
		}
	default:
		s = append(Phrase{{text: "From "}}, h.wordOf(i)...)
	}
	if w != nil && w.Contrast != "" {
		s = append(s, piece{text: " and against "},
			piece{text: tokenName(w.Contrast), strong: true})
	}
	s.Say(fmt.Sprintf(", head %d of %s%s ", head, h.e.Model.LayerName(layer),
		h.kindWords(layer, head)))
	if w == nil {
		s.Say("looked ")
		return s
	}
	wrote := piece{text: wroteText(w.Heads[layer*h.Heads+head]), quiet: true}
	if best, _ := h.best(i); best.Layer == layer && best.Head == head {
		return append(s, piece{text: "wrote more than any other, "}, wrote,
			piece{text: ", and looked "})
	}
	return append(s, piece{text: "wrote "}, wrote, piece{text: " and looked "})
}

// largest returns the size of the largest number, which is that of the deepest colour.
func largest(list []float64) (size float64) {
	for _, x := range list {
		size = max(size, math.Abs(x))
	}
	return size
}

// wroteStep returns the colour of what a head wrote.
func wroteStep(w *heads.Writes, at int) int {
	return stepOf(w.Heads[at] / max(largest(w.Heads), 1e-300))
}

// packWrites returns what heads wrote for the script, with the texts that it has in the picture.
func packWrites(w *heads.Writes) *packedRow {
	if w == nil {
		return nil
	}
	top := max(largest(w.Heads), 1e-300)
	r := packRow(w.Heads, exactParts, math.Inf(1), func(j int, near float64) bool {
		return wroteText(near) == wroteText(w.Heads[j]) && stepOf(near/top) == wroteStep(w, j)
	})
	return &r
}
