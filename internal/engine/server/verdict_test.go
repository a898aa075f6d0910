package server_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/engine"
	"github.com/headwater-ml/headwater/internal/engine/server"
	"github.com/headwater-ml/headwater/internal/fakemodel"
)

// Verdicts come when all tokens have been sent, and arrive: those of all tokens, and that of the
// one that the picture opens at.
func TestVerdictsArrive(t *testing.T) {
	m := fakemodel.NewScored(1)
	m.Predicted = func(q trace.Query) float64 { return float64(len(q.IDs)) / 10 }
	opens := func(*attribution.Explanation) int { return 1 }
	client, _ := serve(t, server.Config{
		Open:  one(m),
		Opens: func(e *attribution.Explanation, _ json.RawMessage) int { return opens(e) },
	})
	for prove, verdicts := range map[string]int{"": 0, "opening": 1, "all": 3} {
		o := attribution.Options{
			Prove: prove, Methods: []string{"raw"}, MaxTokens: 3, Opens: opens,
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
			if g.Verdict != nil {
				n++
			}
		}
		if n != verdicts || prove == "opening" && got.Steps[1].Verdict == nil {
			t.Errorf("prove %q: %d verdicts, want %d", prove, n, verdicts)
		}
	}
}
