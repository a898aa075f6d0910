package attribution

import (
	"maps"
	"slices"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/attribution/units"
	"github.com/headwater-ml/headwater/internal/rowmath"
)

// groupTargets returns a copy in which each row is that of a stretch of generated tokens:
//
//	M[G,j,l] = Σ_{t∈G} M[t,j,l]
//
// or the highest of the values where they do not add up, as those of flow do not. Generated tokens
// as sources are grouped in the same way, so a row has one more of them than there are rows before
// it: the last one, its own, is what later tokens of the group have from earlier ones. A method
// whose tokens have different layers shown has only the layers shown, unless all are asked for.
func (e *Explanation) groupTargets(target units.Grouping, allLayers bool) (*Explanation, error) {
	all, lacks := target.Divide(e.generated(e.Steps))
	g := *e
	g.Steps = nil
	for _, s := range all {
		joined := joinSteps(e.Steps[s.Begin:s.End], s.Rest)
		joined.Tokens, joined.Word = [2]int{s.Begin, s.End}, s.Word
		g.Steps = append(g.Steps, joined)
	}
	g.Methods = map[string]*Result{}
	for name, r := range e.Methods {
		g.Methods[name] = r.groupTargets(all, allLayers)
		g.Methods[name].Target = target.String()
		g.Methods[name].Options["target"] = target.String()
	}
	return &g, lacking(target, lacks)
}

// lacking returns a usage error if a text lacks something that a target names, nil for "".
func lacking(target units.Grouping, lacks string) error {
	if lacks == "" {
		return nil
	}
	return LookupOption("target").usagef("%s %s; %s", trace.Called("target"), target, lacks)
}

// joinSteps returns some generated tokens as one. Its probability is that of all of them, one after
// the other.
func joinSteps(steps []GeneratedToken, rest bool) GeneratedToken {
	g := steps[0]
	g.IDs, g.Rest, g.Probability, g.Text = []int{}, rest, 1, ""
	for _, s := range steps {
		g.IDs, g.Text = append(g.IDs, s.ID), g.Text+s.Text
		g.Probability *= s.Probability
		g.Special, g.Forced = g.Special && s.Special, g.Forced && s.Forced
		g.Unscored = g.Unscored || s.Unscored
	}
	if len(steps) > 1 {
		g.Alternatives, g.Scores, g.Studies = []Alternative{}, nil, nil
	}
	return g
}

// groupTargets returns the result with a row for each stretch.
func (r *Result) groupTargets(all []units.Stretch, allLayers bool) *Result {
	g, m, L := *r, r.Shape[1], r.Shape[2]
	f := r.describeTargets(&g)
	g.Rows, g.Shown, g.OtherMass = nil, nil, nil
	g.Explained, g.Residue = sumsOf(r.Explained, all), sumsOf(r.Residue, all)
	for _, s := range all {
		g.Shown = append(g.Shown, r.shownIn(s, allLayers))
	}
	level := func(_, k int) int { return k }
	if L > 1 && slices.Contains(g.Shown, LayerByToken) {
		g.Layers = []int{LayerByToken}
		level = func(t, _ int) int { return r.Level(t) }
	}
	K := len(g.Layers)
	g.Shape = [3]int{len(all), m, K}
	var in []int // from a generated token to its units.Stretch
	for i, s := range all {
		in = append(in, slices.Repeat([]int{i}, s.End-s.Begin)...)
	}
	for i, s := range all {
		for k := range K {
			row, sum := make([]float64, m+i+1), 0.0
			for t := s.Begin; t < s.End; t++ {
				at := level(t, k)
				for j, x := range r.Row(t, at) {
					if j >= m {
						j = m + in[j-m]
					}
					row[j] = f(row[j], x)
				}
				sum += r.OtherMass[t*L+at]
			}
			g.Rows, g.OtherMass = append(g.Rows, row), append(g.OtherMass, sum)
		}
	}
	return &g
}

// describeTargets sets the unit and the options of a result with rows of several tokens, g. It
// returns the function that combines values, of which none is below 0 unless they are added up.
func (r *Result) describeTargets(g *Result) func(a, b float64) float64 {
	f, how := func(a, b float64) float64 { return a + b }, "sum"
	if r.AddsUp {
		g.Quantity = Amount // shares of several rows may be more than one row
	} else {
		f, how = func(a, b float64) float64 { return max(a, b) }, "highest"
	}
	g.Options = map[string]string{"targets": how + " of tokens"}
	maps.Copy(g.Options, r.Options)
	g.Unit = how + " over the target's tokens of " + r.Unit
	return f
}

// shownIn returns the layer that a picture of some generated tokens shows: that of all of them; of
// different ones the layer of most tokens, the deepest of equally many, if the result has all
// layers and they are asked for, else [LayerByToken].
func (r *Result) shownIn(s units.Stretch, allLayers bool) int {
	count := map[int]int{}
	most := LayerByToken
	for t := s.Begin; t < s.End; t++ {
		count[r.Layer(t, r.Level(t))]++
	}
	for layer, n := range count {
		if n > count[most] || n == count[most] && layer > most {
			most = layer
		}
	}
	if len(count) > 1 && (!allLayers || len(r.Layers) == 1) {
		return LayerByToken
	}
	return most
}

// sumsOf returns the sums of numbers over stretches, nil if there are none.
func sumsOf(numbers []float64, all []units.Stretch) (sums []float64) {
	if numbers == nil {
		return nil
	}
	for _, s := range all {
		sums = append(sums, rowmath.Total(numbers[s.Begin:s.End]))
	}
	return sums
}
