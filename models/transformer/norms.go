package transformer

import (
	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas

	"github.com/headwater-ml/headwater/attribution/trace"
)

func init() {
	RegisterMixing("norms", norms{upTo: attentionPart})
	RegisterMixing("norms-residual", norms{upTo: residualPart})
	RegisterMixing("norms-residual-norm", norms{upTo: normPart})
	RegisterMixing("globenc", norms{upTo: blockPart})
}

// norms is the length of the vector that a target gets from each source, followed into the block as
// far as the method goes:
//
//	norms                ‖f[t,s]‖,  f[t,s] = Σ_h α^h[t,s] v^h_s W_O^h
//	                     (Kobayashi et al. 2020, §3)
//	norms-residual       ‖f[t,s] + δ_ts x_t‖
//	norms-residual-norm  ‖g(f[t,s] + δ_ts x_t)‖,  g(u) = (u - mean u)/σ(x_t + a_t) ⊙ γ
//	                     (Kobayashi et al. 2021, §3)
//	globenc              ‖g₂(g(f[t,s] + δ_ts x_t))‖   (Modarressi et al. 2022, §3)
//
// g is the norm with its divisor σ fixed, which makes it linear; its bias belongs to no source. g₂
// is the norm after the feed-forward part: GlobEnc carries the sum around that part, whose output
// counts in the σ of g₂ only.
//
// The papers treat post-norm encoders. In other blocks g is the norm that the residual stream
// itself passes. A pre-norm or parallel block has none, so the last three mixings agree there.
// Where a norm follows the attention before the residual is added (Gemma), f goes through it,
// linear in the same way. Where the residual is the output of a norm (some BLOOM configurations),
// x_t is that output, and g is the second norm, which the stream passes.
//
// Heads: one head alone has its own f; each head apart gives [B,H,N,S]; all heads together, named
// mean, are summed as the model sums them.
type norms struct{ upTo part }

func (m norms) Mix(b *Block, heads trace.Heads) *Node {
	rows := vectorLength(streamParts(b, m.upTo, heads)) // [B,K,N,S]
	if heads.Fusion == trace.EachHead {
		return rows
	}
	return Squeeze(rows, 1)
}

func (norms) Check(heads trace.Heads) error { return checkTogether("norms", heads) }

func (norms) PerPair() bool { return true }

// part is how far a contribution is followed into the block.
type part int

const (
	attentionPart part = iota // f, in the output of the attention
	residualPart              // f + δx, in the residual stream after the attention
	normPart                  // the same after the norm of the residual stream, if there is one
	blockPart                 // the same at the end of the block, around the feed-forward part
)

// streamParts are the contributions of the sources, followed up to a place in the block,
// [B,K,N,S,D]. Their sum over the sources is the vector at that place, except for biases.
func streamParts(b *Block, upTo part, heads trace.Heads) *Node {
	f := b.Contributions(heads)
	if upTo == attentionPart {
		return f
	}
	self := InsertAxes(b.Self(), 1, -1)          // [1,1,N,S,1]
	residual := InsertAxes(b.Residual(), 1, 2)   // [B,1,N,1,D]
	f = Add(b.AddedPart(f), Mul(self, residual)) // [B,K,N,S,D]
	if upTo >= normPart {
		f = b.NormedPart(f)
	}
	if upTo == blockPart {
		f = b.OutputPart(f)
	}
	return f
}

// checkTogether returns an error unless heads are taken all together, one alone, or each apart.
func checkTogether(mixing string, heads trace.Heads) error {
	switch heads.Fusion {
	case trace.MeanHeads, trace.OneHead, trace.EachHead:
		return nil
	}
	return pkg.Errorf("%s takes all heads together (mean), one head or each apart; "+
		"heads %s do not apply", mixing, heads)
}

// vectorLength is the Euclidean length along the last axis: [...,D] becomes [...].
func vectorLength(x *Node) *Node { return Sqrt(ReduceSum(Square(x), -1)) }
