package evaluate

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/rowmath"
)

// Measure is a number by which methods are compared.
type Measure struct {
	Name string `json:"name"`
	// Lower reports whether a lower number is better.
	Lower bool `json:"lower,omitempty"`
}

// measures returns all measures of [Run] in the order of a report. Correlations with references
// follow them there.
func measures() []Measure {
	return slices.Concat([]Measure{
		{"average precision", false},
		{"reciprocal rank", false},
		{"rank", true},
		{"share on evidence", false},
	}, pointingMeasures(), []Measure{
		{patchMeasures[0], false},
		{patchMeasures[1], false},
		{"AOPC", false},
		{"NAOPC", false},
		{"comprehensiveness", false},
		{"sufficiency", true},
		{"normalised comprehensiveness", false},
		{"normalised sufficiency", false},
		{"soft comprehensiveness", false},
		{"soft sufficiency", false},
		{"deletion area", true},
		{"insertion area", false},
		{flipMeasures[0], false},
		{flipMeasures[1], false},
		{ldsMeasure, false},
		{dropMeasure, false},
	})
}

// Report has the summaries of a run. Tables are over the cases that are scored.
type Report struct {
	// Methods are the rows of tables: the methods in the order asked for, then random, the two
	// rankings by position, and chance if there is evidence.
	Methods  []string  `json:"methods"`
	Measures []Measure `json:"measures"`
	// Groups are the groups of the cases in the order of their first case, and "all" if there are
	// several.
	Groups []string `json:"groups"`
	// Table is [group][method][measure].
	Table [][][]Summary `json:"table"`
	// Agreement is how similarly the methods rank tokens, over all cases.
	Agreement Agreement `json:"agreement"`
	// Cases is the number of cases scored, and Chosen the number of these in which the model would
	// have chosen the token explained. Unproven cases are not scored because their changes do not
	// prove their evidence. Selection cases are for choosing layers.
	Cases     int `json:"cases"`
	Chosen    int `json:"chosen"`
	Unproven  int `json:"unproven"`
	Selection int `json:"selection"`
	// Proofs has the results of changes by group; empty if no case has changes. Refuted are the
	// cases that are not scored because of them, in the order of the cases.
	Proofs  []Proofs  `json:"proofs,omitempty"`
	Refuted []Refuted `json:"refuted,omitempty"`
	// Layers has the results of methods of one layer, layer by layer. EncoderLayers is that of
	// [trace.Info], by which layers are named.
	Layers        []Layers `json:"layers,omitempty"`
	EncoderLayers int      `json:"encoder_layers,omitempty"`
	// Leads compare the methods, case by case, with each of [Lines].
	Leads []Lead `json:"leads,omitempty"`
}

// Refuted is a case whose evidence is not proven.
type Refuted struct {
	Prompt string `json:"prompt"`
	// Reason is [Proof.Reason].
	Reason string `json:"reason"`
}

// Lead is how far methods are above one of [Lines], such as [ChanceLine], in average precision.
type Lead struct {
	Line string `json:"line"`
	// Methods has the differences over all cases, by the index in [Report.Methods]. Each difference
	// is within one case, so its interval is narrower than those of the two methods.
	Methods []Summary `json:"methods"`
}

// leads compares all methods with the lines. A line that no case has, such as chance without
// evidence, is left out.
func (r *Report) leads(results []*Result) (all []Lead) {
	// Differences are within a case, so that easy and hard texts do not widen the interval.
	for _, line := range Lines() {
		lead := Lead{Line: line}
		found := false
		for _, name := range r.Methods {
			var differences []float64
			for _, x := range results {
				a, ok := x.Measures[name][layerMeasure]
				b, has := x.Measures[line][layerMeasure]
				if ok && has {
					differences = append(differences, float64(a-b))
				}
			}
			lead.Methods = append(lead.Methods, Summarize(differences))
			found = found || len(differences) > 0
		}
		if found {
			all = append(all, lead)
		}
	}
	return all
}

// newReport summarises results of some of the cases of a model.
func newReport(of trace.Info, opts Options, cases []Case, all []*Result) *Report {
	r := &Report{Methods: slices.Clone(opts.Methods), EncoderLayers: of.EncoderLayers}
	var results, judged []*Result // those scored, and those not for choosing layers
	has := map[string]bool{}
	for _, x := range all {
		if x.Selection {
			if x.Proof == nil || x.Proof.Proven() {
				r.Selection++
			}
			continue
		}
		judged = append(judged, x)
		if !slices.Contains(r.Groups, x.Group) {
			r.Groups = append(r.Groups, x.Group)
		}
		if !x.scored() {
			r.Unproven++
			r.Refuted = append(r.Refuted, Refuted{cases[x.Case].Prompt, x.Proof.Reason})
			continue
		}
		results = append(results, x)
		if x.Chosen {
			r.Chosen++
		}
		// A measure that no case has gets no column.
		for line, measures := range x.Measures {
			for name := range measures {
				has[name], has[line] = true, true
			}
		}
	}
	r.Cases = len(results)
	r.addMeasured(opts.References, has)
	if len(r.Groups) > 1 {
		r.Groups = append(r.Groups, allGroup)
	}
	for _, group := range r.Groups {
		r.Table = append(r.Table, r.summarize(results, group))
		if some := r.of(group, judged); slices.ContainsFunc(some, func(x *Result) bool {
			return x.Proof != nil
		}) {
			r.Proofs = append(r.Proofs, proofsOf(group, some))
		}
	}
	if len(r.Groups) > 0 {
		r.Layers = layersOf(r, results)
	}
	r.agree(opts.Methods, results)
	r.Leads = r.leads(results)
	return r
}

// addMeasured adds the lines and the measures that some case has, in the order of measures and not
// of a map, so that equal results give equal reports.
func (r *Report) addMeasured(references []string, has map[string]bool) {
	for _, line := range []string{EarliestLine, LatestLine, ChanceLine} {
		if has[line] {
			r.Methods = append(r.Methods, line)
		}
	}
	known := measures()
	for _, reference := range references {
		known = append(known, Measure{Name: "correlation with " + reference})
	}
	for _, m := range known {
		if has[m.Name] {
			r.Measures = append(r.Measures, m)
		}
	}
}

// of returns the results of a group. The last group of several has all results.
func (r *Report) of(group string, results []*Result) []*Result {
	return slices.DeleteFunc(slices.Clone(results), func(x *Result) bool {
		return !x.in(group, r.Groups)
	})
}

// summarize returns the table of one group. A method without a measure has an empty summary there.
func (r *Report) summarize(results []*Result, group string) [][]Summary {
	table := make([][]Summary, len(r.Methods))
	some := r.of(group, results)
	for i, method := range r.Methods {
		for _, measure := range r.Measures {
			var values []float64
			for _, x := range some {
				if v, ok := x.Measures[method][measure.Name]; ok {
					values = append(values, float64(v))
				}
			}
			table[i] = append(table[i], Summarize(values))
		}
	}
	return table
}

// agree sets how similarly the methods rank the words of the texts. Sizes are compared, because
// scorers are signed and mixings are not.
func (r *Report) agree(methods []string, results []*Result) {
	scores := make([][][]float64, len(methods))
	for i, name := range methods {
		for _, x := range results {
			scores[i] = append(scores[i], sizes(rowmath.Pick(x.Scores[name], x.Words)))
		}
	}
	r.Agreement = agree(methods, scores)
}

// PickedLayer returns the layer in which a method of one layer is scored. ok is false for other
// methods, and if the cases are from models with different layers.
func (r *Report) PickedLayer(method string) (layer int, ok bool) {
	for _, l := range r.Layers {
		if l.Method == method {
			layer = l.Picked[len(l.Picked)-1]
			return layer, layer >= 0
		}
	}
	return 0, false
}

// LayerName returns the name of a layer as [trace.Info.LayerName] does.
func (r *Report) LayerName(l int) string {
	return trace.Info{EncoderLayers: r.EncoderLayers}.LayerName(l)
}

// At returns the summary of a group, method and measure. ok is false if the report does not have
// it.
func (r *Report) At(group, method, measure string) (s Summary, ok bool) {
	g, m := slices.Index(r.Groups, group), slices.Index(r.Methods, method)
	k := slices.IndexFunc(r.Measures, func(x Measure) bool { return x.Name == measure })
	if g < 0 || m < 0 || k < 0 {
		return Summary{}, false
	}
	return r.Table[g][m][k], true
}

// Means returns the means of a measure of a method, one for each of Groups; 0 where the report does
// not have it.
func (r *Report) Means(method, measure string) []float64 {
	means := make([]float64, len(r.Groups))
	for i, group := range r.Groups {
		s, _ := r.At(group, method, measure)
		means[i] = s.Mean
	}
	return means
}

// Ranked returns the methods that have a measure, ordered by its mean over all cases, the best
// first. It returns nil if the report does not have the measure.
func (r *Report) Ranked(measure string) []string {
	k := slices.IndexFunc(r.Measures, func(m Measure) bool { return m.Name == measure })
	if k < 0 || len(r.Groups) == 0 {
		return nil
	}
	all := r.Table[len(r.Groups)-1]
	var order []int
	for i := range r.Methods {
		if all[i][k].N > 0 {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(i, j int) int {
		if r.Measures[k].Lower {
			i, j = j, i
		}
		return cmp.Compare(all[j][k].Mean, all[i][k].Mean)
	})
	var names []string
	for _, i := range order {
		names = append(names, r.Methods[i])
	}
	return names
}

// Randomize explains the cases by a model and by one of the same shape with random weights, and
// returns for each method the rank correlation of the sizes of their scores (Adebayo et al. 2018,
// §3.1): a method that depends on the model has a correlation near 0, and one that depends only on
// the text or the positions has a high one. The correlation of random scores shows how far from 0
// chance goes. Control tokens do not count.
//
// Results of the trained model are taken from opts.Done if they are there. Cases that are not
// scored are left out. Methods of one layer are compared in the layer that is scored.
func Randomize(
	ctx context.Context, m, random trace.Model, cases []Case, opts Options,
) (map[string]Summary, error) {
	if a, b := m.Info(), random.Info(); a.Layers != b.Layers || a.Vocab != b.Vocab ||
		a.Hash == b.Hash {
		return nil, pkg.Errorf("the models must have one shape and other weights: %s "+
			"has %d layers and %d tokens, %s %d and %d",
			a.Name, a.Layers, a.Vocab, b.Name, b.Layers, b.Vocab)
	}
	done := map[int]*Result{}
	maps.Copy(done, opts.Done)
	opts.Methods, opts.Done = opts.methods(m.Info()), done
	opts.Faithful, opts.References = false, nil
	opts.OnResult = func(r *Result) error {
		done[r.Case] = r
		return nil
	}
	if _, err := Run(ctx, m, cases, opts); err != nil {
		return nil, err
	}
	other := opts
	other.Explain.Scoring.Seed++ // otherwise random scores would agree with themselves
	first, second := map[string][][]float64{}, map[string][][]float64{}
	for i, c := range cases {
		a := done[i]
		if a == nil || !a.scored() {
			continue
		}
		// Both models must be asked about the same token.
		if c.Continuation == "" && !m.Info().Reads() {
			c.Continuation = a.Token
		}
		if c.Counterfactual != "" {
			c.Contrast = a.Foil
		}
		c.Changes, c.Counterfactual = nil, "" // proven already, of the model as it is
		b, err := other.measure(ctx, random, i, c, a.Picked)
		if err != nil {
			return nil, pkg.Errorf("case %d of %d with random weights: %w", i, len(cases), err)
		}
		for _, name := range opts.Methods {
			first[name] = append(first[name], sizes(rowmath.Pick(a.Scores[name], a.Words)))
			second[name] = append(second[name], sizes(rowmath.Pick(b.Scores[name], a.Words)))
		}
	}
	out := map[string]Summary{}
	for _, name := range opts.Methods {
		out[name] = Summarize(correlations(first[name], second[name]))
	}
	return out, nil
}
