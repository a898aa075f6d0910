package run

import (
	"context"
	"fmt"

	"github.com/gomlx/gomlx/core/tensors"

	"github.com/headwater-ml/headwater/models/spec"
	"github.com/headwater-ml/headwater/models/transformer/internal/host"
)

// Tiling is how long texts are computed: in tiles of some targets, over the sources that these
// can see, so that no array [H,T,T] exists. The zero value is the default; tests set others.
type Tiling struct {
	// Above is the number of tokens above which a prompt is computed in tiles; 0 is [tiledAbove].
	Above int
	// Targets is how many targets a tile has; 0 is as many as [tileScores] allows.
	Targets int
	// Sources is the smallest number of sources that a tile is given; 0 is [tileSources].
	Sources int
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
func (m *Model) inTiles(n int) bool {
	above := m.Tiling.Above
	if above == 0 {
		above = tiledAbove
	}
	return n > above && m.Spec.Causal()
}

// TileOf returns how many targets a tile has in a text with a cache of n slots: a power of two, so
// that few graphs are compiled.
func (m *Model) TileOf(n int) int {
	if m.Tiling.Targets > 0 {
		return m.Tiling.Targets
	}
	return tileOf(m.Spec, n)
}

// tileOf is [Model.TileOf] by default.
func tileOf(s *spec.Spec, n int) int {
	size := tileTargets
	for size > leastTargets && size*s.Heads*host.SourceSlots(n, tileSources) > tileScores {
		size /= 2
	}
	return size
}

// tileSlots returns how many sources a tile gets that sees n of them.
func (m *Model) tileSlots(n int) int {
	least := tileSources
	if m.Tiling.Sources > 0 {
		least = m.Tiling.Sources
	}
	return host.SourceSlots(n, least)
}

// tileSizes returns how many numbers of sources the tiles of a text of n tokens have.
func (m *Model) tileSizes(n int) int {
	sizes := 1
	for have := m.tileSlots(1); have < n; sizes++ {
		have = m.tileSlots(have + 1)
	}
	return sizes
}

// TiledLayer is one layer of a text of n tokens whose keys and values are known. Any targets can
// then be computed apart from the others.
type TiledLayer struct {
	Model  *Model
	Layer  int
	IDs    []int
	Tokens int
	// Stream is the residual stream before the layer, [n,D].
	Stream []float32
	// key and value are [G,slots,E].
	key, value []float32
	// sources are the tensors that the latest tile got, [1,G,S,E].
	sources []*tensors.Tensor
	slots   int
}

// tiledLayer is a layer that collected keys and values first, for a text.
func (m *Model) tiledLayer(step *LayerStep, ids []int) (t *TiledLayer, err error) {
	t = &TiledLayer{Model: m, Layer: step.Layer, IDs: ids, Tokens: len(ids)}
	if t.Stream, err = host.Floats(step.In); err != nil {
		return nil, err
	}
	return t, t.Read(step.Collected)
}

// Read takes keys and values, [1,G,·,E] each.
func (t *TiledLayer) Read(past []*tensors.Tensor) (err error) {
	if t.key, err = host.Floats(past[0]); err != nil {
		return err
	}
	t.value, err = host.Floats(past[1])
	return err
}

// Free frees the tensors of the sources.
func (t *TiledLayer) Free() {
	host.Free(t.sources...)
	t.sources, t.slots = nil, 0
}

// tile calls use with the inputs of a graph for targets at..at+size-1, over the sources that the
// last of them sees: the residual stream before the layer, [1,size,D], the slot of the first
// target, the length of the text, and the keys and values, [1,G,S,E] each. Targets beyond the text
// are padding. The tensors are valid during the call.
func (t *TiledLayer) tile(at, size int, use func(inputs []*tensors.Tensor) error) error {
	return t.Over(t.Model.tileSlots(min(at+size, t.Tokens)), at, size, use)
}

// Over is tile over the first sources, so many of them with padding.
func (t *TiledLayer) Over(sources, at, size int, use func(inputs []*tensors.Tensor) error) error {
	spec := t.Model.Spec
	if err := t.fill(sources); err != nil {
		return err
	}
	x, err := t.Model.Machine.Filled([]int{1, size, spec.Width}, func(data []float32) {
		copy(data, t.Stream[at*spec.Width:min((at+size), t.Tokens)*spec.Width])
	})
	if err != nil {
		return err
	}
	own := []*tensors.Tensor{
		x, tensors.FromScalar(int32(at)), withBoundaries(t.Model.Spec, t.Tokens, t.IDs),
	}
	defer host.Free(own...)
	return use(append(own[:len(own):len(own)], t.sources...))
}

// fill makes the tensors of so many sources, unless the last tile had as many.
func (t *TiledLayer) fill(slots int) error {
	if slots == t.slots {
		return nil
	}
	t.Free()
	groups := t.Model.Spec.Groups()
	widths := []int{t.Model.Spec.HeadWidth, t.Model.Spec.ValueWidth()}
	for i, from := range [][]float32{t.key, t.value} {
		have, width := len(from)/groups, widths[i]
		s, err := t.Model.Machine.Filled([]int{1, groups, slots, width}, func(data []float32) {
			host.CopySlots(data, from, groups, min(t.Tokens*width, have, slots*width))
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
func (t *TiledLayer) each(ctx context.Context, size int,
	use func(at, n int, inputs []*tensors.Tensor) error,
) error {
	for at := 0; at < t.Tokens; at += size {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("stopped at target %d of layer %d: %w", at, t.Layer, err)
		}
		n := min(size, t.Tokens-at)
		if err := t.tile(at, size, func(inputs []*tensors.Tensor) error {
			return use(at, n, inputs)
		}); err != nil {
			return fmt.Errorf("targets %d to %d: %w", at, at+n-1, err)
		}
	}
	return nil
}
