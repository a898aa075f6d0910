package explain

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/cli/clitest"
	"github.com/headwater-ml/headwater/models"
)

// The experts and the weights that a picture shows are those of the router: the most probable ones
// of each token, with their probability, or with what that is of their sum.
func TestExplainExperts(t *testing.T) {
	for golden, sums := range map[string]bool{"olmoe": false, "mixtral": true} {
		t.Run(golden, func(t *testing.T) {
			dir := clitest.Mixture(t, golden)
			args := []string{
				"explain", "--model", dir, "--backend", "go", "--max-tokens", "2", "mary has the key",
			}
			text := headwater.Output(t, append(args, "--view", "experts", "--token", "0")...)
			e := clitest.ParseExplanation(t, []byte(headwater.Output(t,
				append(args, "--format", "json")...)))
			m, err := models.Open(dir, models.Options{Backend: "go"})
			must(t, err)
			ids := e.TokenIDs()
			tensors, err := m.Trace(t.Context(), ids, []trace.Tap{trace.Router, trace.Experts})
			must(t, err)
			router, each := tensors[0], tensors[1].Shape[2]
			T, X := len(ids), router.Shape[2]
			chosen := func(layer, token int) (experts []int, weights []float64) {
				row := router.Data[(layer*T+token)*X:][:X]
				for expert := range X {
					experts = append(experts, expert)
				}
				slices.SortStableFunc(experts, func(a, b int) int {
					return cmp.Compare(row[b], row[a])
				})
				sum := 1.0
				if experts = experts[:each]; sums {
					sum = 0
					for _, expert := range experts {
						sum += float64(row[expert])
					}
				}
				for _, expert := range experts {
					weights = append(weights, float64(row[expert])/sum)
				}
				return experts, weights
			}
			// The line of the first generated token has the first experts of both layers.
			first := len(e.Prompt.Texts)
			line := "▸ "
			for _, l := range strings.Split(text, "\n") {
				if strings.HasPrefix(l, line) {
					line = l
				}
			}
			for layer := range router.Shape[0] {
				experts, weights := chosen(layer, first)
				var want []string
				for k, expert := range experts {
					digits := 0
					if weights[k] < .1 {
						digits = 1
					}
					want = append(want, fmt.Sprintf("%d (%.*f %%)", expert, digits, 100*weights[k]))
				}
				whole := fmt.Sprintf("  layer %2d  %s\n", layer, strings.Join(want, ", "))
				if !strings.Contains(text, whole) {
					t.Errorf("want %q in\n%s", whole, text)
				}
				fields := strings.Fields(line)
				if got := fields[len(fields)-router.Shape[0]+layer]; got != fmt.Sprint(experts[0]) {
					t.Errorf("layer %d: the matrix has expert %s, want %d:\n%s", layer, got,
						experts[0], text)
				}
			}
			if sums == (math.Abs(sumOf(tensors[1])-1) > 1e-5) {
				t.Errorf("the weights of a token are %v together", sumOf(tensors[1]))
			}
		})
	}
}

// sumOf is the sum of the weights of the first token in the first layer.
func sumOf(experts trace.Tensor) (sum float64) {
	for k := range experts.Shape[2] {
		sum += float64(experts.Data[2*k+1])
	}
	return sum
}
