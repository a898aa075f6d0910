package transformer

import (
	"context"
	"fmt"
	"slices"

	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/headwater-ml/headwater/attribution/trace"
)

// pairLayer computes, in one layer of a prompt, the rows of mixings that cost a pass for every
// pair of target and source. It takes one tile of targets after the other, over the sources that
// they can see, so that no array [T,S,D] exists as a whole.
type pairLayer struct {
	*tiledLayer
	p *pass
	// projected are the tensors of [projectedSources], once a mixing needs them.
	projected []*tensors.Tensor
}

// all fills in the rows of all such mixings.
func (a *pairLayer) all(ctx context.Context, rows []trace.Rows,
	progress func(trace.Progress),
) error {
	defer func() { free(a.projected...) }()
	for i, ask := range a.p.asks {
		if !ask.PerPair() {
			continue
		}
		if progress != nil && rows[i].N > 1 {
			progress(trace.Progress{
				Stage: "preparing prompt rows", Unit: "layer", Done: a.l + 1,
				Total: a.m.Spec.Layers,
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
func (a *pairLayer) rows(ctx context.Context, ask asked, rows *trace.Rows) error {
	// An edit may change what a source adds to a target.
	projects := a.p.edits == nil && projects(a.m, ask, rows.N, a.n, a.p.spare)
	if projects && a.projected == nil {
		if err := a.project(); err != nil {
			return fmt.Errorf("layer %d, sources through the heads: %w", a.l, err)
		}
	}
	for at := rows.First; at < a.n; {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("stopped at layer %d: %w", a.l, err)
		}
		n := min(a.targets(ask), a.n-at)
		if err := a.tile(ask, at, n, projects, rows); err != nil {
			return fmt.Errorf("layer %d, targets %d to %d: %w", a.l, at, at+n-1, err)
		}
		at += n
	}
	return nil
}

// rowsOfTile returns how many targets fill a tile if each has so many numbers.
func rowsOfTile(floats int) int { return max(1, min(slotStep, tileFloats/floats)) }

// targets returns how many targets a tile over all sources has: those of the text in as few tiles
// as they fill, all of one size. They are fewer where each head is computed apart.
func (a *pairLayer) targets(ask asked) int {
	length := bucket(a.n)
	floats := length * a.m.Spec.InnerWidth()
	if ask.Heads.Fusion == trace.EachHead {
		floats *= a.m.Spec.Heads
	}
	return evenly(length, rowsOfTile(floats))
}

// tile computes n targets from position at on.
func (a *pairLayer) tile(ask asked, at, n int, projects bool, rows *trace.Rows) error {
	// A decoder's targets see no source after the last of them, so the graph gets only the first
	// ones.
	targets, sources := n, at+n
	if !a.m.Spec.Causal() {
		sources = a.n
	}
	if a.m.machine.promptStep > 1 { // round shapes up, so that few graphs are compiled
		sources = bucket(sources)
		if rows.N > 1 { // also of a remainder of one
			targets = a.targets(ask)
		}
	}
	return a.over(sources, at, targets, func(in []*tensors.Tensor) error {
		edited, edits, err := a.p.edits.tile(at, n, targets, sources).layer(a.l)
		if err != nil {
			return err
		}
		defer free(edits...)
		program, in := tileProgram(a.m, a.l, ask, edited), slices.Concat(in, edits)
		if projects {
			program, in = projectedTile(a.m, a.l, ask), slices.Concat(in, a.projected)
		}
		out, err := a.m.machine.execute(program, in...)
		if err != nil {
			return err
		}
		defer free(out...)
		return putTile(rows, a.l, out[0], at, n)
	})
}

// tileProgram is the graph of the rows of a mixing in layer l for a tile, [1,(H,)N,S]. Its inputs
// are the residual stream of the targets before the layer, [1,N,D], the slot of the first of them,
// the length of the text, the keys and values of the sources, [1,G,S,E] each, and the edits of
// those taps.
func tileProgram(m *core, l int, ask asked, edited []trace.Tap) program {
	kind, weights := kindOf(m.Spec, l, ask)
	return program{
		fmt.Sprintf("tile %s %s%s", kind, describe(ask), editsKey(edited)), weights,
		func(w byName, in []*Node) []*Node {
			in, edits := cutEdits(in, edited)
			return []*Node{visibleRows(editedTile(m, w, l, in, edits), ask)}
		},
	}
}

// blockOfTile builds the block of a tile from the inputs of [Model.tileProgram], without edits.
func blockOfTile(m *core, w byName, l int, in []*Node) *Block {
	return editedTile(m, w, l, in, nil)
}

// editedTile is [Model.blockOfTile] under edits. Those of keys and values are in the sources.
func editedTile(m *core, w byName, l int, in []*Node, edits map[trace.Tap]editNodes) *Block {
	ids := Squeeze(SliceAxis(in[0], 2, AxisRange(0, 1)), 2) // only their number matters
	d := m.builder(w, text{ids: ids, first: in[1], length: in[2]})
	d.edits = edits
	return d.tileBlock(l, in[0], cache{key: in[3], value: in[4]})
}
