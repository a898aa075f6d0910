package run

import (
	"context"
	"fmt"
	"slices"

	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/transformer/internal/codes"
	"github.com/headwater-ml/headwater/models/transformer/internal/edit"
	"github.com/headwater-ml/headwater/models/transformer/internal/graph"
	"github.com/headwater-ml/headwater/models/transformer/internal/host"
	"github.com/headwater-ml/headwater/models/transformer/internal/program"
)

// pairLayer computes, in one layer of a prompt, the rows of mixings that cost a pass for every
// pair of target and source. It takes one tile of targets after the other, over the sources that
// they can see, so that no array [T,S,D] exists as a whole.
type pairLayer struct {
	*TiledLayer
	p *pass
	// projected are the tensors of [graph.projectedSources], once a mixing needs them.
	projected []*tensors.Tensor
}

// all fills in the rows of all such mixings.
func (a *pairLayer) all(ctx context.Context, rows []trace.Rows,
	progress func(trace.Progress),
) error {
	defer func() { host.Free(a.projected...) }()
	for i, ask := range a.p.asks {
		if !ask.PerPair() {
			continue
		}
		if progress != nil && rows[i].N > 1 {
			progress(trace.Progress{
				Stage: "preparing prompt rows", Unit: "layer", Done: a.Layer + 1,
				Total: a.Model.Spec.Layers,
			})
		}
		if err := a.rows(ctx, ask, &rows[i]); err != nil {
			return fmt.Errorf("%s: %w", ask.Name, err)
		}
	}
	return nil
}

// rows fills in the rows of a mixing in this layer. Targets are independent of each other once the
// keys and values are known, so tiles give the same rows as one pass, up to rounding. It looks at
// ctx before each tile.
func (a *pairLayer) rows(ctx context.Context, ask graph.Asked, rows *trace.Rows) error {
	// An edit may change what a source adds to a target.
	projects := a.p.edits == nil && projects(a.Model, ask, rows.N, a.Tokens, a.p.spare)
	if projects && a.projected == nil {
		if err := a.project(); err != nil {
			return fmt.Errorf("layer %d, sources through the heads: %w", a.Layer, err)
		}
	}
	for at := rows.First; at < a.Tokens; {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("stopped at layer %d: %w", a.Layer, err)
		}
		n := min(a.targets(ask), a.Tokens-at)
		if err := a.tile(ask, at, n, projects, rows); err != nil {
			return fmt.Errorf("layer %d, targets %d to %d: %w", a.Layer, at, at+n-1, err)
		}
		at += n
	}
	return nil
}

// rowsOfTile returns how many targets fill a tile if each has so many numbers.
func rowsOfTile(floats int) int { return max(1, min(host.SlotStep, tileFloats/floats)) }

// targets returns how many targets a tile over all sources has: those of the text in as few tiles
// as they fill, all of one size. They are fewer where each head is computed apart.
func (a *pairLayer) targets(ask graph.Asked) int {
	length := host.Bucket(a.Tokens)
	floats := length * a.Model.Spec.InnerWidth()
	if ask.Heads.Fusion == trace.EachHead {
		floats *= a.Model.Spec.Heads
	}
	return host.Evenly(length, rowsOfTile(floats))
}

// tile computes n targets from position at on.
func (a *pairLayer) tile(ask graph.Asked, at, n int, projects bool, rows *trace.Rows) error {
	// A decoder's targets see no source after the last of them, so the graph gets only the first
	// ones.
	targets, sources := n, at+n
	if !a.Model.Spec.Causal() {
		sources = a.Tokens
	}
	if a.Model.Machine.PromptStep > 1 { // round shapes up, so that few graphs are compiled
		sources = host.Bucket(sources)
		if rows.N > 1 { // also of a remainder of one
			targets = a.targets(ask)
		}
	}
	return a.Over(sources, at, targets, func(in []*tensors.Tensor) error {
		edited, edits, err := a.p.edits.Tile(at, n, targets, sources).Layer(a.Layer)
		if err != nil {
			return err
		}
		defer host.Free(edits...)
		program, in := tileProgram(a.Model, a.Layer, ask, edited), slices.Concat(in, edits)
		if projects {
			program, in = projectedTile(a.Model, a.Layer, ask), slices.Concat(in, a.projected)
		}
		out, err := a.Model.Machine.Execute(program, in...)
		if err != nil {
			return err
		}
		defer host.Free(out...)
		return putTile(rows, a.Layer, out[0], at, n)
	})
}

// tileProgram is the graph of the rows of a mixing in layer l for a tile, [1,(H,)N,S]. Its inputs
// are the residual stream of the targets before the layer, [1,N,D], the slot of the first of them,
// the length of the text, the keys and values of the sources, [1,G,S,E] each, and the edits of
// those taps.
func tileProgram(m *Model, l int, ask graph.Asked, edited []trace.Tap) program.Program {
	kind, weights := graph.KindOf(m.Spec, l, ask)
	return program.New(
		fmt.Sprintf("tile %s %s%s", kind, graph.Describe(ask), edit.Key(edited)), weights,
		func(w codes.Weights, in []*Node) []*Node {
			in, edits := graph.CutEdits(in, edited)
			return []*Node{graph.VisibleRows(editedTile(m, w, l, in, edits), ask)}
		},
	)
}

// BlockOfTile builds the block of a tile from the inputs of [tileProgram], without edits.
func BlockOfTile(m *Model, w codes.Weights, l int, in []*Node) *graph.Block {
	return editedTile(m, w, l, in, nil)
}

// editedTile is [BlockOfTile] under edits. Those of keys and values are in the sources.
func editedTile(
	m *Model, w codes.Weights, l int, in []*Node, edits map[trace.Tap]graph.EditNodes,
) *graph.Block {
	ids := Squeeze(SliceAxis(in[0], 2, AxisRange(0, 1)), 2) // only their number matters
	d := m.Builder(w, graph.Text{IDs: ids, First: in[1], Length: in[2]})
	d.Edits = edits
	return d.TileBlock(l, in[0], graph.Cache{Key: in[3], Value: in[4]})
}
