package transformer

import (
	"fmt"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/spec"
)

// projectedMost limits what [projectedSources] takes: 1 GiB.
const projectedMost = 1 << 30

// What [projectedSources] takes: so many copies, because one is made from another and each tile
// reads a copy of a part, and so many arrays [N,S,F] of a tile besides those that a tile has
// without it.
const projectedCopies, projectedInner = 2, 3

// canProject reports whether rows of a mixing can be computed from [projectedSources] or a
// [projectedCache].
func canProject(m *core, ask asked) bool {
	s := m.Spec
	return ask.zeroesSources() && ask.PerPair() && ask.Heads.Fusion == trace.MeanHeads &&
		m.DType == dtypes.Float32 && s.Order != spec.Parallel && !s.NormAfter &&
		!s.NormedResidual && s.ResidualScale == 0 && s.Mixture == nil && s.Encoder == 0 &&
		s.ValueWidth() > 1 && s.Heads > 1 // see [Block.narrow]
}

// projects reports whether the rows of a mixing for so many targets of a text of n tokens are
// computed from [projectedSources]. Where the pass leaves too few bytes, every pair is computed
// apart.
func projects(m *core, ask asked, targets, n int, spare int64) bool {
	s := m.Spec
	if !canProject(m, ask) || projectedBytes(s, n) > float64(min(projectedMost, spare)) {
		return false
	}
	// Multiplications, in units of D and the width of the inputs together: those of W_O through
	// the matrices, of each source, and of each pair, against those that each pair is spared.
	pairs := float64(targets) * float64(n)
	if s.Causal() {
		pairs /= 2
	}
	width, heads := float64(s.Width), float64(s.Heads)
	costs := width*width + float64(n)*width + pairs*heads
	return m.projectAlways || pairs*width > 2*costs
}

// projectedBytes is what [projectedSources] takes for a text of n tokens.
func projectedBytes(s *spec.Spec, n int) float64 {
	sources := float64(1 + bucket(n))
	tile := float64(rowsOfTile(bucket(n)*s.FeedForward)) * sources * float64(innerWidth(s))
	return projectedCopies*sources*sourceBytes(s) + 4*projectedInner*tile
}

// sourceBytes is what the rows of one source in one layer take, and throughBytes what the tensors
// of [Block.throughHeads] of all layers take.
func sourceBytes(s *spec.Spec) float64 {
	return 4 * float64(s.Heads) * float64(s.Width+innerWidth(s))
}

func throughBytes(s *spec.Spec) float64 {
	return float64(s.Layers) * float64(s.ValueWidth()) * sourceBytes(s)
}

// innerWidth is how many numbers the matrices of [inputMatrices] return together.
func innerWidth(s *spec.Spec) int {
	if s.Gated {
		return 2 * s.FeedForward
	}
	return s.FeedForward
}

// throughProgram is the graph of [Block.throughHeads] in layer l, given a positive number. After
// its tensors come those of [Block.biasThrough], [1,1,F] each, where there are any.
func throughProgram(m *core, l int) program {
	return program{
		"projected heads " + layerKind(m.Spec, l), ofLayer(l),
		func(w byName, in []*Node) []*Node {
			of := m.builder(w, text{length: in[0]}).layer(l)
			all := weightsThroughHeads(of)
			for _, name := range inputMatrices(m.Spec) {
				if bias := biasThrough(of, name); bias != nil {
					all = append(all, bias)
				}
			}
			return all
		},
	}
}

// projectProgram is the graph of [Block.projectSources] in layer l, given a positive number, the
// values of the sources, [1,G,S,E], and the tensors of [Model.throughProgram].
func projectProgram(m *core, l int) program {
	return program{
		"projected sources", noWeights,
		func(w byName, in []*Node) []*Node {
			d := m.builder(w, text{length: in[0]})
			return projectSources(d.blockOfSources(l, cache{value: in[1]}), in[2:])
		},
	}
}

// projectedTile is the graph of [Model.tileProgram] with the tensors of [Model.projectProgram] as
// further inputs, for all sources of the text.
func projectedTile(m *core, l int, ask asked) program {
	kind, weights := kindOf(m.Spec, l, ask)
	return program{
		fmt.Sprintf("projected tile %s %s", kind, describe(ask)), weights,
		func(w byName, in []*Node) []*Node {
			const own = 5 // inputs of a tile
			b := blockOfTile(m, w, l, in[:own])
			project(b, in[own:])
			return []*Node{visibleRows(b, ask)}
		},
	}
}

// project runs [Model.projectProgram] or [Model.projectCacheProgram] for layer l.
func projectThrough(m *core, p program, t *throughHeads, l int, value *tensors.Tensor) (
	[]*tensors.Tensor, error,
) {
	through, err := t.of(m, l)
	if err != nil {
		return nil, err
	}
	positive := tensors.FromScalar(int32(1))
	defer free(positive)
	inputs := []*tensors.Tensor{positive, value}
	return m.machine.execute(p, append(inputs, through[:1+len(inputMatrices(m.Spec))]...)...)
}

// project computes the tensors of [projectedSources] for all sources of the layer.
func (a *pairLayer) project() error {
	m, length := a.m, a.n
	sources := length
	if m.machine.promptStep > 1 {
		sources = bucket(length)
	}
	spec := m.Spec
	value, err := filled(m.machine.backend, []int{1, spec.Groups(), sources, spec.ValueWidth()},
		func(data []float32) {
			copySlots(data, a.value, spec.Groups(), length*spec.ValueWidth())
		})
	if err != nil {
		return err
	}
	defer free(value)
	t := m.through.acquire(spec.Layers, throughBytes(spec) <= float64(min(throughMost, a.p.spare/4)))
	defer m.through.release(t)
	a.projected, err = projectThrough(m, projectProgram(m, a.l), t, a.l, value)
	return err
}
