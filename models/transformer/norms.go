package transformer

import (
	"fmt"

	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like the formulas, as GoMLX's own does

	"github.com/headwater-ml/headwater/attribution/trace"
)

func init() {
	RegisterMixing("norms", norms{upTo: attentionPart})
	RegisterMixing("norms-residual", norms{upTo: residualPart})
	RegisterMixing("norms-residual-norm", norms{upTo: normPart})
	RegisterMixing("globenc", norms{upTo: blockPart})
}

// norms is the length of the vector that a target gets from each source, followed so far into the block:
//
//	norms                ‖f[t,s]‖,  f[t,s] = Σ_h α^h[t,s] v^h_s W_O^h   (Kobayashi et al. 2020, §3)
//	norms-residual       ‖f[t,s] + δ_ts x_t‖
//	norms-residual-norm  ‖g(f[t,s] + δ_ts x_t)‖,  g(u) = (u - mean u)/σ(x_t + a_t) ⊙ γ   (Kobayashi et al. 2021, §3)
//	globenc              ‖g₂(g(f[t,s] + δ_ts x_t))‖, g₂ the norm behind the feed-forward part   (Modarressi et al. 2022, §3)
//
// g is the norm with the spread that it divides by held fixed, which makes it linear; its bias belongs to no source. GlobEnc carries the
// sum around the feed-forward part, whose output is in the spread of g₂ alone.
//
// The papers are about post-norm encoders. Elsewhere g is whatever norm stands on the residual stream itself. In a pre-norm or parallel
// block that is none: the last three are one. Where a norm stands behind the attention and before the residual (Gemma), f goes through
// it, linear in the same way, and then meets x_t. Where the residual is added behind its norm (some BLOOMs), that is x_t, and the
// second norm, which the stream goes through, is g.
//
// One head alone is its own f; each head apart is [B,H,N,S]. All heads together, which go by the name of the mean, are summed as the model
// sums them.
type norms struct{ upTo part }

func (m norms) Mix(b *Block, heads trace.Heads) *Node {
	rows := length(b.parts(m.upTo, heads)) // [B,K,N,S]
	if heads.Fusion == trace.EachHead {
		return rows
	}
	return Squeeze(rows, 1)
}

func (norms) Check(heads trace.Heads) error { return checkTogether("norms", heads) }

func (norms) PerPair() bool { return true }

// checkTogether returns an error unless heads are taken all together, one alone, or each apart.
func checkTogether(what string, heads trace.Heads) error {
	switch heads.Fusion {
	case trace.MeanHeads, trace.OneHead, trace.EachHead:
		return nil
	}
	return fmt.Errorf("transformer: %s takes all heads together (mean), one head or each apart; heads %s do not apply", what, heads)
}
