package aggregation

import (
	"fmt"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/rowmath"
)

// Reader reads the rows that a model returns with each step.
type Reader struct {
	// First and Last are the layers that are read, 0-based.
	First, Last int
	// Prefix is how many tokens at the beginning see each other; see [Config.Prefix].
	Prefix int
	// Asks are the mixings that the model was asked for.
	Asks []trace.MixingAsk
	// Threshold returns the value below which entries of a mixing are set to 0; nil sets none.
	Threshold func(mixing string) float64
}

// Read returns the rows of a step, one entry for each ask, of the reader's layers and not
// normalised. processed is the number of tokens in the steps before. The error names what is wrong
// with the step.
func (r Reader) Read(step trace.Step, processed int) ([]Rows, error) {
	if len(step.Rows) != len(r.Asks) || step.First != processed || step.Count < 1 {
		return nil, fmt.Errorf("the model fed tokens %d..%d after %d with %d sets of rows, want %d",
			step.First, step.First+step.Count-1, processed, len(step.Rows), len(r.Asks))
	}
	all := make([]Rows, len(r.Asks))
	for i, ask := range r.Asks {
		m, err := r.readRows(step.Rows[i], ask, step)
		if err != nil {
			return nil, fmt.Errorf("rows of %s: %w", ask.Name, err)
		}
		all[i] = m
	}
	return all, nil
}

// readRows returns the rows of one mixing, [L,N,T], as float64. Heads must have been fused by the
// model: an aggregation multiplies matrices over tokens.
func (r Reader) readRows(rows trace.Rows, ask trace.MixingAsk, step trace.Step) (Rows, error) {
	end := step.First + step.Count
	first := end - 1
	if ask.AllRows {
		first = step.First
	}
	// A model may return more rows than it was asked for, but the last ones must be those.
	if rows.First < step.First || rows.First > first || rows.First+rows.N != end {
		return Rows{}, fmt.Errorf("targets %d..%d, want %d..%d", rows.First, rows.First+rows.N-1,
			first, end-1)
	}
	if rows.L <= r.Last || rows.H != 1 || rows.S < end || len(rows.Data) != rows.L*rows.N*rows.S {
		return Rows{}, fmt.Errorf("%d numbers for %d layers, %d heads, %d targets, %d sources; "+
			"want %d layers, 1 head, at least %d sources",
			len(rows.Data), rows.L, rows.H, rows.N, rows.S, r.Last+1, end)
	}
	threshold := 0.0
	if r.Threshold != nil {
		threshold = r.Threshold(ask.Name)
	}
	cfg := Config{Prefix: r.Prefix}
	m := Rows{First: rows.First, L: r.Last - r.First + 1, N: rows.N}
	m.Data = make([]float64, m.L*m.N*m.T())
	for l := range m.L {
		for n := range m.N {
			t := m.First + n
			// What a target cannot see is not read: a cache may hold any numbers there.
			src := rows.Row(r.First+l, 0, n)[:cfg.Width(t, end)]
			if s := rowmath.IndexInvalid(src); s >= 0 {
				return Rows{}, fmt.Errorf("layer %d target %d source %d is %v; want a number of "+
					"0 or more",
					r.First+l, t, s, src[s])
			}
			rowmath.CopyAbove(m.Row(l, n), src, threshold)
		}
	}
	return m, nil
}
