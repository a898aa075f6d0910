package figures

import (
	"fmt"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/gonbext/render/chart"
	"github.com/headwater-ml/headwater/internal/reproduction"
	"github.com/headwater-ml/headwater/models/tiny"
)

// adjustedMethods are those compared, the adjusted one first.
var adjustedMethods = []string{"chefer", "rollout", "flow"}

func adjustedRollout(r *run) error {
	sentences, err := r.sentences(tiny.VerbName, "", r.sample(200, 20))
	if err != nil {
		return err
	}
	rho := correlations{}
	for i, s := range sentences {
		x, err := r.read(s)
		if err != nil {
			return err
		}
		importance, err := r.blankOut(x)
		if err != nil {
			return err
		}
		e, err := r.explain(s.Text(), attribution.Options{Methods: adjustedMethods})
		if err != nil {
			return err
		}
		for _, method := range adjustedMethods {
			m := e.Methods[method]
			x.rows[method] = [][]float64{m.Row(0, m.Top())}
		}
		rho.correlate(x, importance)
		r.progress("reading sentences", "sentence", i+1, len(sentences))
	}
	bars := chart.Series{Name: "mean"}
	table := reproduction.Table{
		Title: fmt.Sprintf("Rank correlation with blank-out scores, %d "+
			"sentences", len(sentences)),
		Columns: []string{"method", "mean ± standard deviation"},
	}
	means := map[string]float64{}
	for _, method := range adjustedMethods {
		m, sd := spread(rho[method][0])
		means[method], bars.Y = m, append(bars.Y, m)
		table.Rows = append(table.Rows, []string{method, fmt.Sprintf("%.2f ± %.2f", m, sd)})
	}
	r.table(table)
	r.picture("", 1, chart.Chart{
		Kind: chart.Bars, Title: "Rank correlation with blank-out scores",
		X:      chart.Axis{Title: "method", Categories: adjustedMethods},
		Y:      chart.Axis{Title: "Spearman"},
		Series: []chart.Series{bars},
	})
	r.above(claim{"over-rollout", "Adjusted by gradients, rollout agrees better with blank-out"},
		means["chefer"], means["rollout"], "plain rollout")
	return nil
}
