package render

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
)

func init() {
	RegisterView(View{
		Name: KindExperts, Help: "which experts of a mixture took each token",
		Takes: map[string]Media{
			"token": InAll, "layer": InAll, "methods": InAll, "lift": InAll, "all-layers": InAll,
			"all-levels": InAll,
		},
		Whole: "experts take tokens one by one",
		Record: tensorRecord(trace.Experts, Record{
			Needed:  "experts need the numbers of each token's experts",
			Missing: "record them with the tap experts",
			Check:   func(of trace.Info, _ int) error { return CheckExperts(of) },
		}),
		Picture: func(s Show, e *attribution.Explanation, recorded any) (Picture, error) {
			return Experts{
				Explanation: e, Routes: *recorded.(*trace.Tensor), Token: s.Token, Layer: s.Layer,
				Look: s.Look(),
			}, nil
		},
	})
}

// Experts is a picture of which experts took which token, in every layer of a model with mixtures
// of experts, for a notebook or a page:
//
//   - a sentence on one token: the experts of one layer, and which other token has the same first
//     expert in most layers. The text has a colour where that is more than the mean of all tokens;
//   - a matrix with a row for each token, folded where the text is, and a column for each layer. A
//     cell has the number of the first expert, and its colour is the weight of it;
//   - all experts of the token in every layer, layer 0 at the bottom, with their weights;
//   - the load of one layer: how many tokens of the text each expert took.
//
// At first the layer is open whose first expert has the largest weight for the token. Where scripts
// run, any token and any layer can be chosen.
type Experts struct {
	// Explanation has the text: m prompt tokens and n generated tokens; T = m + n. An encoder
	// generates nothing, so T = m.
	Explanation *attribution.Explanation
	// Routes has the number and the weight of the K experts of each token, [L,T,K,2]; see
	// [trace.Experts].
	Routes trace.Tensor
	// Token is the generated token that is framed, 0-based; nil is that of a heatmap. Layer is the
	// layer that is open, 0-based.
	Token, Layer *int
	// Look has the colours and the caption, as that of a [Heatmap].
	Look
	// MaxBytes is the approximate limit of the result in bytes; default 480,000, of a page
	// 5,000,000. If the numbers of all experts would be larger, only the first of each layer can be
	// chosen, or nothing, which a sentence says.
	MaxBytes int
}

// CheckExperts returns a [trace.UsageError] if a model has no experts.
func CheckExperts(model trace.Info) error {
	if model.Experts > 0 {
		return nil
	}
	return usagef("%s has no experts to show: each token passes all of every layer; its pictures "+
		"are %s, %s, %s, %s and %s", Visible(model.Name, 2*nameLimit), KindHeatmap, KindLayers,
		KindFlow, KindHeads, KindMaps)
}

// Check returns a [trace.UsageError] if the experts do not fit the text or the model.
func (r Experts) Check() error {
	if r.Explanation == nil {
		return usagef("a picture of experts needs an explanation")
	}
	e, s, T := r.Explanation, r.Routes.Shape, textLength(r.Explanation)
	if err := CheckExperts(e.Model); err != nil {
		return err
	}
	if len(s) != 4 || T == 0 || s[0] < 1 || s[1] != T || s[2] < 1 || s[3] != 2 ||
		len(r.Routes.Data) != 2*s[0]*T*s[2] {
		return usagef("experts of shape %v with %d values do not fit a text of %d tokens; it "+
			"needs [layers %d chosen 2]", s, len(r.Routes.Data), T, T)
	}
	for i := 0; i < len(r.Routes.Data); i += 2 {
		expert, weight := float64(r.Routes.Data[i]), float64(r.Routes.Data[i+1])
		if !(expert >= -1) || expert >= float64(e.Model.Experts) || expert != math.Floor(expert) ||
			math.IsNaN(weight) || math.IsInf(weight, 0) {
			return usagef("expert %v with weight %v; the model has experts 0 to %d", expert,
				weight, e.Model.Experts-1)
		}
	}
	if r.Layer != nil && (*r.Layer < 0 || *r.Layer >= s[0]) {
		return usagef("layer %d; the model has layers 0 to %d", *r.Layer, s[0]-1)
	}
	return nil
}

// expertsDrawing is a picture of experts worked out and not yet drawn.
type expertsDrawing struct {
	*drawing
	weights Scale
	routes  []float32
	// layers are L, mixed those of them that have experts, and each is K.
	layers, mixed, each int
	// token is the one that is framed, and layer the one that is open.
	token, layer int
}

// open works out what a picture of experts shows. The experts fit.
func (r Experts) open() *expertsDrawing {
	p := Heatmap{Explanation: r.Explanation, Look: r.Look}.picture(true)
	p.words.title = "Which experts took each token"
	s := r.Routes.Shape
	x := &expertsDrawing{
		drawing: newDrawing(p, r.Token), routes: r.Routes.Data, layers: s[0], each: s[2],
	}
	x.columns = x.fold(x.places(len(x.tokens)))
	x.token = len(x.tokens) - 1
	if x.chosen >= 0 {
		x.token = min(max(x.tokenOf(x.chosen), 0), x.token)
	}
	var weights []float64
	for l := range x.layers {
		if x.routed(l) > 0 {
			x.mixed++
		}
		for j := range x.tokens {
			_, weight := x.at(l, j, 0)
			weights = append(weights, weight)
		}
	}
	x.weights = NewScale("weight of the first expert", attribution.Share, weights)
	if x.layer = x.decided(x.token); r.Layer != nil {
		x.layer = *r.Layer
	}
	return x
}

// routed returns how many tokens pass experts in a layer: all or none, but in a model of two stacks
// those on which the layer works.
func (x *expertsDrawing) routed(layer int) (n int) {
	for j := range x.tokens {
		if first, _ := x.at(layer, j, 0); first >= 0 {
			n++
		}
	}
	return n
}

// at returns expert k of token j in a layer and its weight: -1 and 0 if it passes none.
func (x *expertsDrawing) at(layer, j, k int) (expert int, weight float64) {
	i := 2 * ((layer*len(x.tokens)+j)*x.each + k)
	return int(x.routes[i]), float64(x.routes[i+1])
}

// decided returns the layer whose first expert has the largest weight for a token.
func (x *expertsDrawing) decided(j int) (best int) {
	for l := range x.layers {
		_, most := x.at(best, j, 0)
		if _, weight := x.at(l, j, 0); weight > most {
			best = l
		}
	}
	return best
}

// alike returns for each token in how many layers it has the same first expert as token j, [T], and
// the mean of that over the other tokens.
func (x *expertsDrawing) alike(j int) (same []int, mean float64) {
	same = make([]int, len(x.tokens))
	for i := range same {
		for l := range x.layers {
			expert, _ := x.at(l, j, 0)
			if other, _ := x.at(l, i, 0); other == expert && expert >= 0 {
				same[i]++
			}
		}
		mean += float64(same[i])
	}
	return same, (mean - float64(same[j])) / max(float64(len(same)-1), 1)
}

// nearest returns the other token with the same first expert as token j in most layers, of equal
// ones the closest in the text; -1 if no other has one in common.
func (x *expertsDrawing) nearest(j int, same []int) int {
	best := -1
	for i, n := range same {
		if i != j && n > 0 && (best < 0 || n > same[best] ||
			n == same[best] && max(i-j, j-i) < max(best-j, j-best)) {
			best = i
		}
	}
	return best
}

// listOf names the experts of a token in a layer with their weights, the first k of them.
func (x *expertsDrawing) listOf(layer, j, k int) (all []Phrase) {
	for i := range min(k, x.each) {
		expert, weight := x.at(layer, j, i)
		if expert < 0 {
			return nil
		}
		all = append(all, Phrase{
			{text: fmt.Sprint(expert)}, {text: " (" + rounded(weight) + ")", quiet: true},
		})
	}
	return all
}

// allOf lists all experts of a token in a layer.
func (x *expertsDrawing) allOf(layer, j int) string {
	var names []string
	for _, one := range x.listOf(layer, j, x.each) {
		names = append(names, one.String())
	}
	return cmp.Or(strings.Join(names, ", "), "no experts")
}

// sentence returns which experts token j has in a layer, and which other token has the most in
// common with it.
func (x *expertsDrawing) sentence(layer, j int) (s Phrase) {
	s.Say("At ")
	s = append(s, x.wordOf(j)...)
	s.Say(", " + x.e.Model.LayerName(layer) + " ")
	named := 0
	first, most := x.at(layer, j, 0)
	for named < min(x.each, mostNamed) {
		if _, weight := x.at(layer, j, named); weight < nameFrom*most {
			break
		}
		named++
	}
	switch {
	case first < 0:
		s.Say("has no experts")
	case named > 1:
		s.Say("used experts ")
	default:
		s.Say("used expert ")
	}
	s.join(x.listOf(layer, j, named))
	same, _ := x.alike(j)
	if i := x.nearest(j, same); i >= 0 {
		s.Say(fmt.Sprintf("; %d of %d layers used the same first expert as at ", same[i], x.mixed))
		other := x.wordOf(i)
		if other.String() == x.wordOf(j).String() {
			other.Say(" (" + x.placeOf(i) + ")")
		}
		s = append(s, other...)
	}
	return s
}

// facts returns where token j is, how much other tokens have in common with it, how many tokens its
// expert in a layer took, and what the first method says of a generated token.
func (x *expertsDrawing) facts(layer, j int) (s Phrase) {
	_, mean := x.alike(j)
	s.Say(fmt.Sprintf("%s · other tokens: the same in %s of %d layers on average",
		x.placeOf(j), fixed(mean, 1), x.mixed))
	expert, _ := x.at(layer, j, 0)
	for _, one := range x.load(layer) {
		if one[0] == expert {
			s.Say(fmt.Sprintf(" · expert %d took %d of %d tokens here, an even share is %s",
				expert, one[1], x.routed(layer), fixed(x.even(layer), 1)))
		}
	}
	if said := x.said(j); said != nil {
		s.Say(" · ")
		s = append(s, said...)
	}
	return s
}

// said returns what the first method says of token j, nil if it is no generated token of it.
func (x *expertsDrawing) said(j int) (s Phrase) {
	t := j - len(x.e.Prompt.Texts)
	if x.lead < 0 || t < 0 || t >= len(x.e.Steps) || !x.views[x.lead].has(t) {
		return nil
	}
	v := &x.views[x.lead]
	said, _ := x.explainRow(v, t)
	return append(Phrase{{text: Visible(v.name, nameLimit) + ": "}}, said...)
}

// load returns the experts of a layer that took tokens, each with how many, the most first.
func (x *expertsDrawing) load(layer int) [][2]int {
	all := [][2]int{}
	took := map[int]int{}
	for j := range x.tokens {
		for k := range x.each {
			if expert, _ := x.at(layer, j, k); expert >= 0 {
				took[expert]++
			}
		}
	}
	for expert, count := range took {
		all = append(all, [2]int{expert, count})
	}
	slices.SortFunc(all, func(a, b [2]int) int {
		return cmp.Or(cmp.Compare(b[1], a[1]), cmp.Compare(a[0], b[0]))
	})
	return all
}

// even is how many tokens each expert of a layer takes if all take as many.
func (x *expertsDrawing) even(layer int) float64 {
	return float64(x.routed(layer)*x.each) / float64(x.e.Model.Experts)
}

// mostLoaded is how many experts of a layer are listed with how many tokens they took.
const mostLoaded = 12

// loadOf says how many tokens the experts of a layer took.
func (x *expertsDrawing) loadOf(layer int) string {
	all := x.load(layer)
	if len(all) == 0 {
		return "which has no experts"
	}
	var list []string
	for _, one := range all[:min(len(all), mostLoaded)] {
		list = append(list, fmt.Sprintf("%d by expert %d", one[1], one[0]))
	}
	return fmt.Sprintf("tokens taken: %s; an even share of %d tokens is %s, and %d of %d experts "+
		"took none", strings.Join(list, ", "), x.routed(layer), fixed(x.even(layer), 1),
		x.e.Model.Experts-len(all), x.e.Model.Experts)
}

// shownIn returns the token of a row whose first expert in a layer has the largest weight.
func (x *expertsDrawing) shownIn(c TextColumn, layer int) int {
	return strongestIn(c, c.To, func(j int) float64 {
		_, weight := x.at(layer, j, 0)
		return weight
	}, func(int) bool { return false })
}

// cell returns the first expert of a row in a layer, "" in one without experts, and its colour.
func (x *expertsDrawing) cell(c TextColumn, layer int) (number string, step int) {
	expert, weight := x.at(layer, x.shownIn(c, layer), 0)
	if expert < 0 {
		return "", 0
	}
	return fmt.Sprint(expert), x.weights.Step(weight)
}

// here reports whether a row is that of the framed token.
func (x *expertsDrawing) here(c TextColumn) bool { return c.From <= x.token && x.token < c.To }

// mostAlike is how many tokens a text has at most whose tokens are all compared with each other,
// which takes the square of them. Of a longer one the token that is framed has a sentence.
const mostAlike = 1 << 10

// board works out what the picture shows.
func (r Experts) board() *Board {
	x := r.open()
	b := &Board{
		drawing: x.drawing, Kind: "experts", MaxBytes: r.MaxBytes,
		Scale: x.weights, By: ByWord, At: x.token,
		Legend: expertsLegend, Details: "every token and layer in a line",
		Caption: []string{
			fmt.Sprintf("%d of %d experts a token", x.each, x.e.Model.Experts), x.quotedPrompt(),
		},
		Table: Table{
			Title: "First expert of each token", Note: "a column for each layer",
			Heading: "first expert of each token", Target: "token", Source: "layer",
			OfWords: true,
			Readout: Readout{
				Empty: "no experts", PartsTitle: "Experts of",
				PartsNote: x.e.Model.LayerName(0) + " at the bottom, width by weight",
			},
		},
	}
	for j := range x.tokens {
		layer := x.decided(j)
		if j == x.token {
			layer = x.layer
		}
		o := Opening{Facts: Phrase{{text: x.placeOf(j)}}, Token: j, Column: layer, Row: j}
		if j == x.token || len(x.tokens) <= mostAlike {
			o.Say, o.Facts, o.Steps = x.sentence(layer, j), x.facts(layer, j), x.steps(j)
		}
		b.Opens = append(b.Opens, o)
		b.Table.Parts = append(b.Table.Parts, x.parts(j))
	}
	b.Opened = b.Opens[x.token]
	b.Lists = append(b.Lists, Line{Name: "all experts of " + x.placedName(x.token)})
	for l := range x.layers {
		name := fmt.Sprintf("layer %2d", l)
		if x.e.Model.EncoderLayers > 0 {
			name = x.e.Model.LayerLabel(l)
		}
		b.Lists = append(b.Lists, Line{Name: "  " + name + "  ", List: x.allOf(l, x.token)})
		b.Table.Columns = append(b.Table.Columns, x.e.Model.LayerLabel(l))
		b.Table.Names = append(b.Table.Names, x.e.Model.LayerName(l))
		b.Beside = append(b.Beside, x.loadBars(l))
		b.Lines = append(b.Lines, Line{Name: x.loadLine(l)})
	}
	b.Lists = append(b.Lists, Line{Name: x.loadLine(x.layer)})
	for _, c := range x.columns {
		row := Row{Name: x.columnName(c), Chosen: x.here(c)}
		var layers []string
		for l := range x.layers {
			number, step := x.cell(c, l)
			row.Cells = append(row.Cells,
				Cell{Step: step, Text: number, Empty: number == ""})
			layers = append(layers, x.e.Model.LayerName(l)+": "+x.allOf(l, c.From))
		}
		if b.Table.Rows = append(b.Table.Rows, row); !c.Folded {
			b.Lines = append(b.Lines,
				Line{Name: x.placedName(c.From) + " ", List: strings.Join(layers, "; ")})
		}
	}
	b.Notes = []string{
		b.Opened.Say.String() + ".",
		fmt.Sprintf("Load of %s, %s.", x.e.Model.LayerName(x.layer), x.loadOf(x.layer)),
	}
	return b
}

// loadLine says in a line how many tokens the experts of a layer took.
func (x *expertsDrawing) loadLine(layer int) string {
	return fmt.Sprintf("load of %s, %s", x.e.Model.LayerName(layer), x.loadOf(layer))
}

// loadBars returns how many tokens the experts of a layer took, as bars.
func (x *expertsDrawing) loadBars(layer int) Bars {
	all := x.load(layer)
	b := Bars{
		Title: "Load of " + x.e.Model.LayerName(layer),
		Note: fmt.Sprintf("tokens of %d that each expert took; an even share is %s, and %d of %d "+
			"took none", x.routed(layer), fixed(x.even(layer), 1), x.e.Model.Experts-len(all),
			x.e.Model.Experts),
	}
	for _, one := range all[:min(len(all), mostLoaded)] {
		b.Bars = append(b.Bars, Bar{
			fmt.Sprint("expert ", one[0]), float64(one[1]) / float64(all[0][1]), fmt.Sprint(one[1]),
		})
	}
	return b
}

// parts returns the experts of a token in every layer with their weights.
func (x *expertsDrawing) parts(j int) (all [][]Part) {
	for l := range x.layers {
		var cell []Part
		for k := range x.each {
			if expert, weight := x.at(l, j, k); expert >= 0 {
				cell = append(cell, Part{fmt.Sprint(expert), weight})
			}
		}
		all = append(all, cell)
	}
	return all
}

// steps returns the colours of the text: by how much more than the mean of all tokens each has in
// common with token j.
func (x *expertsDrawing) steps(j int) []int {
	same, mean := x.alike(j)
	steps := make([]int, len(same))
	for i, n := range same {
		if most := float64(x.mixed) - mean; i != j && most > 0 {
			steps[i] = stepOf(max(float64(n)-mean, 0) / most)
		}
	}
	return steps
}

func (r Experts) draw() drawer { return r.board() }

// expertsLegend says how to read the picture.
const expertsLegend = "The matrix has the first expert of each token in each layer: the one to " +
	"which the router gives most. A weight is what the output of an expert is multiplied by. Of " +
	"folded tokens it is the one with the largest weight. Expert 3 of one layer has nothing in " +
	"common with expert 3 of another."
