package run

import (
	"slices"
	"sync"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/headwater-ml/headwater/models/spec"
	"github.com/headwater-ml/headwater/models/transformer/internal/codes"
	"github.com/headwater-ml/headwater/models/transformer/internal/graph"
	"github.com/headwater-ml/headwater/models/transformer/internal/host"
	"github.com/headwater-ml/headwater/models/transformer/internal/program"
)

// throughHeads is the tensors of [graph.WeightsThroughHeads], by layer, computed when they are
// first needed. As they depend on the weights alone, texts share those that the model keeps.
type throughHeads struct {
	mu     sync.Mutex // locked while a layer is computed
	layers [][]*tensors.Tensor

	// users is how many texts use them, and drop is whether the model keeps them no longer than
	// that. Both are guarded by the mutex of
	// [sharedThrough].
	users int
	drop  bool
}

// throughMost is how many bytes of them a model keeps: 256 MiB. Steps of a model for which they
// would take more compute every source apart.
const throughMost = 256 << 20

// sharedThrough are the tensors that a model keeps, if it keeps any.
type sharedThrough struct {
	mu   sync.Mutex
	kept *throughHeads
}

// acquire returns the tensors that the model keeps, of so many layers. If it has none, new ones are
// made: with keep the model keeps them, and without it they are the caller's alone. The caller
// passes them to release in either case.
func (s *sharedThrough) acquire(layers int, keep bool) *throughHeads {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.kept
	if t == nil {
		t = &throughHeads{layers: make([][]*tensors.Tensor, layers)}
	}
	if keep {
		s.kept, t.drop = t, false
	}
	t.users++
	return t
}

// release ends a use of t. What nobody uses and the model does not keep is freed.
func (s *sharedThrough) release(t *throughHeads) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t.users--
	s.free(t)
}

// drop makes the model keep none: at once, or when the texts that use them end.
func (s *sharedThrough) drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kept != nil {
		s.kept.drop = true
		s.free(s.kept)
	}
}

// free frees t if nobody uses it and the model does not keep it. The caller holds the mutex.
func (s *sharedThrough) free(t *throughHeads) {
	if t.users > 0 || t == s.kept && !t.drop {
		return
	}
	host.Free(slices.Concat(t.layers...)...)
	if t == s.kept {
		s.kept = nil
	}
}

// Held is how many bytes the model keeps of them, at most.
func (s *sharedThrough) Held(of *spec.Spec) int64 {
	if s == nil { // asked for sizes alone
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kept == nil {
		return 0
	}
	return int64(throughBytes(of))
}

// of returns the tensors of layer l, on the same weights as those of the model that t is from.
func (t *throughHeads) of(m *Model, l int) ([]*tensors.Tensor, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.layers[l] != nil {
		return t.layers[l], nil
	}
	positive := tensors.FromScalar(int32(1))
	defer host.Free(positive)
	out, err := m.Machine.Execute(throughProgram(m, l), positive)
	if err != nil {
		return nil, err
	}
	t.layers[l] = out
	return out, nil
}

// projectedCache is what [graph.projectedSources] has, for the tokens of a text, beside its keys
// and values: 2.2 MB a token for GPT-2 small. Whether it is kept depends on the model, the lengths
// and the memory limit, never on what ran before, because last digits differ. In pure Go it saved
// nothing.
type projectedCache struct {
	m       *Model
	through *throughHeads
	// layers has tensors [H,·,slots] for each layer, the attention output first. Slots without a
	// token hold zeros, or numbers of a token that was cut off or whose step failed.
	layers [][]*tensors.Tensor
}

// newProjectedCache returns a cache of no layers yet.
func newProjectedCache(m *Model) *projectedCache {
	return &projectedCache{m: m, through: m.Through.acquire(m.Spec.Layers, true)}
}

// add appends the next layer, given its values, [1,G,slots,E], zero without a token.
func (c *projectedCache) add(value *tensors.Tensor) error {
	l := len(c.layers)
	out, err := projectThrough(c.m, projectCacheProgram(c.m, l), c.through, l, value)
	if err != nil {
		return err
	}
	defer host.Free(out...)
	var layer []*tensors.Tensor // in memory that the host may write
	for _, t := range out {
		own, err := c.m.Machine.FilledFrom(t, t.Shape().Dimensions, func(to, from []float32) {
			copy(to, from)
		})
		layer = append(layer, own)
		if err != nil {
			host.Free(layer...)
			return err
		}
	}
	c.layers = append(c.layers, layer)
	return nil
}

// projectCacheProgram is [projectProgram] with results [H,·,S].
func projectCacheProgram(m *Model, l int) program.Program {
	return program.New(
		"projected cache", codes.NoWeights,
		func(w codes.Weights, in []*Node) []*Node {
			b := m.Builder(w, graph.Text{Length: in[0]}).BlockOfSources(l,
				graph.Cache{Value: in[1]})
			var all []*Node
			for _, through := range in[2:] {
				all = append(all, b.Einsum("hed,hse->hds", through, Squeeze(b.Values(), 0)))
			}
			return all
		},
	)
}

// inputs are what the step of layer l reads; see [graph.UseCachedSources]. A nil cache has none.
func (c *projectedCache) inputs(l int) ([]*tensors.Tensor, error) {
	if c == nil {
		return nil, nil
	}
	through, err := c.through.of(c.m, l)
	return slices.Concat(c.layers[l], through), err
}

// projectedShapes are the shapes of [projectedCache.inputs].
func projectedShapes(s *spec.Spec, slots int) []shapes.Shape {
	widths := []int{s.Width}
	for range graph.InputMatrices(s) {
		widths = append(widths, s.FeedForward)
	}
	var all, through []shapes.Shape
	for _, width := range widths {
		all = append(all, shapes.Make(dtypes.Float32, s.Heads, width, slots))
		through = append(through, shapes.Make(dtypes.Float32, s.Heads, s.ValueWidth(), width))
	}
	all = append(all, through...)
	if s.NormBias() {
		for _, width := range widths[1:] {
			all = append(all, shapes.Make(dtypes.Float32, 1, 1, width))
		}
	}
	return all
}

// put writes what [graph.cachedSources.own] has for the token in a slot into layer l. A nil cache
// takes nothing.
func (c *projectedCache) put(l int, own []*tensors.Tensor, slot int) error {
	if c == nil {
		return nil
	}
	for i, t := range own {
		if err := host.WriteFrom(t, c.layers[l][i], func(to, from []float32) {
			slots := len(to) / len(from)
			for k, x := range from {
				to[k*slots+slot] = x
			}
		}); err != nil {
			return err
		}
	}
	return nil
}

// free frees the cache, which may be nil.
func (c *projectedCache) free() {
	if c == nil {
		return
	}
	for _, layer := range c.layers {
		host.Free(layer...)
	}
	c.m.Through.release(c.through)
}

// slowReads is how many multiplications of a product of large matrices take as long as one by a
// number that is read from memory for it alone: 4 bytes at 10 GB/s, against 28 billion a second.
const slowReads = 11

// projectsSteps reports whether the steps of a session, whose prompt has n tokens, compute rows
// from a [projectedCache], where the host may write into it, and how many bytes that and what the
// model keeps for it take. What the model keeps already plays no part: the last digits of rows
// would depend on the texts before.
func projectsSteps(m *Model, asks []graph.Asked, n, slots, room int, spare int64) (
	bytes int64, projects bool,
) {
	wanted := slices.ContainsFunc(asks, func(ask graph.Asked) bool {
		return CanProject(m, ask) && ask.SharesOutput()
	})
	if !wanted || !m.Machine.OnHost || room <= n {
		return 0, false
	}
	through, layers := throughBytes(m.Spec), float64(m.Spec.Layers)
	need := through + (layers+projectedCopies)*float64(slots)*sourceBytes(m.Spec)
	if through > throughMost || need > float64(min(projectedMost, spare)) {
		return 0, false
	}
	bytes = int64(need)
	if m.ProjectAlways {
		return bytes, true
	}
	// its products of few rows cost as much as they save
	if codes.BackendName(m.Machine.Backend) == "go" {
		return 0, false
	}
	// Multiplications, in units of D and the width of the inputs together: those that each step is
	// spared, less its reads, against those of each source and of W_O through the matrices. The
	// model keeps the latter, so only half of them count against a text.
	width, heads := float64(m.Spec.Width), float64(m.Spec.Heads)
	spared := float64(slots)*width - slowReads*(float64(slots)*heads+width)
	cost := float64(slots)*width + width*width/2
	return bytes, float64(room-n)*spared > cost
}
