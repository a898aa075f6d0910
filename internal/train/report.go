package train

import (
	"context"
	"fmt"

	"github.com/gomlx/compute"

	"github.com/headwater-ml/headwater/internal/tiny"
	"github.com/headwater-ml/headwater/internal/tokenizer"
	"github.com/headwater-ml/headwater/models/spec"
)

// Report is a record of the training. It is written beside the weights.
type Report struct {
	Backend string `json:"backend"`
	Config  Config `json:"config"`
	// Parameters is how many numbers the model has. Vocabulary is how many tokens it has.
	Parameters int `json:"parameters"`
	Vocabulary int `json:"vocabulary"`
	// WeightHash is the hexadecimal SHA-256 of model.safetensors.
	WeightHash string `json:"weight_hash"`
	// FirstLosses are the losses of the first 50 steps, in nats. Losses are the means of every 100
	// steps.
	FirstLosses []float64 `json:"first_losses"`
	Losses      []float64 `json:"losses"`
	// HeldOut is measured on combinations that were never in training together, Seen on other
	// combinations.
	HeldOut []*KindScore `json:"held_out"`
	Seen    []*KindScore `json:"seen"`
	// FirstToken is measured for the decoder of twelve layers only.
	FirstToken *FirstToken `json:"first_token,omitempty"`
}

// FirstLosses is how many losses the report keeps one by one.
const FirstLosses = 50

// testDocuments is how many held-out documents of each kind are measured. testSeed is the seed that
// draws them.
const (
	testDocuments = 1000
	testSeed      = 7
)

// documents is how many are measured: fewer for the decoder of twelve layers, which is the slowest.
func (e *evaluator) documents() int {
	if e.recipe.model.Name == tiny.AlibiName {
		return testDocuments / 2
	}
	return testDocuments
}

// Measure fills the scores of the report. The weights must be those that are shipped, which are
// rounded, not those of training.
func (r *Report) Measure(ctx context.Context, backend compute.Backend, tok *tokenizer.Tokenizer,
	weights func(spec.Param) ([]float32, error),
) error {
	e, err := newEvaluator(backend, r.Config, tok, weights)
	if err != nil {
		return err
	}
	r.HeldOut, r.Seen = nil, nil
	for _, kind := range e.recipe.model.Kinds() {
		heldOut, err := e.measure(ctx, tiny.HeldOut, kind, e.documents(), testSeed)
		if err != nil {
			return err
		}
		seen, err := e.measure(ctx, tiny.Train, kind, e.documents(), testSeed)
		if err != nil {
			return err
		}
		r.HeldOut, r.Seen = append(r.HeldOut, heldOut), append(r.Seen, seen)
	}
	if e.recipe.model.Name == tiny.AlibiName {
		r.FirstToken, err = e.firstTokens(ctx, firstTokenDocuments)
	}
	return err
}

// firstTokenDocuments is on how many documents of each kind the attention to the first token is
// measured.
const firstTokenDocuments = 50

// String returns one line, for a user who waits.
func (s *KindScore) String() string {
	return fmt.Sprintf("%-9s right %.3f  last word %.3f  chance %.3f  (%d answers)", s.Kind,
		s.Right, s.LastWord, s.Chance, s.Answers)
}
