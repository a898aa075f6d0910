package transformer

import (
	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas

	"github.com/headwater-ml/headwater/attribution/trace"
)

// Every other mixing of this package follows the same pattern: one file, registered here.
func init() { RegisterMixing("attention", attentionMixing{}) }

// attentionMixing is the softmax of the scores with the heads fused: the mixing of raw attention,
// rollout and flow (Abnar and Zuidema 2020, §2).
type attentionMixing struct{}

func (attentionMixing) Mix(b *Block, heads trace.Heads) *Node {
	return FuseHeads(b.Attention, heads)
}

func (attentionMixing) Check(trace.Heads) error { return nil }

func (attentionMixing) PerPair() bool { return false }
