package models_test

import (
	"context"
	"math"
	"testing"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models"
)

// TestScoresOfPredictions: every head that has a distribution gives scores of it, which agree with
// the probabilities of all alternatives; where classes do not exclude each other, or the head finds
// a start and an end, there are none.
func TestScoresOfPredictions(t *testing.T) {
	const tol = 1e-9
	for golden, distribution := range map[string]bool{
		"gpt2": true, "llama": true, "bert": true, "bert_cls": true, "llama_cls": true,
		"bert_tokens": true, "electra_disc": true, "bert_multilabel": false, "bert_qa": false,
		"bert_bare": false, "bert_reranker": false, "gpt2_cls": false,
	} {
		m, err := models.Open("testdata/goldens/"+golden, models.Options{})
		must(t, err)
		ask := trace.Ask{Alternatives: 1000, Positions: []int{1}}
		if !m.Info().Reads() {
			ask.Positions, ask.Continuation = nil, []int{9, 4}
		}
		steps := 0
		for step, err := range m.Steps(context.Background(), []int{5, 6, 7, 8}, ask) {
			must(t, err)
			steps++
			p, s := step.Next, step.Next.Scores
			if s != nil != distribution {
				t.Errorf("%s: scores %+v, want some: %v", golden, s, distribution)
			}
			if s == nil {
				continue
			}
			entropy, rank := 0.0, 1
			for _, a := range p.Alternatives {
				entropy -= a.Probability * math.Log(a.Probability)
				if a.Probability > p.Probability {
					rank++
				}
			}
			if math.Abs(s.Entropy-entropy) > tol || s.Rank != rank ||
				math.Abs(s.Surprisal+math.Log(p.Probability)) > tol {
				t.Errorf("%s: %+v, want entropy %v, surprisal %v, rank %d", golden, s, entropy,
					-math.Log(p.Probability), rank)
			}
		}
		if steps == 0 {
			t.Errorf("%s has no step", golden)
		}
	}
}
