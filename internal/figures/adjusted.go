package figures

import (
	"fmt"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/internal/tiny"
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
	means := map[string][]float64{}
	for _, method := range adjustedMethods {
		means[method] = rho[method][0]
	}
	r.barTable(fmt.Sprintf("Rank correlation with blank-out scores, %d sentences", len(sentences)),
		"blank-out", adjustedMethods, means)
	r.above(claim{"over-rollout", "Adjusted by gradients, rollout agrees better with blank-out"},
		mean(means["chefer"]), mean(means["rollout"]), "plain rollout")
	return nil
}
