package run

import (
	"runtime"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas

	"github.com/headwater-ml/headwater/models/spec"
	"github.com/headwater-ml/headwater/models/transformer/internal/codes"
	"github.com/headwater-ml/headwater/models/transformer/internal/graph"
	"github.com/headwater-ml/headwater/models/transformer/internal/program"
)

// Settings are what a model is, and how much memory its passes may take.
type Settings struct {
	// Spec describes the architecture and must not be changed.
	Spec *spec.Spec
	// DType is the type of the matrices: float32 or bfloat16.
	DType dtypes.DType

	// MaxBytes is how many bytes one pass may take besides the weights; a pass that needs more is
	// refused with a [trace.MemoryError]. 0 means 8 GiB. Set it before the model is used.
	MaxBytes int64
	// Beside is how many bytes the process holds besides MaxBytes, and Chosen is whether the user
	// chose the sum of the two as a limit. Both are for messages only.
	Beside int64
	Chosen bool
}

// Model runs passes of a model. It is safe for concurrent use.
type Model struct {
	*Settings

	// Tiling is how long prompts are computed.
	Tiling Tiling
	// TermsAtOnce is how many layers [Model.termGraphs] puts into a graph; 0 is [mostTermLayers].
	// Tests set others.
	TermsAtOnce int
	// ProjectAlways makes tests use [graph.projectedSources] where it does not pay.
	ProjectAlways bool

	// Machine compiles and runs graphs, and Through is what texts share of the weights; nil where a
	// model is asked for sizes alone.
	Machine *program.Machine
	Through *sharedThrough
}

// With returns a model on the same weights and compiled graphs with other settings.
func (m *Model) With(settings Settings) *Model {
	view := *m
	view.Settings = &settings
	return &view
}

// Watched returns a model on the same weights and compiled graphs that reports to w until stop is
// called.
func (m *Model) Watched(w program.Watch) (watched *Model, stop func()) {
	view := m.With(*m.Settings)
	view.Machine, stop = m.Machine.Watched(w)
	return view, stop
}

// Open puts a model on a backend. It reads the weights with so many goroutines; 0 is one for each
// processor, but at most [codes.LoadersMost]. It returns a [*spec.SpecError] for a spec that
// contradicts itself, an error for another dtype, and the errors of load and of the backend.
func Open(backend compute.Backend, spec *spec.Spec, dtype dtypes.DType,
	load spec.Loader, q spec.Quantized, loaders int,
) (*Model, error) {
	if err := spec.Check(); err != nil {
		return nil, err
	}
	if dtype != dtypes.Float32 && dtype != dtypes.BFloat16 {
		return nil, pkg.Errorf("weights as %s are not supported; take float32 or bfloat16", dtype)
	}
	if loaders == 0 {
		loaders = min(codes.LoadersMost, runtime.GOMAXPROCS(0))
	}
	held, err := codes.LoadWeights(backend, spec, dtype, load, q, loaders)
	if err != nil {
		return nil, err
	}
	return &Model{
		Settings: &Settings{Spec: spec, DType: dtype}, Machine: program.NewMachine(held),
		Through: &sharedThrough{},
	}, nil
}

// Builder returns a builder for a graph of the model.
func (m *Model) Builder(w codes.Weights, t graph.Text) *graph.Builder {
	if t.Boundary == nil {
		t.Length, t.Boundary = graph.LengthOf(t.Length)
	}
	d := graph.NewBuilder(m.Spec, w, t)
	d.Fused = true
	if m.Machine.Held.OutFirst() {
		d.Product = codes.Product{OutFirst: true}
	}
	if codes.OnCPU(m.Machine.Backend) {
		d.Product.Always = GreaterThan(t.Length, ZerosLike(t.Length))
	}
	return d
}

// CheckIDs implements [transformer.Model.CheckIDs].
func CheckIDs(s *spec.Spec, ids []int) error {
	longest := len(ids)
	if s.Encoder > 0 && longest > 0 { // each stack counts from 0
		source := graph.BoundaryOf(s, ids)
		if source == 0 || source == len(ids) {
			return pkg.Errorf("%s needs a text of source and target: put id %d between them, "+
				"with which the target begins", s.Family, s.Boundary())
		}
		longest = max(source, len(ids)-source)
	}
	if s.Context > 0 && longest > s.Context {
		return pkg.Errorf("%d tokens are more than the context of %d", longest, s.Context)
	}
	return CheckVocabulary(s, ids)
}

// CheckVocabulary implements [transformer.Model.CheckVocabulary].
func CheckVocabulary(s *spec.Spec, ids []int) error {
	if len(ids) == 0 {
		return pkg.Errorf("there are no tokens to run on")
	}
	boundary := graph.BoundaryOf(s, ids)
	for i, id := range ids {
		if s.Encoder > 0 && i == boundary && boundary < len(ids) {
			continue
		}
		if inSource := boundary < len(ids) && i < boundary; !s.Takes(id, inSource) {
			if s.SourceVocab > 0 {
				return pkg.Errorf("id %d of token %d is on the wrong side: ids of the target are "+
					"from 0 to %d, those of the source from %d to %d", id, i, s.Vocab-1,
					s.Vocab, s.Boundary()-1)
			}
			return pkg.Errorf("id %d of token %d is outside the vocabulary of %d", id,
				i, s.Vocab)
		}
	}
	return nil
}

// TurnedByLength returns a rotary embedding of the model that turns the keys of a text of n tokens
// otherwise than those of a shorter text, nil if there is none.
func TurnedByLength(s *spec.Spec, n int) *spec.Rotary {
	for l := range s.Layers {
		r := s.RotaryOf(l)
		if r != nil && (r.LongFrequencies != nil || r.Stretch > 0) && n > r.Original {
			return r
		}
	}
	return nil
}
