package transformer_test

import (
	"context"
	"testing"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/spec"
)

// TestSecondPromptOnDevice: where the host cannot write into the cache, a model that has read one
// text reads a longer one, whose cache has more slots, as where it can.
func TestSecondPromptOnDevice(t *testing.T) {
	const tol = 1e-4 // float32 rounding; a wrong cache is off by 0.7
	for _, c := range []struct {
		name    string
		asks    []trace.MixingAsk
		spare   int // slots asked for besides those of the text
		lengths []int
	}{
		{"padded to the slots", nil, 0, []int{40, 70}},
		{"padded beyond the slots", []trace.MixingAsk{{Name: "value-zeroing"}}, 2, []int{33, 65}},
	} {
		t.Run(c.name, func(t *testing.T) {
			logits := func(onDevice bool) (all [][]float32) {
				// A model of its own, because the golden's keeps its graphs for other tests.
				m := openGolden(t, "bloom").variant(t, func(*spec.Spec) {}).model
				m.RoundUp()
				if onDevice {
					m.OnDevice()
				}
				for _, n := range c.lengths {
					room := 0
					if c.spare > 0 {
						room = n + c.spare
					}
					s, err := m.NewSession(c.asks, room)
					must(t, err)
					ids := make([]int, n)
					for i := range ids {
						ids[i] = (i*7 + 3) % m.Spec.Vocab
					}
					_, err = s.Prompt(context.Background(), ids, nil)
					must(t, err)
					for k := range 2 {
						step, err := s.Step(context.Background(), k*5+1)
						must(t, err)
						all = append(all, step.Logits)
					}
					s.Close()
				}
				return all
			}
			want, got := logits(false), logits(true)
			for i := range want {
				if apart, _ := worst(got[i], want[i]); apart > tol {
					t.Errorf("step %d: a logit differs by %g", i, apart)
				}
			}
		})
	}
}
