package render

import (
	_ "embed"

	"github.com/headwater-ml/headwater/attribution/focus"
)

//go:embed opened.js
var openedSource string

// headsPage is what a picture of maps shares with one of heads that has no board.
type headsPage struct {
	*page
	attention  focus.Attention
	L, H, T, m int
	sinks      []bool // [T]
	colors     scale
	// predictions has the generated token that is predicted at each token, -1 if none, [T].
	predictions []int
	// query is the token whose rows are shown, layer and head the head that is open.
	query, layer, head int
}

// queryOf returns the token from which prediction t is made: for a decoder the one before it.
func (h *headsPage) queryOf(t int) int {
	switch {
	case t < 0:
		return h.T - 1
	case h.e.Model.Reads():
		if p := h.e.Steps[t].Position; p != nil && *p >= 0 && *p < h.T {
			return *p
		}
		return h.T - 1
	}
	return max(h.m+t-1, 0)
}

// has reports whether the text has the token of prediction t: the last one may be missing.
func (h *headsPage) has(t int) bool { return h.e.Model.Reads() || h.m+t < h.T }

// at returns how much of a head's attention from token i is on token j.
func (h *headsPage) at(layer, head, i, j int) float64 { return h.attention.At(layer, head, i, j) }

// seen returns how many tokens token i can look at.
func (h *headsPage) seen(i int) int { return h.attention.Seen(i) }

// findSinks marks the sinks of the attention of all heads, [T].
func (h *headsPage) findSinks() []bool {
	return h.e.TextSinks(h.T, func(i, j int) (part, whole float64) {
		for l := range h.L {
			for k := range h.H {
				part += h.at(l, k, i, j)
			}
		}
		return part, float64(h.L * h.H)
	})
}

// paint returns the paint of a value of a head.
func (h *headsPage) paint(layer, head, i, j int) int {
	if j >= h.seen(i) {
		return 0
	}
	if h.sinks[j] {
		return sinkPaint
	}
	return h.colors.step(h.at(layer, head, i, j))
}

// tokens writes the text with the colours of the open head.
func (h *headsPage) tokens(b *page) {
	b.WriteString(b.beginText())
	for j := range h.T {
		generated := j >= h.m
		tag, name, spaced, text := "span", "", false, ""
		if generated {
			text = h.e.Steps[j-h.m].Text
			tag, name = "u", textName(text)
			spaced, _ = word(text)
		} else {
			text = h.e.Prompt.Texts[j]
			name, spaced = h.fullName(j), j > 0 && h.spaced(j)
		}
		if spaced {
			b.WriteByte(' ')
		}
		style := h.palette.style(h.paint(h.layer, h.head, h.query, j))
		b.token(tag, name, style, "", j == h.query)
		b.lineBreak(text)
	}
	b.WriteString("</div>")
}

// findPredictions finds what is predicted at each token; where that is several, the first.
func (h *headsPage) findPredictions() {
	h.predictions = make([]int, h.T)
	for i := range h.predictions {
		h.predictions[i] = -1
	}
	for t := range h.e.Steps {
		if i := h.queryOf(t); h.has(t) && h.predictions[i] < 0 {
			h.predictions[i] = t
		}
	}
}

// predicted says which prediction is made at token i, "" if none.
func (h *headsPage) predicted(i int) string {
	t := h.predictions[i]
	if t < 0 {
		return ""
	}
	return ", where “" + tokenName(h.e.Steps[t].Text) + "” is predicted"
}

// openImage writes an opened map of a long text, in the width that there is.
func (b *page) openImage(name string, g grid) {
	side := max(imageWidth/len(g), 1)
	b.image("hw-j", name, g, side, side, "height:auto")
}
