package graph

import (
	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/message"
	"github.com/headwater-ml/headwater/internal/registry"
	"github.com/headwater-ml/headwater/models/spec"
)

// Mixing is the way one layer mixes positions: graph code over one [Block]. The same function
// serves the many rows of a prompt and the single row of a decode step. A plugin of another module
// implements it and calls [RegisterMixing]; the mixings of this package use only what such a plugin
// can use.
type Mixing interface {
	// Mix returns C ≥ 0 for every target and source, not normalised: [B,N,S], or [B,H,N,S] if the
	// heads are kept apart. Entries of sources that a target cannot see become 0.
	Mix(b *Block, heads trace.Heads) *Node
	// Check returns an error if the mixing cannot fuse heads in that way.
	Check(heads trace.Heads) error
	// PerPair reports whether every pair of target and source costs a pass through the rest of the
	// block. The rows of a prompt are then computed layer by layer in tiles of targets, and not in
	// the pass that fills the cache.
	PerPair() bool
}

// SharesOutput is implemented by a mixing that calls [Block.AfterEach], or
// [Block.OutputsWithoutSource], before it reads [Block.Output], which may be nil until then. Its
// decode step then computes the block's output only once.
type SharesOutput interface {
	Mixing
	SharesOutput()
}

// ZeroesSources is implemented by a mixing that calls [Block.OutputsWithoutSource] for all heads
// together. In a prompt, what each source adds through each head is then computed once for all
// targets, and its rows cost about half as much. If it is also [SharesOutput], so do those of
// steps; see [run.Session.CachesSources]. It must be PerPair.
type ZeroesSources interface {
	Mixing
	ZeroesSources()
}

// ReadsFinalNorm is implemented by a mixing that may call [Block.FinalNorm]. It must be PerPair:
// other graphs do not have the weights of that norm.
type ReadsFinalNorm interface {
	Mixing
	// ReadsFinalNorm reports whether it does.
	ReadsFinalNorm() bool
}

// Mixings are the registered ones.
var Mixings = registry.Registry[Mixing]{Kind: "transformer: mixing"}

// RegisterMixing makes a mixing known under a name, in lower case with hyphens. It panics if m is
// nil, or if the name is taken or malformed.
func RegisterMixing(name string, m Mixing) { Mixings.Register(name, m) }

// LookupMixing returns the mixing of that name, or an error that lists the known names.
func LookupMixing(name string) (Mixing, error) {
	m, err := Mixings.Lookup(name)
	if err != nil {
		return nil, pkg.Errorf("mixing %.60q is unknown; %s", name,
			message.KnownAre(name, MixingNames()))
	}
	return m, nil
}

// MixingNames returns the names of all mixings, sorted.
func MixingNames() []string { return Mixings.Names() }

// FuseHeads makes one matrix of the heads of a [B,H,N,S]: the mean, maximum or minimum over the
// heads or one of them, [B,N,S], or a itself for each head apart.
func FuseHeads(a *Node, heads trace.Heads) *Node {
	switch heads.Fusion {
	case trace.MaxHeads:
		return ReduceMax(a, 1)
	case trace.MinHeads:
		return ReduceMin(a, 1)
	case trace.OneHead:
		return Squeeze(SliceAxis(a, 1, AxisRange(heads.Head, heads.Head+1)), 1)
	case trace.EachHead:
		return a
	}
	return ReduceMean(a, 1)
}

// Asked is a mixing whose rows are asked for.
type Asked struct {
	trace.MixingAsk
	Mixing
}

// SharesOutput reports whether the mixing computes the output of the block with its own.
func (a Asked) SharesOutput() bool {
	_, ok := a.Mixing.(SharesOutput)
	return ok
}

// ZeroesSources reports whether a mixing calls [Block.OutputsWithoutSource].
func (a Asked) ZeroesSources() bool {
	_, ok := a.Mixing.(ZeroesSources)
	return ok
}

// AsksOf is what was asked for.
func AsksOf(all []Asked) []trace.MixingAsk {
	asks := make([]trace.MixingAsk, len(all))
	for i, ask := range all {
		asks[i] = ask.MixingAsk
	}
	return asks
}

// LookupMixings looks up the mixings of asks.
func LookupMixings(s *spec.Spec, asks ...trace.MixingAsk) ([]Asked, error) {
	var all []Asked
	for _, ask := range asks {
		mix, err := LookupMixing(ask.Name)
		if err != nil {
			return nil, err
		}
		if ask.Heads.Fusion == trace.OneHead && (ask.Heads.Head < 0 ||
			ask.Heads.Head >= s.Heads) {
			return nil, pkg.Errorf("head %d is not in 0..%d", ask.Heads.Head, s.Heads-1)
		}
		if err := mix.Check(ask.Heads); err != nil {
			return nil, err
		}
		all = append(all, Asked{ask, mix})
	}
	return all, nil
}
