package backends

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/e2e/fixture"
	"github.com/headwater-ml/headwater/models"
)

// questions are some of texts of different lengths, of all quantities; scores that are numbers have
// no probability, so they are asked for as logits.
func questions(t *testing.T, family string, numbers bool) (queries []trace.Query) {
	text, contrast := ids(t, family, "input_ids", 2), 0
	for i, quantity := range trace.Quantities() {
		if numbers {
			quantity = trace.Logit
		}
		o := trace.Objective{Quantity: quantity, Position: 5, Token: 1}
		if i > 0 {
			o.Contrast = &contrast
		}
		queries = append(queries, trace.Query{IDs: text[:12-2*i], Objective: o})
	}
	return queries
}

// differentiated are goldens that have all kinds of blocks and heads among them: graphs of the way
// back take XLA seconds to compile.
var differentiated = []string{"bert", "bloom", "distilbert_cls", "electra_disc", "gemma2", "gpt2", "gpt_neox", "opt_350", "phi3", "qwen3", "llama_cls", "gpt2_cls", "bert_qa", "mixtral", "modernbert_mean", "deepseek_v3"}

// TestGradientsAgree: pure Go and XLA predict and differentiate alike, by every rule, texts of
// different lengths in one batch.
func TestGradientsAgree(t *testing.T) {
	ctx := context.Background()
	for _, family := range differentiated {
		t.Run(family, func(t *testing.T) {
			t.Parallel()
			xla := fixture.Open(t, goldens+family, "xla")
			plain := fixture.Open(t, goldens+family, "go")
			queries := questions(t, family, plain.Info().Numbers)
			want, err := plain.Predict(ctx, queries)
			must(t, err)
			got, err := xla.Predict(ctx, queries)
			must(t, err)
			for i := range want {
				if d := math.Abs(got[i] - want[i]); !(d <= backendTol) {
					t.Errorf("query %d: %v, pure Go %v", i, got[i], want[i])
				}
			}
			for _, rule := range []trace.Backward{trace.TrueGradient, trace.RelevanceGradient, trace.WithAttention} {
				want, got := gradients(t, plain, queries, rule), gradients(t, xla, queries, rule)
				for i := range queries {
					where := fmt.Sprintf("rule %d query %d", rule, i)
					compare(t, where, got[i].Data, want[i].Data, scaled(want[i].Data))
					compare(t, where+" attention", got[i].Attention, want[i].Attention, tapTol)
					compare(t, where+" its gradient", got[i].AttentionData, want[i].AttentionData,
						scaled(want[i].AttentionData))
				}
			}
		})
	}
}

func gradients(
	t *testing.T, m *models.Model, queries []trace.Query, rule trace.Backward,
) []trace.Gradient {
	t.Helper()
	all, err := m.Gradients(context.Background(), queries, rule)
	must(t, err)
	return all
}

// TestGradientsInHalf: with bfloat16 weights XLA rounds as pure Go does, and sends back what it
// does; a sum that falls on the other side of a rounding moves an entry by 2^-8.
func TestGradientsInHalf(t *testing.T) {
	const cost = 0.02 // of the size of all together
	for _, family := range []string{"bert", "gemma2", "gpt2"} {
		t.Run(family, func(t *testing.T) {
			var of [2][]trace.Gradient
			for i, backend := range []string{"xla", "go"} {
				fixture.Open(t, goldens+family, backend)
				opts := models.Options{Backend: backend, DType: "bfloat16"}
				m, err := models.Open(goldens+family, opts)
				must(t, err)
				for _, rule := range []trace.Backward{trace.TrueGradient, trace.RelevanceGradient} {
					queries := questions(t, family, m.Info().Numbers)
					of[i] = append(of[i], gradients(t, m, queries, rule)...)
				}
			}
			for k, want := range of[1] {
				size, off := 0.0, 0.0
				for i, x := range want.Data {
					size += float64(x) * float64(x)
					off += math.Pow(float64(of[0][k].Data[i]-x), 2)
				}
				if !(math.Sqrt(off/size) < cost) {
					t.Errorf("gradient %d: %g of its size apart, want at most %g",
						k, math.Sqrt(off/size), cost)
				}
			}
		})
	}
}

// TestMeanOfTokens: a class read from the mean of all tokens is the same wherever it is asked for,
// its derivative is that of the text, and it is no sum of parts of one token.
func TestMeanOfTokens(t *testing.T) {
	m := fixture.Open(t, goldens+"modernbert_mean", "go")
	q := trace.Query{IDs: ids(t, "modernbert_mean", "input_ids", 2)}
	q.Quantity, q.Token = trace.Logit, 1
	logits := recorded(t, "modernbert_mean", "logits")
	at, elsewhere := q, q
	elsewhere.Position = 7
	got, err := m.Predict(t.Context(), []trace.Query{at, elsewhere})
	must(t, err)
	for _, value := range got {
		if math.Abs(value-float64(logits[1])) > backendTol {
			t.Errorf("the score of class 1 is %v, the reference has %v", value, logits[1])
		}
	}
	const step = 1e-2
	slope := gradients(t, m, []trace.Query{q}, trace.TrueGradient)[0].Data
	rows, err := m.Embed(t.Context(), q.IDs)
	must(t, err)
	for _, i := range []int{0, 37, len(rows) - 1} {
		moved := func(by float32) float64 {
			q := q
			q.Embeddings = append([]float32(nil), rows...)
			q.Embeddings[i] += by
			value, err := m.Predict(t.Context(), []trace.Query{q})
			must(t, err)
			return value[0]
		}
		want := (moved(step) - moved(-step)) / (2 * step)
		if math.Abs(float64(slope[i])-want) > 1e-3 {
			t.Errorf("derivative by number %d of the embedding: %v, differences give %v", i,
				slope[i], want)
		}
	}
	if _, err := m.LogitTerms(t.Context(), q); err == nil ||
		!strings.Contains(err.Error(), "reads the mean of all tokens") {
		t.Errorf("error %v, want one about the mean of all tokens", err)
	}
}
