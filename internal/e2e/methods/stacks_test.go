package methods

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/e2e/fixture"
)

// source encodes every text as a source, a token for each letter, and the begin of a target. Texts
// of single tokens are their numbers in brackets.
type source struct{ counted }

func (m source) Encode(text string, _ trace.Specials) (tokens []trace.Token, _ error) {
	var id int
	if n, _ := fmt.Sscanf(text, "[%d]", &id); n == 1 {
		return []trace.Token{{ID: id, Text: text}}, nil
	}
	for i := range text {
		tokens = append(tokens, trace.Token{
			ID: 5 + int(text[i])%20, Text: text[i : i+1], Begin: i, End: i + 1,
		})
	}
	n := len(text)
	for _, id := range []int{1, m.Info().Boundary()} {
		tokens = append(tokens, trace.Token{ID: id, Special: true, Begin: n, End: n})
	}
	return tokens, nil
}

// TestScoresOfTwoStacks: an encoder predicts nothing at the tokens of the source, so these have no
// scores and no loss. What is refused is refused before a token is generated.
func TestScoresOfTwoStacks(t *testing.T) {
	m := source{counted{fixture.Open(t, filepath.Join("..", "..", "..", "models", "testdata",
		"goldens", "t5"), "go")}}
	opts := attribution.Options{Methods: []string{"raw"}, MaxTokens: 2}
	generated := 0
	opts.OnStep = func(*attribution.Explanation) { generated++ }
	for _, refused := range []attribution.Options{
		{PromptScores: true}, {Without: "sentence:2"}, {Without: "turn:1"}, {Without: "0:5"},
	} {
		refused.Methods, refused.OnStep = opts.Methods, opts.OnStep
		_, err := attribution.Explain(t.Context(), m, "heads", refused)
		if !errors.Is(err, trace.ErrUsage) || generated > 0 {
			t.Errorf("error %v after %d tokens; want a usage error before all", err, generated)
		}
	}
	opts.HeadKinds = attribution.KindsAblate
	e, err := attribution.Explain(t.Context(), m, "heads", opts)
	must(t, err)
	k := e.HeadKinds
	if k.Loss != 0 || k.Without != nil || !slices.ContainsFunc(e.Warnings, func(s string) bool {
		return strings.Contains(s, "of one stack")
	}) {
		t.Errorf("the loss is %v, without heads %v, warnings %q", k.Loss, k.Without, e.Warnings)
	}
	if got := k.Chance * float64(len(k.IDs)); math.Abs(got-1) > 1e-9 {
		t.Errorf("chance is %v/%d; uniform attention gives each source 1", got, len(k.IDs))
	}
}

// TestWithoutSentenceOfSource: KL(p‖q) of the first token without a sentence of the source is that of
// the distributions of two models that were asked apart.
func TestWithoutSentenceOfSource(t *testing.T) {
	m := source{counted{fixture.Open(t, filepath.Join("..", "..", "..", "models", "testdata",
		"goldens", "t5"), "go")}}
	opts := attribution.Options{Methods: []string{"raw"}, MaxTokens: 1, Alternatives: 48}
	distribution := func(prompt string) map[int]float64 {
		e, err := attribution.Explain(t.Context(), m, prompt, opts)
		must(t, err)
		all := map[int]float64{}
		for _, a := range e.Steps[0].Alternatives {
			all[a.ID] = a.Probability
		}
		return all
	}
	p, q, want := distribution("Red cat. A dog."), distribution("Red cat. "), 0.0
	for id := range 48 {
		want += p[id] * math.Log(p[id]/q[id])
	}
	opts.Without = "sentence:2"
	e, err := attribution.Explain(t.Context(), m, "Red cat. A dog.", opts)
	must(t, err)
	if got := *e.Steps[0].Scores.KL; math.Abs(got-want) > 1e-6 || want < 1e-5 ||
		e.Without.Name != `"A dog."` {
		t.Errorf("KL %v without %s, want %v", got, e.Without.Name, want)
	}
}
