package transformer

import (
	"context"
	"fmt"

	"github.com/gomlx/gomlx/core/tensors"

	"github.com/headwater-ml/headwater/models/spec"
)

// tiling is how long texts are computed: in tiles of some targets, over the sources that these
// can see, so that no array [H,T,T] exists. The zero value is the default; tests set others.
type tiling struct {
	// above is the number of tokens above which a prompt is computed in tiles; 0 is [tiledAbove].
	above int
	// targets is how many targets a tile has; 0 is as many as [tileScores] allows.
	targets int
	// sources is the smallest number of sources that a tile is given; 0 is [tileSources].
	sources int
}

const (
	// tiledAbove is where tiles begin. Below it, a pass over the whole prompt is as fast and
	// compiles fewer graphs.
	tiledAbove = 1024
	// tileScores limits the scores of a tile, [H,N,S]: 16 MiB of float32. Larger tiles leave the
	// cache of a processor, and smaller ones read the keys and values more often.
	tileScores = 4 << 20
	// tileTargets and leastTargets are the most and the least targets of a tile.
	tileTargets, leastTargets = 256, 16
	// tileSources is the smallest number of sources that a tile is given.
	tileSources = 1024
)

// inTiles reports whether a prompt of n tokens is computed in tiles.
func (m *core) inTiles(n int) bool {
	above := m.tiling.above
	if above == 0 {
		above = tiledAbove
	}
	return n > above && m.Spec.Causal()
}

// tileOf returns how many targets a tile has in a text with a cache of n slots: a power of two, so
// that few graphs are compiled.
func (m *core) tileOf(n int) int {
	if m.tiling.targets > 0 {
		return m.tiling.targets
	}
	return tileOf(m.Spec, n)
}

// tileOf is [Model.tileOf] by default.
func tileOf(s *spec.Spec, n int) int {
	size := tileTargets
	for size > leastTargets && size*s.Heads*sourceSlots(n, tileSources) > tileScores {
		size /= 2
	}
	return size
}

// tileSlots returns how many sources a tile gets that sees n of them.
func (m *core) tileSlots(n int) int {
	least := tileSources
	if m.tiling.sources > 0 {
		least = m.tiling.sources
	}
	return sourceSlots(n, least)
}

// tileSizes returns how many numbers of sources the tiles of a text of n tokens have.
func (m *core) tileSizes(n int) int {
	sizes := 1
	for have := m.tileSlots(1); have < n; sizes++ {
		have = m.tileSlots(have + 1)
	}
	return sizes
}

// tiledLayer is one layer of a text of n tokens whose keys and values are known. Any targets can
// then be computed apart from the others.
type tiledLayer struct {
	m   *core
	l   int
	ids []int
	n   int
	// x is the residual stream before the layer, [n,D].
	x []float32
	// key and value are [G,slots,E].
	key, value []float32
	// sources are the tensors that the latest tile got, [1,G,S,E].
	sources []*tensors.Tensor
	slots   int
}

// tiledLayer is a layer that collected keys and values first, for a text.
func (m *core) tiledLayer(step *layerStep, ids []int) (t *tiledLayer, err error) {
	t = &tiledLayer{m: m, l: step.layer, ids: ids, n: len(ids)}
	if t.x, err = floats(step.in); err != nil {
		return nil, err
	}
	return t, t.read(step.collected)
}

// read takes keys and values, [1,G,·,E] each.
func (t *tiledLayer) read(past []*tensors.Tensor) (err error) {
	if t.key, err = floats(past[0]); err != nil {
		return err
	}
	t.value, err = floats(past[1])
	return err
}

// free frees the tensors of the sources.
func (t *tiledLayer) free() {
	free(t.sources...)
	t.sources, t.slots = nil, 0
}

// tile calls use with the inputs of a graph for targets at..at+size-1, over the sources that the
// last of them sees: the residual stream before the layer, [1,size,D], the slot of the first
// target, the length of the text, and the keys and values, [1,G,S,E] each. Targets beyond the text
// are padding. The tensors are valid during the call.
func (t *tiledLayer) tile(at, size int, use func(inputs []*tensors.Tensor) error) error {
	return t.over(t.m.tileSlots(min(at+size, t.n)), at, size, use)
}

// over is tile over the first sources, so many of them with padding.
func (t *tiledLayer) over(sources, at, size int, use func(inputs []*tensors.Tensor) error) error {
	spec := t.m.Spec
	if err := t.fill(sources); err != nil {
		return err
	}
	x, err := filled(t.m.machine.backend, []int{1, size, spec.Width}, func(data []float32) {
		copy(data, t.x[at*spec.Width:min((at+size), t.n)*spec.Width])
	})
	if err != nil {
		return err
	}
	own := []*tensors.Tensor{
		x, tensors.FromScalar(int32(at)), withBoundaries(t.m.Spec, t.n, t.ids),
	}
	defer free(own...)
	return use(append(own[:len(own):len(own)], t.sources...))
}

// fill makes the tensors of so many sources, unless the last tile had as many.
func (t *tiledLayer) fill(slots int) error {
	if slots == t.slots {
		return nil
	}
	t.free()
	groups := t.m.Spec.Groups()
	widths := []int{t.m.Spec.HeadWidth, t.m.Spec.ValueWidth()}
	for i, from := range [][]float32{t.key, t.value} {
		have, width := len(from)/groups, widths[i]
		s, err := filled(t.m.machine.backend, []int{1, groups, slots, width}, func(data []float32) {
			copySlots(data, from, groups, min(t.n*width, have, slots*width))
		})
		if err != nil {
			return err
		}
		t.sources = append(t.sources, s)
	}
	t.slots = slots
	return nil
}

// each calls use for all tiles of so many targets, in order. It looks at ctx before each.
func (t *tiledLayer) each(ctx context.Context, size int,
	use func(at, n int, inputs []*tensors.Tensor) error,
) error {
	for at := 0; at < t.n; at += size {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("stopped at target %d of layer %d: %w", at, t.l, err)
		}
		n := min(size, t.n-at)
		if err := t.tile(at, size, func(inputs []*tensors.Tensor) error {
			return use(at, n, inputs)
		}); err != nil {
			return fmt.Errorf("targets %d to %d: %w", at, at+n-1, err)
		}
	}
	return nil
}
