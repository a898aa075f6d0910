package graph

import (
	"slices"

	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas

	"github.com/headwater-ml/headwater/attribution/trace"
)

// EditNodes are the inputs of a graph for one tap. keep is [B,(H,)N,1], of attention [B,H,N,S];
// value has the shape of the tap. Keys and values have groups in place of heads.
type EditNodes struct{ Keep, Value *Node }

// Of is x under the edit; a nil keep is 1. x may have other axes before its last than the inputs,
// and several rows for each of theirs, as where a block runs once for each source.
func (e EditNodes) Of(x *Node) *Node {
	like := func(y *Node) *Node {
		dims, width := slices.Clone(x.Shape().Dimensions), y.Shape().Dimensions[y.Rank()-1]
		dims[len(dims)-1] = width
		rows := y.Shape().Size() / width
		each := x.Shape().Size() / x.Shape().Dimensions[x.Rank()-1] / rows
		if each > 1 {
			y = BroadcastToDims(Reshape(y, rows, 1, width), rows, each, width)
		}
		return Reshape(y, dims...)
	}
	if e.Keep != nil {
		x = Mul(x, like(e.Keep))
	}
	return Add(x, like(e.Value))
}

// CutEdits takes the inputs of edits of those taps off the end of those of a graph.
func CutEdits(in []*Node, taps []trace.Tap) ([]*Node, map[trace.Tap]EditNodes) {
	edits := map[trace.Tap]EditNodes{}
	own := len(in) - 2*len(taps)
	for i, tap := range taps {
		edits[tap] = EditNodes{Keep: in[own+2*i], Value: in[own+2*i+1]}
	}
	return in[:own], edits
}
