package sources_test

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/sources"
	"github.com/headwater-ml/headwater/models"
)

// whole is a model whose continuations are computed by a pass over each whole text.
type whole struct{ *models.Model }

// PredictContinuation computes every log-probability without a cache.
func (w whole) PredictContinuation(
	ctx context.Context, prompts [][]int, continuation []int, _ func(int),
) (*trace.Continuations, error) {
	out := &trace.Continuations{}
	for _, prompt := range prompts {
		ids := slices.Concat(prompt, continuation)
		var queries []trace.Query
		for i, id := range continuation {
			queries = append(queries, trace.Query{IDs: ids, Objective: trace.Objective{
				Quantity: trace.LogProbability, Position: len(prompt) - 1 + i, Token: id,
			}})
		}
		row, err := w.Predict(ctx, queries)
		if err != nil {
			return nil, err
		}
		out.LogProbabilities = append(out.LogProbabilities, row)
	}
	return out, nil
}

// TestCached: on the embedded model every score is that of passes over whole texts, and the
// sentence with the answer is the strongest by both methods.
func TestCached(t *testing.T) {
	m, err := models.Open("", models.Options{})
	must(t, err)
	answer, err := sources.EncodeAnswer(m, "", " john")
	must(t, err)
	q := sources.Question{
		Context: divide(t, "", "mary has the red key . john has the blue lamp . "+
			"anna has the old book ."),
		Prompt: func(documents string) (string, error) {
			return documents + " who has the lamp ?", nil
		},
		Answer: answer,
	}
	got, want := explain(t, m, q, sources.Options{}), explain(t, whole{m}, q, sources.Options{})
	const tolerance = 1e-5
	near(t, "ln p", []float64{got.LogProbability}, []float64{want.LogProbability}, tolerance)
	for i, s := range got.Methods {
		near(t, s.Method, values(s), values(want.Methods[i]), tolerance)
		if s.Ranked()[0] != 1 {
			t.Errorf("%s: the strongest is %d, want 1: %v", s.Method, s.Ranked()[0], s.Values)
		}
		if math.IsNaN(float64(s.LDS)) {
			t.Errorf("%s has no LDS", s.Method)
		}
	}
	if got.TokensRead >= got.TokensWhole/2 {
		t.Errorf("%d of %d tokens read, want fewer than half", got.TokensRead, got.TokensWhole)
	}
}
