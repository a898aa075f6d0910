package server_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/engine"
	"github.com/headwater-ml/headwater/internal/engine/server"
	"github.com/headwater-ml/headwater/internal/fakemodel"
	"github.com/headwater-ml/headwater/internal/study/lens"
	"github.com/headwater-ml/headwater/internal/study/verdict"
)

// Verdicts come when all tokens have been sent, and arrive: those of all tokens, and that of the
// one that the picture opens at.
func TestVerdictsArrive(t *testing.T) {
	m := fakemodel.NewScored(1)
	m.Predicted = func(q trace.Query) float64 { return float64(len(q.IDs)) / 10 }
	m.Edit = func(step *trace.Step) { step.Next.Token.Text = " " + step.Next.Token.Text }
	opens := func(*attribution.Explanation) int { return 1 }
	client, _ := serve(t, server.Config{
		Open:  one(m),
		Opens: func(e *attribution.Explanation, _ json.RawMessage) int { return opens(e) },
	})
	for prove, verdicts := range map[string]int{"": 0, "opening": 1, "all": 3} {
		o := attribution.Options{
			Studies: attribution.Studies{"prove": prove}, Methods: []string{"raw"}, MaxTokens: 3, Opens: opens,
		}
		want, err := attribution.Explain(t.Context(), m, "w1 w2 w3 w4 w5", o)
		must(t, err)
		got, err := client.Explain(t.Context(), engine.Model{}, "w1 w2 w3 w4 w5", o)
		must(t, err)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("prove %q through the socket (-direct +engine):\n%s", prove, diff)
		}
		n := 0
		for _, g := range got.Steps {
			if verdict.Of(g) != nil {
				n++
			}
		}
		if n != verdicts || prove == "opening" && verdict.Of(got.Steps[1]) == nil {
			t.Errorf("prove %q: %d verdicts, want %d", prove, n, verdicts)
		}
	}
}

// readsHead is an encoder whose head can read every layer.
type readsHead struct{ *fakemodel.Encoder }

func (readsHead) CheckLens() error { return nil }

func (m readsHead) Lens(
	_ context.Context, q trace.LensQuery,
) (all [][]trace.LensLayer, err error) {
	for i, at := range q.Positions {
		layers := make([]trace.LensLayer, m.About.Layers+1)
		for l := range layers {
			layers[l] = trace.LensLayer{
				Likely: []trace.Alternative{{
					Token: trace.Token{ID: at, Text: m.Words[at]}, Probability: .5,
				}},
				Probability: .25, Rank: 2 + q.Tokens[i] + l,
			}
		}
		all = append(all, layers)
	}
	return all, nil
}

// The lens of a model that reads, and that of all positions, are there when all tokens have been
// sent, and arrive.
func TestLensArrives(t *testing.T) {
	m := readsHead{fakemodel.NewEncoder(2, fakemodel.Evenly)}
	opens := func(e *attribution.Explanation) int { return len(e.Steps) - 1 }
	client, _ := serve(t, server.Config{
		Open:  one(m),
		Opens: func(e *attribution.Explanation, _ json.RawMessage) int { return opens(e) },
	})
	for _, asked := range []string{lens.Answer, attribution.OpeningToken, "1"} {
		o := attribution.Options{
			Methods: []string{"raw"}, Positions: []int{1, 3}, Opens: opens,
			Studies: attribution.Studies{"lens": asked},
		}
		want, err := attribution.Explain(t.Context(), m, "w1 w2 w3", o)
		must(t, err)
		text := lens.Of(want)
		if len(lens.OfToken(want.Steps[1])) != 3 || (text != nil) != (asked != lens.Answer) ||
			text != nil && text.Token != 1 {
			t.Fatalf("lens %s: %+v", asked, text)
		}
		got, err := client.Explain(t.Context(), engine.Model{}, "w1 w2 w3", o)
		must(t, err)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("lens %s through the socket (-direct +engine):\n%s", asked, diff)
		}
	}
}
