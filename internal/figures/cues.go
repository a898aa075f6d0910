package figures

import (
	"fmt"
	"slices"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/evaluate"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/gonbext/render/chart"
	"github.com/headwater-ml/headwater/internal/reproduction"
	"github.com/headwater-ml/headwater/internal/rowmath"
	"github.com/headwater-ml/headwater/internal/tiny"
)

// maskedCases returns sentences of all kinds of the masked model as cases with their cues.
func (r *run) maskedCases(each int) ([]evaluate.Case, []tiny.Sentence, error) {
	m, _ := tiny.Lookup(tiny.MaskedName)
	mask, _, err := r.mask()
	if err != nil {
		return nil, nil, err
	}
	var cases []evaluate.Case
	var sentences []tiny.Sentence
	for _, kind := range m.Kinds() {
		some, err := r.sentences(tiny.MaskedName, kind, each)
		if err != nil {
			return nil, nil, err
		}
		for _, s := range some {
			c := evaluate.Case{Group: kind, Prompt: s.Filled(mask)}
			if _, _, err := r.masking(c.Prompt); err != nil {
				return nil, nil, err
			}
			for _, w := range s.Sources() {
				begin, end := s.Span(w)
				c.Evidence = append(c.Evidence, [2]int{begin, end})
			}
			cases, sentences = append(cases, c), append(sentences, s)
		}
	}
	return cases, sentences, nil
}

// cueMethods are the methods of the comparison, with the one that it is about first.
var cueMethods = []string{
	"value-zeroing", "raw", "norms", "alti+layer", "rollout", "value-zeroing-rollout",
}

// curves compares every layer of some methods with the cues of some sentences.
func (r *run) curves(cases []evaluate.Case, methods ...string) (*evaluate.CueCurves, error) {
	c, err := evaluate.AlignLayers(r.ctx, r.m, cases, evaluate.CurveOptions{
		Methods: methods, OnProgress: r.o.Progress,
		Explain: attribution.Options{AllLayers: true},
	})
	return c, lacking(err)
}

// sample is how many sentences are read: all, or those of the reduced sample.
func (r *run) sample(full, reduced int) int {
	if r.o.Reduced {
		r.out.Reduced = true
		return reduced
	}
	return full
}

func cueAlignment(r *run) error {
	cases, _, err := r.maskedCases(r.sample(50, 6))
	if err != nil {
		return err
	}
	return r.alignCues(cases)
}

// alignCues compares every layer with the cues of some sentences and checks what the paper claims.
func (r *run) alignCues(cases []evaluate.Case) error {
	c, err := r.curves(cases, cueMethods...)
	if err != nil {
		return err
	}
	g := len(c.Groups) - 1 // all kinds together
	level := map[string][]evaluate.CueLevel{}
	var dot, precision []chart.Series
	for _, curve := range c.Curves {
		level[curve.Method] = curve.Levels[g]
		d, p := chart.Series{Name: curve.Method}, chart.Series{Name: curve.Method}
		for k, x := range curve.Levels[g] {
			d.X, d.Y = append(d.X, float64(curve.Layers[k])), append(d.Y, float64(x.Dot.Mean))
			p.X = append(p.X, float64(curve.Layers[k]))
			p.Y = append(p.Y, float64(x.AveragePrecision.Mean))
		}
		dot, precision = append(dot, d), append(precision, p)
	}
	chance := c.Chance[g]
	subtitle := fmt.Sprintf("mean of %d sentences", c.Cases)
	layer := chart.Axis{Title: "layer"}
	r.picture("", 2, chart.Chart{
		Kind: chart.Lines, Title: "Share of the scores on the cue", Subtitle: subtitle, X: layer,
		Y: chart.Axis{Title: "dot product"}, Series: dot,
		Rules: []chart.Rule{{Horizontal: true, At: float64(chance.Dot.Mean), Label: "chance"}},
	}, chart.Chart{
		Kind: chart.Lines, Title: "Average precision of the cue", Subtitle: subtitle, X: layer,
		Y: chart.Axis{Title: "average precision"}, Series: precision,
		Rules: []chart.Rule{{
			Horizontal: true, At: float64(chance.AveragePrecision.Mean),
			Label: "chance",
		}},
	})
	r.checkCues(level, float64(chance.AveragePrecision.Mean))
	return nil
}

// checkCues compares what the paper claims with the layers of each method. chance is the average
// precision by chance.
func (r *run) checkCues(level map[string][]evaluate.CueLevel, chance float64) {
	average := func(method string) float64 {
		var all []float64
		for _, x := range level[method] {
			all = append(all, float64(x.AveragePrecision.Mean))
		}
		return mean(all)
	}
	for _, other := range []string{"raw", "norms", "alti+layer"} {
		r.above(claim{"over-" + other, "Value Zeroing finds the cue better than " + other +
			": average precision, mean over " +
			"layers"}, average("value-zeroing"), average(other), other)
	}
	zero := level["value-zeroing"]
	best := 0
	for k, x := range zero {
		if x.AveragePrecision.Mean > zero[best].AveragePrecision.Mean {
			best = k
		}
	}
	r.check(claim{"upper", "Value Zeroing is best in the middle or upper layers"},
		fmt.Sprintf("layer %d or higher", len(zero)/3), fmt.Sprintf("layer %d", best),
		best >= len(zero)/3)
	r.above(claim{"chance", "Value Zeroing is better than chance in its best layer"},
		float64(zero[best].AveragePrecision.Mean), chance, "chance")
	r.note("Only the order of two means is compared. A lead in the third digit says that two " +
		"methods rank alike.")
	r.note("The published numbers could not be read in any stored copy, so only directions are " +
		"compared.")
}

// rolledMethods are the methods that give one row for the whole model.
var rolledMethods = []string{"value-zeroing-rollout", "rollout", "norms+rollout", "alti"}

func zeroingFaithfulness(r *run) error {
	cases, sentences, err := r.maskedCases(r.sample(50, 5))
	if err != nil {
		return err
	}
	rho := map[string][]float64{}
	for i, c := range cases {
		e, err := r.explain(c.Prompt, attribution.Options{Methods: rolledMethods})
		if err != nil {
			return err
		}
		importance, words, err := r.blankMask(e, sentences[i])
		if err != nil {
			return err
		}
		compareRows(rho, e, 0, words, importance)
		r.progress("blanking out words", "sentence", i+1, len(cases))
	}
	r.compareRolled(rho, "blank-out", fmt.Sprintf("%d sentences", len(cases)))
	return nil
}

// compareRows adds, for each rolled-out method, the rank correlation of its row of step t with
// importances of some tokens.
func compareRows(
	rho map[string][]float64, e *attribution.Explanation, t int, words []int, importance []float64,
) {
	for _, name := range rolledMethods {
		row := e.Methods[name].Row(t, e.Methods[name].Top())
		if v, ok := evaluate.Spearman(rowmath.Pick(row, words), importance); ok {
			rho[name] = append(rho[name], v)
		}
	}
}

// barTable adds a table and a chart of the mean rank correlation of each method with an importance.
func (r *run) barTable(title, importance string, methods []string, rho map[string][]float64) {
	table := reproduction.Table{
		Title: title, Columns: []string{"method", "mean ± standard deviation"},
	}
	bars := chart.Series{Name: "mean"}
	for _, name := range methods {
		m, sd := spread(rho[name])
		table.Rows = append(table.Rows, []string{name, fmt.Sprintf("%.2f ± %.2f", m, sd)})
		bars.Y = append(bars.Y, m)
	}
	r.table(table)
	r.picture("", 1, chart.Chart{
		Kind: chart.Bars, Title: "Rank correlation with " + importance + " scores",
		X: chart.Axis{Title: "method", Categories: methods}, Y: chart.Axis{Title: "Spearman"},
		Series: []chart.Series{bars},
	})
}

// compareRolled reports rank correlations of the rolled-out methods with an importance.
func (r *run) compareRolled(rho map[string][]float64, importance, sample string) {
	methods := rolledMethods
	r.barTable(fmt.Sprintf("Spearman correlation with %s, %s", importance, sample), importance,
		methods, rho)
	for _, other := range []string{"rollout", "norms+rollout"} {
		r.above(claim{"over-" + other, "Value Zeroing rolled out agrees better with " +
			importance + " than " + other}, mean(rho[methods[0]]), mean(rho[other]), other)
	}
	r.note("ALTI is shown as well; the claim is about attention and norms.")
	r.note("The published numbers could not be read in any stored copy, so only directions are " +
		"compared.")
}

// blankMask returns how far the probability of the right word moves if each word is blanked out,
// and the positions of these words: those of the text but the masked one.
func (r *run) blankMask(
	e *attribution.Explanation, s tiny.Sentence,
) (importance []float64, words []int, err error) {
	_, blank, err := r.mask()
	if err != nil {
		return nil, nil, err
	}
	token, err := r.candidate(s.Right)
	if err != nil {
		return nil, nil, err
	}
	position := *e.Steps[0].Position
	about := trace.Objective{Quantity: trace.Probability, Position: position, Token: token}
	queries := []trace.Query{{IDs: e.Prompt.IDs, Objective: about}}
	for j := range e.Prompt.IDs {
		if j == position || e.Prompt.Special[j] {
			continue
		}
		ids := slices.Clone(e.Prompt.IDs)
		ids[j] = blank
		words = append(words, j)
		queries = append(queries, trace.Query{IDs: ids, Objective: about})
	}
	values, err := r.predict(queries...)
	if err != nil {
		return nil, nil, err
	}
	for i := range words {
		d := values[0] - values[i+1]
		importance = append(importance, max(d, -d))
	}
	return importance, words, nil
}

func zeroingProbing(r *run) error {
	cases, sentences, err := r.maskedCases(r.sample(150, 30))
	if err != nil {
		return err
	}
	// The label is the right word of the pair: what the masked place needs. Every kind has words of
	// its own, so only one kind is probed.
	var same []evaluate.Case
	var labels []int
	states := make([][]float32, r.info.Layers+1) // of the masked token, [N,D]
	for i, s := range sentences {
		if s.Kind != "pronoun" {
			continue
		}
		ids, position, err := r.masking(cases[i].Prompt)
		if err != nil {
			return err
		}
		if err := r.appendStates(states, ids, position); err != nil {
			return err
		}
		label := 0
		if s.Right == "her" {
			label = 1
		}
		labels, same = append(labels, label), append(same, cases[i])
		r.progress("recording hidden states", "sentence", len(same), len(cases))
	}
	return r.probe(probed{
		cases: same[:min(len(same), r.sample(50, 6))], labels: labels, states: states,
		what: "sentences with a masked pronoun",
	})
}

// probed are sentences whose label a probe reads.
type probed struct {
	// cases are those whose cues are compared, and labels are of all sentences, 0 or 1.
	cases  []evaluate.Case
	labels []int
	// states has the vectors that are probed after each layer, the embedding first, [L+1][N,D].
	states [][]float32
	// what are the sentences.
	what string
}

// probe reads labels in each layer and compares what each layer adds with its cue alignment.
func (r *run) probe(x probed) error {
	code := chart.Series{Name: "compression"}
	for l, features := range x.states {
		c, err := evaluate.OnlineCode(r.ctx, features, x.labels, 2, evaluate.ProbeOptions{})
		if err != nil {
			return err
		}
		code.X, code.Y = append(code.X, float64(l)), append(code.Y, float64(c.Compression))
	}
	c, err := r.curves(x.cases, "value-zeroing")
	if err != nil {
		return err
	}
	var gains, aligned []float64
	gain := chart.Series{Name: "gain of the probe"}
	for l := 1; l < len(code.Y); l++ {
		gains = append(gains, code.Y[l]-code.Y[l-1])
		gain.X, gain.Y = append(gain.X, float64(l-1)), append(gain.Y, gains[l-1])
	}
	zero := chart.Series{Name: "Value Zeroing on the cue"}
	for k, level := range c.Curves[0].Levels[0] {
		aligned = append(aligned, float64(level.Dot.Mean))
		zero.X, zero.Y = append(zero.X, float64(c.Curves[0].Layers[k])), append(zero.Y, aligned[k])
	}
	r.picture("", 3, chart.Chart{
		Kind: chart.Lines, Title: "Online code of a linear probe",
		Subtitle: fmt.Sprintf("%d %s; 1 is chance", len(x.labels), x.what),
		X:        chart.Axis{Title: "hidden state"}, Y: chart.Axis{Title: "compression"},
		Series: []chart.Series{code},
		Rules:  []chart.Rule{{Horizontal: true, At: 1, Label: "chance"}},
	}, chart.Chart{
		Kind: chart.Lines, Title: "What each layer adds", X: chart.Axis{Title: "layer"},
		Y: chart.Axis{Title: "gain of compression"}, Series: []chart.Series{gain},
	}, chart.Chart{
		Kind: chart.Lines, Title: "Value Zeroing on the cue", X: chart.Axis{Title: "layer"},
		Y: chart.Axis{Title: "dot product"}, Series: []chart.Series{zero},
	})
	top := len(code.Y) - 1
	r.above(claim{"learns", "The probe reads more after the last layer than in the embedding: " +
		"compression"}, code.Y[top], code.Y[0], "the embedding")
	rho, ok := evaluate.Spearman(gains, aligned)
	r.check(claim{"follows", "Layers where the probe gains are those where Value Zeroing lies on " +
		"the cue: rank correlation over layers"}, "above 0", short(rho), ok && rho > 0)
	r.note("A rank correlation over %d layers is above 0 by chance in nearly half of all cases, "+
		"so look at the curves: which layer gains most?", len(gains))
	return nil
}

// appendStates appends the hidden states of one token of a text, those of the embedding and after
// each layer.
func (r *run) appendStates(states [][]float32, ids []int, position int) error {
	tensors, err := r.trace(ids, trace.Hidden)
	if err != nil {
		return err
	}
	d := r.info.Width
	for l := range states {
		from := (l*len(ids) + position) * d
		states[l] = append(states[l], tensors[0].Data[from:from+d]...)
	}
	return nil
}
