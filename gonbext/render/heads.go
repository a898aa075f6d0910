package render

import (
	"cmp"
	_ "embed"
	"fmt"
	"html"
	"math"
	"slices"
	"strings"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/focus"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/message"
)

// Heads is a picture of what every attention head looks at, for a notebook or a page:
//
//   - the text, coloured by what one head looks at from one token;
//   - the heads that look at one token more from there than from elsewhere, first those of the
//     layer that wrote the token that is predicted there;
//   - a thumbnail of every head, a line for each layer and a column for each head, with the layer
//     that wrote the token that is predicted there;
//   - one head as a matrix: a line for each token that looks, a column for each it looks at.
//
// At first the best head of the layer that wrote is open, where that is known, else the best of
// all. All colours are on one scale. Where scripts run, any head can be opened and any token
// chosen.
type Heads struct {
	// Explanation has the text: m prompt tokens and n generated tokens; T = m + n. An encoder
	// generates nothing, so T = m.
	Explanation *attribution.Explanation
	// Attention is the attention of L layers and H heads, [L,H,T,T]; see [trace.Attention]. For a
	// decoder the last generated token may be missing, because its row predicts no token of the
	// text: T = m + n - 1.
	Attention trace.Tensor
	// Palette is the name of the colours; see [Heatmap.Palette].
	Palette string
	// MaxBytes is the approximate limit of the result in bytes; default 480,000, of a page
	// 5,000,000. If all that the script needs would be larger, fewer tokens or none can be chosen,
	// which a sentence says.
	MaxBytes int
}

// Check returns a [trace.UsageError] if the attention does not fit the text. Pictures of attention
// that does not fit say so.
func (r Heads) Check() error {
	if r.Explanation == nil {
		return usagef("a picture of heads needs an explanation")
	}
	T := textLength(r.Explanation)
	s := r.Attention.Shape
	if !r.Explanation.Model.Reads() && len(r.Explanation.Steps) > 0 && len(s) == 4 &&
		s[2] == T-1 {
		T--
	}
	if len(s) != 4 || s[0] < 1 || s[1] < 1 || s[2] != T || s[3] != T ||
		len(r.Attention.Data) != s[0]*s[1]*T*T {
		return usagef("attention of shape %v with %d values does not fit a text of %d "+
			"tokens; it needs [layers heads %d %d]", s, len(r.Attention.Data), T, T, T)
	}
	if T == 0 {
		return usagef("a text without tokens has no attention")
	}
	return nil
}

// maxAttention is the largest attention that a picture is made of, in bytes.
const maxAttention = 512 << 20

// CheckHeads returns a [trace.UsageError] if the attention of that many layers and heads over a
// text of T tokens is too large for a picture, so that nobody computes it in vain.
func CheckHeads(layers, heads, T int) error {
	size := 4 * float64(layers) * float64(heads) * float64(T) * float64(T)
	if size > maxAttention {
		return usagef("the attention of %d × %d heads over %d tokens has %s, and a picture is "+
			"made of at most %s; take a shorter text", layers, heads, T,
			message.FormatBytes(int64(size)), message.FormatBytes(maxAttention))
	}
	return nil
}

// textLength returns T, the number of tokens of the text: of the prompt and, for a decoder, of what
// was generated.
func textLength(e *attribution.Explanation) int {
	T := len(e.Prompt.Texts)
	if !e.Model.Reads() {
		T += len(e.Steps)
	}
	return T
}

// textPicture is a picture of a text without the values of methods.
func textPicture(e *attribution.Explanation, palette string) *picture {
	return Heatmap{Explanation: e, Methods: []string{}, Palette: palette}.picture(false)
}

// fullAttention is the attention with the deepest colour. Few heads give more to a single token,
// and paler colours would show nothing of the others.
const fullAttention = 0.6

// headsPage is the state of writing [Heads].
type headsPage struct {
	*page
	attention  focus.Attention
	L, H, T, m int
	sinks      []bool // [T]
	colors     scale
	// wrote is the layer that wrote each generated token, [n], nil if that is not known.
	wrote []int
	// predictions has the generated token that is predicted at each token, -1 if none, [T].
	predictions []int
	// query is the token whose rows are shown, layer and head the head that is open.
	query, layer, head int
	// known are the first and the last token whose rows the script has; see data.
	known [2]int
}

//go:embed opened.js
var openedSource string

//go:embed heads.js
var headsSource string

var headsTouch = script(openedSource + headsSource)

// markup implements [View].
func (r Heads) markup(room int) (*page, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	r.MaxBytes = limitOf(r.MaxBytes, room)
	h := r.open()
	h.write()
	return h.page, nil
}

func (r Heads) title() string { return titleOf(r.Explanation) }

// open computes what a picture of heads shows. The attention fits.
func (r Heads) open() *headsPage {
	s := r.Attention.Shape
	h := &headsPage{
		page: newPage(textPicture(r.Explanation, r.Palette), r.MaxBytes),
		attention: focus.Attention{
			Layers: s[0], Heads: s[1], Tokens: s[2], Data: r.Attention.Data,
			Bidirectional: r.Explanation.Model.Bidirectional,
		},
		L: s[0], H: s[1], T: s[2], m: len(r.Explanation.Prompt.Texts),
		colors: scale{unit: "share of attention", percent: true, digits: 1, limit: fullAttention},
	}
	h.words.title = "What each head looks at"
	h.choose(nil)
	h.query = h.queryOf(h.chosen)
	h.sinks, h.wrote = h.findSinks(), layersThatWrote(r.Explanation)
	h.attention.Ignored = h.sinks
	h.findPredictions()
	if first, ok := h.first(h.query); ok {
		h.layer, h.head = first.Layer, first.Head
	}
	return h
}

// OpenedHead is the head that a picture opens, and the token from which it looks.
type OpenedHead struct {
	Layer, Head int
	// Query is the token from which the head looks.
	Query int
	// Says says where the head looks from there.
	Says string
	// Sinks are the tokens that are grey, [T].
	Sinks []bool
	// Limit is the share of attention with the deepest colour.
	Limit float64
	// Wrote is the layer that wrote what is predicted at the query, -1 if that is not known.
	Wrote int
}

// OpenHead returns the head that the picture of generated token t opens: one that looks at a token
// more from where t is predicted than from elsewhere, and the best one of the layer that wrote t,
// if that layer is known and has one. A t below 0 is that of [Show.Opened]. If chosen is not nil it
// is the head, as its layer and its number. OpenHead returns a [trace.UsageError] if the attention
// does not fit the text, or has no such token or head.
func (r Heads) OpenHead(t int, chosen *[2]int) (o OpenedHead, err error) {
	if err := r.Check(); err != nil {
		return o, err
	}
	if t >= len(r.Explanation.Steps) {
		return o, usagef("generated token %d; the explanation has %s, from 0", t,
			r.Explanation.Made())
	}
	h := r.open()
	o = OpenedHead{Query: h.query, Sinks: h.sinks, Limit: fullAttention}
	if t >= 0 {
		o.Query = min(h.queryOf(t), h.T-1)
	}
	if first, ok := h.first(o.Query); ok {
		o.Layer, o.Head = first.Layer, first.Head
	}
	if chosen != nil {
		o.Layer, o.Head = chosen[0], chosen[1]
	}
	if o.Layer < 0 || o.Layer >= h.L || o.Head < 0 || o.Head >= h.H {
		return o, usagef("layer %d, head %d; the model has layers 0 to %d and heads 0 to %d",
			o.Layer, o.Head, h.L-1, h.H-1)
	}
	o.Says = h.placedName(o.Query) + h.predicted(o.Query) + ": " +
		h.looksAt(o.Query, o.Layer, o.Head)
	o.Wrote = h.wroteLayer(h.predictions[o.Query])
	return o, nil
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

// layersThatWrote returns, for each generated token, the layer whose attention wrote most of its
// logit, [n], as a method of one layer says; see [attribution.Result.Shown]. It is nil if none says
// so, or if all say the last layer, which is also what they say where the model cannot tell.
func layersThatWrote(e *attribution.Explanation) []int {
	last := e.Model.Layers - 1
	for _, name := range e.Order {
		r := e.Methods[name]
		if r == nil || !r.LayerChosen || len(r.Shown) != len(e.Steps) {
			continue
		}
		if slices.ContainsFunc(r.Shown, func(l int) bool { return l != last }) {
			return r.Shown
		}
	}
	return nil
}

// wroteLayer returns the layer that wrote generated token t, -1 if that is not known.
func (h *headsPage) wroteLayer(t int) int {
	if h.wrote == nil || t < 0 || !h.has(t) {
		return -1
	}
	return h.wrote[t]
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

// listedHeads is how many heads are listed for a token. lookMore is what all of them do, and
// listedBy says which are listed and in what order; see [focus.Attention.Looks].
const (
	listedHeads = 12
	lookMore    = "heads that look at one token more from here than from other tokens"
	listedBy    = "Each head is named with a token and the share of its attention there. Listed " +
		"are the heads with the most left of that share after two subtractions: the mean share " +
		"that the head gives the same token from elsewhere, and half of the mean share that it " +
		"gives to tokens as far away. Those of the layer that wrote the token stand first; both " +
		"by falling share."
)

// write writes the parts from top to bottom. The thumbnails and the numbers of the script take what
// the text and the open head have left.
func (h *headsPage) write() {
	head := h.part((*page).head)
	text, open, legend := h.text(), h.openHead(), h.legend()
	left := h.limit - len(head) - len(text) - len(open) - len(legend) - len(headsTouch()) -
		len(styleSheet) - 1000
	thumbnails := h.thumbnails(left * 2 / 3)
	left -= len(thumbnails)
	tokens := h.allTokens(left / 4)
	left -= len(tokens)
	data := h.data(left)
	text += h.part(func(b *page) {
		from, last := h.known[0], h.known[1]
		name := html.EscapeString(h.placedName(from))
		switch {
		case data == "":
			b.withoutRoom(noClicks)
		case from == last && h.T > 1:
			b.withoutRoom("Clicks show what heads look at from " + name + " alone")
		case from > 0:
			b.withoutRoom("Clicks show what heads look at from " + name + " and the tokens " +
				"after it, and not from those before")
		}
	})
	h.frame(class+" hw-heads", head+text+thumbnails+open+tokens+legend, data, headsTouch())
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

// text writes the text with the colours of the open head, and what they say.
func (h *headsPage) text() string {
	return h.part(func(b *page) {
		h.tokens(b)
		b.WriteString(`<div class="hw-s" style="margin:4px 0 8px 0">`)
		b.WriteString(h.sentence(h.query, h.layer, h.head))
		b.printf(`<div style="%s">`, small)
		for _, list := range h.lists(h.query, listedHeads) {
			b.printf("<div>%s</div>", html.EscapeString(list))
		}
		b.WriteString("</div></div>")
	})
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

// sentence says where a head looks from token i, as HTML.
func (h *headsPage) sentence(i, layer, head int) string {
	return fmt.Sprintf("<b>%s</b>%s · %s", html.EscapeString(h.placedName(i)),
		html.EscapeString(h.predicted(i)), html.EscapeString(h.looksAt(i, layer, head)))
}

// looksAt says where a head looks from token i.
func (h *headsPage) looksAt(i, layer, head int) string {
	var names []string
	var row []int
	for j := range h.seen(i) {
		row = append(row, j)
	}
	slices.SortStableFunc(row, func(a, b int) int {
		return cmp.Compare(h.at(layer, head, i, b), h.at(layer, head, i, a))
	})
	for _, j := range row[:min(named, len(row))] {
		if x := h.at(layer, head, i, j); x >= fullAttention/2/levels {
			name := h.placedName(j) + " " + share(x)
			if h.sinks[j] {
				name = "the sink " + name
			}
			names = append(names, name)
		}
	}
	if names == nil {
		names = []string{"many tokens, none of which has 5 % of its attention"}
	}
	return fmt.Sprintf("layer %d, head %d looks at %s", layer, head, strings.Join(names, ", "))
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

// first returns the head that is opened for token i: the best of the layer that wrote what is
// predicted there, or, if that is not known or none of its heads is listed, the best of all; ok is
// false if there is none.
func (h *headsPage) first(i int) (first focus.Look, ok bool) {
	all := h.attention.Looks(i)
	if len(all) == 0 {
		return focus.Look{}, false
	}
	wrote := h.wroteLayer(h.predictions[i])
	at := slices.IndexFunc(all, func(b focus.Look) bool { return b.Layer == wrote })
	return all[max(at, 0)], true
}

// listOf returns the heads that are listed for token i, the k best, those of the layer that wrote
// what is predicted there apart. If none of these is among them, the best of that layer
// is listed too. Both are in the order of their shares.
func (h *headsPage) listOf(i, k int) (wrote, others []focus.Look) {
	layer := h.wroteLayer(h.predictions[i])
	for n, b := range h.attention.Looks(i) {
		switch {
		case b.Layer == layer && (n < k || wrote == nil):
			wrote = append(wrote, b)
		case b.Layer != layer && n < k:
			others = append(others, b)
		}
	}
	for _, list := range [][]focus.Look{wrote, others} {
		slices.SortStableFunc(list, func(a, b focus.Look) int {
			return cmp.Compare(b.Share, a.Share)
		})
	}
	return wrote, others
}

// lookName names the token that a listed head looks at, with its share.
func (h *headsPage) lookName(b focus.Look) string {
	return h.placedName(b.Token) + " " + share(b.Share)
}

// lists returns the heads that are listed for token i: those of the layer that wrote what is
// predicted there, and the others, each with a heading.
func (h *headsPage) lists(i, k int) (lists []string) {
	wrote, others := h.listOf(i, k)
	heading := lookMore
	if wrote != nil {
		lists = append(lists, fmt.Sprintf("heads of layer %d, which wrote “%s”: %s",
			wrote[0].Layer, tokenName(h.e.Steps[h.predictions[i]].Text), h.looks(wrote)))
		heading = "other " + lookMore
	}
	if others != nil {
		lists = append(lists, heading+": "+h.looks(others))
	}
	if lists == nil {
		return []string{heading + ": none"}
	}
	return lists
}

// looks names heads and what they look at.
func (h *headsPage) looks(list []focus.Look) string {
	var all []string
	for _, b := range list {
		all = append(all, fmt.Sprintf("layer %d head %d %s", b.Layer, b.Head, h.lookName(b)))
	}
	return strings.Join(all, " · ")
}

// thumbnails returns an image of each layer, the last one on top: its heads from left to right,
// each with a line for every token that looks and a column for every token that it looks at. Cells
// of several tokens have the deepest of their colours. The images are as large as the limit allows.
func (h *headsPage) thumbnails(limit int) string {
	sides := []int{h.T}
	if h.T > 48 {
		sides = []int{48, 32, 24, 16, 8}
	}
	for _, side := range sides {
		if s := h.thumbnailsOf(side); len(s) <= limit || side == 8 {
			return s
		}
	}
	return h.part(func(b *page) { b.leftOut("The thumbnails of all heads are") })
}

// thumbnailsOf returns the images of all layers, with side × side cells for each head.
func (h *headsPage) thumbnailsOf(side int) string {
	size := max(min(720/h.H, 48), 12) // of a head, in pixels of the screen
	if h.L > 12 {
		size = min(size, 32)
	}
	// Cells have about as many pixels as on the screen: where style sheets are removed, browsers
	// blur what they enlarge.
	cell := max((size+side/2)/(side+1), 1)
	width, note := "", ""
	if h.wrote != nil {
		width = ";min-width:60px" // the mark moves with the chosen token, and the images stay
		note = " “wrote”: the layer that wrote most of the logit of what is predicted."
	}
	wrote := h.wroteLayer(h.chosen)
	return h.part(func(b *page) {
		b.printf(`<div style="%s">All heads: a line for each layer, the last on top; heads 0 to `+
			`%d from left to right. In a head: lines look at columns, from the first token on.%s`+
			`</div><div style="overflow-x:auto"><table style="border-collapse:collapse;margin:0">`,
			small, h.H-1, note)
		h.headNumbers(b, size)
		for l := h.L - 1; l >= 0; l-- {
			g := make(grid, side+1) // an empty line and column between heads
			for y := range g {
				g[y] = make([]int, h.H*(side+1))
			}
			for head := range h.H {
				for i := range h.T {
					for j := range h.seen(i) {
						at := &g[i*side/h.T][head*(side+1)+j*side/h.T]
						if p := h.paint(l, head, i, j); *at == 0 || p != sinkPaint && p > *at ||
							*at == sinkPaint && p != 0 {
							*at = p
						}
					}
				}
			}
			name := fmt.Sprint(l)
			if l == wrote {
				name = "wrote " + name
			}
			b.printf(`<tr class="hw-g" style="background:none"><td style="%s;padding:0 8px 0 0;`+
				`text-align:right%s">%s</td><td style="padding:0;line-height:0">`, small, width,
				b.marked(name, l == h.layer))
			b.printf(`<div><img class="hw-i" alt="heads of layer %d" width="%d" height="%d" `+
				`src="%s"></div></td></tr>`, l, h.H*size, size, g.png(h.palette, cell, cell))
		}
		b.WriteString("</table></div>")
	})
}

// headNumbers writes the numbers of the heads above their columns, which are size pixels wide: of
// narrow ones every fifth.
func (h *headsPage) headNumbers(b *page, size int) {
	every := 1
	if size < 20 {
		every = 5
	}
	// It is as wide as the images, also on paper, and stretches no column.
	b.printf(`<thead><tr style="background:none"><td style="%s;padding:0 8px 0 0;`+
		`text-align:right">head</td><td style="padding:0"><div style="width:0;min-width:100%%;`+
		`white-space:nowrap;font-size:11px;line-height:14px">`, small)
	for head := 0; head < h.H; head++ {
		name := ""
		if head%every == 0 {
			name = fmt.Sprint(head)
		}
		b.printf(`<span style="display:inline-block;width:%.3f%%;text-align:center">%s</span>`,
			100/float64(h.H), name)
	}
	b.WriteString("</div></td></tr></thead>")
}

// openHead returns the matrix of the open head: a table with numbers, or an image of a long text.
func (h *headsPage) openHead() string {
	return h.part(func(b *page) {
		b.printf(`<div style="margin:8px 0 2px 0;font-size:13px"><b class="hw-n">layer %d, head `+
			`%d</b> <span style="%s">· share of attention, lines look at columns</span>`, h.layer,
			h.head, small)
		b.scaleOf(h.colors, true)
		b.WriteString("</div>")
		if h.T > cellColumns {
			g := make(grid, h.T)
			for i := range g {
				g[i] = make([]int, h.T)
				for j := range h.T {
					g[i][j] = h.paint(h.layer, h.head, i, j)
				}
			}
			b.openImage("attention of the open head", g)
			return
		}
		b.WriteString(`<div style="overflow-x:auto;overflow-y:hidden"><table class="hw-m" ` +
			`style="border-collapse:collapse;font-size:11px;margin:0"><tr class="hw-c" ` +
			`style="background:none"><td></td>`)
		for j := range h.T {
			b.printf("<th>%s</th>", html.EscapeString(h.axisName(j)))
		}
		b.WriteString("</tr>")
		for i := range h.T {
			b.printf(`<tr class="hw-r" style="background:none"><th style="text-align:left">%s</th>`,
				b.marked(html.EscapeString(h.axisName(i)), i == h.query))
			for j := range h.T {
				b.cell(h.paint(h.layer, h.head, i, j),
					fixed(100*h.at(h.layer, h.head, i, j), 0))
			}
			b.WriteString("</tr>")
		}
		b.WriteString("</table></div>")
	})
}

// openImage writes an opened map of a long text, in the width that there is.
func (b *page) openImage(name string, g grid) {
	side := max(imageWidth/len(g), 1)
	b.image("hw-j", name, g, side, side, "height:auto")
}

// allTokens returns the heads of every prediction, in one part to open.
func (h *headsPage) allTokens(limit int) string {
	var s strings.Builder
	fmt.Fprintf(&s, `<details class="hw-a" style="%s"><summary style="cursor:pointer">Heads of `+
		`all %s</summary>`, line, h.words.shown)
	for t := range h.e.Steps {
		where, what, chance := h.predictionText(t)
		one := fmt.Sprintf(`<div class="hw-d" style="padding:4px 0 4px 12px">%s<b>%s</b> %s: %s`+
			`</div>`, html.EscapeString(where), html.EscapeString(what), chance,
			html.EscapeString(strings.Join(h.lists(h.queryOf(t), listed), "; ")))
		if s.Len()+len(one) > limit {
			s.WriteString(h.part(func(b *page) {
				b.lastLeftOut(len(h.e.Steps) - t)
			}))
			break
		}
		s.WriteString(one)
	}
	s.WriteString("</details>")
	return s.String()
}

// legend returns how to read the picture.
func (h *headsPage) legend() string {
	var sinks []string
	for j, is := range h.sinks {
		if is {
			sinks = append(sinks, h.placedName(j))
		}
	}
	grey := ""
	if sinks != nil {
		grey = " Grey: " + strings.Join(sinks, ", ") + ", a sink, which has more than 30 % of " +
			"all attention."
	}
	return h.part(func(b *page) {
		b.printf(`<details class="hw-k" style="%s;font-size:12px"><summary style="cursor:pointer">`+
			`How to read this, model</summary><div>Attention of every head, as the model computed `+
			`it; nothing is merged. The framed token looks at the coloured ones. %s Attention `+
			`says where a head reads, not what it makes of it.%s</div>`, line, listedBy,
			html.EscapeString(grey))
		b.model()
		b.WriteString("</details>")
	})
}

// headsData is what the script needs beyond the elements of the picture.
type headsData struct {
	ID           string `json:"id"`
	Layers       int    `json:"layers"`
	Heads        int    `json:"heads"`
	Tokens       int    `json:"tokens"`
	PromptTokens int    `json:"promptTokens"`
	// Query, Layer and Head are shown at first.
	Query int `json:"query"`
	Layer int `json:"layer"`
	Head  int `json:"head"`
	// Both says that tokens see those after them. Sinks are grey.
	Both  bool  `json:"both,omitempty"`
	Sinks []int `json:"sinks,omitempty"`
	// Rows has the rows of each head, in the order of layers and heads, from token First to token
	// Last, each with as many values as its token sees.
	First int           `json:"first"`
	Last  int           `json:"last"`
	Rows  [][]packedRow `json:"rows"`
	// Palette is the number of the palette.
	Palette int `json:"palette,omitempty"`
	// Predicted has for each token the one that is predicted there, -1 if none. Wrote has the layer
	// that wrote each generated token, and Opens the head of that layer that is opened where the
	// token is predicted, -1 if none is; see first.
	Predicted []int `json:"predicted"`
	Wrote     []int `json:"wrote,omitempty"`
	Opens     []int `json:"opens,omitempty"`
	// Best has for each token from First on the heads that are listed for it, those of the layer
	// that wrote first, of each its layer, its head, the token that it looks at and its share in
	// hundred thousandths: numbers that are named have the digits of the other forms.
	Best [][]int `json:"best"`
}

// data returns the attribute for the script: the rows of all tokens, or, where they do not fit, of
// those from which generated tokens are predicted, or of the one that is shown; "" if there is no
// room for these either.
func (h *headsPage) data(limit int) string {
	d := headsData{
		Layers: h.L, Heads: h.H, Tokens: h.T, PromptTokens: h.m, Query: h.query, Layer: h.layer,
		Head: h.head, Both: h.e.Model.Bidirectional, Palette: h.palette.number(), Wrote: h.wrote,
		Predicted: h.predictions,
	}
	d.ID = h.id() + "h"
	for j, is := range h.sinks {
		if is {
			d.Sinks = append(d.Sinks, j)
		}
	}
	for t := range d.Wrote {
		opens := -1
		if layer := h.wroteLayer(t); layer >= 0 {
			if first, ok := h.first(h.queryOf(t)); ok && first.Layer == layer {
				opens = first.Head
			}
		}
		d.Opens = append(d.Opens, opens)
	}
	for _, rows := range [][2]int{{0, h.T - 1}, {max(h.m-1, 0), h.T - 1}, {h.query, h.query}} {
		d.First, d.Last, d.Rows, h.known = rows[0], rows[1], nil, rows
		d.Best = nil
		for i := d.First; i <= d.Last; i++ {
			list := []int{}
			wrote, others := h.listOf(i, listedHeads)
			for _, b := range slices.Concat(wrote, others) {
				list = append(list, b.Layer, b.Head, b.Token, int(math.Round(1e5*b.Share)))
			}
			d.Best = append(d.Best, list)
		}
		// Rows that take twice the room alone do not fit together: they are not all worked out.
		for i, size := 0, 0; i < h.L*h.H && size <= 2*limit; i++ {
			d.Rows = append(d.Rows, h.packed(i/h.H, i%h.H, d.First, d.Last))
			size += len(pack(d.Rows[i]))
		}
		if len(d.Rows) < h.L*h.H {
			continue
		}
		if code := packWithin(limit, d); code != "" {
			return code
		}
	}
	return ""
}

// headParts is into how many parts a row of attention is divided: it is shown in whole percents.
var headParts = []float64{100}

// packed returns the rows of a head for the script; each value has the colour of the picture.
func (h *headsPage) packed(layer, head, first, last int) (rows []packedRow) {
	for i := first; i <= last; i++ {
		var values []float64
		for j := range h.seen(i) {
			x := h.at(layer, head, i, j)
			if math.IsNaN(x) {
				x = 0
			}
			values = append(values, min(max(x, 0), 1))
		}
		rows = append(rows, packRow(values, headParts, 1, func(j int, near float64) bool {
			return h.colors.step(values[j]) == h.colors.step(near)
		}))
	}
	return rows
}

// plain implements [View].
func (r Heads) plain(look Terminal) (*text, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	t := newText(Terminal{Width: look.Width})
	h := r.open()
	t.picture = h.picture
	t.head()
	for i := range h.e.Steps {
		where, what, chance := h.predictionText(i)
		t.line("")
		if l := h.wroteLayer(i); l >= 0 {
			chance += fmt.Sprintf("  layer %d wrote most of it", l)
		}
		t.line(fmt.Sprintf("%3d  %s%s  %s", i+1, where, what, chance))
		query := h.queryOf(i)
		wrote, others := h.listOf(query, listed)
		indent := "     "
		write := func(list []focus.Look) {
			for _, b := range list {
				t.wrapped(fmt.Sprintf("%slayer %2d head %2d  ", indent, b.Layer, b.Head),
					h.lookName(b))
			}
		}
		if wrote != nil {
			t.line(fmt.Sprintf("     heads of layer %d", wrote[0].Layer))
			indent = "       "
			write(wrote)
			if others != nil {
				t.line("     other heads")
			}
		}
		write(others)
	}
	t.line("")
	t.wrapped("", "Below each token: "+strings.Replace(lookMore, "here", "where it is predicted",
		1)+". "+listedBy+" Sinks and the looking token are left out.")
	t.model()
	return t, nil
}
