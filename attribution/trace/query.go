package trace

import "fmt"

// Quantity is what a model computes of a token or class, and a scorer explains.
type Quantity string

// The quantities.
const (
	// Logit is the score before softmax; with a contrast the difference of two, in which whatever
	// moves all scores cancels.
	Logit Quantity = "logit"
	// Probability is the softmax of the scores, in [0,1]; with a contrast the difference of two.
	Probability Quantity = "probability"
	// LogProbability is its natural logarithm, in nats; with a contrast the difference of two,
	// which is that of the logits.
	LogProbability Quantity = "log-probability"
)

// Quantities lists them in a fixed order.
func Quantities() []Quantity { return []Quantity{Logit, Probability, LogProbability} }

// ParseQuantity reads the name of a quantity. The error lists the known ones.
func ParseQuantity(s string) (Quantity, error) {
	var known []string
	for _, q := range Quantities() {
		if string(q) == s {
			return q, nil
		}
		known = append(known, string(q))
	}
	return "", fmt.Errorf("trace: quantity %.60q is unknown; %s", s, KnownAre(s, known))
}

// Objective is a number that a model computes from a text: a quantity of a token or class, at one
// position.
type Objective struct {
	// Quantity of Token minus that of Contrast, if there is one: why this token and not that.
	Quantity Quantity
	// Position is the target row at which the head reads, 0-based; a classifier of whole texts
	// reads at 0 whatever it says.
	Position int
	// Token is an entry of the vocabulary or a class, 0-based.
	Token int
	// Contrast is another one, nil for none.
	Contrast *int
}

// Query is a text and the number asked of it.
type Query struct {
	// IDs are the T tokens of the text.
	IDs []int
	// Embeddings, [T,D], stand for the rows of the embedding that the ids name, before positions
	// are added, scaled or normalised; nil for those rows themselves. The ids then only count.
	// Where a model normalises each row by itself (BLOOM), they stand behind that norm: before it a
	// row's length means nothing, so that gradient × input is 0 and a path from zeros does not
	// begin.
	Embeddings []float32
	Objective
}

// Gradient is how a number changes with each component of the input.
type Gradient struct {
	// Value is the objective.
	Value float64
	// Data is ∂value/∂embedding, [T,D]; see [Query.Embeddings].
	Data []float32
	// Attention and AttentionData are attention and ∂value/∂attention, [L,H,T,S] each; nil unless
	// they are asked for.
	Attention, AttentionData []float32
}

// Backward is a rule by which a value is sent back through the graph.
type Backward int

// The rules.
const (
	// TrueGradient is differentiation.
	TrueGradient Backward = iota
	// RelevanceGradient is differentiation with the changes that make gradient × input the
	// relevance of AttnLRP (Achtibat et al. 2024): norms and activations are factors that stay as
	// they are, and a product of two activations gives each half.
	RelevanceGradient
	// WithAttention is TrueGradient that returns attention and its gradient as well.
	WithAttention
)

// LogitTerms are the parts whose sum is a logit, or a difference of two, that one target's residual
// stream makes: everything that was added to it goes through the norms on its way, whose scale is
// that of the text, and the head.
type LogitTerms struct {
	// Value is the logit or difference, the sum of all that follows.
	Value float64
	// Embedding is the part of the target's input, Bias that of the head's bias and the final
	// norm's.
	Embedding, Bias float64
	// Attention is the part of what the target reads from each source in each layer, [L,S]; MLP
	// that of each layer's feed-forward part, and AttentionBias that of each layer's output bias
	// and of the biases of norms that its residual stream goes through, [L].
	Attention          []float64
	MLP, AttentionBias []float64
	// L, S are the sizes.
	L, S int
}
