package transformer_test

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"testing"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/spec"
)

// ofStacks is a text of a model of two stacks in float64, with the attention and the residual
// streams that a pass records. They are compared with a reference in [TestGoldens].
func (g *golden) ofStacks(t *testing.T) *text64 {
	t.Helper()
	ts, err := g.model.Trace(context.Background(), g.ids, []trace.Tap{
		trace.Hidden, trace.Attention,
	})
	must(t, err)
	r := &text64{golden: g, spec: g.model.Spec}
	n, H := len(g.ids), r.spec.Heads
	for l := range r.spec.Layers + 1 {
		x := make([][]float64, n)
		for i := range x {
			x[i] = wide(at(ts[0], l, i))
		}
		r.hidden = append(r.hidden, x)
	}
	for l := range r.spec.Layers {
		b := &layer{spec: r.spec, index: l, x: r.hidden[l], weight: func(name string) []float32 {
			return g.params[fmt.Sprintf("blocks.%d.%s", l, name)]
		}}
		values := make([][]float64, n)
		for i, u := range b.x {
			if name := b.valueNorm(); name != "" {
				u = b.norm(name, u)
			}
			values[i] = b.dense("value", u, r.spec.ProjectionBias)
		}
		for h := range H {
			var attention, value [][]float64
			for i := range n {
				attention = append(attention, wide(at(ts[1], l, h, i)))
				value = append(value, b.head(h, values[i]))
			}
			b.attention, b.value = append(b.attention, attention), append(b.value, value)
		}
		r.layers = append(r.layers, b)
	}
	return r
}

// TestStacksDecompose compares every token's part of a logit of two stacks with vectors carried
// through both in float64. In each layer they add up to the residual stream.
func TestStacksDecompose(t *testing.T) {
	eachOfTwoStacks(t, func(t *testing.T, g *golden, boundary int) {
		r := g.ofStacks(t)
		n, d := len(g.ids), r.spec.Width
		all := make([]*parts64, n)
		for i := range all {
			all[i] = &parts64{r: r, vectors: make([][]float64, n)}
			for k := range n {
				all[i].vectors[k] = make([]float64, d)
			}
			all[i].vectors[i] = r.hidden[0][i]
		}
		for l, b := range r.layers {
			read := r.attentionParts(b, all)
			for i := range all {
				if (r.spec.Stack(l) == spec.Encoding) == (i < boundary) {
					all[i] = r.through(b, i, all[i], read[i]).(*parts64)
				}
				sum := make([]float64, d)
				for _, v := range all[i].vectors {
					sum = plus(sum, v)
				}
				near64(t, fmt.Sprintf("stream of token %d after layer %d", i, l), sum,
					r.hidden[l+1][i], sumTol)
			}
		}
		for position := boundary; position < n; position++ {
			target := all[position].copied().(*parts64)
			factors := r.head(target, position)
			want := make([]float64, n)
			scale := cmp.Or(r.spec.LogitScale, 1)
			for k, v := range target.vectors {
				want[k] = scale * v[5] * factors[5]
			}
			parts, rest := g.decomposed(t, g.logitQuery(position, 5))
			near64(t, fmt.Sprintf("parts at %d", position), parts, want, partTol)
			near64(t, "sum", []float64{sumOf(parts) + rest},
				[]float64{g.logit(t, g.logitQuery(position, 5))}, sumTol)
			contrast, _ := g.decomposed(t, against(g.logitQuery(position, 5), 7))
			other, _ := g.decomposed(t, g.logitQuery(position, 7))
			rounded := openGolden(t, path.Base(t.Name()))
			rounded.model.RoundUp() // as where shapes are compiled
			same, _ := rounded.decomposed(t, g.logitQuery(position, 5))
			near64(t, "parts of padded tiles", same, want, partTol)
			for k := range other {
				other[k] = parts[k] - other[k]
			}
			near64(t, "contrast", contrast, other, sumTol)
		}
	})
}
