// Package methods tests methods on whole models in pure Go: every method on every family, known
// answers on planted circuits, and a generation against one pass. It costs about a minute.
package methods

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/e2e/fixture"
	"github.com/headwater-ml/headwater/models"
)

// counted encodes every text as a token for each letter, by its place in the vocabulary: the
// goldens have no tokenizers.
type counted struct{ *models.Model }

func (c counted) Encode(text string, _ trace.Specials) ([]trace.Token, error) {
	var tokens []trace.Token
	for i := range len(text) {
		id := 5 + int(text[i])%(c.Info().Vocab-5)
		tokens = append(tokens, trace.Token{ID: id, Text: text[i : i+1], Begin: i, End: i + 1})
	}
	if boundary := c.Info().Boundary(); boundary >= 0 { // a source of 3 tokens, and 2 of the target
		for i := range tokens[:3] {
			if c.Info().SourceVocab > 0 {
				tokens[i].ID = c.Info().Vocab + tokens[i].ID%c.Info().SourceVocab
			}
		}
		tokens[3].ID = boundary
	}
	return tokens, nil
}

// ofOneStack are the methods that a model of two stacks refuses.
var ofOneStack = []string{"interchange", "reagent"}

// ofOneToken are the methods that split the logit of one token into parts, and so have nothing to
// split where a head reads the mean of all.
var ofOneToken = []string{"direct", "alti-logit", "decompx"}

// Every method explains every family, decoders and encoders: it gives a number for each token of
// the prompt. Scorers are left out where the model has no head to score.
func TestMethodsOnFamilies(t *testing.T) {
	goldens := filepath.Join("..", "..", "..", "models", "testdata", "goldens")
	entries, err := os.ReadDir(goldens)
	must(t, err)
	tried := 0
	for _, entry := range entries {
		if !entry.IsDir() {
			continue
		}
		tried++
		t.Run(entry.Name(), func(t *testing.T) {
			m := fixture.Open(t, filepath.Join(goldens, entry.Name()), "go")
			var opts attribution.Options
			head := m.Info().Head
			_, masks := m.Replacement("mask")
			for _, method := range attribution.Methods() {
				asks := method.Name == "reagent" || method.Name == "interchange"
				if asks && head != trace.NextToken &&
					!(head == trace.MaskedToken && masks) {
					continue // it asks the model which tokens could stand in
				}
				if m.Info().MeanPooled && slices.Contains(ofOneToken, method.Name) {
					continue
				}
				if m.Info().EncoderLayers > 0 && slices.Contains(ofOneStack, method.Name) {
					continue
				}
				if method.Scorer == "" || head != trace.NoHead {
					opts.Methods = append(opts.Methods, method.Name)
				}
			}
			if head != trace.NoHead {
				opts.Scoring.Steps = 3
			}
			if slices.Contains(opts.Methods, "reagent") {
				opts.Scoring.Samples = 6
			}
			opts.MaxTokens = 2
			if m.Info().Reads() {
				opts.MaxTokens, opts.Positions = 0, []int{2}
			}
			if head.WholeText() {
				opts.Positions = nil // where the class is read
			}
			e, err := attribution.Explain(t.Context(), counted{m}, "heads", opts)
			must(t, err)
			for name, r := range e.Methods {
				moved := false
				for _, x := range slices.Concat(r.Rows...) {
					if math.IsNaN(x) || math.IsInf(x, 0) {
						t.Fatalf("%s: %v", name, r.Rows)
					}
					moved = moved || x != 0
				}
				if !moved || r.Shape[1] != 5 {
					t.Errorf("%s: shape %v, all values 0: %v", name, r.Shape, !moved)
				}
			}
		})
	}
	if tried < 22 {
		t.Errorf("%d goldens", tried)
	}
}
