package spec_test

import (
	"math"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/models/spec"
)

// TestKindsAndOffset: a kind that this package does not name, and an offset that is NaN or
// infinite, are refused. Package transformer tests the other limits on the specs of its models.
func TestKindsAndOffset(t *testing.T) {
	for _, c := range []struct {
		change func(s *spec.Spec)
		want   string
	}{
		{func(*spec.Spec) {}, ""},
		{func(s *spec.Spec) { s.NormOffset = -1 }, ""},
		{func(s *spec.Spec) { s.HeadActivation = spec.HyperbolicTangent }, ""},
		{func(s *spec.Spec) { s.Positions = 4 }, "positions 4 is not in 0..3"},
		{func(s *spec.Spec) { s.Order = -1 }, "order -1 is not in 0..2"},
		{func(s *spec.Spec) { s.Positions = spec.NoPositions }, "a model without positions needs embeddings"},
		{func(s *spec.Spec) { s.Activation = 14 }, "activation 14 is not in 0..13"},
		{func(s *spec.Spec) { s.Relative = &spec.Relative{} }, "0 embeddings of distances"},
		{func(s *spec.Spec) { s.Relative = &spec.Relative{Span: 8, Distance: 5} }, "up to 5; with 8"},
		{func(s *spec.Spec) { s.Relative = &spec.Relative{Span: 8} }, "nothing is multiplied by"},
		{
			func(s *spec.Spec) { s.Relative = &spec.Relative{Span: 8, Keys: true} },
			"are for encoders",
		},
		{func(s *spec.Spec) { s.HeadActivation = 77 }, "head activation 77 is not in 0..12"},
		{func(s *spec.Spec) { s.Head = 5 }, "head 5 is not in 0..4"},
		{func(s *spec.Spec) { s.NormOffset = math.NaN() }, "norm offset NaN is not in -1e+06..1e+06"},
		{func(s *spec.Spec) { s.NormOffset = math.Inf(-1) }, "norm offset -Inf is not in"},
	} {
		s := &spec.Spec{
			Family: "test", Layers: 1, Heads: 1, Width: 2, HeadWidth: 2, FeedForward: 4, Vocab: 8,
			Context: 8, NormEpsilon: 1e-5, BOS: -1,
		}
		c.change(s)
		err := s.Check()
		if c.want == "" && err != nil || c.want != "" && (err == nil ||
			!strings.Contains(err.Error(), c.want)) {
			t.Errorf("error %v, want %q", err, c.want)
		}
	}
}
