package trace

import (
	"slices"

	"github.com/headwater-ml/headwater/internal/message"
)

// Quantity is a number that a model computes for a token or class, and that a scorer explains.
type Quantity string

// The quantities.
const (
	// Logit is the score before softmax; with a contrast the difference of two, in which anything
	// that is added to all scores cancels.
	Logit Quantity = "logit"
	// Probability is the softmax of the scores, in [0,1]; with a contrast the difference of two.
	Probability Quantity = "probability"
	// LogProbability is its natural logarithm, in nats; with a contrast the difference of two,
	// which is that of the logits.
	LogProbability Quantity = "log-probability"
	// Margin is the logit minus the largest logit of any other token or class: above 0 if and only
	// if the model would choose the token. Only a [Predictor] computes it, and scorers do not
	// explain it. It ignores the contrast.
	Margin Quantity = "margin"
)

// Quantities returns all quantities that scorers explain, in a fixed order.
func Quantities() []Quantity { return []Quantity{Logit, Probability, LogProbability} }

// Evidence is what the values of a method tell about a prediction. A picture words them by it.
type Evidence string

// The kinds of evidence. The zero value is not known, as of values that another program computed.
const (
	// Traced is how much came from each token of the input, through all layers.
	Traced Evidence = "traced"
	// Read is how much one layer read at each position. Earlier layers may have carried there what
	// came from other tokens.
	Read Evidence = "read"
	// Written is what attention, where the prediction is made, read at each position and wrote
	// straight into it.
	Written Evidence = "written"
	// Tested is what changes in the prediction where a token is replaced or taken away.
	Tested Evidence = "tested"
	// Chance is none: the values are random.
	Chance Evidence = "chance"
)

// ParseQuantity reads the name of a quantity. The error lists the known ones.
func ParseQuantity(s string) (Quantity, error) {
	if q := Quantity(s); slices.Contains(Quantities(), q) {
		return q, nil
	}
	return "", pkg.Errorf("quantity %.60q is unknown; %s", s,
		message.KnownAre(Quantity(s), Quantities()))
}

// Objective is a number that a model computes from a text: a quantity of a token or class, at one
// position.
type Objective struct {
	// Quantity is what is computed: that of Token, minus that of Contrast if there is one.
	Quantity Quantity
	// Position is the target row at which the head reads, 0-based; a classifier of whole texts
	// always reads at its own place.
	Position int
	// Token is an entry of the vocabulary or a class, 0-based.
	Token int
	// Contrast is another token or class, nil for none.
	Contrast *int
	// Foils are tokens or classes whose mean number is subtracted, such as the next most probable
	// ones; empty for none. They need the quantity [Logit] and exclude a contrast.
	Foils []int
}

// Weighted is a token or class and the factor of its number.
type Weighted struct {
	Token  int
	Weight float64
}

// Sum returns the tokens whose numbers add up to that of the objective, with their factors: 1 for
// Token, and -1 for Contrast or -1/F for each of F foils.
func (o Objective) Sum() []Weighted {
	sum := []Weighted{{o.Token, 1}}
	if o.Contrast != nil {
		sum = append(sum, Weighted{*o.Contrast, -1})
	}
	for _, foil := range o.Foils {
		sum = append(sum, Weighted{foil, -1 / float64(len(o.Foils))})
	}
	return sum
}

// Foils returns the first n of the likely tokens, the most probable first, that are not the token
// itself; fewer if there are not so many.
func Foils(token, n int, likely []int) []int {
	var foils []int
	for _, id := range likely {
		if id != token && len(foils) < n {
			foils = append(foils, id)
		}
	}
	return foils
}

// Query is a text and a number to compute from it.
type Query struct {
	// IDs are the T tokens of the text.
	IDs []int
	// Types are the token types, [T]; nil for type 0 everywhere.
	Types []int
	// Embeddings, [T,D], replace the rows of the embedding that the ids name, before positions are
	// added or rows are scaled; nil for those rows themselves. Of the ids then only the number
	// counts. If a model normalises each row of its embedding (BLOOM), they replace the output of
	// that norm. Before the norm a row's length has no meaning: gradient × input would be 0, and a
	// path from zeros undefined at its start.
	Embeddings []float32
	// Edits change what the model computes on the way, if it is [Editable] and the query is one of
	// [Predictor] or [Differentiable].
	Edits []Edit
	Objective
}

// Gradient has the derivative of a number by each component of the input.
type Gradient struct {
	// Value is the number that the objective names.
	Value float64
	// Data is ∂value/∂embedding, [T,D]; see [Query.Embeddings].
	Data []float32
	// Attention and AttentionData are attention and ∂value/∂attention, [L,H,T,S] each; nil unless
	// the rule is [WithAttention].
	Attention, AttentionData []float32
	// Taps are ∂value/∂tap of each of [GradientTaps], in their order: of [Hidden] before each
	// layer, [L,T,D], of [AttentionOutput] and [FeedForwardOutput], [L,T,D], of [Context] and
	// [QueryVector], [L,H,T,E], and of [KeyVector] and [Value], [L,G,T,E] with one row for the H/G
	// heads that share it; nil unless the rule is [WithTaps].
	Taps []Tensor
}

// GradientTaps returns the taps of [Gradient.Taps].
func GradientTaps() []Tap {
	return []Tap{
		Hidden, AttentionOutput, FeedForwardOutput, Context, QueryVector, KeyVector, Value,
	}
}

// Backward is a rule for going back through the graph from a value to the input.
type Backward int

// The rules.
const (
	// TrueGradient is the derivative.
	TrueGradient Backward = iota
	// RelevanceGradient is the derivative with the changes that make gradient × input the relevance
	// of AttnLRP (Achtibat et al. 2024): norms and activations count as constant factors, and each
	// factor of a product of two activations gets half.
	RelevanceGradient
	// WithAttention is TrueGradient, and attention and its gradient are returned too.
	WithAttention
	// WithTaps is TrueGradient, and gradients with respect to taps are returned too.
	WithTaps
)

// AttentionTerms are the parts of a logit, or of a difference of logits, that attention read for
// one target: the attention part of [LogitTerms].
type AttentionTerms struct {
	// Alone are the terms of the logit alone, without foils; nil unless [TermsAsk.Alone].
	Alone *AttentionTerms
	// Value is the number explained. What is left of it when Attention is summed was written by
	// feed-forward layers, biases and the target's own embedding.
	Value float64
	// Attention is [L,S]: what the target read from each source in each layer.
	Attention []float64
	// ByHead is [L,H,S], the part of Attention that each head read; nil without [TermsAsk.ByHead].
	ByHead []float64
	// L, S are the sizes.
	L, S int
}

// LogitTerms are parts whose sum is a logit, or a difference of two logits, at one target. Each
// part is something that was added to the target's residual stream, after the norms on its way,
// with the scales that they have for this text, and the head.
type LogitTerms struct {
	// Value is the logit or the difference, the sum of all fields below.
	Value float64
	// Embedding is the part of the target's input. Bias is the part of the biases of the head and
	// the final norm.
	Embedding, Bias float64
	// Attention is the part that the target reads from each source in each layer, [L,S]. MLP is the
	// part of each feed-forward layer, [L]. AttentionBias is the part of each layer's output bias,
	// and of the biases of norms on the residual stream, [L].
	Attention          []float64
	MLP, AttentionBias []float64
	// L, S are the sizes.
	L, S int
}
