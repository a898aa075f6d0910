package attribution

import (
	"context"

	"github.com/headwater-ml/headwater/attribution/trace"
)

// Scorer is a method that is no mixing and aggregation: it asks the model again, for gradients or
// for other texts, and says how much each token had to do with one prediction. It is safe for
// concurrent use.
type Scorer interface {
	// Info describes the scorer.
	Info() ScorerInfo
	// Score returns a value for each token of the query, [T]; a decoder's query ends with the
	// position that predicts. The query is not modified. It returns a [UsageError] for a model
	// without what the scorer needs, and an error that wraps ctx.Err() within one call of the
	// model.
	Score(ctx context.Context, m Model, q trace.Query, opts Scoring) (*Scores, error)
}

// ScorerInfo describes a scorer.
type ScorerInfo struct {
	// Summary says in one sentence what a value means; Formula and Paper say where it comes from;
	// Cost what one more token costs, in plain words; Unit is what a value is, for legends, "change
	// of the" quantity if it is empty; Needs what the model must offer, in plain words.
	Summary, Formula, Paper, Cost, Unit, Needs string
	// Signed is whether values below zero mean something: the token spoke against the prediction.
	Signed bool
	// Quantities are those that can be explained, the default first.
	Quantities []trace.Quantity
	// Replaces is whether tokens are replaced, as [Scoring.Replacement] says; Integrates whether
	// there is an integral of [Scoring.Steps] points; Samples whether there are [Scoring.Samples]
	// random draws. An option that no scorer of an explanation takes is refused.
	Replaces, Integrates, Samples bool
	// Complete is whether the values should add up to a change of the prediction, so that the
	// residue is an error of the estimate and not a part that belongs to no token. An explanation
	// warns of a residue above 5 % of that change.
	Complete bool
}

// Scores is what a scorer found.
type Scores struct {
	// Values are [T], one for each token of the query.
	Values []float64
	// Value is the number explained.
	Value float64
	// Residue is what the values should add up to and do not, for scorers whose values are parts of
	// something; nil for others.
	Residue *float64
	// Replacement is what the scorer took for [Scoring.Replacement] if that was left open: the name
	// of a kind. Empty if it says nothing.
	Replacement string
}

// Scoring says how scorers work. The zero value is the default of every field.
type Scoring struct {
	// Quantity is what is explained. Default: the query's, and the scorer's own choice, the first
	// of [ScorerInfo.Quantities], if that has none.
	Quantity trace.Quantity `json:"quantity,omitempty"`
	// Steps is the number of points of an integral over inputs, both ends not counted, in [1,1024].
	// Default 32.
	Steps int `json:"steps,omitempty"`
	// Replacement is what stands for a token taken away: mask, unknown, pad, end, delete, zero (its
	// embedding), or a token of the model. Default: the first of mask, unknown, delete that the
	// model has; for integrated gradients, which need a token at every place, the first of mask,
	// unknown, end, pad whose embedding is not nearly zero, and zero if there is none. Zero is
	// undefined or unreliable for them where the first operation is a norm.
	Replacement string `json:"replacement,omitempty"`
	// Samples is how many random replacements each estimate takes, in [1,16384], default 256; Seed
	// starts the random source.
	Samples int    `json:"samples,omitempty"`
	Seed    uint64 `json:"seed,omitempty"`
	// Batch is how many texts the model runs at once, in [1,1024]. Default 16.
	Batch int `json:"batch,omitempty"`
}

// Differentiable is a model that can be differentiated.
type Differentiable interface {
	Model
	// Embed returns the rows of the embedding of ids, [T,D], that [trace.Query.Embeddings] stand
	// for.
	Embed(ctx context.Context, ids []int) ([]float32, error)
	// Gradients returns the gradient of each query, by a rule. Queries are of equal length.
	Gradients(ctx context.Context, queries []trace.Query,
		rule trace.Backward) ([]trace.Gradient, error)
}

// Predictor is a model that says what it makes of other texts.
type Predictor interface {
	Model
	// Predict returns the number that each query asks for; texts may be of different lengths.
	Predict(ctx context.Context, queries []trace.Query) ([]float64, error)
}

// Replacer is a model that has tokens for what is not there: kind is mask, unknown, pad or end.
type Replacer interface {
	Replacement(kind string) (id int, ok bool)
}

// LogitDecomposer is a model that takes a logit apart.
type LogitDecomposer interface {
	Model
	// LogitTerms returns the parts of the query's logit; its quantity must be [trace.Logit].
	LogitTerms(ctx context.Context, q trace.Query) (*trace.LogitTerms, error)
}

// VectorDecomposer is a model that carries every token's part of the residual stream through all
// layers.
type VectorDecomposer interface {
	Model
	// Decompose returns the parts of the query's logit that come from each token, [T], and what
	// none of them gets.
	Decompose(ctx context.Context, q trace.Query) (parts []float64, rest float64, err error)
}

var scorers = registry[Scorer]{kind: "scorer"}

// RegisterScorer makes a scorer known by name, and a method of that name. It panics if s is nil or
// the name is taken or malformed.
func RegisterScorer(name string, s Scorer) {
	if s == nil {
		panic("attribution: scorer " + name + " is nil")
	}
	scorers.register(name, s)
	i := s.Info()
	RegisterMethod(Method{Name: name, Scorer: name, Summary: i.Summary, Formula: i.Formula,
		Paper: i.Paper, Cost: i.Cost})
}

// LookupScorer returns the scorer of that name. The error, a [UsageError], lists [ScorerNames].
func LookupScorer(name string) (Scorer, error) { return scorers.lookup(name) }

// ScorerNames returns the names of all scorers, sorted.
func ScorerNames() []string { return scorers.names() }
