package transformer_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/compute/dtypes"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/spec"
	"github.com/headwater-ml/headwater/models/transformer"
)

// bfloats are matrices of bfloat16 numbers, which have no blocks.
type bfloats struct{ spec.Quantized }

func (bfloats) Coding(spec.Param) spec.Coding {
	return spec.Coding{Bits: 16, Block: 32, Powers: true}
}

// TestOnHost: a model whose matrices pure Go keeps in codes computes what the same model in float32
// computes, whatever it is asked.
func TestOnHost(t *testing.T) {
	const tol = 1e-5 // of the largest number; sums have another order
	t.Cleanup(transformer.KeepCodes(0))
	eachDecoder(t, func(t *testing.T, g *golden) {
		sampleWithShort(t)
		rounded := func(p spec.Param, put func(int, []float32)) error {
			x := slices.Clone(g.params[p.Name])
			for i := range x {
				x[i] = math.Float32frombits(math.Float32bits(x[i]) &^ 0xffff)
			}
			put(0, x)
			return nil
		}
		want, err := transformer.New(goBackend(t), g.model.Spec, dtypes.Float32, rounded)
		must(t, err)
		got, err := transformer.NewQuantized(goBackend(t), g.model.Spec, dtypes.Float32, rounded,
			bfloats{})
		must(t, err)
		if all := want.WeightBytes(); got.WeightBytes() == all && g.model.Spec.Mixture == nil {
			t.Fatalf("%d bytes of weights in codes and in float32", all)
		}
		of := func(m *transformer.Model) (all map[string][]float32) {
			all = map[string][]float32{}
			taps, err := m.Trace(t.Context(), g.ids, []trace.Tap{trace.Attention, trace.Logits,
				trace.HeadOutput, trace.ValueZeroing})
			must(t, err)
			for i, x := range taps {
				all["tap "+string(rune('0'+i))] = x.Data
			}
			s, err := m.NewSession([]trace.MixingAsk{{Name: "value-zeroing"}, {Name: "alti"}}, 0)
			must(t, err)
			defer s.Close()
			must(t, s.KeepTerms())
			last := len(g.ids) - 1
			_, err = s.Prompt(t.Context(), g.ids[:last], nil)
			must(t, err)
			out, err := s.Step(t.Context(), g.ids[last])
			must(t, err)
			all["step"] = out.Logits
			for _, rows := range out.Rows {
				all["rows"] = append(all["rows"], rows.Data...)
			}
			o := trace.Objective{Quantity: trace.Logit, Position: last, Token: 3}
			terms, err := s.Terms(t.Context(), o)
			must(t, err)
			all["terms"] = float32s(terms.Attention)
			q := trace.Query{IDs: g.ids, Objective: o}
			gradients, err := m.Gradients(t.Context(), []trace.Query{q}, trace.TrueGradient)
			must(t, err)
			all["gradient"] = gradients[0].Data
			parts, _, err := m.Decompose(t.Context(), q)
			if err != nil && !strings.Contains(err.Error(), "support") {
				t.Log(err)
			}
			all["parts"] = float32s(parts)
			return all
		}
		wants, gots := of(want), of(got)
		for what, x := range wants {
			check(t, what, gots[what], x, tol*max(1, greatest(x)))
		}
	})
}

func float32s(x []float64) (y []float32) {
	for _, v := range x {
		y = append(y, float32(v))
	}
	return y
}
