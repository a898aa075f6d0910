package attribution

import (
	"fmt"

	"github.com/headwater-ml/headwater/attribution/trace"
)

// readStep returns the rows of a step, one entry for each ask, of the plan's layers and not
// normalised. fed is the number of tokens in the steps before. The error says what is wrong with
// the step.
func (p *plan) readStep(step trace.Step, fed int) ([]Mixed, error) {
	if len(step.Rows) != len(p.asks) || step.First != fed || step.Count < 1 {
		return nil, fmt.Errorf("the model fed tokens %d..%d after %d with %d sets of rows, want %d",
			step.First, step.First+step.Count-1, fed, len(step.Rows), len(p.asks))
	}
	all := make([]Mixed, len(p.asks))
	for i, ask := range p.asks {
		m, err := p.readRows(step.Rows[i], ask, step)
		if err != nil {
			return nil, fmt.Errorf("rows of %s: %w", ask.Name, err)
		}
		all[i] = m
	}
	return all, nil
}

// readRows returns the rows of one mixing, [L,N,T], as float64.
func (p *plan) readRows(rows trace.Rows, ask trace.MixingAsk, step trace.Step) (Mixed, error) {
	end := step.First + step.Count
	first := end - 1
	if ask.AllRows {
		first = step.First
	}
	// A model may return more rows than it was asked for, but the last ones must be those.
	if rows.First < step.First || rows.First > first || rows.First+rows.N != end {
		return Mixed{}, fmt.Errorf("targets %d..%d, want %d..%d", rows.First, rows.First+rows.N-1,
			first, end-1)
	}
	if rows.L <= p.last || rows.H != 1 || rows.S < end || len(rows.Data) != rows.L*rows.N*rows.S {
		return Mixed{}, fmt.Errorf("%d numbers for %d layers, %d heads, %d targets, %d sources; "+
			"want %d layers, "+
			"1 head, at least %d sources", len(rows.Data), rows.L, rows.H, rows.N, rows.S, p.last+
			1, end)
	}
	m := Mixed{First: rows.First, L: p.last - p.first + 1, N: rows.N}
	m.Data = make([]float64, m.L*m.N*m.T())
	for l := range m.L {
		for n := range m.N {
			t := m.First + n
			src := rows.Row(p.first+l, 0, n)[:Config{Bidirectional: p.bidirectional}.width(t, end)]
			if s := indexInvalid(src); s >= 0 {
				return Mixed{}, fmt.Errorf("layer %d target %d source %d is %v; want a number of "+
					"0 or more",
					p.first+l, t, s, src[s])
			}
			copyRow(m.Row(l, n), src, p.threshold(ask.Name))
		}
	}
	return m, nil
}

// threshold returns the value below which entries of a mixing are set to 0; 0 for none.
func (p *plan) threshold(mixing string) float64 {
	if info, _ := LookupMixing(mixing); info.Distance {
		return p.opts.Threshold
	}
	return 0
}

// copyRow copies the entries of src that reach the threshold to dst, which holds zeros.
func copyRow(dst []float64, src []float32, threshold float64) {
	for s, x := range src {
		if float64(x) >= threshold {
			dst[s] = float64(x)
		}
	}
}
