package figures

import (
	"fmt"
	"math"
	"slices"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/evaluate"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/gonbext/render/chart"
	"github.com/headwater-ml/headwater/internal/rowmath"
)

// The note on generative attention rollout has a recipe in words and no picture, so each step of
// the recipe is a figure here.

const (
	// The prompts have words and marks that the note lists as the ones that rollout favours.
	recallPrompt   = "mary has the red key . john has the blue lamp . who has the lamp ?"
	languagePrompt = "The key is red, and the lamp is blue. Mary has the key, and John has the " +
		"lamp. The lamp belongs to"
	generatedTokens = 6
)

// rollout explains the prompt of these figures by rollout.
func (r *run) rollout(
	o attribution.Options,
) (*attribution.Explanation, *attribution.Result, error) {
	o.Methods = append([]string{"rollout"}, o.Methods...)
	o.MaxTokens = generatedTokens
	e, err := r.explain(r.prompt(recallPrompt, languagePrompt), o)
	if err != nil {
		return nil, nil, err
	}
	if len(e.Steps) < 2 {
		return nil, nil, lackf("it compares generated tokens, and %s ends its text after %d",
			r.info.Name, len(e.Steps))
	}
	return e, e.Methods["rollout"], nil
}

// generatedNames returns the generated tokens with their index.
func generatedNames(e *attribution.Explanation) []string {
	var texts []string
	for _, s := range e.Steps {
		texts = append(texts, s.Text)
	}
	out := names(texts)
	for t := range out {
		out[t] = fmt.Sprintf("%d %s", t, out[t])
	}
	return out
}

func generativeMatrix(r *run) error {
	e, M, err := r.rollout(attribution.Options{})
	if err != nil {
		return err
	}
	n, m, l := M.Shape[0], M.Shape[1], M.Shape[2]
	charts := []chart.Chart{levelOfM(e, M, M.Top())}
	if sunk(M) {
		k := lastSpread(M)
		charts = append(charts, levelOfM(e, M, k))
		r.note("After the last layer the first token has %.4g %% of the rollout, so the second "+
			"map is that after layer %d, the last one in which it has less than half.",
			100*firstShare(M, M.Top()), k)
	}
	r.picture("", 1, charts...)
	r.check(claim{"shape", "M has the shape [n, m, l]"},
		fmt.Sprintf("[%d, %d, %d]", len(e.Steps), len(e.Prompt.IDs), r.info.Layers),
		fmt.Sprintf("[%d, %d, %d]", n, m, l),
		n == len(e.Steps) && m == len(e.Prompt.IDs) && l == r.info.Layers)
	r.near(claim{"first-row", "The first row sums to 1 in every layer, because no token is " +
		"generated before it"}, 1, 1e-6, farthest(1, func(k int) float64 {
		return rowmath.Total(M.Row(0, k))
	}, l))
	worst, err := r.onePass(e, M)
	if err != nil {
		return err
	}
	r.zero(claim{"one-pass", "M equals rows m-1 to m+n-2 of one pass over the whole text: " +
		"largest difference"}, 1e-5, worst)
	return nil
}

// levelOfM returns the heatmap M[:,:,k] of rollout.
func levelOfM(e *attribution.Explanation, M *attribution.Result, k int) chart.Chart {
	n, m, l := M.Shape[0], M.Shape[1], M.Shape[2]
	matrix := &chart.Matrix{Rows: generatedNames(e), Columns: names(e.Prompt.Texts)}
	for t := range n {
		row := M.Row(t, k)[:m]
		matrix.Data = append(matrix.Data, row...)
		matrix.RowNotes = append(matrix.RowNotes, fmt.Sprintf("generated %.0f %%",
			100*(1-rowmath.Total(row))))
	}
	after := "after the last layer"
	if k < M.Top() {
		after = fmt.Sprintf("after layer %d", k)
	}
	return chart.Chart{
		Kind: chart.Heatmap, Title: fmt.Sprintf("M[:,:,%d], %d generated tokens", k, n),
		Subtitle: fmt.Sprintf("shape of M: [%d, %d, %d]; residual ½, heads merged by their mean",
			n, m, l),
		X: chart.Axis{Title: "prompt token j"}, Y: chart.Axis{Title: "generated token t"},
		Color: chart.Scale{Title: "rollout " + after, Percent: true}, Matrix: matrix,
	}
}

// firstShare returns the share of the first token at a level of rollout, the mean over generated
// tokens.
func firstShare(M *attribution.Result, k int) float64 {
	sum := 0.0
	for t := range M.Shape[0] {
		sum += M.At(t, 0, k)
	}
	return sum / float64(M.Shape[0])
}

// sunk reports whether nearly all rollout of the last layer rests on the first token, as in models
// of many layers. A picture of it then shows nothing of the other tokens.
func sunk(M *attribution.Result) bool {
	const nearly = 0.9
	return firstShare(M, M.Top()) > nearly
}

// lastSpread returns the last level at which the first token has less than half of the rollout; 0
// if there is none.
func lastSpread(M *attribution.Result) int {
	k := M.Top()
	for k > 0 && firstShare(M, k) >= 0.5 {
		k--
	}
	return k
}

// farthest returns the value at 0…n-1 that is the farthest from want.
func farthest(want float64, value func(int) float64, n int) float64 {
	far := want
	for k := range n {
		if v := value(k); math.Abs(v-want) > math.Abs(far-want) {
			far = v
		}
	}
	return far
}

// text returns the ids of the prompt and of the generated tokens but the last.
func text(e *attribution.Explanation) []int {
	ids := slices.Clone(e.Prompt.IDs)
	for _, s := range e.Steps[:len(e.Steps)-1] {
		ids = append(ids, s.ID)
	}
	return ids
}

// onePass returns the largest difference between M and the rows of one pass over the whole text.
func (r *run) onePass(e *attribution.Explanation, M *attribution.Result) (float64, error) {
	tensors, err := r.trace(text(e), trace.AttentionMean)
	if err != nil {
		return 0, err
	}
	o := attribution.Options{Methods: []string{"rollout"}}
	a, err := attribution.Attribute(r.ctx, attribution.InMemory(tensors), o)
	if err != nil {
		return 0, err
	}
	worst, whole := 0.0, a.Methods["rollout"]
	for t := range M.Shape[0] {
		for k := range M.Shape[2] {
			row := whole.Row(k, M.Shape[1]-1+t)
			for j := range M.Shape[1] {
				worst = max(worst, math.Abs(row[j]-M.At(t, j, k)))
			}
		}
	}
	return worst, nil
}

func generativeSlices(r *run) error {
	e, M, err := r.rollout(attribution.Options{})
	if err != nil {
		return err
	}
	n, m, l := M.Shape[0], M.Shape[1], M.Shape[2]
	var charts []chart.Chart
	tokens := generatedNames(e)
	for _, t := range []int{0, n / 2, n - 1} {
		matrix := &chart.Matrix{Rows: levels(l), Columns: names(e.Prompt.Texts)}
		for k := range l {
			matrix.Data = append(matrix.Data, M.Row(t, k)[:m]...)
		}
		charts = append(charts, chart.Chart{
			Kind: chart.Heatmap, Title: fmt.Sprintf("M[%d,:,:], generated token %s", t, tokens[t]),
			X: chart.Axis{Title: "prompt token j"}, Y: chart.Axis{Title: "layer l"},
			Color: chart.Scale{Title: "rollout", Percent: true}, Matrix: matrix,
		})
	}
	r.picture("", 1, charts...)
	sizes, right := "", true
	for t := range n {
		size := len(M.Row(t, 0))
		right = right && size == m+t
		sizes += fmt.Sprintf(" %d", size)
	}
	r.check(claim{"size", "The rollout of step i has m+i sources"},
		fmt.Sprintf("%d + i, for i from 0 to %d", m, n-1), "sources:"+sizes, right)
	r.check(claim{"slice", "A slice M[t,:,:] has a row for every prompt token and a column for " +
		"every layer"}, fmt.Sprintf("[%d, %d]", len(e.Prompt.IDs), r.info.Layers),
		fmt.Sprintf("[%d, %d]", m, l), m == len(e.Prompt.IDs) && l == r.info.Layers)
	return nil
}

func generativeMass(r *run) error {
	_, M, err := r.rollout(attribution.Options{})
	if err != nil {
		return err
	}
	n, l := M.Shape[0], M.Shape[2]
	var series []chart.Series
	worst := 0.0
	for k := range l {
		s := chart.Series{Name: fmt.Sprintf("layer %d", k), X: count(n)}
		for t := range n {
			other := M.OtherMass[t*l+k]
			s.Y = append(s.Y, 100*other)
			worst = max(worst, math.Abs(rowmath.Total(M.Row(t, k)[:M.Shape[1]])+other-1))
		}
		series = append(series, s)
	}
	r.picture("", 1, chart.Chart{
		Kind: chart.Lines, Title: "Share of rollout that rests on generated tokens",
		X: chart.Axis{Title: "generated token t"}, Y: chart.Axis{Title: "share", Unit: "%"},
		Series: series,
	})
	top := series[l-1].Y
	r.zero(claim{"sum", "What is kept and what is cut add up to 1: largest difference"}, 1e-6,
		worst)
	r.zero(claim{"first", "Nothing is cut from the first generated token (in %)"}, 1e-4, top[0])
	r.above(claim{"grows", "The cut share of the last generated token is larger than that of the " +
		"second one (in %)"}, top[n-1], top[1], "the second token")
	return nil
}

func generativeFilter(r *run) error {
	e, M, err := r.rollout(attribution.Options{})
	if err != nil {
		return err
	}
	filter := attribution.DefaultFilter()
	m := M.Shape[1]
	before := make([]float64, m)
	for t := range M.Shape[0] {
		for j, v := range M.Row(t, M.Top())[:m] {
			before[j] += v / float64(M.Shape[0])
		}
	}
	var listed, others []float64
	after, places := make([]float64, m), []int{}
	for j, text := range e.Prompt.Texts {
		after[j] = before[j]
		switch {
		case j == 0 || e.Prompt.Special[j]:
			after[j], before[j] = math.NaN(), math.NaN() // a sink, whatever it says
			continue
		case filter.Hides(text):
			after[j] = math.NaN()
			listed = append(listed, before[j])
		default:
			others = append(others, before[j])
		}
		places = append(places, j)
	}
	places = rowmath.Falling(before, places)
	all := names(e.Prompt.Texts)
	var categories []string
	series := []chart.Series{{Name: "before the filter"}, {Name: "after it"}}
	for _, j := range places {
		categories = append(categories, fmt.Sprintf("%s (%d)", all[j], j))
		series[0].Y = append(series[0].Y, 100*before[j])
		series[1].Y = append(series[1].Y, 100*after[j])
	}
	r.picture("", 1, chart.Chart{
		Kind: chart.Bars, Title: "Prompt tokens ranked by rollout",
		Subtitle: "mean over generated tokens, after the last layer; the first token is left out",
		X:        chart.Axis{Title: "prompt token (position)", Categories: categories},
		Y:        chart.Axis{Title: "rollout", Unit: "%"}, Series: series,
	})
	unfiltered, err := unfilteredTokens(e, M, filter)
	if err != nil {
		return err
	}
	r.check(claim{"filter", "After the filter no listed token is in the ranking, and no value " +
		"has changed"}, "0 tokens", fmt.Sprintf("%d tokens", unfiltered), unfiltered == 0)
	r.above(claim{"bias", "Listed tokens have more rollout each than the other tokens of the " +
		"prompt (in %)"}, 100*mean(listed), 100*mean(others), "the mean of the others")
	return nil
}

// unfilteredTokens returns how many tokens of the rankings a filter hides, or have another value.
func unfilteredTokens(
	e *attribution.Explanation, M *attribution.Result, filter attribution.Filter,
) (n int, err error) {
	for t := range M.Shape[0] {
		top, err := e.TopK(t, "rollout", M.Shape[1], filter)
		if err != nil {
			return 0, err
		}
		for _, x := range top {
			if filter.Hides(x.Text) || x.Value != M.At(t, x.Position, M.Level(t)) {
				n++
			}
		}
	}
	return n, nil
}

func generativeLift(r *run) error {
	e, M, err := r.rollout(attribution.Options{})
	if err != nil {
		return err
	}
	_, lifted, err := r.rollout(attribution.Options{Lift: true})
	if err != nil {
		return err
	}
	n, m := M.Shape[0], M.Shape[1]
	rollout, lift, uniform := make([]float64, m), make([]float64, m), make([]float64, m)
	for t := range n {
		for j := range m {
			share, ratio := M.At(t, j, M.Top()), lifted.At(t, j, lifted.Top())
			rollout[j] += 100 * share / float64(n)
			lift[j] += ratio / float64(n)
			uniform[j] += 100 * share / ratio / float64(n)
		}
	}
	position := chart.Axis{Title: "position of the prompt token"}
	labels := names(e.Prompt.Texts)
	from, subtitle := 0, "mean over generated tokens, after the last layer"
	if sunk(M) && m > 1 {
		from = 1
		subtitle += fmt.Sprintf("; without the first token, which has %.4g %%", rollout[0])
	}
	r.picture("", 2, chart.Chart{
		Kind: chart.Lines, Title: "Rollout by position", Subtitle: subtitle,
		X: position, Y: chart.Axis{Title: "rollout", Unit: "%"},
		Series: []chart.Series{
			{Name: "of the model", X: count(m)[from:], Y: rollout[from:], Labels: labels[from:]},
			{
				Name: "of uniform attention", X: count(m)[from:], Y: uniform[from:],
				Labels: labels[from:],
			},
		},
	}, chart.Chart{
		Kind: chart.Lines, Title: "Lift, mean over generated tokens",
		X: position, Y: chart.Axis{Title: "lift"},
		Series: []chart.Series{{Name: "lift", X: count(m), Y: lift, Labels: labels}},
		Rules:  []chart.Rule{{Horizontal: true, At: 1, Label: "what position explains"}},
	})
	r.note("Lift is what is left when position is divided out. It may grow with position: tokens " +
		"near the prediction are read more than uniform attention would read them. Then its " +
		"order follows position as well, the other way round, though its values are far closer " +
		"to each other than those of rollout.")
	worst, err := uniformLift(r, m)
	if err != nil {
		return err
	}
	r.zero(claim{"uniform", "The lift of uniform attention is 1 everywhere: largest difference"},
		1e-9, worst)
	before, _ := evaluate.Spearman(count(m), rollout)
	after, _ := evaluate.Spearman(count(m), lift)
	r.check(claim{"early", "Rollout favours early tokens: rank correlation with position"},
		"below 0", short(before), before < 0)
	r.check(claim{"slope", "Lift depends less on position than rollout does"},
		"nearer to 0 than "+short(before), short(after), math.Abs(after) < math.Abs(before))
	return nil
}

// uniformLift returns the largest difference from 1 of the lift of uniform causal attention over T
// tokens.
func uniformLift(r *run, T int) (float64, error) {
	a := trace.Tensor{Name: "attention", Shape: []int{r.info.Layers, T, T}}
	for range r.info.Layers {
		for i := range T {
			for j := range T {
				if j <= i {
					a.Data = append(a.Data, 1/float32(i+1))
				} else {
					a.Data = append(a.Data, 0)
				}
			}
		}
	}
	got, err := attribution.Attribute(r.ctx, attribution.InMemory([]trace.Tensor{a}),
		attribution.Options{Methods: []string{"rollout"}, Lift: true})
	if err != nil {
		return 0, err
	}
	worst, m := 0.0, got.Methods["rollout"]
	for k := range m.Shape[0] {
		for i := range T {
			for _, v := range m.Row(k, i)[:i+1] {
				worst = max(worst, math.Abs(v-1))
			}
		}
	}
	return worst, nil
}

func generativeCaveat(r *run) error {
	e, M, err := r.rollout(attribution.Options{Methods: []string{"occlusion"}})
	if err != nil {
		return err
	}
	effect := e.Methods["occlusion"]
	var charts []chart.Series
	var correlations []float64
	other, n := 0, M.Shape[0]
	tokens, texts := generatedNames(e), names(e.Prompt.Texts)
	// first reports whether the first token is a word, and has so much that no other one can be
	// seen.
	first := sunk(M) && !e.Prompt.Special[0]
	for t := range n {
		s := chart.Series{Name: tokens[t]}
		for j := range M.Shape[1] {
			if e.Prompt.Special[j] {
				continue
			}
			s.X = append(s.X, 100*M.At(t, j, M.Top()))
			s.Y = append(s.Y, math.Abs(effect.At(t, j, effect.Top())))
			s.Labels = append(s.Labels, texts[j])
		}
		if rho, ok := evaluate.Spearman(s.X, s.Y); ok {
			correlations = append(correlations, rho)
		}
		if rowmath.Largest(s.X) != rowmath.Largest(s.Y) {
			other++
		}
		if first {
			s.X, s.Y, s.Labels = s.X[1:], s.Y[1:], s.Labels[1:]
		}
		charts = append(charts, s)
	}
	without := "control tokens are left out"
	if first {
		without = fmt.Sprintf("without the first token, which has %.4g %%",
			100*firstShare(M, M.Top()))
	}
	r.picture("", 1, chart.Chart{
		Kind: chart.Scatter, Title: "Rollout and importance of each prompt token",
		Subtitle: "importance: how far the probability of the generated token moves without the " +
			"prompt token (occlusion); " + without,
		X: chart.Axis{Title: "rollout after the last layer", Unit: "%"},
		Y: chart.Axis{Title: "importance, " + effect.Unit}, Series: charts,
	})
	r.check(claim{"top", "The token with the highest rollout is not always the most important one"},
		fmt.Sprintf("for 1 or more of %d generated tokens", n),
		fmt.Sprintf("for %d of %d", other, n), other > 0)
	r.check(claim{"correlation", "The ranks of rollout and importance agree in part only: mean " +
		"rank correlation"}, "below 0.9", short(mean(correlations)), mean(correlations) < 0.9)
	return nil
}

func generativeDepth(r *run) error {
	e, M, err := r.rollout(attribution.Options{
		Methods:   []string{"raw", "value-zeroing"},
		AllLayers: true,
	})
	if err != nil {
		return err
	}
	n, m, l := M.Shape[0], M.Shape[1], M.Shape[2]
	shares := []chart.Series{
		{Name: "raw attention, each layer alone"},
		{Name: "rollout up to the layer"},
		{Name: "Value Zeroing, each layer alone"},
	}
	sources := slices.Clone(shares)
	for i, method := range []string{"raw", "rollout", "value-zeroing"} {
		x := e.Methods[method]
		for k := range min(l, x.Shape[2]) {
			first, wide := 0.0, 0.0
			for t := range n {
				row := x.Row(t, k)[:x.Shape[1]]
				first += 100 * row[0] / float64(n)
				wide += effective(row[1:]) / float64(n)
			}
			shares[i].X, shares[i].Y = append(shares[i].X, float64(x.Layers[k])),
				append(shares[i].Y, first)
			sources[i].X, sources[i].Y = append(sources[i].X, float64(x.Layers[k])),
				append(sources[i].Y, wide)
		}
	}
	layer := chart.Axis{Title: "layer"}
	r.picture("", 2, chart.Chart{
		Kind: chart.Lines, Title: "Share of the first token", X: layer,
		Subtitle: "mean over generated tokens",
		Y:        chart.Axis{Title: "share", Unit: "%"}, Series: shares,
	}, chart.Chart{
		Kind: chart.Lines, Title: "Tokens that share the rest",
		Subtitle: "exponential of the entropy over the other prompt tokens",
		X:        layer, Y: chart.Axis{Title: "tokens"}, Series: sources,
		Rules: []chart.Rule{{Horizontal: true, At: float64(m - 1), Label: "all"}},
	})
	roll := shares[1].Y
	falls := 0
	for k := 1; k < l; k++ {
		if roll[k] < roll[k-1] {
			falls++
		}
	}
	r.check(claim{"rises", "The first token's share of rollout grows from layer to layer"},
		fmt.Sprintf("in all of %d steps", l-1), fmt.Sprintf("in %d of %d", l-1-falls, l-1),
		falls == 0)
	r.above(claim{"top", "After the last layer rollout gives the first token more than layers " +
		"do on average (in %)"}, roll[l-1], mean(shares[0].Y),
		"the mean of raw attention")
	return nil
}

// effective returns over how many tokens a row is spread: the exponential of its entropy, after it
// is divided by its sum; 0 for a row of zeros.
func effective(row []float64) float64 {
	total, h := rowmath.Total(row), 0.0
	if total <= 0 {
		return 0
	}
	for _, v := range row {
		if p := v / total; p > 0 {
			h -= p * math.Log(p)
		}
	}
	return math.Exp(h)
}
