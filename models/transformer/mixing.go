package transformer

import (
	"fmt"
	"slices"
	"sort"
	"sync"

	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like the formulas, as GoMLX's own does

	"github.com/headwater-ml/headwater/attribution/trace"
)

// Mixing says how one layer mixes positions. It is graph code over one [Block], and the same function serves the many
// rows of a prompt and the single row of a decode step.
type Mixing interface {
	// Mix returns C ≥ 0 for every target and source, not normalised: [B,N,S], or [B,H,N,S] if the heads are kept apart.
	// Sources that a target cannot see are 0.
	Mix(b *Block, heads trace.Heads) *Node
	// Check returns an error if the mixing cannot fuse heads in that way.
	Check(heads trace.Heads) error
	// PerPair is whether a pair of target and source costs a pass through the rest of the block, so that the rows of
	// a prompt are computed layer by layer in tiles and not within the pass that fills the cache.
	PerPair() bool
}

// SharesOutput is what a mixing is that calls [Block.AfterEach] before it reads [Block.Output], which may be nil until then.
type SharesOutput interface {
	Mixing
	SharesOutput()
}

func sharesOutput(m Mixing) bool {
	_, ok := m.(SharesOutput)
	return ok
}

// ReadsFinalNorm is what a mixing is that may call [Block.FinalNorm]. It must be PerPair.
type ReadsFinalNorm interface {
	Mixing
	// ReadsFinalNorm is whether it does.
	ReadsFinalNorm() bool
}

// readsFinalNorm is whether a mixing reads the norm behind layer l.
func readsFinalNorm(s *Spec, m Mixing, l int) bool {
	reads, ok := m.(ReadsFinalNorm)
	return ok && reads.ReadsFinalNorm() && l == s.Layers-1 && !s.NoFinalNorm
}

var mixings = struct {
	sync.RWMutex
	byName map[string]Mixing
}{byName: map[string]Mixing{}}

// RegisterMixing makes a mixing known under a name, lower case with hyphens. It panics if m is nil or the name is taken.
func RegisterMixing(name string, m Mixing) {
	mixings.Lock()
	defer mixings.Unlock()
	if m == nil {
		panic("transformer: RegisterMixing: mixing " + name + " is nil")
	}
	if _, taken := mixings.byName[name]; taken {
		panic("transformer: RegisterMixing: mixing " + name + " is registered already")
	}
	mixings.byName[name] = m
}

// LookupMixing returns the mixing of that name, or an error that lists the known ones.
func LookupMixing(name string) (Mixing, error) {
	mixings.RLock()
	defer mixings.RUnlock()
	if m, ok := mixings.byName[name]; ok {
		return m, nil
	}
	return nil, fmt.Errorf("transformer: mixing %.60q is unknown; %s", name, trace.KnownAre(name, mixingNames()))
}

// MixingNames returns the names of all mixings, sorted.
func MixingNames() []string {
	mixings.RLock()
	defer mixings.RUnlock()
	return mixingNames()
}

func mixingNames() []string {
	names := make([]string, 0, len(mixings.byName))
	for name := range mixings.byName {
		names = append(names, name)
	}
	sort.Strings(names)
	return slices.Clip(names)
}

// fuse makes one matrix of the heads of a [B,H,N,S] node: [B,N,S], or all of it for each.
func fuse(a *Node, heads trace.Heads) *Node {
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
