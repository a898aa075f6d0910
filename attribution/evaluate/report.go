package evaluate

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/headwater-ml/headwater/attribution"
)

// Measure is a number by which methods are compared.
type Measure struct {
	Name string `json:"name"`
	// Lower is whether a lower number is better.
	Lower bool `json:"lower,omitempty"`
}

// Measures are all that [Run] knows, in the order in which a report has them; correlations with references follow.
func Measures() []Measure {
	return []Measure{
		{"average precision", false},
		{"reciprocal rank", false},
		{"rank", true},
		{"share on evidence", false},
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
	}
}

// Report is what a run found.
type Report struct {
	// Methods are the lines: those measured, in the order asked for, random, the two that rank by
	// position, and chance where there is evidence.
	Methods  []string  `json:"methods"`
	Measures []Measure `json:"measures"`
	// Groups are those of the cases, in the order in which they come, and "all" if there are several.
	Groups []string `json:"groups"`
	// Table is [group][method][measure].
	Table [][][]Summary `json:"table"`
	// Agreement is that of the methods over all cases.
	Agreement Agreement `json:"agreement"`
	// Cases is how many were scored, and Chosen of how many of them the model would have chosen the
	// token explained. Unproven were not scored because their changes do not prove their evidence,
	// and Selection are those by which layers were chosen.
	Cases     int `json:"cases"`
	Chosen    int `json:"chosen"`
	Unproven  int `json:"unproven"`
	Selection int `json:"selection"`
	// Proofs are what changes of the text did, by group; empty if no case has changes.
	Proofs []Proofs `json:"proofs,omitempty"`
	// Layers are the methods of one layer, layer by layer.
	Layers []Layers `json:"layers,omitempty"`
	// Leads compare the methods case by case with each line that knows nothing of the text.
	Leads []Lead `json:"leads,omitempty"`
}

// Lead is how far methods are above a line, such as [ChanceLine], in average precision.
type Lead struct {
	Line string `json:"line"`
	// Methods has, by the index in [Report.Methods], the differences over all cases. Both are of the
	// same case, so that these intervals tell more apart than those of the methods do.
	Methods []Summary `json:"methods"`
}

// leads compares all methods with the lines.
func (r *Report) leads(results []*Result) (all []Lead) {
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

// newReport summarises results.
func newReport(opts Options, all []*Result) *Report {
	r := &Report{Methods: slices.Clone(opts.Methods)}
	var results, judged []*Result // scored, and all but those for choosing layers
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
			continue
		}
		results = append(results, x)
		if x.Chosen {
			r.Chosen++
		}
		for line, measures := range x.Measures {
			for name := range measures {
				has[name], has[line] = true, true
			}
		}
	}
	r.Cases = len(results)
	for _, line := range []string{EarliestLine, LatestLine, ChanceLine} {
		if has[line] {
			r.Methods = append(r.Methods, line)
		}
	}
	known := Measures()
	for _, reference := range opts.References {
		known = append(known, Measure{Name: "correlation with " + reference})
	}
	for _, m := range known {
		if has[m.Name] {
			r.Measures = append(r.Measures, m)
		}
	}
	if len(r.Groups) > 1 {
		r.Groups = append(r.Groups, "all")
	}
	for _, group := range r.Groups {
		r.Table = append(r.Table, r.summarize(results, group))
		if some := r.of(group, judged); slices.ContainsFunc(some, func(x *Result) bool { return x.Proof != nil }) {
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

// of returns the results of a group.
func (r *Report) of(group string, results []*Result) []*Result {
	return slices.DeleteFunc(slices.Clone(results), func(x *Result) bool { return !x.in(group, r.Groups) })
}

// summarize returns the table of one group.
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

// agree fills in how alike the methods rank the words of the texts.
func (r *Report) agree(methods []string, results []*Result) {
	scores := make([][][]float64, len(methods))
	for i, name := range methods {
		for _, x := range results {
			scores[i] = append(scores[i], sizes(at(x.Scores[name], x.Words)))
		}
	}
	r.Agreement = Agree(methods, scores)
}

// PickedLayer returns the layer that is scored of a method of one layer, over all cases. ok is
// false for other methods, and if the cases are of models that do not agree.
func (r *Report) PickedLayer(method string) (layer int, ok bool) {
	for _, l := range r.Layers {
		if l.Method == method {
			layer = l.Picked[len(l.Picked)-1]
			return layer, layer >= 0
		}
	}
	return 0, false
}

// At returns a summary by names. ok is false if the report does not have it.
func (r *Report) At(group, method, measure string) (s Summary, ok bool) {
	g, m := slices.Index(r.Groups, group), slices.Index(r.Methods, method)
	k := slices.IndexFunc(r.Measures, func(x Measure) bool { return x.Name == measure })
	if g < 0 || m < 0 || k < 0 {
		return Summary{}, false
	}
	return r.Table[g][m][k], true
}

// Ranked returns the methods by a measure over all cases, the best first, without those that do not have it; none for a measure that the
// report does not have.
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
// §3.1): a method that shows what the model does has a correlation near 0, one that shows the text,
// or the positions, has a high one. The random line says how far from 0 chance goes. Only words
// count, no control tokens.
//
// What the model without random weights gave is taken from opts.Done where it is there; cases that
// are not scored are left out. Methods of one layer are compared in the layer that is scored.
func Randomize(ctx context.Context, m, random attribution.Model, cases []Case, opts Options) (map[string]Summary, error) {
	if a, b := m.Info(), random.Info(); a.Layers != b.Layers || a.Vocab != b.Vocab || a.Hash == b.Hash {
		return nil, fmt.Errorf("evaluate: the models must have one shape and other weights: %s has %d layers and %d tokens, %s %d and %d",
			a.Name, a.Layers, a.Vocab, b.Name, b.Layers, b.Vocab)
	}
	done := map[int]*Result{}
	maps.Copy(done, opts.Done)
	opts.Methods, opts.Faithful, opts.References, opts.Done = opts.methods(), false, nil, done
	opts.OnResult = func(r *Result) error {
		done[r.Case] = r
		return nil
	}
	if _, err := Run(ctx, m, cases, opts); err != nil {
		return nil, err
	}
	other := opts
	other.Explain.Scoring.Seed++ // or the random line would agree with itself
	first, second := map[string][][]float64{}, map[string][][]float64{}
	for i, c := range cases {
		a := done[i]
		if !a.scored() {
			continue
		}
		if c.Continuation == "" && !m.Info().Bidirectional {
			c.Continuation = a.Token
		}
		c.Changes = nil // proven already, of the model as it is
		b, err := other.measure(ctx, random, i, c, a.Picked)
		if err != nil {
			return nil, fmt.Errorf("evaluate: case %d of %d with random weights: %w", i, len(cases), err)
		}
		for _, name := range opts.Methods {
			first[name] = append(first[name], sizes(at(a.Scores[name], a.Words)))
			second[name] = append(second[name], sizes(at(b.Scores[name], a.Words)))
		}
	}
	out := map[string]Summary{}
	for _, name := range opts.Methods {
		out[name] = Summarize(Correlations(first[name], second[name]))
	}
	return out, nil
}
