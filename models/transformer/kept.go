package transformer

import (
	"slices"

	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/spec"
)

// keptOf is what a layer did to the targets of a block besides its output: its attention output,
// [B,N,D], attention, [B,H,N,S], as far as edits of contexts and the outputs of heads keep it, and
// with [sumsBeforeNorm] that sum, [B,N,D]. An idle one did nothing: then they are zeros, and are
// not computed.
func keptOf(b *Block) []*Node {
	kept := []*Node{b.AttentionOutput, b.readByHeads()}
	if b.idle {
		kept = []*Node{ZerosLike(b.Input), ZerosLike(b.Attention)}
	}
	switch {
	case !sumsBeforeNorm(b.layer.spec, b.layer.number):
		return kept
	case b.idle:
		return append(kept, ZerosLike(b.Input))
	}
	return append(kept, sumBeforeNorm(b))
}

// keptAt is what a layer did to one target of each text, in the order of [latest.addPrompt]: its
// input, [B,1,D], what [keptOf] gives, with N = 1, and its output, [B,1,D]. For at see [oneRow]; it
// is nil if the block has no other target.
func keptAt(b *Block, at *Node) []*Node {
	all := slices.Concat([]*Node{b.Input}, keptOf(b), []*Node{b.Output})
	if at == nil {
		return all
	}
	for i, x := range all {
		all[i] = oneRow(x, at)
	}
	return all
}

// sumsBeforeNorm reports whether the direction on the stream passes a norm after the attention
// output is added in layer l: that after the feed-forward part, or with NormedResidual that before
// it. A pass keeps what that norm normalises, [Block.sumBeforeNorm]: otherwise it would be computed
// again, under the edits of the pass.
func sumsBeforeNorm(s *spec.Spec, l int) bool {
	return s.Order == spec.PreNorm && s.NormedResidual ||
		s.Order == spec.PostNorm && s.Stack(l) != spec.Decoding
}

// keptTensors is how many tensors [keptOf] gives of layer l, lastTensors how many [keptAt] gives,
// and lastAttention which of those is the attention.
func keptTensors(s *spec.Spec, l int) int {
	if sumsBeforeNorm(s, l) {
		return 3
	}
	return 2
}

func lastTensors(s *spec.Spec, l int) int { return 2 + keptTensors(s, l) }

const lastAttention = 2

// sumBeforeNorm is what the norm after the feed-forward part normalises in the post-norm order,
// and with NormedResidual what the norm before it does, [B,N,D], under the edits of the pass. See
// [sumsBeforeNorm].
func sumBeforeNorm(b *Block) *Node {
	if b.layer.spec.Order == spec.PreNorm {
		return attentionSum(b)
	}
	// [Block.finish] has computed them, unless the output came from elsewhere.
	z, m := b.inner[trace.HiddenAfterAttention], b.inner[trace.FeedForwardOutput]
	if z == nil || m == nil {
		z = b.layer.edited(trace.HiddenAfterAttention, b.layer.norm(attentionSum(b), "attention-norm"))
		m = b.layer.edited(trace.FeedForwardOutput, b.layer.mlp(z))
	}
	return Add(z, m)
}
