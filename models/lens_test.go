package models_test

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models"
)

// lensTol bounds the last layer of the lens against the prediction: the same sums in another order.
const lensTol = 1e-6

// TestLens: the last layer of the lens is the prediction, with its alternatives and its rank, on
// the cache and in a pass over the whole text.
func TestLens(t *testing.T) {
	m, err := models.Open(models.Default, models.Options{})
	must(t, err)
	tokens, err := m.Encode("the keys to the cabinet", trace.SpecialsAuto)
	must(t, err)
	ids := trace.IDs(tokens)
	first := len(ids) - 1
	q := trace.LensQuery{IDs: ids, Likely: 4}
	// The second token is not the most probable one, so that it has another rank than 1.
	ask := trace.Ask{Continuation: []int{ids[0], 7, ids[1]}, Alternatives: 4, Lens: 4}
	var steps []trace.Step
	for step, err := range m.Steps(context.Background(), ids, ask) {
		must(t, err)
		steps = append(steps, step)
		q.IDs = append(q.IDs, step.Next.Token.ID)
		q.Positions = append(q.Positions, first+len(steps)-1)
		q.Tokens = append(q.Tokens, step.Next.Token.ID)
	}
	whole, err := m.Lens(context.Background(), q)
	must(t, err)
	q.Likely = 0
	if _, err := m.Lens(context.Background(), q); err == nil ||
		!strings.Contains(err.Error(), "take 1 or more") {
		t.Errorf("no most probable token: error %v", err)
	}
	logits, err := m.Trace(context.Background(), q.IDs, []trace.Tap{trace.Logits})
	must(t, err)
	for i, step := range steps {
		for _, layers := range [][]trace.LensLayer{step.Lens, whole[i]} {
			if len(layers) != m.Info().Layers+1 {
				t.Fatalf("%d layers, want one more than %d", len(layers), m.Info().Layers)
			}
			last := layers[len(layers)-1]
			if d := math.Abs(last.Probability - step.Next.Probability); d > lensTol {
				t.Errorf("step %d: probability %v, want %v", i, last.Probability,
					step.Next.Probability)
			}
			rank, own := 1, logits[0].Data[(first+i)*m.Info().Vocab:][:m.Info().Vocab]
			for _, x := range own {
				if x > own[step.Next.Token.ID] {
					rank++
				}
			}
			if last.Rank != rank {
				t.Errorf("step %d: rank %d, want %d", i, last.Rank, rank)
			}
			for k, a := range step.Next.Alternatives {
				b := last.Likely[k]
				if a.Token.ID != b.Token.ID || math.Abs(a.Probability-b.Probability) > lensTol {
					t.Errorf("step %d: alternative %d is %+v, want %+v", i, k, b, a)
				}
			}
		}
	}
}

// TestLensColumns compares the lens of made-up scores with sorted ones, over more tokens than a
// part has, with equal scores and with more tokens asked for than there are.
func TestLensColumns(t *testing.T) {
	const V, n = 5000, 3
	scores := make([]float32, V*n)
	for i := range scores {
		scores[i] = float32(math.Sin(float64(i*i))) * float32(10+100*(i%n))
	}
	scores[7*n], scores[4999*n] = 20, 20 // equal
	for _, k := range []int{1, 5, V + 1} {
		layers, err := models.LensLayers(V, scores, 4999, k)
		must(t, err)
		for c, layer := range layers {
			column, order := make([]float64, V), make([]int, V)
			sum := 0.0
			for id := range V {
				column[id], order[id] = float64(scores[id*n+c]), id
				sum += math.Exp(column[id])
			}
			slices.SortStableFunc(order, func(a, b int) int {
				if column[a] > column[b] {
					return -1
				} else if column[a] < column[b] {
					return 1
				}
				return 0
			})
			if len(layer.Likely) != min(k, V) {
				t.Fatalf("%d tokens, want %d", len(layer.Likely), min(k, V))
			}
			for i, a := range layer.Likely {
				want := math.Exp(column[order[i]]) / sum
				if a.Token.ID != order[i] || math.Abs(a.Probability-want) > 1e-12 {
					t.Errorf("column %d, %d of %d: token %d with %v, want %d with %v", c, i, k,
						a.Token.ID, a.Probability, order[i], want)
				}
			}
			rank := 1
			for _, x := range column {
				if x > column[4999] {
					rank++
				}
			}
			if layer.Rank != rank {
				t.Errorf("column %d: rank %d, want %d", c, layer.Rank, rank)
			}
		}
	}
	scores[4] = float32(math.NaN())
	if _, err := models.LensLayers(V, scores, 0, 1); err == nil ||
		!strings.Contains(err.Error(), "element [1,1] of [V,L] is NaN") {
		t.Errorf("error %v, want one that names NaN of token 1 in layer 1", err)
	}
}
