package attribution

import (
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/registry"
)

func init() {
	RegisterMixing("attention", MixingInfo{
		Summary: "attention after softmax, heads fused: how much of each source's value a target " +
			"reads",
		Paper: "Vaswani et al. 2017, §3.2.1",
		Cost:  "nothing: the model computes it anyway",
		Unit:  "attention",
		Heads: true,
		Sums:  true,
		Edits: true,
	})
	registerNorms()
	registerValueZeroing()
}

// registerNorms registers the mixings that measure the vectors which a target gets from each
// source.
func registerNorms() {
	const cost = "a product by the output projection for every source that a target sees, a " +
		"small part of what Value Zeroing takes"
	RegisterMixing("norms", MixingInfo{
		Summary: "how long the vector is that a target reads from each source: attention times " +
			"the value's length after the output projection",
		Paper:   "Kobayashi et al. 2020, §3",
		Cost:    cost,
		Unit:    "length of what is read",
		Edits:   true,
		OneHead: true,
	})
	RegisterMixing("norms-residual", MixingInfo{
		Summary:          "norms with the residual added to what a target reads from itself",
		Paper:            "Kobayashi et al. 2021, §3",
		Cost:             cost,
		Unit:             "length of what is read and kept",
		Edits:            true,
		IncludesResidual: true,
		OneHead:          true,
	})
	RegisterMixing("norms-residual-norm", MixingInfo{
		Summary: "norms-residual after the norm that follows the attention, what it divides by " +
			"held fixed; a pre-norm model has none there, " +
			"and its rows are those of norms-residual",
		Paper:            "Kobayashi et al. 2021, §3",
		Cost:             cost,
		Unit:             "length after the attention's norm",
		Edits:            true,
		IncludesResidual: true,
		OneHead:          true,
	})
	RegisterMixing("globenc", MixingInfo{
		Summary: "norms-residual-norm carried around the feed-forward part and through the norm " +
			"after it, if there is one; the feed-forward part itself is left out",
		Paper:            "Modarressi et al. 2022, §3",
		Cost:             cost,
		Unit:             "length after the block",
		Edits:            true,
		IncludesResidual: true,
		OneHead:          true,
	})
	RegisterMixing("alti", MixingInfo{
		Summary: "how much nearer each source's vector, with residual and norm, brings " +
			"the attention's output in the sum of absolute values",
		Paper:            "Ferrando et al. 2022, §3",
		Cost:             cost,
		Unit:             "nearness to the attention's output",
		Edits:            true,
		IncludesResidual: true,
	})
}

// registerValueZeroing registers Value Zeroing by its two distances, each with and without the
// final norm.
func registerValueZeroing() {
	for _, kind := range []struct{ name, how string }{
		{"value-zeroing", ""},
		{"value-zeroing-euclidean", ", as a Euclidean distance and not by the angle"},
		{"value-zeroing-final-norm", ", in the last layer after the final norm"},
		{"value-zeroing-euclidean-final-norm", ", as a Euclidean distance, in the last layer " +
			"after the final norm"},
	} {
		RegisterMixing(kind.name, MixingInfo{
			Summary: "how far a block's output moves when one source's value vectors " +
				"are set to zero" + kind.how,
			Paper:            "Mohebbi et al. 2023, §3",
			Cost:             "the rest of the block once more for every source that a target sees",
			Unit:             "change of the block's output",
			Edits:            true,
			IncludesResidual: true,
			Distance:         true,
			PerPair:          true,
			OneHead:          true,
		})
	}
}

// MixingInfo describes a mixing whose rows a model computes. It is here and not beside the graph
// code, because methods are checked and documented without a model.
type MixingInfo struct {
	// Summary describes a value in one sentence, Paper is where it was published, and Cost what
	// one more token costs. Unit is what a share is a share of.
	Summary, Paper, Cost, Unit string
	// IncludesResidual reports whether the rows contain the residual connection, so that none is
	// added.
	IncludesResidual bool
	// Heads reports whether heads can be fused in different ways or looked at one by one.
	Heads bool
	// OneHead reports whether one head can be looked at alone, although heads cannot be fused in
	// different ways: otherwise all heads are summed.
	OneHead bool
	// Sums reports whether the rows of every head sum to 1.
	Sums bool
	// Distance reports whether values are distances, to which [Options.Threshold] applies.
	Distance bool
	// PerPair reports whether every pair of target and source costs an evaluation of the rest of
	// the block. For generated text such rows are computed in the layer that a picture shows,
	// unless [Options.AllLayers] is set.
	PerPair bool
	// Edits reports whether rows are computed under [Options.Edits].
	Edits bool
}

// takes reports whether heads can be fused, or one head looked at alone, as heads says.
func (mi MixingInfo) takes(heads trace.Heads) bool {
	return mi.Heads || mi.OneHead && heads.Fusion == trace.OneHead
}

// scaled reports whether rows have a unit of their own. Such rows are divided by their sums before
// the residual is added, so that both have the same unit.
func (mi MixingInfo) scaled() bool { return !mi.Sums && !mi.IncludesResidual }

var mixings = registry.Registry[MixingInfo]{Kind: "mixing"}

// RegisterMixing registers the description of a mixing. It panics if the name is taken or
// malformed.
func RegisterMixing(name string, info MixingInfo) { mixings.Register(name, info) }

// LookupMixing returns the description of a mixing. The error, a [trace.UsageError], lists
// [MixingNames].
func LookupMixing(name string) (MixingInfo, error) {
	info, err := mixings.Lookup(name)
	if err != nil {
		return MixingInfo{}, &trace.UsageError{Unknown: true, Reason: err.Error()}
	}
	return info, nil
}

// MixingNames returns the names of all mixings, sorted.
func MixingNames() []string { return mixings.Names() }

// sumTol is how far the sum of a row of attention may be from 1 in [Attribute]. A bfloat16 has 8
// significant bits, so rounding changes each number by at most 2^-8 of itself, and a sum of 1 by at
// most 2^-8 = 0.0039. Rows of a few sources come near to that, and so do rows of equal numbers; in
// long rows most errors cancel.
const sumTol = 5e-3
