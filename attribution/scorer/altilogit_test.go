package scorer_test

import (
	"context"
	"iter"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/headwater-ml/headwater/attribution/attributiontest"
	"github.com/headwater-ml/headwater/attribution/scorer"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/fakemodel"
)

// newLayered returns a model of three layers and tokens with rows
//
//	C_1 = [1], [½,½], [¼,¼,½]   C_2 = [1], [0,1], [½,0,½]   C_3 = I
//
// before they are divided by their sums, and with parts of a logit of 20.
func newLayered() fakemodel.Scored {
	a := fakemodel.NewScored(3)
	layers := [3][3][3]float64{
		{{3, 0, 0}, {1, 1, 0}, {1, 1, 2}},
		{{1, 0, 0}, {0, 5, 0}, {1, 0, 1}},
		{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
	}
	a.Row = func(ask trace.MixingAsk, l, t, s int) float64 {
		if ask.Name != "alti" {
			panic("rows of " + ask.Name)
		}
		return layers[l][t][s]
	}
	a.Terms = &trace.LogitTerms{L: 3, S: 3, Value: 20, Attention: []float64{
		1, 2, 3,
		0, 4, -4,
		2, 2, 8,
	}}
	return a
}

// Δ_1 + Δ_2 M_1 + Δ_3 M_2, where M_1 = C_1 and M_2 = C_2 C_1 = [1], [½,½], [5/8,1/8,1/4]:
//
//	[1,2,3] +
//	(4[½,½,0] - 4[¼,¼,½] = [1,1,-2]) +
//	(2[1,0,0] + 2[½,½,0] + 8[5/8,1/8,1/4] = [8,2,2]) = [10,5,3]
func TestALTILogit(t *testing.T) {
	got := score(t, "alti-logit", newLayered(), ids(4, 5, 6), scorer.Options{})
	near(t, "parts", got.Values, []float64{10, 5, 3}, 0)
	near(t, "value and residue", []float64{got.Value, *got.Residue}, []float64{20, 2}, 0)
}

// The first layer reads the input itself: of one layer, values are the parts that attention wrote,
// and the rest is the residue.
func TestALTILogitOneLayer(t *testing.T) {
	m, q := attributiontest.NewModel(8), ids(3, 1, 4)
	q.Quantity = trace.Logit
	terms, err := m.LogitTerms(context.Background(), q)
	must(t, err)
	got := score(t, "alti-logit", m, q, scorer.Options{})
	near(t, "parts", got.Values, terms.Attention, 0)
	near(t, "residue", []float64{*got.Residue}, []float64{terms.Embedding}, 1e-12)
}

// layeredEncoder is newLayered as an encoder: every target sees the last source, too.
type layeredEncoder struct{ fakemodel.Scored }

func (m layeredEncoder) Steps(
	_ context.Context, ids []int, ask trace.Ask,
) iter.Seq2[trace.Step, error] {
	return func(yield func(trace.Step, error) bool) {
		*m.Asked = ask
		rows := trace.Rows{L: 2, H: 1, N: 2, S: 2, Data: []float32{
			1, 1, 1, 3,
			1, 0, 0, 1,
		}}
		yield(trace.Step{Count: len(ids), Rows: []trace.Rows{rows}, Next: &trace.Prediction{}}, nil)
	}
}

// C_1 = [½,½], [¼,¾]; [1,1] + 4[½,½] + 8[¼,¾] = [5,9].
func TestALTILogitEncoder(t *testing.T) {
	m := layeredEncoder{fakemodel.NewScored(2)}
	m.About.Bidirectional, m.About.Head = true, trace.MaskedToken
	m.Terms = &trace.LogitTerms{L: 2, S: 2, Value: 20, Attention: []float64{1, 1, 4, 8}}
	q := ids(4, 5)
	q.Position = 0
	near(t, "parts", score(t, "alti-logit", m, q, scorer.Options{}).Values, []float64{5, 9}, 0)
	want := trace.Ask{
		Mixings:   []trace.MixingAsk{{Name: "alti", AllRows: true}},
		Positions: []int{0},
	}
	if diff := cmp.Diff(want, *m.Asked); diff != "" {
		t.Errorf("ask (-want +got):\n%s", diff)
	}
}
