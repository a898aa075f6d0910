package trace

import (
	"context"
	"math"
)

// TokenScores are numbers of how a model predicts one token, with the model's distribution p over
// all tokens or classes, before temperature and cuts.
type TokenScores struct {
	// Entropy is -Σ p ln p, and Surprisal -ln p(token), both in nats.
	Entropy   float64 `json:"entropy"`
	Surprisal float64 `json:"surprisal"`
	// Rank is 1 more than the number of tokens that are more probable.
	Rank int `json:"rank"`
}

// Finite reports whether there are scores and they have a JSON form.
func (s *TokenScores) Finite() bool {
	return s != nil && !math.IsInf(s.Entropy, 0) && !math.IsNaN(s.Entropy) &&
		!math.IsInf(s.Surprisal, 0) && !math.IsNaN(s.Surprisal)
}

// LogitReader is a model that scores the next token at each position of a text.
type LogitReader interface {
	Model
	// ReadLogits runs a text once, under edits, and calls use, in order, with the scores after each
	// token from position first on, [V]. They are valid until use returns, whose error it returns.
	// It returns an error for a model that does not generate.
	ReadLogits(ctx context.Context, ids []int, edits []Edit, first int,
		use func(position int, logits []float32) error) error
}
