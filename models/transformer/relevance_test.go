package transformer_test

import (
	"math"
	"slices"
	"testing"

	"github.com/gomlx/compute/dtypes"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/modelgolden"
	"github.com/headwater-ml/headwater/models/spec"
	"github.com/headwater-ml/headwater/models/transformer"
)

// relevanceTol bounds relevance in float32 against that in float64, in units of the largest of the
// text.
const relevanceTol = 5e-6 // worst seen 9e-7

// TestRelevance: the gradient of that rule times the embedding is the relevance that the rules as
// they are written give, and with what biases, positions and softmax keep it makes the logit.
func TestRelevance(t *testing.T) {
	eachHeaded(t, func(t *testing.T, g *golden) {
		s, q := g.model.Spec, g.question(t, g.ids)
		q.Quantity = trace.Logit
		got := g.gradient(t, q, trace.RelevanceGradient)
		rows, f := g.rowsOf(g.ids), &forward{g: g, ids: g.ids}
		value := f.value(q, rows)
		position := q.Position
		if s.Head == spec.ClassifierHead {
			position = readsAt(s, g.ids)
		}
		v, last := &relevances{spec: s}, f.layers[s.Layers-1]
		r := zeros(len(g.ids), s.Width)
		r[position] = v.head(g, last.output(position, -1, -1), q.Objective)
		for l := s.Layers - 1; l >= 0; l-- {
			r = v.block(f.layers[l], r)
		}
		var want []float32
		sum := 0.0
		for i := range g.ids {
			of := v.embedding(g, g.ids, i, r[i])
			for _, x := range of {
				sum += x
			}
			want = append(want, narrow(of)...)
		}
		have := make([]float32, len(got.Data))
		for i, d := range got.Data {
			have[i] = d * float32(rows[i/s.Embedded()][i%s.Embedded()])
		}
		check(t, "relevance", have, want, relevanceTol*greatest(want))
		if sum += v.kept; math.Abs(sum-value) > 1e-9*max(1, math.Abs(value)) {
			t.Errorf("relevance and what is kept sum to %v, the value is %v", sum, value)
		}
	})
}

// crafted is a decoder of one layer and one head whose head is the given rows; matrices that are
// not given are 0, and there are no biases.
func crafted(t testing.TB, weights map[string][]float32) *golden {
	t.Helper()
	arch := &spec.Spec{
		Family: "crafted", Layers: 1, Heads: 1, Width: 2, HeadWidth: 2, FeedForward: 1, Vocab: 2,
		NormEpsilon: 1e-12, RMS: true, NoFinalNorm: true,
		Positions: spec.ALiBi, AlibiSlopes: []float32{0}, ScoreScale: math.Log(3) / 2,
		BOS: -1,
	}
	g := &golden{Golden: &modelgolden.Golden{}, params: map[string][]float32{}, ids: []int{0, 1}}
	var err error
	g.model, err = transformer.New(goBackend(t), arch, dtypes.Float32,
		func(p spec.Param, put func(int, []float32)) error {
			data := make([]float32, p.Size())
			if len(p.Shape) == 1 {
				for i := range data {
					data[i] = 1
				}
			}
			copy(data, weights[p.Name])
			g.params[p.Name] = data
			put(0, data)
			return nil
		})
	must(t, err)
	return g
}

// TestRelevanceByHand: tokens x_0 = (1,1) and x_1 = (1,-1), whose root mean square is 1; query,
// key, value and output are the identity, there is no feed-forward part, and the logit is read
// along w = (2,1), so x_0·w = 3 and x_1·w = 1. Scores of the second token are x_1·x_s·ln(3)/2 = 0
// and ln 3, its attention 1/4 and 3/4, and the logit x_1·w + (1/4)·3 + (3/4)·1 = 5/2. Values get
// half of each product, 3/8 and 3/8, attention as much. Softmax passes on 0·(...) = 0 and ln3·(3/8
// - 3/4·(3/8+3/8)) = -(3/16) ln 3, to the query and key of x_1.
func TestRelevanceByHand(t *testing.T) {
	one := []float32{1, 0, 0, 1}
	g := crafted(t, map[string][]float32{
		"embedding": {1, 1, 1, -1}, "head": {0, 0, 2, 1}, "blocks.0.query.weight": one, "blocks.0.key.weight": one,
		"blocks.0.value.weight": one, "blocks.0.output.weight": one,
	})
	got := g.gradient(t, trace.Query{
		IDs: g.ids,
		Objective: trace.Objective{
			Quantity: trace.Logit, Position: 1,
			Token: 1,
		},
	}, trace.RelevanceGradient)
	d := wide(got.Data)
	for _, c := range []struct {
		what      string
		got, want float64
	}{
		{"the logit", got.Value, 2.5},
		{"of the first token", d[0] + d[1], 3.0 / 8},
		{"of the second token", d[2] - d[3], 1 + 3.0/8 - 3.0/16*math.Log(3)},
	} {
		if math.Abs(c.got-c.want) > 1e-6 {
			t.Errorf("%s: %v, want %v", c.what, c.got, c.want)
		}
	}
}

// TestLinearModel: where nothing adds to the residual stream and no norm follows, the logit is w·x
// of the text's own token: gradient times input is w_j x_j by either rule, and of no other token.
func TestLinearModel(t *testing.T) {
	g := crafted(t, map[string][]float32{"embedding": {3, -2, 0.5, 7}, "head": {1, 1, -4, 0.25}})
	for _, rule := range []trace.Backward{trace.TrueGradient, trace.RelevanceGradient} {
		got := g.gradient(t, trace.Query{
			IDs:       g.ids,
			Objective: trace.Objective{Quantity: trace.Logit, Position: 1, Token: 1},
		}, rule)
		if want := []float32{0, 0, -4, 0.25}; !slices.Equal(got.Data,
			want) || got.Value != -4*0.5+0.25*7 {
			t.Errorf("rule %d: gradient %v of %v, want %v of -0.25", rule, got.Data, got.Value,
				want)
		}
	}
}

// TestRelevanceConserves: in models without biases and positions that are added, whose attention
// adds nothing, all of a logit goes to the token that makes it.
func TestRelevanceConserves(t *testing.T) {
	for _, name := range []string{"llama", "gemma2", "qwen3", "mistral", "phi3"} {
		g := openGolden(t, name)
		m := g.changed(t, func(name string, data []float32) {
			if len(name) > 13 && name[len(name)-13:] == "output.weight" {
				clear(data)
			}
		})
		o := trace.Objective{Quantity: trace.Logit, Position: 7, Token: 11}
		all, err := m.Gradients(t.Context(), []trace.Query{{IDs: g.ids, Objective: o}},
			trace.RelevanceGradient)
		must(t, err)
		sum, width := 0.0, g.model.Spec.Embedded()
		for i, row := range g.rowsOf(g.ids) {
			part := dot(row, wide(all[0].Data[i*width:(i+1)*width]))
			if i != 7 && part != 0 {
				t.Errorf("%s: token %d gets %v", name, i, part)
			}
			sum += part
		}
		if value := all[0].Value; math.Abs(sum-value) > 1e-4*math.Abs(value) || value == 0 {
			t.Errorf("%s: relevance sums to %v, the logit is %v", name, sum, value)
		}
	}
}
