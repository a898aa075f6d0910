package figures

import (
	"fmt"

	"github.com/headwater-ml/headwater/gonbext/render/chart"
	"github.com/headwater-ml/headwater/internal/reproduction"
	"github.com/headwater-ml/headwater/internal/tiny"
)

// published is a stated mean with its standard deviation.
type published struct{ mean, sd float64 }

// correlationTable is a table of the paper: rank correlations of three methods with an importance,
// by layer. layers are those that the paper states, 0-based.
type correlationTable struct {
	model string
	// full and reduced are how many sentences are read.
	full, reduced int
	layers        []int
	// least is the number of layers that shape compares.
	least      int
	stated     map[string][]published
	importance func(*run, *reading) ([]float64, error)
	what       string
	// shape checks the directions that the paper claims.
	shape func(r *run, mean func(method string, l int) float64)
}

var table1 = correlationTable{
	model: tiny.VerbName, full: 2000, reduced: 40, layers: []int{0, 1, 2, 3, 4, 5},
	stated: map[string][]published{
		"raw":     {{.69, .27}, {.10, .43}, {-.11, .49}, {-.09, .52}, {.20, .45}, {.29, .39}},
		"rollout": {{.32, .26}, {.38, .27}, {.51, .26}, {.62, .26}, {.70, .25}, {.71, .24}},
		"flow":    {{.32, .26}, {.44, .29}, {.70, .25}, {.70, .22}, {.71, .22}, {.70, .22}},
	},
	importance: (*run).blankOut, what: "blank-out scores", shape: verbShape, least: 3,
}

var table2 = correlationTable{
	model: tiny.VerbName, full: 2000, reduced: 40, layers: []int{0, 1, 2, 3, 4, 5},
	stated: map[string][]published{
		"raw":     {{.53, .33}, {.16, .38}, {-.06, .42}, {.00, .47}, {.24, .40}, {.46, .35}},
		"rollout": {{.22, .31}, {.27, .32}, {.39, .32}, {.47, .32}, {.53, .32}, {.54, .31}},
		"flow":    {{.22, .31}, {.31, .34}, {.54, .32}, {.61, .28}, {.60, .28}, {.61, .28}},
	},
	importance: (*run).gradients, what: "norms of input gradients", shape: verbShape, least: 3,
}

var table3 = correlationTable{
	model: tiny.SentimentName, full: 100, reduced: 20, layers: []int{0, 2, 4, 5},
	stated: map[string][]published{
		"raw":     {{.12, .21}, {.09, .21}, {.08, .20}, {.09, .21}},
		"rollout": {{.11, .19}, {.12, .21}, {.13, .21}, {.13, .20}},
		"flow":    {{.11, .19}, {.11, .21}, {.12, .22}, {.14, .21}},
	},
	importance: (*run).blankOut, what: "blank-out scores", shape: sentimentShape,
}

func (t correlationTable) make(r *run) error {
	if err := r.needLayers(t.least); err != nil {
		return err
	}
	n := r.sample(t.full, t.reduced)
	sentences, err := r.sentences(t.model, "", n)
	if err != nil {
		return err
	}
	all, sums := correlations{}, &summed{correlations: correlations{}}
	for i, s := range sentences {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		x, err := r.read(s, attentionMethods...)
		if err != nil {
			return err
		}
		importance, err := t.importance(r, x)
		if err != nil {
			return err
		}
		all.correlate(x, importance)
		sums.add(x, importance)
		r.progress("reading sentences", "sentence", i+1, n)
	}
	t.report(r, all, n)
	r.reportSums(sums, n)
	return nil
}

// reportSums writes the rank correlations with the sum of the gradient's components, or says that
// this sum is rounding.
func (r *run) reportSums(sums *summed, n int) {
	switch {
	case len(sums.correlations) == 0: // no gradients
		return
	case sums.rounding():
		r.note("The paper adds up the components of a gradient, |Σ_D ∂/∂e|. Here they add up to "+
			"0: in each of %d sentences the sum is below %s of the norm for every word. A norm "+
			"that takes out the mean follows the embedding of %s, so the sum says nothing, and "+
			"the norm of the gradient is compared instead.", n, short(sumRounding),
			modelName(r.info.Name))
		return
	}
	table := reproduction.Table{
		Name: "sums", Columns: []string{"method"},
		Title: fmt.Sprintf("Rank correlation with the sum of the gradient's components, "+
			"|Σ_D ∂/∂e|, as in the paper; mean ± standard deviation of %d sentences", n),
	}
	for l := range r.info.Layers {
		table.Columns = append(table.Columns, fmt.Sprintf("layer %d", l))
	}
	for _, method := range attentionMethods {
		row := []string{method}
		for _, rho := range sums.correlations[method] {
			m, sd := spread(rho)
			row = append(row, fmt.Sprintf("%.2f ± %.2f", m, sd))
		}
		table.Rows = append(table.Rows, row)
	}
	r.table(table)
}

// report writes the table, the chart and the checks.
func (t correlationTable) report(r *run, all correlations, n int) {
	table := reproduction.Table{Title: fmt.Sprintf("Rank correlation with %s, mean ± standard "+
		"deviation of %d sentences", t.what, n)}
	table.Columns = []string{"method", "from"}
	for l := range r.info.Layers {
		table.Columns = append(table.Columns, fmt.Sprintf("layer %d", l))
	}
	var series []chart.Series
	for _, method := range attentionMethods {
		ours, theirs := []string{method, "here"}, []string{method, "paper"}
		line := chart.Series{Name: method + ", here"}
		stated := chart.Series{Name: method + ", paper"}
		for l := range r.info.Layers {
			m, sd := spread(all[method][l])
			ours = append(ours, fmt.Sprintf("%.2f ± %.2f", m, sd))
			line.X, line.Y = append(line.X, float64(l)), append(line.Y, m)
			cell := ""
			for i, k := range t.layers {
				if k == l {
					p := t.stated[method][i]
					cell = fmt.Sprintf("%.2f ± %.2f", p.mean, p.sd)
					stated.X, stated.Y = append(stated.X, float64(l)), append(stated.Y, p.mean)
				}
			}
			theirs = append(theirs, cell)
		}
		table.Rows = append(table.Rows, ours, theirs)
		series = append(series, line, stated)
	}
	r.table(table)
	r.picture("", 1, chart.Chart{
		Kind: chart.Lines, Title: "Rank correlation with " + t.what,
		Subtitle: fmt.Sprintf("mean of %d sentences", n),
		X:        chart.Axis{Title: "layer"}, Y: chart.Axis{Title: "Spearman"}, Series: series,
	})
	at := func(method string, l int) float64 {
		m, _ := spread(all[method][l])
		return m
	}
	for _, method := range attentionMethods {
		for i, l := range t.layers {
			if l < r.info.Layers {
				p := t.stated[method][i]
				r.near(claim{fmt.Sprintf("%s-%d", method, l), fmt.Sprintf(
					"%s, layer %d: stated mean, within one standard deviation", method, l)},
					p.mean, p.sd, at(method, l))
			}
		}
	}
	t.shape(r, at)
	r.note("Control tokens are left out of every ranking. So raw attention and rollout rank the " +
		"words alike in the first layer, where they differ in the class token alone; the paper " +
		"has different numbers for the two.")
	r.note("The paper's standard deviation is that of single sentences. A mean within it is of " +
		"about the same size as the paper's, not the same number.")
}

func verbShape(r *run, at func(string, int) float64) {
	top, middle := r.info.Layers-1, r.info.Layers/2
	r.above(claim{"raw-falls", "Raw attention correlates better in the first layer than in the " +
		"middle"}, at("raw", 0), at("raw", middle), fmt.Sprintf("layer %d", middle))
	r.above(claim{"rollout-rises", "Rollout correlates better after the last layer than after " +
		"the first"}, at("rollout", top), at("rollout", 0), "the first layer")
	r.above(claim{"rollout-raw", "After the last layer rollout correlates better than raw " +
		"attention"},
		at("rollout", top), at("raw", top), "raw")
	r.above(claim{"flow-raw", "After the last layer flow correlates better than raw attention"},
		at("flow", top), at("raw", top), "raw")
	r.check(claim{"flow-rollout", "In the middle, layer 2, flow correlates at least as well as " +
		"rollout"},
		"at least rollout", against(at("flow", 2), at("rollout", 2)),
		at("flow", 2) >= at("rollout", 2))
	r.zero(claim{"equal", "After the first layer rollout and flow are equal: difference"}, 1e-9,
		at("flow", 0)-at("rollout", 0))
}

func sentimentShape(r *run, at func(string, int) float64) {
	least, most := 1.0, 0.0
	for _, method := range attentionMethods {
		for l := range r.info.Layers {
			least, most = min(least, at(method, l)), max(most, at(method, l))
		}
	}
	r.check(claim{"positive", "All mean correlations are positive"}, "above 0", short(least),
		least > 0)
	top := r.info.Layers - 1
	raw, rollout, flow := at("raw", top), at("rollout", top), at("flow", top)
	gap := max(raw, rollout, flow) - min(raw, rollout, flow)
	r.check(claim{"close", "After the last layer the methods differ by less than a standard " +
		"deviation of the paper"}, "less than 0.2", short(gap), gap < 0.2)
}
