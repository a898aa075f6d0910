package transformer_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/spec"
	"github.com/headwater-ml/headwater/models/transformer"
)

// TestTermsUnderEdits compares the parts that a session reads under edits with brute force. What a
// target reads from one source in a layer is the change of its attention output when every source
// but this one is cut off, carried to the logit by the factors of later edits and the final norm.
func TestTermsUnderEdits(t *testing.T) {
	tested := 0
	eachDecoder(t, func(t *testing.T, g *golden) {
		s := g.model.Spec
		if s.Order != spec.PreNorm || s.NormAfter || s.NormedResidual || s.NoFinalNorm ||
			s.HeadTransform || s.LogitCap > 0 || s.Embedded() != s.Width || s.Rotary != nil &&
			(s.Rotary.LongFrequencies != nil || s.Rotary.Stretch > 0) {
			t.Skip("the way to the logit is not the final norm alone")
		}
		tested++
		last := s.Layers - 1
		edits := []trace.Edit{
			{Tap: trace.Value, Layers: []int{last}, Change: trace.AddValue, Factor: 0.5,
				Value: []float32{1}},
			{Tap: trace.Attention, Layers: []int{0}, Sources: []int{1}, Change: trace.Scale,
				Factor: 3},
			{Tap: trace.QueryVector, Layers: []int{0}, Change: trace.Scale, Factor: -1},
			{Tap: trace.Context, Layers: []int{0}, Heads: []int{1}, Change: trace.Scale,
				Factor: -0.5},
			{Tap: trace.Context, Layers: []int{0}, Heads: []int{1}, Change: trace.AddValue,
				Factor: 1, Value: []float32{0.3}},
			{Tap: trace.HeadOutput, Layers: []int{last}, Heads: []int{0}, Change: trace.SetZero},
			{Tap: trace.AttentionOutput, Layers: []int{0}, Change: trace.Scale, Factor: 2},
			{Tap: trace.HiddenAfterAttention, Change: trace.Scale, Factor: 0.5},
			{Tap: trace.FeedForwardOutput, Layers: []int{0}, Change: trace.AddValue, Factor: 1,
				Value: []float32{0.1}},
			{Tap: trace.Hidden, Layers: []int{1}, Change: trace.Scale, Factor: -1.5},
			{Tap: trace.Hidden, Layers: []int{s.Layers}, Change: trace.Scale, Factor: 0.25},
			{Tap: trace.Hidden, Layers: []int{s.Layers}, Change: trace.AddValue, Factor: 1,
				Value: []float32{0.2}},
		}
		session, err := g.model.NewSession(nil, 0)
		must(t, err)
		defer session.Close()
		session.Edit(edits...)
		must(t, session.KeepTerms())
		n := len(g.ids) - 1
		_, err = session.Prompt(context.Background(), g.ids[:n], nil)
		for ; ; n++ {
			must(t, err)
			got, err := session.Terms(context.Background(),
				trace.Objective{Quantity: trace.Logit, Token: 3})
			must(t, err)
			what := fmt.Sprintf("%d tokens", n)
			ids := g.ids[:n]
			near64(t, what, got.Attention, g.partsByCutting(t, ids, edits, 3), partTol)
			logits := g.run(t, ids, edits, trace.Logits)[0]
			near64(t, what+": value", []float64{got.Value},
				[]float64{float64(at(logits, n-1)[3])}, sumTol)
			if n == len(g.ids) {
				return
			}
			_, err = session.Step(context.Background(), g.ids[n])
			must(t, err)
		}
	})
	if tested < 2 {
		t.Errorf("%d models were tested", tested)
	}
}

// partsByCutting are the parts of the logit of a token after ids, [L,S], by brute force.
func (g *golden) partsByCutting(t *testing.T, ids []int, edits []trace.Edit, token int) []float64 {
	t.Helper()
	s, n := g.model.Spec, len(ids)
	end := g.run(t, ids, edits, trace.Hidden)[0]
	whole := wide(at(end, s.Layers, n-1))
	parts := make([]float64, s.Layers*n)
	for l := range s.Layers {
		alone := func(source int) []float64 { // -1 for no source
			var others []int
			for j := range n {
				if j != source {
					others = append(others, j)
				}
			}
			cut := append(slices.Clone(edits), trace.Edit{
				Tap: trace.Attention, Layers: []int{l}, Positions: []int{n - 1}, Sources: others,
				Change: trace.SetZero,
			})
			return wide(at(g.run(t, ids, cut, trace.AttentionOutput)[0], l, n-1))
		}
		factor := 1.0
		for _, e := range edits {
			if e.Change != trace.Scale {
				continue
			}
			for _, at := range e.Layers {
				if e.Tap == trace.Hidden && at > l {
					factor *= e.Factor
				}
			}
			if e.Tap == trace.HiddenAfterAttention { // of this layer and all later ones
				factor *= math.Pow(e.Factor, float64(s.Layers-l))
			}
		}
		none := alone(-1)
		for j := range n {
			read := alone(j)
			for i := range read {
				read[i] = (read[i] - none[i]) * factor
			}
			table := (&text64{golden: g, spec: s}).matrix("turned")
			for i, x := range linear(s, read, whole, g.params["final-norm.gain"]) {
				parts[l*n+j] += x * float64(table[i*s.Vocab+token])
			}
		}
	}
	return parts
}

// TestTermsUnderEditsBeforeNorms: where norms on the way to the logit come after a place that is
// edited, they divide by what they have under the edit. The parts are those of a model whose
// weights do what the edits do: of the norm after the attention, and of the feed-forward output.
func TestTermsUnderEditsBeforeNorms(t *testing.T) {
	for _, name := range []string{"opt_350", "bart", "bloom_postln"} {
		g := openGolden(t, name)
		edits := []trace.Edit{{Tap: trace.FeedForwardOutput, Change: trace.Scale, Factor: -1.5}}
		if g.model.Spec.Order == spec.PostNorm {
			edits = append(edits, trace.Edit{
				Tap: trace.HiddenAfterAttention, Change: trace.Scale, Factor: 0.5,
			})
		}
		changed := g.changed(t, func(name string, data []float32) {
			factor := float32(1)
			switch {
			case strings.Contains(name, ".down."):
				factor = -1.5
			case strings.Contains(name, ".attention-norm.") && len(edits) > 1:
				factor = 0.5
			}
			for i := range data {
				data[i] *= factor
			}
		})
		terms := func(m *transformer.Model, edits ...trace.Edit) []float64 {
			s, err := m.NewSession(nil, 0)
			must(t, err)
			defer s.Close()
			s.Edit(edits...)
			must(t, s.KeepTerms())
			last := len(g.ids) - 1
			_, err = s.Prompt(t.Context(), g.ids[:last], nil)
			var all []float64 // after the prompt and after a step
			for range 2 {
				must(t, err)
				got, err := s.Terms(t.Context(), trace.Objective{Quantity: trace.Logit, Token: 3})
				must(t, err)
				all = append(append(all, got.Attention...), got.Value)
				if s.Length() == last {
					_, err = s.Step(t.Context(), g.ids[last])
					must(t, err)
				}
			}
			return all
		}
		near64(t, name, terms(g.model, edits...), terms(changed), partTol)
	}
}

// TestLensUnderEdits: the lens of each step on the cache, and of a pass over the whole text, reads
// the streams as edits left them, those of the layer's input and of the end too.
func TestLensUnderEdits(t *testing.T) {
	g := openGolden(t, "llama")
	edits := []trace.Edit{
		{Tap: trace.Hidden, Change: trace.Scale, Factor: -0.5},
		{Tap: trace.Hidden, Change: trace.AddValue, Factor: 1, Value: []float32{0.5}},
	}
	s, err := g.model.NewSession(nil, 0)
	must(t, err)
	defer s.Close()
	s.Edit(edits...)
	s.KeepLens()
	_, err = s.Prompt(context.Background(), g.ids[:4], nil)
	for n := 4; ; n++ {
		must(t, err)
		ids := g.ids[:n]
		hidden := g.run(t, ids, edits, trace.Hidden)[0]
		compare := func(what string, columns [][]float32) {
			for l, own := range columns {
				want := narrow(g.headed(wide(at(hidden, l, n-1))))
				check(t, fmt.Sprintf("%s, %d tokens, layer %d", what, n, l), own, want, logitsTol)
			}
		}
		must(t, s.Lens(func(scores []float32) error {
			compare("cache", columnsOf(g.model, scores))
			return nil
		}))
		q := trace.LensQuery{IDs: ids, Positions: []int{n - 1}, Edits: edits}
		must(t, g.model.Lens(context.Background(), q, func(_ int, scores []float32) error {
			compare("whole", columnsOf(g.model, scores))
			return nil
		}))
		if n == len(g.ids) {
			return
		}
		_, err = s.Step(context.Background(), g.ids[n])
	}
}

// TestGradientsUnderEdits: the derivative along a direction is the central difference of the
// prediction under the same edits, of every tap, and its value is that prediction.
func TestGradientsUnderEdits(t *testing.T) {
	eachHeaded(t, func(t *testing.T, g *golden) {
		sampleWithShort(t)
		q := g.question(t, g.ids)
		q.Edits = append(g.someEdits(len(g.ids)),
			trace.Edit{Tap: trace.Hidden, Layers: []int{g.model.Spec.Layers},
				Change: trace.Scale, Factor: 0.5})
		got := g.gradient(t, q, trace.TrueGradient)
		rows, err := g.model.Embed(context.Background(), q.IDs)
		must(t, err)
		random := rand.New(rand.NewPCG(3, 4))
		direction, want := make([]float64, len(rows)), 0.0
		for i := range direction {
			direction[i] = random.NormFloat64()
			want += direction[i] * float64(got.Data[i])
		}
		step := 5e-3 // in float32, whose rounding is 1e-7 of the value
		if g.model.Spec.Experts() > 0 {
			step = 3e-4 // so that no token goes to other experts
		}
		moved := func(by float64) trace.Query {
			p := q
			p.Embeddings = make([]float32, len(rows))
			for i := range rows {
				p.Embeddings[i] = rows[i] + float32(by*step*direction[i])
			}
			return p
		}
		size := 0.0
		for _, x := range got.Data {
			size += float64(x) * float64(x)
		}
		values, err := g.model.Predict(context.Background(),
			[]trace.Query{q, moved(1), moved(-1), moved(2), moved(-2)})
		must(t, err)
		// Richardson: the error of both differences is a multiple of the square of the step.
		slope := (8*(values[1]-values[2]) - (values[3] - values[4])) / (12 * step)
		if tol := 2e-2*math.Sqrt(size) + 1e-4; math.Abs(slope-want) > tol {
			t.Errorf("derivative %g, want %g within %g", want, slope, tol)
		}
		near64(t, "value", []float64{got.Value}, values[:1], 1e-5)
	})
}

// TestPredictUnderLateEdits: texts of the same tokens, which pass the layers before their edits
// once, get what each gets alone: with an edit in the last layer, before it, and after it.
func TestPredictUnderLateEdits(t *testing.T) {
	eachGolden(t, func(t *testing.T, g *golden) {
		s := g.model.Spec
		if s.Head == spec.NoHead {
			t.Skip("it predicts nothing")
		}
		last := s.Layers - 1
		objective := trace.Objective{
			Quantity: trace.Logit, Position: len(g.ids) - 1, Token: g.second(),
		}
		var queries []trace.Query
		for _, e := range []trace.Edit{
			{Tap: trace.Context, Layers: []int{last}, Heads: []int{1}, Change: trace.SetZero},
			{Tap: trace.Hidden, Layers: []int{last}, Change: trace.Scale, Factor: 0.5},
			{Tap: trace.Hidden, Layers: []int{s.Layers}, Positions: []int{-1, 0},
				Change: trace.AddValue, Factor: 1, Value: []float32{0.2}},
		} {
			queries = append(queries, trace.Query{
				IDs: g.ids, Objective: objective, Edits: []trace.Edit{e},
			})
		}
		together, err := g.model.Predict(t.Context(), queries)
		must(t, err)
		for i, q := range queries {
			alone, err := g.model.Predict(t.Context(), []trace.Query{q})
			must(t, err)
			near64(t, q.Edits[0].String(), together[i:i+1], alone, sumTol)
		}
	})
}
