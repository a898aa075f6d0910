package graph

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas
)

// TreeBlock builds layer l for a tree of texts: x, [1,M,D], has a row for each token that texts do
// not share. Attention runs over the B texts: firsts, [B], are the first slots whose rows are a
// text's own, targets, [B,N], the rows of its own targets, paths, [B,S], those of its sources, and
// back, [2,M], of each row the text that has it as a target, and which.
func (d *Builder) TreeBlock(l int, x, firsts, targets, paths, back *Node) *Block {
	b, now := d.StartBlock(l, x)
	// Attention takes the text in which a token is its slot for its position.
	d.First, d.Positions, b.first = firsts, nil, firsts
	b.query = ofRows(b.query, targets) // [B,H,N,E]
	b.sources = Cache{Key: ofRows(now.Key, paths), Value: ofRows(now.Value, paths)}
	b.inRows = func(context *Node) *Node { return toRows(context, back) }
	d.attend(b)
	Finish(b)
	return b
}

// ofRows returns the rows [B,N] of x [1,H,M,E], [B,H,N,E].
func ofRows(x, rows *Node) *Node {
	of, dims := x.Shape().Dimensions, rows.Shape().Dimensions
	H, M, E := of[1], of[2], of[3]
	heads := Iota(x.Graph(), shapes.Make(dtypes.Int32, dims[0], H, dims[1]), 1)
	at := Add(MulScalar(heads, M), BroadcastToShape(InsertAxes(rows, 1), heads.Shape()))
	return Gather(Reshape(x, H*M, E), InsertAxes(at, -1))
}

// toRows is the inverse of ofRows: the rows [1,H,M,E] of x [B,H,N,E], where row m is target at[1,m]
// of text at[0,m], [2,M].
func toRows(x, at *Node) *Node {
	dims := x.Shape().Dimensions
	B, H, N, E := dims[0], dims[1], dims[2], dims[3]
	texts, targets := SliceAxis(at, 0, AxisElem(0)), SliceAxis(at, 0, AxisElem(1)) // [1,M]
	heads := Iota(x.Graph(), shapes.Make(dtypes.Int32, 1, H, at.Shape().Dimensions[1]), 1)
	row := Add(MulScalar(texts, H*N), targets)
	all := Add(MulScalar(heads, N), BroadcastToShape(InsertAxes(row, 1), heads.Shape()))
	return Gather(Reshape(x, B*H*N, E), InsertAxes(all, -1))
}
