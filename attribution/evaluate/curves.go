package evaluate

import (
	"context"
	"fmt"
	"slices"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/rowmath"
)

// CurveOptions are the options of [AlignLayers]. The zero value measures the default methods of the
// model.
type CurveOptions struct {
	// Methods are names of methods. Default: [attribution.DefaultMethods] of the model. The level
	// of random scores is known without them: [CueCurves.Chance].
	Methods []string
	// Explain has the options of every explanation; see [Options.Explain].
	Explain attribution.Options
	// EveryToken ranks control tokens such as [CLS] as well. Then the scores of a row that sums to
	// 1 are not divided by anything, as in Mohebbi et al. 2023. Otherwise the text alone is ranked.
	EveryToken bool
	// OnProgress is called after every case; nil for no calls.
	OnProgress func(trace.Progress)
}

// CueCurves measure how well each layer of some methods finds cues.
type CueCurves struct {
	Model trace.Info `json:"model"`
	// Cases is the number of sentences. Groups are those of the cases, in their order; if there are
	// several, the last one is "all".
	Cases  int      `json:"cases"`
	Groups []string `json:"groups"`
	// Curves has one curve for each method, in the order of the methods.
	Curves []CueCurve `json:"curves"`
	// Chance has, for each group, the mean over the cases of [Chance] of as many tokens and cues:
	// the level of a method that knows nothing.
	Chance []CueLevel `json:"chance"`
}

// CueCurve has the measures of a method in each layer.
type CueCurve struct {
	Method string `json:"method"`
	// Layers are the layers up to which the method looks, or the layer that it looks at, 0-based;
	// scorers have one entry, since they look at the whole model.
	Layers []int `json:"layers"`
	// Levels are [group][layer].
	Levels [][]CueLevel `json:"levels"`
}

// CueLevel summarises the measures of [Align] over cases.
type CueLevel struct {
	// Dot is S·ζ/ΣS, the share of the scores that lies on the cues, and AveragePrecision how high
	// these are ranked, both in [0,1].
	Dot              Summary `json:"dot"`
	AveragePrecision Summary `json:"average_precision"`
}

// cueValues are the measures of each case in one layer.
type cueValues struct{ dot, precision []float64 }

func (v *cueValues) add(c Cues) {
	v.dot = append(v.dot, float64(c.Dot))
	v.precision = append(v.precision, c.AveragePrecision)
}

// of summarises the cases for which use is true.
func (v *cueValues) of(use []bool) CueLevel {
	var dot, precision []float64
	for i, is := range use {
		if is {
			dot, precision = append(dot, v.dot[i]), append(precision, v.precision[i])
		}
	}
	return CueLevel{Dot: Summarize(dot), AveragePrecision: Summarize(precision)}
}

// AlignLayers compares the row of every layer of every method with the evidence of each case, its
// cues (Mohebbi et al. 2023, §5.1 and Figure 3). The row is that of the token which is explained:
// for encoders the masked one or that at the case's position, for decoders the predicting position
// of the continuation. Signed scores count by their size. An explanation of all layers is made for
// each case, so Value Zeroing and other methods that evaluate a block for every source cost that in
// all layers. Changes and counterfactuals of cases are not tried; see [Run].
//
// It returns an error that names the case: without evidence, or with evidence that no token lies
// in; with not exactly one prediction; errors of the options and of the model; or one that wraps
// ctx.Err().
func AlignLayers(
	ctx context.Context, m trace.Model, cases []Case, opts CurveOptions,
) (*CueCurves, error) {
	if err := checkGroups(cases); err != nil {
		return nil, err
	}
	o := Options{Methods: expand(opts.Methods), Explain: opts.Explain}
	if len(o.Methods) == 0 {
		o.Methods = attribution.DefaultMethods(m.Info())
	}
	r := &CueCurves{Model: m.Info(), Cases: len(cases)}
	values := map[string][]*cueValues{} // [layer] by method
	layers := map[string][]int{}
	chance := &cueValues{}
	for i, c := range cases {
		if !slices.Contains(r.Groups, c.Group) {
			r.Groups = append(r.Groups, c.Group)
		}
		err := o.alignCase(ctx, m, c, opts.EveryToken, func(
			name string, levels []int, all []Cues, byChance Cues,
		) error {
			if name == ChanceLine {
				chance.add(byChance)
				return nil
			}
			if values[name] == nil {
				layers[name], values[name] = levels, make([]*cueValues, len(levels))
				for k := range levels {
					values[name][k] = &cueValues{}
				}
			}
			if !slices.Equal(levels, layers[name]) {
				return fmt.Errorf("method %s has the layers %v, and %v in the case before", name,
					levels, layers[name])
			}
			for k, cues := range all {
				values[name][k].add(cues)
			}
			return nil
		})
		if err != nil {
			return nil, c.wrap(i, len(cases), err)
		}
		if opts.OnProgress != nil {
			opts.OnProgress(trace.Progress{
				Stage: "comparing layers with cues", Unit: "case", Done: i + 1, Total: len(cases),
			})
		}
	}
	if len(r.Groups) > 1 {
		r.Groups = append(r.Groups, allGroup)
	}
	r.summarize(cases, o.Methods, layers, values, chance)
	return r, nil
}

// alignCase explains a case and calls use with the measures of each layer of each method, and last
// with those of chance.
func (o Options) alignCase(
	ctx context.Context, m trace.Model, c Case, everyToken bool,
	use func(name string, layers []int, all []Cues, chance Cues) error,
) error {
	c.Counterfactual, c.Changes = "", nil
	if m.Info().Reads() {
		c.Continuation = "" // an encoder explains what it reads
	}
	e, err := o.explain(ctx, m, c)
	if err != nil {
		return err
	}
	r := &Result{}
	r.describe(e)
	if everyToken {
		r.Words = nil
		for j := range e.Prompt.IDs {
			r.Words = append(r.Words, j)
		}
	}
	cue, err := r.cues(e.Prompt, c, false)
	if err != nil {
		return err
	}
	if cue == nil {
		return fmt.Errorf("%.60q has no evidence to compare with", c.Prompt)
	}
	for _, name := range o.Methods {
		res := e.Methods[name]
		ranked, cue := r.rankedBy(e, name, cue)
		var all []Cues
		for k := range res.Layers {
			all = append(all, Align(sizes(rowmath.Pick(res.Row(0, k), ranked)), cue))
		}
		if err := use(name, res.Layers, all, Cues{}); err != nil {
			return err
		}
	}
	return use(ChanceLine, nil, nil, chance(cue))
}

// summarize fills in the curves and the level of chance.
func (r *CueCurves) summarize(
	cases []Case, methods []string, layers map[string][]int, values map[string][]*cueValues,
	chance *cueValues,
) {
	groups := make([][]bool, len(r.Groups)) // [group][case]
	for g, group := range r.Groups {
		for _, c := range cases {
			all := g == len(r.Groups)-1 && g > 0
			groups[g] = append(groups[g], all || c.Group == group)
		}
		r.Chance = append(r.Chance, chance.of(groups[g]))
	}
	for _, name := range methods {
		curve := CueCurve{Method: name, Layers: layers[name]}
		for _, use := range groups {
			var levels []CueLevel
			for _, v := range values[name] {
				levels = append(levels, v.of(use))
			}
			curve.Levels = append(curve.Levels, levels)
		}
		r.Curves = append(r.Curves, curve)
	}
}
