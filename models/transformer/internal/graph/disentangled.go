package graph

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas

	"github.com/headwater-ml/headwater/models/transformer/internal/codes"
)

// disentangled is what the embeddings r of distances add to the scores (He et al. 2021, eq. 4), as
// far as the spec has its two terms, [B,H,N,S]:
//
//	q_t·K r(t-s) + k_s·Q r(t-s),  times the scale of the scores
//
// Each row of the products is computed for N+S-1 distances and then moved, so that no array has an
// embedding for every pair.
func (d *Builder) disentangled(b *Block) *Node {
	l := b.layer
	relative, keys := d.Spec.Relative, b.sources.Key
	targets, sources := b.query.Shape().Dimensions[2], keys.Shape().Dimensions[2]
	rows := b.distances(targets, sources)
	shared := projections{}
	if relative.Shared {
		shared = l.project(rows, d.Fused)
	}
	projected := func(shared *Node, name string) *Node { // [B,H,N+S-1,E]
		if !relative.Shared {
			shared = l.biased(l.Linear(rows, name), name, true)
		}
		x := splitHeads(shared, d.Spec.Heads)
		dims := x.Shape().Dimensions
		return BroadcastToDims(x, keys.Shape().Dimensions[0], dims[1], dims[2], dims[3])
	}
	scores := []*Node{}
	if relative.Keys { // from the sources that are farthest after a target on
		key := Reverse(projected(shared.key, "position-key"), 2)
		scores = append(scores, moved(l.dot(b.query, key), sources))
	}
	if relative.Queries { // from the targets that are farthest before a source on
		query := projected(shared.query, "position-query")
		products := moved(l.dot(keys, query), targets) // [B,H,S,N]
		scores = append(scores, TransposeAllAxes(products, 0, 1, 3, 2))
	}
	sum := scores[0]
	for _, more := range scores[1:] {
		sum = Add(sum, more)
	}
	return MulScalar(sum, l.scoreScale())
}

// distances are the embeddings of the distances of targets from sources, from those of the first
// target from the last source on, one more each, [1,N+S-1,D].
func (b *Block) distances(targets, sources int) *Node {
	l := b.layer
	g, all := b.query.Graph(), l.Spec.Relative.Rows(sources)
	at := Iota(g, shapes.Make(dtypes.Int32, 1, targets+sources-1), 1)
	if b.first != nil {
		at = Add(at, b.first)
	}
	at = MinScalar(at, len(all)-1) // of padding, which nobody reads
	rows := Gather(Const(g, all), InsertAxes(at, -1))
	x := codes.Gathered(l.W("relative-embeddings"), rows)
	if l.Spec.Relative.Norm {
		x = l.relevance.norm(l.Spec, x, l.W.In("relative-norm."))
	}
	return x
}

// moved returns columns n-1-i to n-1-i+m of each row i of x, [B,H,n,n+m-1], as [B,H,n,m].
func moved(x *Node, m int) *Node {
	dims := x.Shape().Dimensions
	n, wide := dims[2], dims[3]
	if n == 1 {
		return x
	}
	// In one line of numbers, the part of the next row begins one column fewer than a row later.
	line := Reshape(x, dims[0], dims[1], n*wide)
	line = SliceAxis(line, 2, AxisRange(n-1, n*wide-1))
	return SliceAxis(Reshape(line, dims[0], dims[1], n, wide-1), 3, AxisRange(0, m))
}
