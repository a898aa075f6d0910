package attribution

import (
	"math"

	"github.com/headwater-ml/headwater/attribution/trace"
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
	})
	registerNorms()
	registerValueZeroing()
}

// registerNorms registers the mixings made of the vectors that a target gets from each source.
func registerNorms() {
	const cost = "a product by the output projection for every source that a target sees, a " +
		"small part of what value zeroing takes"
	RegisterMixing("norms", MixingInfo{
		Summary: "how long the vector is that a target reads from each source: attention times " +
			"the value's length behind the output projection",
		Paper:   "Kobayashi et al. 2020, §3",
		Cost:    cost,
		Unit:    "length of what is read",
		OneHead: true,
	})
	RegisterMixing("norms-residual", MixingInfo{
		Summary:          "norms with the residual added to what a target reads from itself",
		Paper:            "Kobayashi et al. 2021, §3",
		Cost:             cost,
		Unit:             "length of what is read and kept",
		IncludesResidual: true,
		OneHead:          true,
	})
	RegisterMixing("norms-residual-norm", MixingInfo{
		Summary: "norms-residual behind the norm that follows the attention, what it divides by " +
			"held fixed; a pre-norm model has none there, " +
			"and its rows are those of norms-residual",
		Paper:            "Kobayashi et al. 2021, §3",
		Cost:             cost,
		Unit:             "length behind the attention's norm",
		IncludesResidual: true,
		OneHead:          true,
	})
	RegisterMixing("globenc", MixingInfo{
		Summary: "norms-residual-norm carried around the feed-forward part and through the norm " +
			"behind it, if there is one; the feed-forward " +
			"part itself is left out",
		Paper:            "Modarressi et al. 2022, §3",
		Cost:             cost,
		Unit:             "length behind the block",
		IncludesResidual: true,
		OneHead:          true,
	})
	RegisterMixing("alti", MixingInfo{
		Summary: "how much nearer each source's vector, with residual and norm, brings " +
			"the attention's output in the sum of absolute values",
		Paper:            "Ferrando et al. 2022, §3",
		Cost:             cost,
		Unit:             "nearness to the attention's output",
		IncludesResidual: true,
	})
}

// registerValueZeroing registers the kinds of Value Zeroing.
func registerValueZeroing() {
	for _, kind := range []struct{ name, how string }{
		{"value-zeroing", ""},
		{"value-zeroing-euclidean", ", as a Euclidean distance and not by the angle"},
		{"value-zeroing-final-norm", ", in the last layer behind the final norm"},
		{"value-zeroing-euclidean-final-norm", ", as a Euclidean distance, in the last layer " +
			"behind the final norm"},
	} {
		RegisterMixing(kind.name, MixingInfo{
			Summary: "how far a block's output moves when one source's value vectors " +
				"are set to zero" + kind.how,
			Paper:            "Mohebbi et al. 2023, §3",
			Cost:             "the rest of the block once more for every source that a target sees",
			Unit:             "change of the block's output",
			IncludesResidual: true,
			Distance:         true,
			OneHead:          true,
		})
	}
}

// MixingInfo is what attribution must know of a mixing whose rows a model computes. It stands here
// and not beside the graph code, because methods are checked and documented without a model.
type MixingInfo struct {
	// Summary says in one sentence what a value means; Paper says where it comes from; Cost says
	// what one more token costs, in plain words; Unit is what a share is a share of.
	Summary, Paper, Cost, Unit string
	// IncludesResidual is whether the residual connection is in the rows already, so that none is
	// added.
	IncludesResidual bool
	// Heads is whether heads can be fused in different ways or looked at one by one.
	Heads bool
	// OneHead is whether one head can be taken alone where heads cannot be fused in different ways:
	// all are taken together otherwise.
	OneHead bool
	// Sums is whether the rows of every head sum to 1.
	Sums bool
	// Distance is whether values are distances, to which [Options.Threshold] applies.
	Distance bool
}

// takes is whether heads can be fused in that way, or one looked at alone.
func (mi MixingInfo) takes(heads trace.Heads) bool {
	return mi.Heads || mi.OneHead && heads.Fusion == trace.OneHead
}

// scaled is whether rows have a unit of their own, so that they are divided by their sums before a
// residual is put beside them.
func (mi MixingInfo) scaled() bool { return !mi.Sums && !mi.IncludesResidual }

var mixings = registry[MixingInfo]{kind: "mixing"}

// RegisterMixing makes the facts about a mixing known. It panics if the name is taken or malformed.
func RegisterMixing(name string, info MixingInfo) { mixings.register(name, info) }

// LookupMixing returns the facts about a mixing. The error, a [UsageError], lists [MixingNames].
func LookupMixing(name string) (MixingInfo, error) { return mixings.lookup(name) }

// MixingNames returns the names of all mixings, sorted.
func MixingNames() []string { return mixings.names() }

// mixingRatio is the mixing whose rows have, in the target's own column, how much of it comes from
// other tokens: what [Options.MeasuredResidual] takes. It is no map of sources, so no method can
// name it and it has no [MixingInfo].
const mixingRatio = "mixing-ratio"

// sumTol is how far the sum of a row of attention may be from 1 in [Attribute]: half precision.
const sumTol = 1e-3

// badRow returns the first column of a row that no mixing can have, -1 if there is none.
func indexInvalid[F float32 | float64](row []F) int {
	for s, x := range row {
		if !(x >= 0) || math.IsInf(float64(x), 0) {
			return s
		}
	}
	return -1
}
