package figures

import (
	"fmt"
	"math"

	"github.com/headwater-ml/headwater/attribution/focus"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/gonbext/render/chart"
	"github.com/headwater-ml/headwater/internal/reproduction"
)

// The document shows layer 14 of 24 and head 17 of 32, and for the last figure layer 5. Its most
// concentrated head is in layer 4.
const (
	clausLayers, clausHeads = 24, 32
	clausLayer, clausHead   = 14, 17
	clausEffect             = 5
	clausConcentrated       = 4
)

// layer returns the layer at the depth that the document's layer has, and head the head whose ALiBi
// slope has the same rank among the heads.
func (r *run) layer(published int) int { return published * r.info.Layers / clausLayers }
func (r *run) head() int               { return clausHead * r.info.Heads / clausHeads }

// focusTexts are five texts of the toy grammar, or of English.
func (r *run) focusTexts() []string {
	if r.toy() {
		return []string{
			"mary has the red key . john has the blue lamp . who has the lamp ? john . " +
				"the keys to the cabinet are here . mary talked to john about the book because " +
				"she has the book .",
			"the dogs behind the house near the river are old . the dog is here . john has the " +
				"red lamp . mary has the blue key . who has the key ? mary .",
			"the key near the old cabinets by the door is here . the keys are here . mary talked " +
				"to john about the lamp because she has the lamp .",
			"john has the blue book . mary has the red book . grace has the lamp . who has the " +
				"lamp ? grace . what color is the book ?",
			"the cabinets by the door are old . the lamp near the river is blue . john talked to " +
				"mary about the key because he has the key .",
		}
	}
	return []string{
		"By the end of the year we plan to change our lessons on health. Pupils will learn how " +
			"to cook simple meals, why sleep matters, and how to talk about their worries. " +
			"Teachers have asked for short texts, clear pictures and time to try things out.",
		"The river rises in the hills and flows past three small towns. In spring it floods the " +
			"meadows, so the farmers keep their cattle on higher ground until the water falls.",
		"When Mary and John went to the store, John gave a drink to Mary. She thanked him and " +
			"paid for the bread. On the way home they met their neighbour, who carried two " +
			"heavy bags.",
		"A clock has two hands. The short hand shows the hour, and the long hand shows the " +
			"minutes. When the long hand has gone round once, the short hand has moved one step.",
		"The Eiffel Tower is in Paris. The Colosseum is in Rome. Both are visited by millions of " +
			"people every year, and both were once thought to be ugly.",
	}
}

// recordFocus records what some parts need of text k.
func (r *run) recordFocus(k int, parts ...focus.Part) (*focus.Text, []trace.Token, error) {
	tokens, ids, err := r.encode(r.focusTexts()[k])
	if err != nil {
		return nil, nil, err
	}
	tracer, ok := r.m.(trace.Tracer)
	if !ok {
		return nil, nil, lackf("it records tensors, which %s cannot", r.info.Name)
	}
	text, err := focus.Record(r.ctx, tracer, ids, parts...)
	return text, tokens, err
}

// oneHead returns the rows of the head that a figure shows of the first text, and its tokens.
func (r *run) oneHead() (*focus.Head, []string, error) {
	layer, err := r.choice(layerChoice, r.layer(clausLayer), r.info.Layers)
	if err != nil {
		return nil, nil, err
	}
	head, err := r.choice(headChoice, r.head(), r.info.Heads)
	if err != nil {
		return nil, nil, err
	}
	text, tokens, err := r.recordFocus(0, focus.Scores)
	if err != nil {
		return nil, nil, err
	}
	h, err := text.Head(layer, head)
	return h, tokenNames(tokens), err
}

// where names the layer and head of a figure.
func where(h *focus.Head) string { return fmt.Sprintf("layer %d, head %d", h.Layer, h.Head) }

// hovers returns the columns of points, which a notebook shows as their tooltips: those of the
// document, but for what the place of a point says. parts are those of the score.
func hovers(points []focus.Point, parts bool) []chart.Column {
	var all []chart.Column
	if parts {
		all = []chart.Column{
			{Name: "attention"},
			{Name: "bias"},
			{Name: "alibi"},
			{Name: "probability"},
		}
	} else {
		all = []chart.Column{
			{Name: "current", Named: true},
			{Name: "target", Named: true},
			{Name: "tokens in the past"},
		}
	}
	for _, p := range points {
		values := []float64{
			float64(p.Target), float64(p.Source), float64(p.Target - p.Source),
		}
		if parts {
			values = []float64{
				p.Terms[focus.Content], p.Terms[focus.QueryBias],
				p.Terms[focus.ALiBi], p.Probability,
			}
		}
		for k, v := range values {
			all[k].Values = append(all[k].Values, v)
		}
	}
	return all
}

// markerColors are the colours of the document: the token itself green, the first one purple.
var markerColors = map[string]chart.RGB{
	"Self": {0x2c, 0x8c, 0x3c}, "Zero": {0x80, 0x30, 0xa8}, "Other": {0xe8, 0x8c, 0x20},
}

// mapOf returns what the map of Figure 1 shows of a head: probabilities, and markers by their rank
// on the sources that have half of each row.
func mapOf(h *focus.Head, tokens []string) (matrix *chart.Matrix, marked []chart.Series) {
	matrix = &chart.Matrix{Rows: tokens, Columns: tokens}
	for i := range h.Targets {
		for j, p := range h.Row(i) {
			if j >= h.Visible(i) {
				p = math.NaN()
			}
			matrix.Data = append(matrix.Data, p)
		}
	}
	markers := h.Markers()
	for _, kind := range []string{"Self", "Zero", "Other"} {
		color := markerColors[kind]
		s := chart.Series{Name: kind, Color: &color, Symbols: []int{}}
		var points []focus.Point
		for _, m := range markers {
			if m.Kind() == kind {
				s.X, s.Y = append(s.X, float64(m.Source)), append(s.Y, float64(m.Target))
				s.Symbols = append(s.Symbols, m.Rank)
				points = append(points, m)
			}
		}
		s.Columns = hovers(points, true)
		marked = append(marked, s)
	}
	return matrix, marked
}

func focusMap(r *run) error {
	h, tokens, err := r.oneHead()
	if err != nil {
		return err
	}
	matrix, series := mapOf(h, tokens)
	r.picture("", 1, chart.Chart{
		Kind: chart.Heatmap, Title: "Attention, " + where(h), Matrix: matrix, Series: series,
		Subtitle: "Marked are the sources that have half of a row. Symbols by rank: circle 0, " +
			"square 1, triangle 2, diamond 3, triangle downwards 4, hexagon 5, then others.",
		X: chart.Axis{Title: "target token (source)"}, Y: chart.Axis{Title: "current token"},
		Color: chart.Scale{Title: "probability", Percent: true, Palette: "sky"}, Names: tokens,
	})
	sums, scores := 0.0, 0.0
	for i := range h.Targets {
		n := h.Visible(i)
		largest, total := math.Inf(-1), 0.0
		row := make([]float64, n)
		for j := range n {
			for t := range int(focus.NumTerms) {
				row[j] += h.Terms[(t*h.Targets+i)*h.Sources+j]
			}
			largest = max(largest, row[j])
			scores = max(scores, math.Abs(row[j]-h.Scores[i*h.Sources+j]))
		}
		for j := range row {
			row[j] = math.Exp(row[j] - largest)
			total += row[j]
		}
		for j := range row {
			sums = max(sums, math.Abs(row[j]/total-h.Row(i)[j]))
		}
	}
	r.zero(claim{"terms", "The three parts add up to the score: largest difference"}, 1e-4, scores)
	r.zero(claim{"softmax", "Their softmax is the model's own attention: largest difference"}, 1e-4,
		sums)
	self, first := len(series[0].X), len(series[1].X)
	r.check(claim{"cases", "Both special cases occur: the token itself and the first token"},
		"1 or more each", fmt.Sprintf("self %d, first %d, others %d", self, first,
			len(series[2].X)), self > 0 && first > 0)
	r.note("The document's prose says that the map shows attention before the softmax; its " +
		"published data are probabilities, as here.")
	return nil
}

// sortIndices is how many ranks Figure 2 can show.
const sortIndices = 3

// breakdownOf returns the points of Figure 2 of one rank.
func breakdownOf(b *focus.Breakdown, rank int) []chart.Series {
	s := chart.Series{Name: fmt.Sprintf("sort_idx %d", rank), Value: []float64{}}
	var points []focus.Point
	for _, p := range b.Points {
		if p.Rank != rank {
			continue
		}
		c := b.Coordinates(p)
		s.X = append(s.X, max(c[focus.QueryBias], 0))
		s.Y = append(s.Y, max(c[focus.ALiBi], 0))
		s.C = append(s.C, max(c[focus.Content], 0))
		s.Value = append(s.Value, p.Probability)
		points = append(points, p)
	}
	s.Columns = hovers(points, false)
	return []chart.Series{s}
}

func focusBreakdown(r *run) error {
	h, tokens, err := r.oneHead()
	if err != nil {
		return err
	}
	rank, err := r.choice(rankChoice, 0, sortIndices)
	if err != nil {
		return err
	}
	score := "the largest score"
	if rank > 0 {
		score = fmt.Sprintf("score %d (sort_idx, from 0)", rank)
	}
	b, err := h.Breakdown(sortIndices)
	if err != nil {
		return err
	}
	r.picture("", 1, chart.Chart{
		Kind: chart.Ternary, Title: fmt.Sprintf("Parts of %s of each row, %s", score, where(h)),
		Subtitle: "each part minus its smallest value",
		// The published picture has its first part, attention, at the top.
		Corners: [3]string{"bias", "ALiBi", "attention"}, Series: breakdownOf(b, rank),
		Color: chart.Scale{Title: "probability", Percent: true, Palette: "blue-red", Max: 1},
		Names: tokens, Opacity: 0.5,
	})
	vary := 0.0
	for j := range h.Sources {
		first := math.NaN()
		for i := j; i < h.Targets; i++ {
			v := h.Terms[(int(focus.QueryBias)*h.Targets+i)*h.Sources+j]
			if math.IsNaN(first) {
				first = v
			}
			vary = max(vary, math.Abs(v-first))
		}
	}
	r.zero(claim{"bias", "The bias depends on the source alone: largest difference between rows"},
		1e-5, vary)
	return nil
}

// biasesOf returns the two series of Figure 3.
func biasesOf(h *focus.Head) []chart.Series {
	bias, alibi := chart.Series{Name: "bias"}, chart.Series{Name: "ALiBi"}
	for _, b := range focus.Biases(h.Markers()) {
		bias.X, bias.Y = append(bias.X, float64(b.Source)), append(bias.Y, b.QueryBias)
		alibi.X, alibi.Y = append(alibi.X, float64(b.Source)), append(alibi.Y, b.ALiBi)
	}
	return []chart.Series{bias, alibi}
}

// biasHeight is that of Figure 3 in pixels. The published picture is 200 pixels high with its axes.
const biasHeight = 140

func focusBias(r *run) error {
	h, _, err := r.oneHead()
	if err != nil {
		return err
	}
	series := biasesOf(h)
	alibi := series[1]
	last := float64(h.Sources - 1)
	r.picture("", 1, chart.Chart{
		Kind: chart.Scatter, Title: "Bias and ALiBi, " + where(h),
		X: chart.Axis{Title: "index of the target token (source)", Min: new(float64), Max: &last},
		Y: chart.Axis{Title: "part of the score"}, Series: series, Height: biasHeight,
	})
	r.note("The document's text says that the axis is the current token; its published data are " +
		"by the token looked at, as here.")
	slope := math.Exp2(-8 * float64(h.Head+1) / float64(r.info.Heads))
	if n := r.info.Heads; n&(n-1) == 0 {
		off := 0.0
		for i, x := range alibi.X {
			off = max(off, math.Abs(alibi.Y[i]-slope*x))
		}
		r.zero(claim{"slope", fmt.Sprintf("ALiBi grows by the slope of head %d, %s, with each "+
			"token: "+
			"largest difference", h.Head, short(slope))}, 1e-4, off)
	}
	return nil
}

// publishedRows are the terms of the first rows of layer 14, head 17 in the document's data, and
// the probabilities that it states.
var publishedRows = []struct {
	terms [][3]float64 // of each source: attention, bias, ALiBi
	p     []float64
}{
	{
		[][3]float64{{-2.499432, 5.635853, 0}, {2.879041, -.028408, .0441895}},
		[]float64{.560108, .439892},
	},
	{[][3]float64{
		{-2.549861, 5.635853, 0}, {.337021, -.028408, .0441895}, {.658404, -1.973696, .0883789},
	}, []float64{.927294, .060285, .012421}},
}

func focusPublished(r *run) error {
	table := reproduction.Table{
		Title: "Layer 14, head 17 of the document",
		Columns: []string{
			"current token", "target token", "attention", "bias", "ALiBi", "stated p",
			"softmax of the sum",
		},
	}
	divided := 0.0
	for i, row := range publishedRows {
		n := len(row.p)
		terms := trace.Tensor{Name: string(trace.Terms), Axes: "3TS", Shape: []int{3, 1, n}}
		for k := range 3 {
			for _, t := range row.terms {
				terms.Data = append(terms.Data, float32(t[k]))
			}
		}
		text, err := focus.New([]trace.Tensor{terms}, focus.Options{})
		if err != nil {
			return err
		}
		h, err := text.Head(0, 0)
		if err != nil {
			return err
		}
		for j, p := range h.Row(0) {
			c := row.terms[j]
			table.Rows = append(table.Rows, []string{
				fmt.Sprint(i + 1), fmt.Sprint(j), fmt.Sprint(c[0]), fmt.Sprint(c[1]),
				fmt.Sprint(c[2]), fmt.Sprint(row.p[j]), fmt.Sprintf("%.6f", p),
			})
			agrees := math.Abs(p-row.p[j]) <= publishedTolerance
			r.check(claim{fmt.Sprintf("p-%d-%d", i+1, j), fmt.Sprintf(
				"Probability of token %d from token %d", j, i+1)},
				fmt.Sprintf("%.6f ± %s", row.p[j], short(publishedTolerance)),
				fmt.Sprintf("%.6f", p), agrees)
		}
		if i == 1 {
			divided = eighthOfALiBi(row.terms)
		}
	}
	r.table(table)
	r.check(claim{"undivided", "With ALiBi divided by 8, the root of the head's width, the first " +
		"probability of token 2 would be another one"}, "not .927294",
		fmt.Sprintf("%.5f", divided), math.Abs(divided-.927294) > 1e-3)
	return nil
}

// publishedTolerance is the rounding of six published decimals of three parts.
const publishedTolerance = 3e-6

// eighthOfALiBi returns the probability of the first source if ALiBi is divided by 8.
func eighthOfALiBi(terms [][3]float64) float64 {
	total := 0.0
	for _, t := range terms {
		total += math.Exp(t[0] + t[1] + t[2]/8)
	}
	return math.Exp(terms[0][0]+terms[0][1]+terms[0][2]/8) / total
}

// quantityTitles are the axes of the line figures.
var quantityTitles = map[focus.Quantity]string{
	focus.SelfFraction:   "fraction of tokens, highest on itself",
	focus.SelfContinuous: "mean probability of the token itself",
	focus.FirstFraction:  "fraction of tokens, highest on the first",
	focus.Concentration:  "highest minus second highest",
}

// focusLines makes a figure of sorted lines, one chart for each quantity.
func focusLines(quantities ...focus.Quantity) func(*run) error {
	return func(r *run) error { return r.lines(quantities) }
}

func (r *run) lines(quantities []focus.Quantity) error {
	lines := make([]focus.Lines, len(quantities))
	for i, q := range quantities {
		lines[i].Quantity = q
	}
	for k := range r.focusTexts() {
		text, _, err := r.recordFocus(k)
		if err != nil {
			return err
		}
		for i := range lines {
			if err := lines[i].Add(text); err != nil {
				return err
			}
		}
		r.progress("reading texts", "text", k+1, len(r.focusTexts()))
	}
	var charts []chart.Chart
	for i := range lines {
		f := &lines[i]
		series, crossings, valid := sortedSeries(f)
		zero, one := 0.0, 1.0
		charts = append(charts, chart.Chart{
			Kind: chart.Lines, Title: string(f.Quantity), X: chart.Axis{Title: "layer"},
			Y:      chart.Axis{Title: quantityTitles[f.Quantity], Min: &zero, Max: &one},
			Series: series, Color: chart.Scale{Palette: "viridis"},
		})
		r.check(claim{string(f.Quantity) + "-sorted", fmt.Sprintf("Lines of %s do not cross, and "+
			"each layer has every head once", f.Quantity)}, "0 crossings",
			fmt.Sprintf("%d crossings", crossings), crossings == 0 && valid)
	}
	r.picture("", len(charts), charts...)
	r.checkLines(&lines[0])
	r.note("Mean over %d texts. In each layer the heads are sorted: sort_idx 1 is the head with "+
		"the lowest value there. Head numbers are in the hover texts.", len(r.focusTexts()))
	return nil
}

// sortedSeries returns the lines of a quantity, how often two of them cross, and whether each layer
// has every head once.
func sortedSeries(f *focus.Lines) (series []chart.Series, crossings int, complete bool) {
	series, complete = make([]chart.Series, f.Heads), true
	for k := range series {
		series[k].Name = fmt.Sprintf("sort_idx %d", k+1) // from 1, as in the published data
	}
	for l := range f.Layers {
		seen := map[int]bool{}
		for k, p := range f.Sorted(l) {
			s := &series[k]
			s.X, s.Y = append(s.X, float64(l)), append(s.Y, p.Value)
			s.Labels = append(s.Labels, fmt.Sprintf("layer %d, head %d: %.4f", l, p.Head, p.Value))
			seen[p.Head] = true
			if k > 0 && p.Value < series[k-1].Y[l] {
				crossings++
			}
		}
		complete = complete && len(seen) == f.Heads
	}
	return series, crossings, complete
}

// checkLines checks what the document claims of a quantity, layer by layer.
func (r *run) checkLines(q *focus.Lines) {
	switch q.Quantity {
	case focus.FirstFraction:
		r.above(claim{"rises", "Expected, though the document states no number: heads look at " +
			"the first token more often in the upper half of the layers than in the first " +
			"layer, mean over heads"}, upperHalf(q), layerMean(q, 0), "the first layer")
	case focus.Concentration:
		for _, x := range []struct{ id, text string }{
			{"early", "layer 4 of 24"}, {"last", "the last layer"},
		} {
			l, published := r.layer(clausConcentrated), ".995"
			if x.id == "last" {
				l, published = q.Layers-1, ".926"
			}
			r.above(claim{x.id, fmt.Sprintf("The most concentrated head of %s is more "+
				"concentrated than that of the first layer (published: %s against .125); here "+
				"layer %d", x.text, published, l)}, highest(q, l), highest(q, 0),
				"that of the first layer")
		}
	}
}

// layerMean returns the mean over heads of layer l.
func layerMean(f *focus.Lines, l int) float64 {
	var all []float64
	for h := range f.Heads {
		all = append(all, f.At(l, h))
	}
	return mean(all)
}

// upperHalf returns the mean over the heads of the upper half of the layers.
func upperHalf(f *focus.Lines) float64 {
	var all []float64
	for l := f.Layers / 2; l < f.Layers; l++ {
		all = append(all, layerMean(f, l))
	}
	return mean(all)
}

// highest returns the largest value of the heads of layer l.
func highest(f *focus.Lines, l int) float64 {
	p := f.Sorted(l)
	return p[len(p)-1].Value
}
