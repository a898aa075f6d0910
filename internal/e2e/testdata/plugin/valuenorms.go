package plugin

import (
	"fmt"

	. "github.com/gomlx/gomlx/core/graph" // graph code reads like the formulas, as GoMLX's own does

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/transformer"
)

// What computes a mixing is known to models, what must be known of it without a model to methods, under one name.
func init() {
	transformer.RegisterMixing("value-norms", valueNorms{})
	attribution.RegisterMixing("value-norms", attribution.MixingInfo{
		Summary: "attention times the length of the value attended to",
		Paper:   "none; after Kobayashi et al. 2020, §3",
		Cost:    "nothing: the model computes it anyway",
		Unit:    "length of what is attended to",
		OneHead: true,
	})
}

// valueNorms is attention weighed by how long each source's value vector is, before the output projection:
//
//	C[t,s] = mean over heads of α^h[t,s]·‖v^h_s‖
//
// Rows are [B,N,S]: N targets, the many of a prompt or the one of a decode step, and S sources.
type valueNorms struct{}

func (valueNorms) Mix(b *transformer.Block, heads trace.Heads) *Node {
	length := Sqrt(ReduceSum(Square(b.Values()), -1)) // [B,H,S]
	c := Mul(b.Attention, InsertAxes(length, 2))      // [B,H,N,S]
	if heads.Fusion == trace.OneHead {
		return Squeeze(SliceAxis(c, 1, AxisRange(heads.Head, heads.Head+1)), 1)
	}
	return ReduceMean(c, 1)
}

func (valueNorms) Check(heads trace.Heads) error {
	if heads.Fusion == trace.MeanHeads || heads.Fusion == trace.OneHead {
		return nil
	}
	return fmt.Errorf("plugin: value-norms is the mean over heads or one head; heads %s do not apply", heads)
}

// PerPair would be true if a pair of target and source took a pass of its own, as in Value Zeroing.
func (valueNorms) PerPair() bool { return false }
