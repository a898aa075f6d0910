package run

import (
	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/headwater-ml/headwater/models/transformer/internal/codes"
	"github.com/headwater-ml/headwater/models/transformer/internal/graph"
	"github.com/headwater-ml/headwater/models/transformer/internal/host"
)

// KeepLens makes every later pass keep what [Session.Lens] needs. It is called before
// [Session.Prompt].
func (s *Session) KeepLens() { s.terms, s.lens = true, true }

// Lens calls use with what the head computes from the residual stream before every layer and after
// the last one, where the latest pass has its last token: the scores of the vocabulary, [V,L+1],
// from one product with its table. They are valid until use returns, whose error it returns. It
// returns another error without a pass that kept the streams.
func (s *Session) Lens(use func(scores []float32) error) error {
	k := s.latest
	if k == nil {
		return pkg.Errorf("no lens: the session has to keep the streams, and to read a text")
	}
	var streams []float32
	for l := range s.m.Spec.Layers + 1 {
		err := host.Read(k.stream(l), func(data []float32) { streams = append(streams, data...) })
		if err != nil {
			return err
		}
	}
	return LensScores(s.m, streams, use)
}

// LensScores calls use with the scores of the vocabulary for N residual streams, [N,D], as columns,
// [V,N].
func LensScores(m *Model, streams []float32, use func(scores []float32) error) error {
	width := m.Spec.Width
	inputs := []*tensors.Tensor{
		tensors.FromFlatDataAndDimensions(streams, 1, len(streams)/width, width),
		tensors.FromScalar(int32(1)), // only a positive length is needed
	}
	defer host.Free(inputs...)
	scores, err := host.Only(m.Machine.Run("lens", codes.EndsWeights,
		func(w codes.Weights, in []*Node) []*Node {
			d := m.Builder(w, graph.Text{Length: in[1]})
			return []*Node{d.LogitColumns(d.Final(in[0]))}
		}, inputs...))
	if err != nil {
		return pkg.Errorf("%s lens: %w", m.Spec.Family, err)
	}
	defer host.Free(scores)
	var used error
	if err := host.Read(scores, func(data []float32) { used = use(data) }); err != nil {
		return err
	}
	return used
}
