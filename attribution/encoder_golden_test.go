package attribution_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/checkpoint"
	"github.com/headwater-ml/headwater/internal/fakemodel"
	"github.com/headwater-ml/headwater/internal/study/verdict"
	"github.com/headwater-ml/headwater/models"
)

// The reference's numbers are float32, as ours are; the worst seen is 2e-7 in rows and 3e-7 in
// probabilities.
const (
	goldenRowTol         = 1e-5
	goldenProbabilityTol = 1e-5
)

// recorded is an encoder among the goldens, which have no tokenizer: it reads the ids of the
// recording whatever the text.
type recorded struct {
	*models.Model
	ids []int
}

func (r recorded) Encode(string, trace.Specials) ([]trace.Token, error) {
	var tokens []trace.Token
	for _, id := range r.ids {
		tokens = append(tokens, trace.Token{ID: id, Text: fmt.Sprint(id)})
	}
	return tokens, nil
}

// golden is a checkpoint with what transformers computes of row 0 of its ids, T tokens.
type golden struct {
	model recorded
	file  *checkpoint.File
	t     *testing.T
}

func openGolden(t *testing.T, name string) golden {
	t.Helper()
	dir := "../models/testdata/goldens/" + name
	m, err := models.Open(dir, models.Options{Backend: "go"})
	must(t, err)
	file, err := checkpoint.Open(dir + "/golden.safetensors")
	must(t, err)
	t.Cleanup(func() { file.Close() })
	ids, err := file.Int32("input_ids")
	must(t, err)
	g := golden{recorded{Model: m}, file, t}
	for _, id := range ids[:len(ids)/2] {
		g.model.ids = append(g.model.ids, int(id))
	}
	return g
}

// first returns the part of a tensor that belongs to row 0 of the batch of two.
func (g golden) first(name string) []float32 {
	g.t.Helper()
	data, err := g.file.Float32(name)
	if err != nil {
		g.t.Fatal(err)
	}
	return data[:len(data)/2]
}

// attention returns layer l of the reference, its heads averaged, [T,T].
func (g golden) attention(l int) []float64 {
	T, H := len(g.model.ids), g.model.Info().Heads
	mean := make([]float64, T*T)
	for i, x := range g.first(fmt.Sprintf("attn.%d", l)) {
		mean[i%(T*T)] += float64(x) / float64(H)
	}
	return mean
}

// rollout multiplies the layers of the reference by hand, each half residual, [L,T,T].
func (g golden) rollout() []float64 {
	T := len(g.model.ids)
	var all, below []float64
	for i := range T * T {
		below = append(below, fakemodel.On(i/T == i%T))
	}
	for l := range g.model.Info().Layers {
		a, next := g.attention(l), make([]float64, T*T)
		for i := range T {
			for k := range T {
				mix := (a[i*T+k] + fakemodel.On(i == k)) / 2
				for j := range T {
					next[i*T+j] += mix * below[k*T+j]
				}
			}
		}
		all, below = append(all, next...), next
	}
	return all
}

// probabilities returns softmax of the reference's logits at a position: of classes at every one of
// the text's, and of an "original or replaced" head both.
func (g golden) probabilities(position int) []float64 {
	logits := g.first("logits")
	info, T := g.model.Info(), len(g.model.ids)
	switch {
	case info.Head == trace.Classes:
	case len(logits) == T:
		logits = []float32{0, logits[position]}
	default:
		V := len(logits) / T
		logits = logits[position*V : (position+1)*V]
	}
	sum := 0.0
	var p []float64
	for _, x := range logits {
		p = append(p, math.Exp(float64(x)))
		sum += p[len(p)-1]
	}
	for i := range p {
		p[i] /= sum
	}
	return p
}

// Each head of each family of encoders: what it predicts, its rows and the maps are those of the
// reference.
func TestEncoderGoldens(t *testing.T) {
	for name, head := range map[string]trace.Head{
		"bert": trace.MaskedToken, "roberta": trace.MaskedToken, "distilbert": trace.MaskedToken,
		"electra":  trace.MaskedToken,
		"bert_cls": trace.Classes, "roberta_cls": trace.Classes, "distilbert_cls": trace.Classes,
		"electra_cls":  trace.Classes,
		"electra_disc": trace.TokenClasses, "bert_bare": trace.NoHead,
		"distilbert_bare": trace.NoHead,
	} {
		t.Run(name, func(t *testing.T) {
			g := openGolden(t, name)
			if info := g.model.Info(); info.Head != head || !info.Bidirectional {
				t.Fatalf("head %q, bidirectional %v; want %q", info.Head, info.Bidirectional, head)
			}
			T, L := len(g.model.ids), g.model.Info().Layers
			opts := attribution.Options{
				Methods:   []string{"raw", "rollout", "value-zeroing"},
				Positions: []int{T - 1, 0, 5}, Alternatives: 2,
			}
			if head == trace.Classes {
				opts.Positions = nil
			}
			e := explain(t, g.model, "recorded", opts)
			want := map[string][]float64{"rollout": g.rollout()}
			for l := range L {
				want["raw"] = append(want["raw"], g.attention(l)...)
			}
			for method, rows := range want {
				near(t, "map of "+method, e.Maps[method].Data, rows, goldenRowTol)
				for i, step := range e.Steps {
					for l := range L {
						near(t, fmt.Sprintf("%s at %d, layer %d", method, *step.Position, l),
							result(t, e, method).Row(i, l),
							rows[(l*T+*step.Position)*T:][:T], goldenRowTol)
					}
				}
			}
			positions := opts.Positions
			if positions == nil {
				positions = []int{0}
			}
			if len(e.Steps) != len(positions) {
				t.Fatalf("%d predictions, want %d", len(e.Steps), len(positions))
			}
			for i, step := range e.Steps {
				if *step.Position != positions[i] || step.Class != (head == trace.Classes ||
					head == trace.TokenClasses) {
					t.Errorf("prediction %+v at %d, want %d", step, *step.Position, positions[i])
				}
				if head == trace.NoHead {
					if !step.Unscored || step.ID != g.model.ids[positions[i]] ||
						step.Probability != 0 {
						t.Errorf("without a head: %+v", step)
					}
					continue
				}
				g.checkPrediction(step)
			}
		})
	}
}

// checkPrediction compares a prediction and its alternatives with the reference's probabilities.
func (g golden) checkPrediction(step attribution.GeneratedToken) {
	g.t.Helper()
	p := g.probabilities(*step.Position)
	for _, a := range append(step.Alternatives, attribution.Alternative{
		ID:          step.ID,
		Probability: step.Probability,
	}) {
		if math.Abs(a.Probability-p[a.ID]) > goldenProbabilityTol {
			g.t.Errorf("position %d: probability of %d is %v, want %v", *step.Position, a.ID,
				a.Probability, p[a.ID])
		}
	}
	for id, x := range p {
		if x > step.Probability+goldenProbabilityTol {
			g.t.Errorf("position %d: %d is predicted with %v, but %d has %v", *step.Position,
				step.ID, step.Probability, id, x)
		}
	}
	if len(step.Alternatives) != 2 {
		g.t.Errorf("%d alternatives, want 2", len(step.Alternatives))
	}
}

// TestAnswerUntested: the start and the end of an answer are explained without a test, because a
// query of them has no probability.
func TestAnswerUntested(t *testing.T) {
	m := openGolden(t, "distilbert_qa").model
	m.ids = []int{3, 4, 5, 6, 7, 3, 4}
	e, err := attribution.Explain(t.Context(), m, "x", attribution.Options{
		Studies: attribution.Studies{"prove": verdict.Auto}, Methods: []string{"rollout"},
	})
	must(t, err)
	for i, s := range e.Steps {
		if v := verdict.Of(s); v != nil {
			t.Errorf("prediction %d was tested: %+v", i, v)
		}
	}
}
