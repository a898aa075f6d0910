package render

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/focus"
	"github.com/headwater-ml/headwater/internal/study/heads"
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

// headSays are the words of a sentence on a head, from which the script builds those of heads that
// a reader opens: there are too many for a sentence of each. Most and Wrote stand around what the
// head wrote, of the one that wrote most and of another.
var headSays = struct {
	Looked string    `json:"looked"`
	Most   [2]string `json:"most"`
	Wrote  [2]string `json:"wrote"`
	At     string    `json:"at"`
	Sink   string    `json:"sink"`
	None   string    `json:"none"`
}{
	"looked ", [2]string{"wrote more than any other, ", ", and looked "},
	[2]string{"wrote ", " and looked "}, "at ", "mostly at the sink ", "at no token in particular",
}

// begin begins a sentence on any head at token i: “For Mary and against John”.
func (h *headsDrawing) begin(i int) (s Phrase) {
	w, t := h.writes(i), h.predictions[i]
	begin, j := "From ", i
	if t >= 0 && !h.e.Model.Reads() {
		if begin, j = "Before ", len(h.e.Prompt.Texts)+t; w != nil {
			begin = "For "
		}
	}
	s.Say(begin)
	s = append(s, h.wordOf(j)...)
	if w != nil && w.Contrast != "" {
		s.Say(" and against ")
		s.Name(tokenName(w.Contrast))
	}
	return s
}

// subject names a head in its sentence, up to where it looks: “For Mary and against John, head 3 of
// layer 23, a name mover, wrote more than any other, +2.31, and looked ”.
func (h *headsDrawing) subject(layer, head, i int) (s Phrase) {
	s = h.begin(i)
	s.Say(fmt.Sprintf(", head %d of %s%s ", head, h.e.Model.LayerName(layer),
		h.kindWords(layer, head)))
	w := h.writes(i)
	if w == nil {
		s.Say(headSays.Looked)
		return s
	}
	words := headSays.Wrote
	if best, _ := h.best(i); best.Layer == layer && best.Head == head {
		words = headSays.Most
	}
	s.Say(words[0])
	s.Quiet(wroteText(w.Heads[layer*h.Heads+head]))
	s.Say(words[1])
	return s
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
