package attribution

import "math"

func init() {
	RegisterMixing("attention", MixingInfo{
		Summary: "attention after softmax, heads fused: how much of each source's value a target reads",
		Paper:   "Vaswani et al. 2017, §3.2.1",
		Cost:    "nothing: the model computes it anyway",
		Unit:    "attention",
		Heads:   true,
		Sums:    true,
	})
	RegisterMixing("value-zeroing", MixingInfo{
		Summary:          "how far a block's output moves when one source's value vectors are set to zero",
		Paper:            "Mohebbi et al. 2023, §3",
		Cost:             "the rest of the block once more for every source that a target sees",
		Unit:             "change of the block's output",
		IncludesResidual: true,
		Distance:         true,
	})
}

// MixingInfo is what attribution must know of a mixing whose rows a model computes. It stands here and not beside the
// graph code, because methods are checked and documented without a model.
type MixingInfo struct {
	// Summary says in one sentence what a value means; Paper says where it comes from; Cost says what one more token
	// costs, in plain words; Unit is what a share is a share of.
	Summary, Paper, Cost, Unit string
	// IncludesResidual is whether the residual connection is in the rows already, so that none is added.
	IncludesResidual bool
	// Heads is whether heads can be fused in different ways or looked at one by one.
	Heads bool
	// Sums is whether the rows of every head sum to 1.
	Sums bool
	// Distance is whether values are distances, to which [Options.Threshold] applies.
	Distance bool
}

var mixings = registry[MixingInfo]{kind: "mixing"}

// RegisterMixing makes the facts about a mixing known. It panics if the name is taken or malformed.
func RegisterMixing(name string, info MixingInfo) { mixings.register(name, info) }

// LookupMixing returns the facts about a mixing. The error, a [UsageError], lists [MixingNames].
func LookupMixing(name string) (MixingInfo, error) { return mixings.lookup(name) }

// MixingNames returns the names of all mixings, sorted.
func MixingNames() []string { return mixings.names() }

// mixingRatio is the mixing whose rows have, in the target's own column, how much of it comes from other tokens: what
// [Options.MeasuredResidual] takes.
const mixingRatio = "mixing-ratio"

// sumTol is how far the sum of a row of attention may be from 1 in [Attribute]: half precision.
const sumTol = 1e-3

// badRow returns the first column of a row that no mixing can have, -1 if there is none.
func badRow[F float32 | float64](row []F) int {
	for s, x := range row {
		if !(x >= 0) || math.IsInf(float64(x), 0) {
			return s
		}
	}
	return -1
}
