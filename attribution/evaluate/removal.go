package evaluate

import (
	"context"
	"fmt"
	"slices"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/scorer"
	"github.com/headwater-ml/headwater/attribution/trace"
)

// textOnly is a [Remover] that never removes control tokens.
type textOnly struct {
	Remover
	words []int
}

func (t textOnly) Removable() []int {
	other := func(j int) bool { return !slices.Contains(t.words, j) }
	return slices.DeleteFunc(t.Remover.Removable(), other)
}

// remove measures what happens to the prediction when tokens are removed in the order of every
// method's ranking.
func (o Options) remove(
	ctx context.Context, m trace.Model, e *attribution.Explanation, r *Result,
) error {
	q := trace.Query{IDs: e.Prompt.IDs, Types: e.Prompt.Types}
	q.Position, q.Token = position(e), e.Steps[0].ID
	removal, err := scorer.NewRemoval(ctx, m, q, o.Scoring)
	if err != nil {
		return err
	}
	text := textOnly{removal, r.Words}
	names := slices.Concat(o.Methods, []string{EarliestLine, LatestLine})
	for _, name := range names {
		f, err := Faithful(ctx, text, r.Scores[name], o.Draws)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if o.Beam > 0 {
			if _, err := f.Normalize(ctx, text, o.Beam); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		f.addTo(r.Measures[name], o)
	}
	if r.Proof == nil {
		return nil
	}
	return o.flip(ctx, m, q, r, names)
}

// ablate measures how well the scores of every method predict what random ablations do. Like
// control tokens, a first token that is not ranked is never removed.
func (o Options) ablate(
	ctx context.Context, m trace.Model, e *attribution.Explanation, c Case, r *Result,
) error {
	q := trace.Query{IDs: e.Prompt.IDs, Types: e.Prompt.Types}
	q.Position, q.Token = position(e), e.Steps[0].ID
	opts := o.Scoring
	opts.Quantity = trace.Probability
	removal, err := scorer.NewRemoval(ctx, m, q, opts)
	if err != nil {
		return err
	}
	tokens := slices.DeleteFunc(textOnly{removal, r.Words}.Removable(), func(j int) bool {
		return j == 0 && o.skipsFirst(c) && !slices.Contains(r.Ranked, 0)
	})
	a, err := newAblations(ctx, removal, tokens, o.Ablations, opts.Seed+uint64(r.Case))
	if err != nil {
		return err
	}
	r.Ablations = o.Ablations
	for _, name := range slices.Concat(o.Methods, []string{EarliestLine, LatestLine}) {
		r.Measures[name][ldsMeasure] = undefined
		if lds, ok := a.LDS(r.Scores[name]); ok {
			r.Measures[name][ldsMeasure] = Value(lds)
		}
		drop, err := a.Drop(ctx, r.Scores[name], tokens, topTokens)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		r.Measures[name][dropMeasure] = Value(drop)
	}
	return nil
}

// addTo adds the measures to m by their names.
func (f *Faithfulness) addTo(m map[string]Value, o Options) {
	m["AOPC"], m["comprehensiveness"], m["sufficiency"] = Value(f.AOPC), Value(
		f.Comprehensiveness), Value(f.Sufficiency)
	m["normalised comprehensiveness"] = f.NormalizedComprehensiveness
	m["normalised sufficiency"] = f.NormalizedSufficiency
	m["deletion area"], m["insertion area"] = Value(f.DeletionArea), Value(f.InsertionArea)
	if o.Draws > 0 {
		m["soft comprehensiveness"] = f.SoftComprehensiveness
		m["soft sufficiency"] = f.SoftSufficiency
	}
	if o.Beam > 0 {
		m["NAOPC"] = f.NAOPC
	}
}
