package run

import (
	"fmt"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/spec"
	"github.com/headwater-ml/headwater/models/transformer/internal/codes"
	"github.com/headwater-ml/headwater/models/transformer/internal/graph"
	"github.com/headwater-ml/headwater/models/transformer/internal/host"
	"github.com/headwater-ml/headwater/models/transformer/internal/program"
)

// projectedMost limits what [graph.projectedSources] takes: 1 GiB.
const projectedMost = 1 << 30

// What [graph.projectedSources] takes: so many copies, because one is made from another and each
// tile reads a copy of a part, and so many arrays [N,S,F] of a tile besides those that a tile has
// without it.
const projectedCopies, projectedInner = 2, 3

// CanProject reports whether rows of a mixing can be computed from [graph.projectedSources] or a
// [projectedCache].
func CanProject(m *Model, ask graph.Asked) bool {
	s := m.Spec
	return ask.ZeroesSources() && ask.PerPair() && ask.Heads.Fusion == trace.MeanHeads &&
		m.DType == dtypes.Float32 && s.Order != spec.Parallel && !s.NormAfter &&
		!s.NormedResidual && s.ResidualScale == 0 && s.Mixture == nil && s.Encoder == 0 &&
		s.ValueWidth() > 1 && s.Heads > 1 // see [graph.Narrow]
}

// projects reports whether the rows of a mixing for so many targets of a text of n tokens are
// computed from [graph.projectedSources]. Where the pass leaves too few bytes, every pair is
// computed apart.
func projects(m *Model, ask graph.Asked, targets, n int, spare int64) bool {
	s := m.Spec
	if !CanProject(m, ask) || projectedBytes(s, n) > float64(min(projectedMost, spare)) {
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
	return m.ProjectAlways || pairs*width > 2*costs
}

// projectedBytes is what [graph.projectedSources] takes for a text of n tokens.
func projectedBytes(s *spec.Spec, n int) float64 {
	sources := float64(1 + host.Bucket(n))
	tile := float64(rowsOfTile(host.Bucket(n)*s.FeedForward)) * sources * float64(innerWidth(s))
	return projectedCopies*sources*sourceBytes(s) + 4*projectedInner*tile
}

// sourceBytes is what the rows of one source in one layer take, and throughBytes what the tensors
// of [graph.WeightsThroughHeads] of all layers take.
func sourceBytes(s *spec.Spec) float64 {
	return 4 * float64(s.Heads) * float64(s.Width+innerWidth(s))
}

func throughBytes(s *spec.Spec) float64 {
	return float64(s.Layers) * float64(s.ValueWidth()) * sourceBytes(s)
}

// innerWidth is how many numbers the matrices of [graph.InputMatrices] return together.
func innerWidth(s *spec.Spec) int {
	if s.Gated {
		return 2 * s.FeedForward
	}
	return s.FeedForward
}

// throughProgram is the graph of [graph.WeightsThroughHeads] in layer l, given a positive number.
// After its tensors come those of [graph.BiasThrough], [1,1,F] each, where there are any.
func throughProgram(m *Model, l int) program.Program {
	return program.New(
		"projected heads "+graph.LayerKind(m.Spec, l), codes.OfLayer(l),
		func(w codes.Weights, in []*Node) []*Node {
			of := m.Builder(w, graph.Text{Length: in[0]}).Layer(l)
			all := graph.WeightsThroughHeads(of)
			for _, name := range graph.InputMatrices(m.Spec) {
				if bias := graph.BiasThrough(of, name); bias != nil {
					all = append(all, bias)
				}
			}
			return all
		},
	)
}

// projectProgram is the graph of [graph.ProjectSources] in layer l, given a positive number, the
// values of the sources, [1,G,S,E], and the tensors of [throughProgram].
func projectProgram(m *Model, l int) program.Program {
	return program.New(
		"projected sources", codes.NoWeights,
		func(w codes.Weights, in []*Node) []*Node {
			d := m.Builder(w, graph.Text{Length: in[0]})
			return graph.ProjectSources(d.BlockOfSources(l, graph.Cache{Value: in[1]}), in[2:])
		},
	)
}

// projectedTile is the graph of [tileProgram] with the tensors of [projectProgram] as further
// inputs, for all sources of the text.
func projectedTile(m *Model, l int, ask graph.Asked) program.Program {
	kind, weights := graph.KindOf(m.Spec, l, ask)
	return program.New(
		fmt.Sprintf("projected tile %s %s", kind, graph.Describe(ask)), weights,
		func(w codes.Weights, in []*Node) []*Node {
			const own = 5 // inputs of a tile
			b := BlockOfTile(m, w, l, in[:own])
			graph.Project(b, in[own:])
			return []*Node{graph.VisibleRows(b, ask)}
		},
	)
}

// projectThrough runs [projectProgram] or [projectCacheProgram] for layer l.
func projectThrough(m *Model, p program.Program, t *throughHeads, l int, value *tensors.Tensor) (
	[]*tensors.Tensor, error,
) {
	through, err := t.of(m, l)
	if err != nil {
		return nil, err
	}
	positive := tensors.FromScalar(int32(1))
	defer host.Free(positive)
	inputs := []*tensors.Tensor{positive, value}
	return m.Machine.Execute(p, append(inputs, through[:1+len(graph.InputMatrices(m.Spec))]...)...)
}

// project computes the tensors of [graph.projectedSources] for all sources of the layer.
func (a *pairLayer) project() error {
	m, length := a.Model, a.Tokens
	sources := length
	if m.Machine.PromptStep > 1 {
		sources = host.Bucket(length)
	}
	spec := m.Spec
	value, err := m.Machine.Filled([]int{1, spec.Groups(), sources, spec.ValueWidth()},
		func(data []float32) {
			host.CopySlots(data, a.value, spec.Groups(), length*spec.ValueWidth())
		})
	if err != nil {
		return err
	}
	defer host.Free(value)
	t := m.Through.acquire(spec.Layers,
		throughBytes(spec) <= float64(min(throughMost, a.p.spare/4)))
	defer m.Through.release(t)
	a.projected, err = projectThrough(m, projectProgram(m, a.Layer), t, a.Layer, value)
	return err
}
