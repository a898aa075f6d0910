package transformer_test

import (
	"fmt"
	"slices"
	"testing"

	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/headwater-ml/headwater/models/transformer"
)

// TestStacksScores: the graph that a training differentiates finds where each target of a batch
// begins, and gives every token of it the scores of the text alone.
func TestStacksScores(t *testing.T) {
	eachOfTwoStacks(t, func(t *testing.T, g *golden, boundary int) {
		texts := [][]int{g.ids, slices.Delete(slices.Clone(g.ids), 1, 2)}
		n, s := len(g.ids), g.model.Spec
		ids := make([]int32, len(texts)*n) // the second text has padding at its end
		for r, text := range texts {
			for i, id := range text {
				ids[r*n+i] = int32(id)
			}
		}
		at, args := map[string]int{}, []any{tensors.FromFlatDataAndDimensions(ids, len(texts), n)}
		for _, p := range s.Params() {
			at[p.Name] = len(args)
			args = append(args, tensors.FromFlatDataAndDimensions(g.params[p.Name], p.Shape...))
		}
		exec, err := NewExec(goBackend(t), func(in []*Node) *Node {
			scores, _ := transformer.Scores(s, func(name string) *Node { return in[at[name]] },
				in[0], nil)
			return scores
		})
		must(t, err)
		out, err := exec.Call(args...)
		must(t, err)
		must(t, out[0].ConstFlatData(func(flat any) {
			for r, text := range texts {
				for i := boundary - r; i < len(text); i++ {
					row := flat.([]float32)[(r*n+i)*s.Vocab:][:s.Vocab]
					check(t, fmt.Sprintf("text %d, token %d", r, i), row,
						narrow(g.reads(t, text, i)), valueTol)
				}
			}
		}))
	})
}
