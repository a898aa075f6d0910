package transformer

import (
	"runtime"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas

	"github.com/headwater-ml/headwater/models/spec"
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

// core runs passes of a model. It is safe for concurrent use.
type core struct {
	*Settings

	// tiling is how long prompts are computed.
	tiling tiling
	// termsAtOnce is how many layers [core.termGraphs] puts into a graph; 0 is [mostTermLayers].
	// Tests set others.
	termsAtOnce int
	// projectAlways makes tests use [projectedSources] where it does not pay.
	projectAlways bool

	// machine compiles and runs graphs, and through is what texts share of the weights; nil where a
	// model is asked for sizes alone.
	machine *machine
	through *sharedThrough
}

// with returns a model on the same weights and compiled graphs with other settings.
func (m *core) with(settings Settings) *core {
	view := *m
	view.Settings = &settings
	return &view
}

// watched returns a model on the same weights and compiled graphs that reports to w until stop is
// called.
func (m *core) watched(w Watch) (watched *core, stop func()) {
	view := m.with(*m.Settings)
	view.machine, stop = m.machine.watched(w)
	return view, stop
}

// open puts a model on a backend. It reads the weights with so many goroutines; 0 is one for each
// processor, but at most [loadersMost]. It returns a [*spec.SpecError] for a spec that contradicts
// itself, an error for another dtype, and the errors of load and of the backend.
func open(backend compute.Backend, spec *spec.Spec, dtype dtypes.DType,
	load spec.Loader, q spec.Quantized, loaders int,
) (*core, error) {
	if err := spec.Check(); err != nil {
		return nil, err
	}
	if dtype != dtypes.Float32 && dtype != dtypes.BFloat16 {
		return nil, pkg.Errorf("weights as %s are not supported; take float32 or bfloat16", dtype)
	}
	if loaders == 0 {
		loaders = min(loadersMost, runtime.GOMAXPROCS(0))
	}
	held, err := loadWeights(backend, spec, dtype, load, q, loaders)
	if err != nil {
		return nil, err
	}
	return &core{
		Settings: &Settings{Spec: spec, DType: dtype}, machine: newMachine(held), through: &sharedThrough{},
	}, nil
}

// builder returns a builder for a graph of the model.
func (m *core) builder(w byName, t text) *builder {
	if t.boundary == nil {
		t.length, t.boundary = lengthOf(t.length)
	}
	d := newBuilder(m.Spec, w, t)
	d.fused = true
	if m.machine.held.outFirst() {
		d.product = product{outFirst: true}
	}
	if onCPU(m.machine.backend) {
		d.product.always = GreaterThan(t.length, ZerosLike(t.length))
	}
	return d
}

// checkIDs is what the method of the model of that name does.
func checkIDs(s *spec.Spec, ids []int) error {
	longest := len(ids)
	if s.Encoder > 0 && longest > 0 { // each stack counts from 0
		source := boundaryOf(s, ids)
		if source == 0 || source == len(ids) {
			return pkg.Errorf("%s needs a text of source and target: put id %d between them, "+
				"with which the target begins", s.Family, s.Boundary())
		}
		longest = max(source, len(ids)-source)
	}
	if s.Context > 0 && longest > s.Context {
		return pkg.Errorf("%d tokens are more than the context of %d", longest, s.Context)
	}
	return checkVocabulary(s, ids)
}

// checkVocabulary is what the method of the model of that name does.
func checkVocabulary(s *spec.Spec, ids []int) error {
	if len(ids) == 0 {
		return pkg.Errorf("there are no tokens to run on")
	}
	boundary := boundaryOf(s, ids)
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

// turnedByLength returns a rotary embedding of the model that turns the keys of a text of n tokens
// otherwise than those of a shorter text, nil if there is none.
func turnedByLength(s *spec.Spec, n int) *spec.Rotary {
	for l := range s.Layers {
		r := s.RotaryOf(l)
		if r != nil && (r.LongFrequencies != nil || r.Stretch > 0) && n > r.Original {
			return r
		}
	}
	return nil
}
