package graph

import (
	"fmt"
	"strings"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/transformer/internal/codes"
)

// Describe writes asks as part of the key of a graph. Everything that rows depend on is in
// it: two asks with the same text share a graph.
func Describe(asks ...Asked) string {
	var b strings.Builder
	for _, ask := range asks {
		fmt.Fprintf(&b, "%s/%s all=%v ", ask.Name, ask.Heads, ask.AllRows)
	}
	return b.String()
}

// VisibleRows are the rows of a mixing, 0 where a target cannot see a source, [B,(H,)N,S]. Like
// all graph code it panics, here with the name of the mixing, if the mixing panics or returns
// another shape: numbers that fit by broadcasting would pass for rows.
func VisibleRows(b *Block, ask Asked) *Node {
	defer func() {
		p := recover()
		if _, ok := p.(*codes.HostAsk); ok {
			panic(p) // nothing failed
		}
		if p != nil {
			panic(fmt.Errorf("mixing %s: %v", ask.Name, p))
		}
	}()
	seen, axes := b.seen(), "[B,H,N,S]"
	want := b.Attention.Shape()
	if ask.Heads.Fusion != trace.EachHead {
		seen, axes = Squeeze(seen, 1), "[B,N,S]"
		dims := want.Dimensions
		want = shapes.Make(want.DType, dims[0], dims[2], dims[3])
	}
	rows := ask.Mix(b, ask.Heads)
	if rows == nil {
		panic(fmt.Errorf("Mix returns nil, want %s %v", axes, want))
	}
	if !rows.Shape().Equal(want) {
		panic(fmt.Errorf("Mix returns %v, want %v: %s, heads %s", rows.Shape(), want, axes,
			ask.Heads))
	}
	return b.identity(Mul(rows, seen), ask.Heads)
}

// OneRow returns row t of the last but one axis of x [...,N,S], [...,1,S]. t is known only when the
// graph runs, so it cannot be the bound of a slice. Instead the other rows are replaced by 0, and a
// sum over the rows is left with one term. t is a scalar, or [B] for another row of each text.
func OneRow(x, t *Node) *Node {
	targets := Iota(x.Graph(), shapes.Make(dtypes.Int32, x.Shape().Dimensions...), x.Rank()-2)
	at := Equal(targets, eachText(t, x.Rank()))
	return ReduceAndKeep(Where(at, x, ZerosLike(x)), ReduceSum, -2)
}

// rowsAt is one row of each text, at positions [B], of x [B,N,D]: [B,1,D].
func rowsAt(x, positions *Node) *Node {
	dims := x.Shape().Dimensions
	targets := Iota(x.Graph(), shapes.Make(dtypes.Int32, dims...), 1)
	at := Equal(targets, BroadcastToDims(InsertAxes(positions, -1, -1), dims...))
	return ReduceAndKeep(Where(at, x, ZerosLike(x)), ReduceSum, 1)
}
