package modeltest

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gomlx/compute/dtypes"

	"github.com/headwater-ml/headwater/internal/backends"
	"github.com/headwater-ml/headwater/models/spec"
	"github.com/headwater-ml/headwater/models/transformer"
)

// sample is a small random model of a kind that a mixing must support.
type sample struct {
	name string
	spec spec.Spec
}

// samples returns a plain decoder, a decoder with nearly all options that change what a target sees
// or what comes after attention, a decoder with parallel blocks, and an encoder.
func samples() []sample {
	plain := spec.Spec{
		Family: "plain", Layers: 2, Heads: 4, Width: 16, HeadWidth: 4, FeedForward: 24, Vocab: 20,
		Context: 48, NormEpsilon: 1e-5,
		ProjectionBias: true, OutputBias: true, MLPBias: true, TiedHead: true, BOS: -1,
	}
	grouped := spec.Spec{
		Family: "grouped", Layers: 3, Heads: 4, KeyValueHeads: 2, Width: 16, HeadWidth: 6,
		FeedForward: 24, Vocab: 20, NormEpsilon: 1e-6,
		Positions: spec.RotaryPositions,
		Rotary:    &spec.Rotary{Frequencies: []float32{1, 0.1}}, Windows: []int{5, 0, 5},
		RMS: true, NormAfter: true, QueryKeyNorm: true, Activation: spec.SiLU, Gated: true,
		ScoreCap: 5, BOS: -1,
	}
	parallel := spec.Spec{
		Family: "parallel", Layers: 2, Heads: 2, KeyValueHeads: 1, Width: 12, HeadWidth: 6,
		FeedForward: 20, Vocab: 20, NormEpsilon: 1e-5,
		Positions: spec.ALiBi, AlibiSlopes: spec.AlibiSlopes(2),
		Order: spec.Parallel, SharedNorm: true, BOS: -1,
	}
	encoder := plain
	encoder.Family, encoder.Bidirectional, encoder.Order = "encoder", true, spec.PostNorm
	encoder.EmbeddingNorm, encoder.NoFinalNorm, encoder.TokenTypes = true, true, 2
	stacks := plain
	stacks.Family, stacks.Layers, stacks.Encoder, stacks.MemoryNorm = "two stacks", 6, 2, true
	stacks.Positions, stacks.RelativeBuckets, stacks.RelativeDistance = spec.NoPositions, 8, 10
	stacks.RMS, stacks.ScoreScale, stacks.Gated, stacks.Context = true, 1, true, 0
	after := encoder
	after.Family, after.Layers, after.Encoder, after.TokenTypes = "two stacks, norms after", 3, 1, 0
	after.Bidirectional, after.HeadBias = false, true
	return []sample{
		{"two stacks", stacks},
		{"two stacks, norms after", after},
		{"plain", plain},
		{"groups and windows", grouped},
		{"parallel", parallel},
		{"encoder", encoder},
	}
}

// open makes the model with random weights. The seed is fixed.
func (s sample) open(t testing.TB) *transformer.Model {
	t.Helper()
	random := rand.New(rand.NewPCG(1, uint64(s.spec.Width)))
	backend, err := backends.Open("go")
	must(t, err)
	m, err := transformer.New(backend, &s.spec, dtypes.Float32,
		func(p spec.Param, put func(int, []float32)) error {
			data := make([]float32, p.Size())
			for i := range data {
				data[i] = float32(random.NormFloat64() * 0.4)
				if strings.HasSuffix(p.Name, ".gain") {
					data[i]++
				}
			}
			put(0, data)
			return nil
		})
	must(t, err)
	return m
}

// ids returns a text of n tokens.
func (s sample) ids(n int) []int {
	random := rand.New(rand.NewPCG(2, 3))
	ids := make([]int, n)
	for i := range ids {
		ids[i] = random.IntN(s.spec.Vocab)
	}
	if s.spec.Encoder > 0 {
		ids[s.boundary(n)] = s.spec.Boundary()
	}
	return ids
}

// boundary is where the target begins in a text of n tokens of a model of two stacks.
func (s sample) boundary(n int) int { return min(2, n-1) }

// shortest is how many tokens a text has at least: two stacks need one each.
func (s sample) shortest() int {
	if s.spec.Encoder > 0 {
		return 2
	}
	return 1
}

// sees returns whether a target may see a source in layer l.
func (s sample) sees(l, target, source int) bool {
	if s.spec.Bidirectional {
		return true
	}
	begin := s.boundary(textLength)
	switch stack := s.spec.Stack(l); {
	case stack == spec.OneStack:
	case target == source:
		return true // the residual, and what a layer leaves as it is
	case stack == spec.Encoding:
		return target < begin && source < begin
	case stack == spec.Crossing:
		return target >= begin && source < begin
	default:
		return begin <= source && source < target
	}
	window := s.spec.Window(l)
	return source <= target && (window == 0 || target-source < window)
}
