package attribution

import (
	"fmt"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/headwater-ml/headwater/internal/message"
	"github.com/headwater-ml/headwater/internal/rowmath"
)

const (
	// silentRest is the part of a row outside its sinks below which the row says nothing: what is
	// left of the rollout of a deep model is 10⁻⁵ and has the same shape for every token.
	silentRest = 0.01
	// sameRank is the rank correlation from which two rows are the same, over at least sameColumns
	// tokens and with at least sameRows rows: fewer agree by chance.
	sameRank    = 0.98
	sameColumns = 8
	sameRows    = 3
)

// Silent returns, for each generated token, why the row of a method at level k, or [ShownLevel],
// says nothing about that token; "" where it may. A picture colours no such row. A row is silent if
//
//   - its part outside of sinks, generated tokens included, is below 1 % of it, or
//   - it has the order of all other rows: outside of sinks its rank correlation with the mean of
//     the other rows is 0.98 or more, for three tokens and eight columns at least, or
//   - in a decoder of one stack, where the method combines layers, it has the order of the
//     positions: outside of sinks its rank correlation with it, earliest first, is 0.98 or more,
//     for eight columns at least. So do the rows of the same model with shuffled weights, whose
//     attention is nearly even (docs/measured/methods.md): the row shows the mask, and not what was
//     learnt. Rows that were divided by what even attention gives (lift) are not judged by this.
//
// Scores of a scorer are silent only where the contrast is the prediction itself. Silent returns a
// [trace.UsageError] as [Explanation.Sinks] does.
func (e *Explanation) Silent(method string, k int) ([]string, error) {
	r, shares, sinks, err := e.findSinks(method, k)
	if err != nil {
		return nil, err
	}
	n, m := r.Shape[0], r.Shape[1]
	reasons := make([]string, n)
	if r.Scorer {
		for t := range min(n, len(e.Steps)) {
			if r.Contrast != "" && r.Contrast == e.Steps[t].Text {
				reasons[t] = "the contrast is the prediction itself"
			}
		}
		return reasons, nil
	}
	e.silentRests(r, shares, sinks, reasons)
	var columns []int
	for j := range m {
		if !slices.ContainsFunc(sinks, func(s Sink) bool { return s.Position == j }) {
			columns = append(columns, j)
		}
	}
	if len(columns) < sameColumns {
		return reasons, nil
	}
	rows := make([][]float64, n)
	for t := range n {
		row := r.Row(t, r.levelOf(t, k))
		for _, j := range columns {
			rows[t] = append(rows[t], row[j])
		}
		if reasons[t] == "" && e.byPosition(r) && earliestFirst(rows[t]) {
			reasons[t] = "the row has the order of the positions, as weights at random give it"
		}
	}
	if n >= sameRows && !e.onePosition() {
		silentOrders(rows, reasons)
	}
	return reasons, nil
}

// silentRests sets the reasons of rows that rest on sinks. shares are [m,n], as findSinks returns
// them.
func (e *Explanation) silentRests(r *Result, shares []float64, sinks []Sink, reasons []string) {
	rowSinks := e.rowSinks(r, shares, sinks)
	for t := range reasons {
		onSinks := 0.0
		for _, s := range sinks {
			onSinks += s.Shares[t]
		}
		own := slices.Clone(sinks) // those of this row
		if j := rowSinks[t]; j >= 0 && shares != nil {
			own = append(own, Sink{Position: j, Text: e.Prompt.Texts[j]})
			onSinks += shares[j*len(reasons)+t]
		}
		if len(own) > 0 && 1-onSinks < silentRest {
			reasons[t] = fmt.Sprintf("%s of the row rests on %s", percent(onSinks),
				sinkNames(own))
		}
	}
}

// silentOrders sets the reasons of rows that have the order of all other rows.
func silentOrders(rows [][]float64, reasons []string) {
	sum := make([]float64, len(rows[0]))
	for _, row := range rows {
		floats.Add(sum, row)
	}
	others := make([]float64, len(sum))
	for t, row := range rows {
		floats.SubTo(others, sum, row)
		if rho, ok := rowmath.RankCorrelation(row, others); ok && rho >= sameRank &&
			reasons[t] == "" {
			reasons[t] = "the row has the same order for every token"
		}
	}
}

// onePosition reports whether all predictions are read at one position, as all labels of a text
// are: their rows of attention are one row.
func (e *Explanation) onePosition() bool {
	for _, s := range e.Steps {
		if s.Position == nil && e.Model.MeanPooled { // the mean of all rows
			continue
		}
		if s.Position == nil || *s.Position != *e.Steps[0].Position {
			return false
		}
	}
	return len(e.Steps) > 0
}

// byPosition reports whether even attention gives rows of a method the order of the positions,
// earliest first. Of two stacks it does not: every token of a source sees every other, so that even
// attention gives all of them the same, and a source that is translated in order falls for another
// reason. The prompt has one or two tokens of the target, which have no order to compare with.
func (e *Explanation) byPosition(r *Result) bool {
	return r.Combined && !r.Scorer && !e.Model.Bidirectional && e.Model.EncoderLayers == 0 &&
		r.Quantity != Lift
}

// earliestFirst reports whether a row falls from its first column to its last one.
func earliestFirst(row []float64) bool {
	order := make([]float64, len(row))
	for j := range order {
		order[j] = -float64(j)
	}
	rho, ok := rowmath.RankCorrelation(row, order)
	return ok && rho >= sameRank
}

// sinkNames lists sinks: the sink "The".
func sinkNames(sinks []Sink) string {
	var names []string
	for _, s := range sinks {
		names = append(names, message.Quote(s.Text))
	}
	if len(names) == 1 {
		return "the sink " + names[0]
	}
	return "the sinks " + message.List(names)
}

// percent writes a share near 1 with as many digits as tell it from 1, at most six.
func percent(x float64) string {
	for digits := 1; digits <= 6; digits++ {
		s := fmt.Sprintf("%.*f", digits, 100*x)
		if s[:3] != "100" {
			return s + " %"
		}
	}
	return "100 %"
}
