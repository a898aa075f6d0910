package transformer

import (
	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like the formulas, as GoMLX's own does

	"github.com/headwater-ml/headwater/attribution/trace"
)

func init() { RegisterMixing("attention", attentionMixing{}) }

// attentionMixing is the softmax of the scores, heads fused: the mixing of raw attention, rollout and flow (Abnar and
// Zuidema 2020, §2).
type attentionMixing struct{}

func (attentionMixing) Mix(b *Block, heads trace.Heads) *Node { return fuse(b.Attention, heads) }

func (attentionMixing) Check(trace.Heads) error { return nil }

func (attentionMixing) PerPair() bool { return false }
