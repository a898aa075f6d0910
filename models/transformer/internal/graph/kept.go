package graph

import (
	"slices"

	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/spec"
)

// KeptOf is what a layer did to the targets of a block besides its output: its attention output,
// [B,N,D], attention, [B,H,N,S], as far as edits of contexts and the outputs of heads keep it, and
// with [SumsBeforeNorm] that sum, [B,N,D]. An idle one did nothing: then they are zeros, and are
// not computed.
func KeptOf(b *Block) []*Node {
	kept := []*Node{b.AttentionOutput, b.readByHeads()}
	if b.idle {
		kept = []*Node{ZerosLike(b.Input), ZerosLike(b.Attention)}
	}
	switch {
	case !SumsBeforeNorm(b.layer.Spec, b.layer.Number):
		return kept
	case b.idle:
		return append(kept, ZerosLike(b.Input))
	}
	return append(kept, SumBeforeNorm(b))
}

// KeptAt is what a layer did to one target of each text, in the order of [run.Latest.addPrompt]:
// its input, [B,1,D], what [KeptOf] gives, with N = 1, and its output, [B,1,D]. For at see
// [OneRow]; it is nil if the block has no other target.
func KeptAt(b *Block, at *Node) []*Node {
	all := slices.Concat([]*Node{b.Input}, KeptOf(b), []*Node{b.Output})
	if at == nil {
		return all
	}
	for i, x := range all {
		all[i] = OneRow(x, at)
	}
	return all
}

// SumsBeforeNorm reports whether the direction on the stream passes a norm after the attention
// output is added in layer l: that after the feed-forward part, or with NormedResidual that before
// it. A pass keeps what that norm normalises, [SumBeforeNorm]: otherwise it would be computed
// again, under the edits of the pass.
func SumsBeforeNorm(s *spec.Spec, l int) bool {
	return s.Order == spec.PreNorm && s.NormedResidual ||
		s.Order == spec.PostNorm && s.Stack(l) != spec.Decoding
}

// KeptTensors is how many tensors [KeptOf] gives of layer l.
func KeptTensors(s *spec.Spec, l int) int {
	if SumsBeforeNorm(s, l) {
		return 3
	}
	return 2
}

// LastTensors is how many tensors [KeptAt] gives of layer l.
func LastTensors(s *spec.Spec, l int) int { return 2 + KeptTensors(s, l) }

// LastAttention is the place of the attention in what [KeptAt] gives.
const LastAttention = 2

// SumBeforeNorm is what the norm after the feed-forward part normalises in the post-norm order,
// and with NormedResidual what the norm before it does, [B,N,D], under the edits of the pass. See
// [SumsBeforeNorm].
func SumBeforeNorm(b *Block) *Node {
	l := b.layer
	if l.Spec.Order == spec.PreNorm {
		return AttentionSum(b)
	}
	// [Finish] has computed them, unless the output came from elsewhere.
	z, m := b.inner[trace.HiddenAfterAttention], b.inner[trace.FeedForwardOutput]
	if z == nil || m == nil {
		z = l.Edited(trace.HiddenAfterAttention,
			l.Norm(AttentionSum(b), "attention-norm"))
		m = l.Edited(trace.FeedForwardOutput, l.MLP(z))
	}
	return Add(z, m)
}
