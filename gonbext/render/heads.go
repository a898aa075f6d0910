package render

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/focus"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/message"
	"github.com/headwater-ml/headwater/internal/study/heads"
)

func init() {
	RegisterView(View{
		Name: KindHeads, Help: "what every attention head wrote and looks at",
		Contents: "attention heads", Method: "raw", Methods: -1,
		Takes: map[string]Media{
			"token": InPage | InFigure, "lift": InAll, "head-kinds": InAll, "all-layers": InAll,
			"all-levels": InAll,
		},
		Whole: "heads are shown as they are", Record: attentionRecord, Picture: headsOf,
		Options: func(_ Show, o *attribution.Options) error { return askKinds(o) },
	})
	RegisterView(View{
		Name: KindHead, Help: "one of them in a figure", Contents: "attention head",
		Part: KindHeads, Media: InFigure, Method: "raw", Methods: -1,
		Takes: map[string]Media{
			"token": InFigure, "layer": InAll, "head": InFigure, "lift": InAll,
			"all-layers": InAll, "all-levels": InAll,
		},
		Record: attentionRecord, Picture: headsOf,
		Check: func(s Show) error {
			what := "layer without a head"
			if s.Layer == nil {
				what = "head without a layer"
			}
			if (s.Head == nil) != (s.Layer == nil) {
				return trace.Usagef("a picture of one head, and a %s; give both, or none", what)
			}
			return nil
		},
		Options: func(s Show, o *attribution.Options) error {
			if s.Head != nil {
				return nil
			}
			return askKinds(o)
		},
	})
}

// attentionRecord is the attention of all heads over the prompt and the answer.
var attentionRecord = tensorRecord(trace.Attention, Record{
	Needed:  "heads need their attention",
	Missing: "record it with the tap attention", Check: checkHeads,
})

// checkHeads is [CheckHeads] of a model.
func checkHeads(of trace.Info, T int) error { return CheckHeads(of.Layers, of.Heads, T) }

// askKinds asks for the kinds of heads.
func askKinds(o *attribution.Options) error {
	o.Ask(heads.Option, cmp.Or(o.Studies[heads.Option], heads.Random))
	return nil
}

// headsOf returns the picture of heads.
func headsOf(s Show, e *attribution.Explanation, recorded any) (Picture, error) {
	r := Heads{
		Explanation: e, Attention: *recorded.(*trace.Tensor), Token: s.Token, Look: s.Look(),
	}
	if s.Kind == KindHead {
		return Head{Heads: r, Layer: s.Layer, Number: s.Head}, nil
	}
	return r, nil
}

// Heads is a picture of what every attention head looks at, for a notebook or a page:
//
//   - a sentence on what one head looks at from one token, and the text in the colours of it;
//   - the heads of its layer as a matrix: a line for each head, a column for each token;
//   - the head as a matrix: a line for each token that looks, a column for each it looks at.
//     Columns are folded where the text is;
//   - a map of all layers and heads, layer 0 at the bottom: what each wrote, or gives one token;
//   - the heads that wrote most into the logit of what is predicted there, if that is known; else
//     those that look at one token in particular from there.
//
// At first the head is open that wrote most; where that is not known, the best head of the layer
// that wrote, else the best of all; see [focus.Attention.Best]. All colours of attention are on one
// scale. Where scripts run, any head can be opened and any token chosen, and the heads of a layer
// have small pictures.
type Heads struct {
	// Explanation has the text: m prompt tokens and n generated tokens; T = m + n. An encoder
	// generates nothing, so T = m.
	Explanation *attribution.Explanation
	// Attention is the attention of L layers and H heads, [L,H,T,T]; see [trace.Attention]. For a
	// decoder the last generated token may be missing, because its row predicts no token of the
	// text: T = m + n - 1.
	Attention trace.Tensor
	// Token is the generated token from whose prediction the open head looks, 0-based; nil is that
	// of [Show.Opened].
	Token *int
	// Look has the colours and the caption, as that of a [Heatmap].
	Look
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
	for t, g := range r.Explanation.Steps {
		if w := heads.Wrote(g); w != nil && len(w.Heads) != s[0]*s[1] {
			return usagef("token %d has what %d heads wrote, of %d × %d", t, len(w.Heads), s[0],
				s[1])
		}
	}
	if k := heads.Of(r.Explanation); k != nil && !k.Fit(s[0]*s[1]) {
		return usagef("the kinds of heads are not those of %d layers and %d heads", s[0], s[1])
	}
	return Show{Token: r.Token}.CheckTokens(r.Explanation)
}

// Head is a picture of one head as a figure has it, with the names of its tokens. A page and a text
// of it are those of all heads.
type Head struct {
	Heads
	// Layer and Number are the layer and the number of the head, 0-based; nil is the one that
	// pictures open.
	Layer, Number *int
}

func (r Head) draw() drawer {
	b := r.open().board(r.Heads)
	b.figured = func(string) (Figure, error) {
		var chosen *[2]int
		if r.Layer != nil && r.Number != nil {
			chosen = &[2]int{*r.Layer, *r.Number}
		}
		open, err := r.OpenHead(chosen)
		return Figure{Matrix: &open.Drawn}, err
	}
	return b
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
func textPicture(e *attribution.Explanation, look Look) *picture {
	return Heatmap{Explanation: e, Methods: []string{}, Look: look}.picture(false)
}

// headsDrawing is a picture of heads worked out and not yet drawn. Sinks are what the attention
// ignores.
type headsDrawing struct {
	*drawing
	focus.Attention
	// wrote is the layer that wrote each generated token, [n], nil if that is not known.
	wrote []int
	// predictions has the generated token that is predicted at each token, -1 if none, [T].
	predictions []int
	// query is the token from which heads look, layer and head the head that is open, and source
	// the token that the map of all heads is about.
	query, layer, head, source int
	// kinds are those of heads, and kindsBy tells how they were found; "" if they are not known.
	// without is by how much the loss rises without each head, nil if that is not known.
	kinds   []shownKind
	kindsBy string
	without []float64
}

// open works out what a picture of heads shows. The attention fits.
func (r Heads) open() *headsDrawing {
	s := r.Attention.Shape
	p := Heatmap{Explanation: r.Explanation, Look: r.Look}.picture(true)
	p.words.title = "What each head looks at"
	h := &headsDrawing{drawing: newDrawing(p, nil), wrote: r.Explanation.LayersThatWrote()}
	// Methods choose the token; heads have colours of their own, and a sentence.
	h.views, h.lead = nil, -1
	h.Attention = focus.Attention{
		Layers: s[0], Heads: s[1], Tokens: s[2], Data: r.Attention.Data,
		Bidirectional: r.Explanation.Model.Bidirectional,
		Source:        max(p.targetBegin, 0), Encoder: p.e.Model.EncoderLayers,
	}
	h.Ignored = h.findSinks()
	h.findPredictions()
	h.Copied = h.copied
	h.findKinds(r)
	if r.Token != nil {
		h.chosen = *r.Token
	}
	h.look(min(h.queryOf(h.chosen), h.Tokens-1))
	h.columns = h.fold(h.looked())
	return h
}

// look opens the best head at token i.
func (h *headsDrawing) look(i int) {
	best, _ := h.best(i)
	h.query, h.layer, h.head, h.source = i, best.Layer, best.Head, max(best.Token, 0)
	if sources := h.standing(best.Layer, best.Head, i); len(sources) > 0 {
		h.source = sources[0]
	}
}

// OpenedHead is the head that a picture opens, and the token from which it looks.
type OpenedHead struct {
	// Title is the heading of all heads, and Caption are the parts of the line below it.
	Title       string
	Caption     []string
	Layer, Head int
	// Query is the token from which the head looks.
	Query int
	// Wrote is the layer that wrote what is predicted at the query, -1 if that is not known.
	Wrote int
	// Step returns the colour of what a head gives token j from token i, see [DrawnCell]; grey
	// reports whether j is a sink, and ok whether the head sees it from there.
	Step func(layer, head, i, j int) (step int, grey, ok bool)
	// Drawn is the head as a matrix. The first of its Notes is where the head looks from Query.
	Drawn Drawn
}

// OpenHead returns the head that the picture opens: the one that wrote most of its generated token
// or, where that is not known, one that looks at a token in particular from where the token is
// predicted, of the layer that wrote it if that is known. If chosen is not nil it is the head, as
// its layer and its number. OpenHead returns a [trace.UsageError] if the attention does not fit the
// text, or has no such token or head.
func (r Heads) OpenHead(chosen *[2]int) (o OpenedHead, err error) {
	if err := r.Check(); err != nil {
		return o, err
	}
	h := r.open()
	if chosen != nil {
		h.layer, h.head = chosen[0], chosen[1]
	}
	if h.layer < 0 || h.layer >= h.Layers || h.head < 0 || h.head >= h.Heads {
		return o, usagef("layer %d, head %d; the model has layers 0 to %d and heads 0 to %d",
			h.layer, h.head, h.Layers-1, h.Heads-1)
	}
	o = OpenedHead{
		Title: h.words.title,
		Caption: h.captioned(fmt.Sprintf("a square for each of %d × %d heads: rows look at "+
			"columns, from the first token on", h.Layers, h.Heads), h.quotedPrompt()),
		Layer: h.layer, Head: h.head, Query: h.query,
		Wrote: h.wroteLayer(h.predictions[h.query]),
		Step: func(layer, head, i, j int) (step int, grey, ok bool) {
			return h.step(layer, head, i, j), h.Ignored[j], j < h.Seen(i)
		},
	}
	o.Drawn = h.drawn()
	return o, nil
}

// queryOf returns the token from which prediction t is made: for a decoder the one before it.
func (h *headsDrawing) queryOf(t int) int {
	switch {
	case t < 0:
		return h.Tokens - 1
	case h.e.Model.Reads():
		if p := h.e.Steps[t].Position; p != nil && *p >= 0 && *p < h.Tokens {
			return *p
		}
		return h.Tokens - 1
	}
	return max(len(h.e.Prompt.Texts)+t-1, 0)
}

// wroteLayer returns the layer that wrote generated token t, -1 if that is not known.
func (h *headsDrawing) wroteLayer(t int) int {
	if h.wrote == nil || t < 0 || !h.has(t) {
		return -1
	}
	return h.wrote[t]
}

// has reports whether the text has the token of prediction t: the last one may be missing.
func (h *headsDrawing) has(t int) bool {
	return h.e.Model.Reads() || len(h.e.Prompt.Texts)+t < h.Tokens
}

// findSinks marks the sinks of the attention of all heads, [T].
func (h *headsDrawing) findSinks() []bool {
	return h.e.TextSinks(h.Tokens, func(i, j int) (part, whole float64) {
		for l := range h.Layers {
			if !h.Joins(l, i, j) {
				continue
			}
			whole += float64(h.Heads)
			for k := range h.Heads {
				part += h.At(l, k, i, j)
			}
		}
		return part, whole
	})
}

// findPredictions finds what is predicted at each token; where that is several, the first.
func (h *headsDrawing) findPredictions() {
	h.predictions = slices.Repeat([]int{-1}, h.Tokens)
	for t := range h.e.Steps {
		if i := h.queryOf(t); h.has(t) && h.predictions[i] < 0 {
			h.predictions[i] = t
		}
	}
}

// copied reports whether token j of the text is the one that is predicted at token i. Texts are
// compared, because a file of tensors has no ids.
func (h *headsDrawing) copied(i, j int) bool {
	if !h.e.Model.Reads() {
		return i+1 < len(h.tokens) && h.textOf(i+1) == h.textOf(j)
	}
	t := h.predictions[i]
	return t >= 0 && h.e.Model.Head == trace.MaskedToken && h.e.Steps[t].Text == h.textOf(j)
}

// looked returns by how much a text stays unfolded around each token, [T]: the largest share that a
// head which is listed for a prediction gives it, or the open head.
func (h *headsDrawing) looked() []float64 {
	shares := make([]float64, h.Tokens)
	for i, t := range h.predictions {
		if t < 0 {
			continue
		}
		ofLayer, others := h.listed(i, listedHeads)
		for _, b := range slices.Concat(ofLayer, others) {
			if b.Token < 0 {
				continue
			}
			shares[b.Token] = max(shares[b.Token], b.Share)
		}
	}
	for j := range h.Seen(h.query) {
		if h.step(h.layer, h.head, h.query, j) > 0 {
			shares[j] = max(shares[j], h.At(h.layer, h.head, h.query, j))
		}
	}
	for _, j := range append(h.namedTokens(h.layer, h.head, h.query), h.query) {
		shares[j] = 1
	}
	return shares
}

// step returns the colour of what a head gives token j from token i: 0 for sinks and for tokens
// that come later. The scale ends at all of the attention.
func (h *headsDrawing) step(layer, head, i, j int) int {
	if j >= h.Seen(i) || h.Ignored[j] {
		return 0
	}
	return stepOf(h.At(layer, head, i, j))
}

// standing returns the tokens that a head looks at from token i, those with the largest shares
// first: in the text and in sentences at least a twelfth of the largest.
func (h *headsDrawing) standing(layer, head, i int) (sources []int) {
	at := func(j int) float64 { return h.At(layer, head, i, j) }
	for j := range h.Seen(i) {
		if h.step(layer, head, i, j) > 0 {
			sources = append(sources, j)
		}
	}
	slices.SortStableFunc(sources, func(a, b int) int { return cmp.Compare(at(b), at(a)) })
	return slices.DeleteFunc(sources, func(j int) bool { return at(j) < at(sources[0])/12 })
}

// sentence says what a head wrote of what is predicted at token i, if that is known, and where it
// looks from there: “Before prices, head 11 of layer 20 looked at …”; see [headsDrawing.subject].
func (h *headsDrawing) sentence(layer, head, i int) (s Phrase) {
	s = h.subject(layer, head, i)
	tokens := h.namedTokens(layer, head, i)
	words := map[string]int{} // how many of them have a word
	for _, j := range tokens {
		words[h.wordOf(j).String()]++
	}
	named := func(j int) Phrase {
		word := h.wordOf(j)
		if words[word.String()] > 1 {
			word.Say(" (" + h.placeOf(j) + ")")
		}
		return append(word, piece{text: " " + rounded(h.At(layer, head, i, j)), quiet: true})
	}
	var all []Phrase
	for _, j := range tokens {
		all = append(all, named(j))
	}
	if len(all) > 0 {
		s.Say(headSays.At)
		s.join(all)
		return s
	}
	for j, sink := range h.Ignored {
		if sink && j < h.Seen(i) && h.At(layer, head, i, j) > .5 {
			s.Say(headSays.Sink)
			return append(s, named(j)...)
		}
	}
	s.Say(headSays.None)
	return s
}

// namedTokens returns the tokens that the sentence of a head names.
func (h *headsDrawing) namedTokens(layer, head, i int) []int {
	sources := h.standing(layer, head, i)
	return slices.DeleteFunc(sources[:min(len(sources), mostNamed)], func(j int) bool {
		return h.At(layer, head, i, j) < nameFrom*h.At(layer, head, i, sources[0])
	})
}

// rounded writes a share as a sentence does: whole per cent from 10 on.
func rounded(x float64) string {
	if x >= .1 {
		return fixed(100*x, 0) + " %"
	}
	return fixed(100*x, 1) + " %"
}

// from says what is predicted at token i and which layer wrote it.
func (h *headsDrawing) from(i int) string {
	t := h.predictions[i]
	if t < 0 {
		return "seen from " + h.placedName(i)
	}
	_, _, chance := h.predictionText(t)
	text := fmt.Sprintf("seen from %s, where “%s” is predicted", h.placedName(i),
		tokenName(h.e.Steps[t].Text))
	if chance != "" {
		text += ", " + chance
	}
	if layer := h.wroteLayer(t); layer >= 0 {
		text += fmt.Sprintf(" · attention of %s wrote more of its logit than that of "+
			"any other", h.e.Model.LayerName(layer))
	}
	if w := h.writes(i); w != nil {
		text += " · " + allWrote(w)
	}
	return text
}

// listedHeads is how many heads are listed for a token. lookMore is what all of them do, and
// listedBy says which are listed and in what order; see [focus.Attention.Looks].
const (
	listedHeads = 12
	lookMore    = "heads that look at one token in particular"
	listedBy    = "Each head is named with a token, the share of its attention there " +
		"(attention, not effect), and how much more that is than its habit: the mean share that " +
		"it gives the same token from elsewhere, and half of the mean share that it gives to " +
		"tokens as far away. Those of the layer that wrote the token stand first. A list is in " +
		"the order of what is over the habit or, at a token that is the one predicted, of the " +
		"whole share; the upper half of the layers counts twice."
)

// lookName names the token that a listed head looks at from token i, with its share and what it is
// ranked by.
func (h *headsDrawing) lookName(i int, b focus.Look) string {
	switch {
	case h.writes(i) != nil && b.Token < 0:
		return wroteText(b.Wrote) + ", at sinks alone"
	case h.writes(i) != nil:
		return fmt.Sprintf("%s, at %s %s", wroteText(b.Wrote), h.placedName(b.Token),
			share(b.Share))
	}
	return fmt.Sprintf("%s %s (%+.1f over its habit)", h.placedName(b.Token), share(b.Share),
		100*b.Over)
}

// lists returns the k heads that are listed for token i: those that wrote most or, where that is
// not known, those of the layer that wrote what is predicted there, and the others, each with a
// heading.
func (h *headsDrawing) lists(i, k int) (lists []string) {
	ofLayer, others := h.listed(i, k)
	named := func(list []focus.Look) string {
		var all []string
		for _, b := range list {
			all = append(all, h.headName(b.Layer, b.Head, 0)+" "+h.lookName(i, b))
		}
		return strings.Join(all, " · ")
	}
	heading := lookMore
	if h.writes(i) != nil {
		heading = wroteMost
	}
	if ofLayer != nil {
		lists = append(lists, fmt.Sprintf("heads of %s, which wrote “%s”: %s",
			h.e.Model.LayerName(ofLayer[0].Layer), tokenName(h.e.Steps[h.predictions[i]].Text),
			named(ofLayer)))
		heading = "other " + lookMore
	}
	if others != nil {
		lists = append(lists, heading+": "+named(others))
	}
	if lists == nil {
		return []string{heading + ": none"}
	}
	return lists
}
