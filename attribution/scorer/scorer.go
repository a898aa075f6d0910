// Package scorer has the methods that ask the model again, for gradients, for other texts or for
// the parts of a logit, and compute how much each token contributed to one prediction.
//
// A [Scorer] is a plugin. [Register] adds one by name, which is also the name of a method. A scorer
// names what it needs of a model: the optional interfaces of package trace, such as
// [trace.Differentiable] and [trace.Predictor]. [Prepare] checks a query for it. Built in are
//
//	gradient, gradient-x-input, integrated-gradients  derivatives by the embeddings
//	attn-lrp                                          relevance propagation
//	chefer, gradient-rollout                          attention weighted by its gradient
//	occlusion, interchange, reagent                   other texts
//	direct, alti-logit, decompx                       parts of the logit
//	random                                            a baseline
//
// [Removal] takes tokens out of a text, for evaluations.
package scorer

import (
	"context"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/message"
	"github.com/headwater-ml/headwater/internal/registry"
)

// pkg is the name that the errors of this package begin with.
const pkg = message.Package("attribution")

// Scorer is a method that computes how much each token contributed to one prediction. Most ask the
// model again, for gradients or for other texts. It does not use mixings and aggregations. It must
// be safe for concurrent use.
type Scorer interface {
	// Info describes the scorer.
	Info() Info
	// Score returns a value for each token of the query, [T]. A decoder's query ends with the
	// position that predicts. Score does not modify the query. It returns a [trace.UsageError] if
	// the model does not implement what the scorer needs. If ctx is done it returns an error that
	// wraps ctx.Err(), at the latest after one call of the model.
	Score(ctx context.Context, m trace.Model, q trace.Query, opts Options) (*Scores, error)
}

// Info describes a scorer.
type Info struct {
	// Summary describes a value in one sentence. Formula and Paper are how it is computed and
	// where that was published; Cost is what one more token costs; Needs what the model must
	// implement, in words. Unit is the unit of a value, for legends; if it is empty, that is
	// "change of the" quantity.
	Summary, Formula, Paper, Cost, Unit, Needs string
	// Signed reports whether values may be below zero: such a token spoke against the prediction.
	// Shares says that they are parts of a row, which a picture shows in percent.
	Signed, Shares bool
	// Evidence is what a value tells about the prediction.
	Evidence trace.Evidence
	// Quantities are the quantities that the scorer can explain, the default first.
	Quantities []trace.Quantity
	// Replaces reports whether the scorer replaces tokens, as in [Options.Replacement]. Integrates
	// reports that it computes an integral of [Options.Steps] points, Samples that it draws
	// [Options.Samples] random samples. An explanation refuses an option that none of its scorers
	// uses.
	Replaces, Integrates, Samples bool
	// Together reports whether the scorer takes each of [Options.Groups] away as one. The values of
	// groups are then no sums of what their tokens have alone.
	Together bool
	// Foils reports whether by default the scorer explains why a class came and not the next most
	// probable ones, and may do so of tokens; see [trace.Objective]. ByLayer reports whether it
	// returns [Scores.ByLayer].
	Foils, ByLayer bool
	// GoesOn reports whether the values of a token go on from what a [trace.TextKeeper] kept of the
	// tokens before it. Texts so explained run one at a time, because so much is kept for one.
	GoesOn bool
	// Edits reports whether the scorer asks the model everything under the edits of the query. The
	// query of another one must have none.
	Edits bool
	// LastAsks reports whether the token at which a decoder predicts has a high value whatever
	// stands there: the prediction is read there, without it another one is asked for, or all that
	// is traced passes it. So that value is no finding; see [attribution.Explanation.RowSinks].
	LastAsks bool
	// Complete reports whether the values should add up to a change of the prediction. The residue
	// is then an error of the estimate, and not a part that belongs to no token. An explanation
	// warns of a residue above 5 % of that change.
	Complete bool
}

// Scores is the result of a scorer.
type Scores struct {
	// Values are [T], one for each token of the query.
	Values []float64
	// ByLayer has what each layer added to the values, [L,T]; nil unless [Info.ByLayer].
	ByLayer []float64
	// Value is the number explained.
	Value float64
	// Residue is what is left when the values are subtracted from the number that they are parts
	// of; nil for scorers whose values are no parts.
	Residue *float64
	// Replacement is the kind of replacement that the scorer chose because [Options.Replacement]
	// was empty; empty if it chose none.
	Replacement string
}

var scorers = registry.Registry[Scorer]{Kind: "scorer"}

// Register registers a scorer by name, which is also the name of a method. It panics if s is
// nil, if the name is taken or malformed, or if it is "classic", which stands for several methods.
// If a method has the name already, the name is an error wherever it is looked up.
func Register(name string, s Scorer) {
	if name == "classic" {
		panic("scorer " + name + " has the name of a set of methods")
	}
	scorers.Register(name, s)
}

// Lookup returns the scorer of that name. The error, a [trace.UsageError], lists [Names].
func Lookup(name string) (Scorer, error) {
	s, err := scorers.Lookup(name)
	if err != nil {
		return nil, &trace.UsageError{Unknown: true, Reason: err.Error()}
	}
	return s, nil
}

// Names returns the names of all scorers, sorted.
func Names() []string { return scorers.Names() }
