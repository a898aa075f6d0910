package methods

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/study/patch"
	"github.com/headwater-ml/headwater/models"
)

// TestEdgesOfNames measures, on SmolLM2 and the pairs of prompts of [TestNameMovers], the circuits
// that edge attribution patching finds for each pair with one gradient and with five. The strongest
// edge into the logits is that of the strongest name mover, and the tenth of the edges with the
// largest scores keeps more than half of each difference. A pair takes 25 s of processor time, so
// only -v takes more than two; docs/measured/heads.md has what it prints then, also for Gemma 3
// 270M where internal/bench/peers/gemma3.sh has put it.
func TestEdgesOfNames(t *testing.T) {
	all := map[string]*models.Model{"smollm2": nameModel(t)}
	gemma := filepath.Join("..", "..", "..", ".cache", "gemma3", "gemma-3-270m-q4_k_m.gguf")
	if _, err := os.Stat(gemma); err == nil && testing.Verbose() {
		all["gemma"], err = models.Open(gemma, models.Options{})
		must(t, err)
	}
	for name, m := range all {
		edgesOfNames(t, name, m)
	}
}

func edgesOfNames(t *testing.T, name string, m *models.Model) {
	for _, steps := range []int{1, patch.DefaultSteps} {
		t.Run(fmt.Sprint(name, " ", steps, " steps"), func(t *testing.T) {
			pairs, cpr, cmd, kept, count := 0.0, 0.0, 0.0, 0.0, 0
			signed, absolute := map[float64]float64{}, map[float64]float64{}
			logits := map[patch.Node]float64{}
			eachNamePair(t, m, func(clean, corrupted []trace.Token, _ string) {
				if pairs == 2 && !testing.Verbose() {
					return
				}
				r, err := patch.Map(t.Context(), m, patch.Options{
					Clean: clean, Corrupted: corrupted, Place: patch.Edges, Steps: steps,
				})
				must(t, err)
				e := r.Edges
				pairs, count = pairs+1, e.Count
				cpr, cmd, kept = cpr+e.CPR, cmd+e.CMD, kept+float64(e.Kept.Edges)
				for _, c := range e.Circuits {
					signed[c.Share] += c.Signed
					absolute[c.Share] += c.Absolute
					if name == "smollm2" && c.Share == .1 && c.Absolute < .5 ||
						c.Share == 1 && math.Abs(c.Absolute-1) > 1e-3 {
						t.Errorf("a circuit of %g of the edges keeps %g", c.Share, c.Absolute)
					}
				}
				for _, edge := range e.Strongest {
					if edge.Receiver.Kind == patch.LogitsNode {
						logits[edge.Sender] += edge.Score
					}
				}
			})
			best := patch.Node{}
			for n, x := range logits {
				if x > logits[best] {
					best = n
				}
			}
			t.Logf("%.0f pairs, %d edges: CPR %.3f, CMD %.4f, %.0f edges keep 80 %%, %s %.1f %%",
				pairs, count, cpr/pairs, cmd/pairs, kept/pairs, best, 100*logits[best]/pairs)
			for _, share := range []float64{.001, .002, .005, .01, .02, .05, .1, .2, .5, 1} {
				t.Logf("%g: the highest scores %.3f, the largest %.3f", share,
					signed[share]/pairs, absolute[share]/pairs)
			}
			if name == "smollm2" && best != (patch.Node{Kind: patch.HeadNode, Layer: 23, Head: 3}) {
				t.Errorf("the strongest edge into the logits is that of %s", best)
			}
		})
	}
}
