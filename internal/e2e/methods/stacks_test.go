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
	for _, add := range []func(o *attribution.Options){
		func(o *attribution.Options) { o.PromptScores = true },
		func(o *attribution.Options) { o.Without = "0:2" },
	} {
		o := opts
		add(&o)
		_, err := attribution.Explain(t.Context(), m, "heads", o)
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
