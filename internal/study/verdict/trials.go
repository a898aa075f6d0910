package verdict

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/headwater-ml/headwater/attribution/scorer"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/errorkind"
)

// test is one text of a test: the trial that it is of, the zero value for another word of the
// control, and the question without the word or with another name.
type test struct {
	Trial
	query func() trace.Query
}

// A word is against the answer from againstFrom of the strongest on, and another answer is a rival
// from rivalFrom of the probability of the word on. At most mostOthers other words are taken away.
const (
	againstFrom = .5
	rivalFrom   = .2
	mostOthers  = 10
)

// verdict tests what the first method says of the word in some rows, by reading at most a number of
// tokens.
func (r *run) verdict(ctx context.Context, rows [2]int, mostTokens int) (*Verdict, error) {
	e := r.e
	v := &Verdict{Method: e.Order[0], Rows: rows, Contrast: e.Methods[e.Order[0]].Contrast}
	first := e.Steps[rows[0]]
	if first.Unscored || e.Model.Head == trace.Spans { // whose queries have logits alone
		v.Reason = "the model gives no probability, which words could lower"
		return v, nil
	}
	q := trace.Query{IDs: e.TokenIDs(), Types: e.Prompt.Types}
	q.Quantity, q.Token = trace.Probability, e.Steps[rows[1]-1].ID
	if v.Contrast != "" {
		q.Quantity, q.Contrast = trace.Logit, r.Contrast
	}
	// The prediction of the first token of the word is read after n tokens, at the one that stays.
	n, stays := len(q.IDs), -1
	switch {
	case first.Position != nil:
		q.Position, stays = *first.Position, *first.Position
	case !e.Model.Reads():
		n, q.IDs = len(e.Prompt.IDs)+rows[0], q.IDs[:len(e.Prompt.IDs)+rows[1]-1]
		q.Position, stays = len(q.IDs)-1, n-1
	}
	q.Edits = trace.EditsWithin(e.Edits, len(q.IDs))
	opts := r.Options.Scoring
	opts.Quantity, opts.Batch = q.Quantity, cmp.Or(opts.Batch, 1024) // the model knows its own
	removal, err := scorer.NewRemoval(ctx, r.Model, q, opts)
	if err != nil {
		return nil, err
	}
	v.Replacement = removal.Replacement()
	words, err := r.text(v, removal, n, stays)
	if err != nil {
		return nil, err
	}
	tests, others := r.tests(v, removal, words)
	if len(tests) == 0 {
		v.Reason = "no word stands out that could be taken away"
		return v, nil
	}
	if len(others) == 0 {
		v.Reason = "there is no other word to take away"
		return v, nil
	}
	tests, others, v.Read = r.affordable(removal, tests, others, rows[1]-rows[0], mostTokens)
	if len(others) == 0 {
		v.Reason = fmt.Sprintf("it would read %d tokens", v.Read)
		return v, nil
	}
	values, err := r.predict(ctx, removal, rows, slices.Concat(tests, others))
	if r.auto() && errorkind.Of(err) == errorkind.Memory {
		v.Reason = "there is too little memory"
		return v, nil
	}
	if err != nil {
		return v, err
	}
	v.Whole = values[0]
	for i, t := range tests {
		t.P = values[1+i]
		v.Trials = append(v.Trials, t.Trial)
	}
	v.judge(values[1+len(tests):])
	return v, nil
}

// predict returns how probable the word of some rows is as the text stands and in some texts,
// [1+tests]: the product over its tokens or, with a contrast, its share of both.
func (r *run) predict(
	ctx context.Context, removal *scorer.Removal, rows [2]int, tests []test,
) ([]float64, error) {
	all := append([]test{{query: func() trace.Query { return removal.Without() }}}, tests...)
	n := rows[1] - rows[0]
	var text trace.Query // that of the last piece
	values, err := removal.Ask(ctx, n*len(all), func(i int) trace.Query {
		if i%n == 0 {
			text = all[i/n].query()
		}
		q, t := text, rows[0]+i%n
		q.Position, q.Token = q.Position-(rows[1]-1-t), r.e.Steps[t].ID
		return q
	})
	if err != nil {
		return nil, err
	}
	products := make([]float64, len(all))
	for i := range products {
		products[i] = 1
		for _, x := range values[i*n : (i+1)*n] {
			if r.e.Methods[r.e.Order[0]].Contrast != "" {
				x = 1 / (1 + math.Exp(-x))
			}
			products[i] *= x
		}
	}
	return products, nil
}

// tests returns the changed texts of the trials, those that matter most first, and those of other
// words, in the order in which they are drawn. Without a word to take away they are empty.
func (r *run) tests(v *Verdict, removal *scorer.Removal, words text) (tests, others []test) {
	named := words.named()
	if len(named) == 0 {
		return nil, nil
	}
	without := func(t Trial) test {
		return test{t, func() trace.Query { return removal.Without(t.Sources...) }}
	}
	strongest, tried := named[0], map[string]bool{} // words of which there is a trial
	answer := r.answer(v.Rows)
	if name, ids := r.exchange(words, strongest, answer); ids != nil {
		t := Trial{Kind: Exchanged, Sources: strongest.tokens, Text: strongest.text, With: name}
		tests = append(tests, test{t, func() trace.Query {
			return removal.Exchanged(t.Sources, ids)
		}})
	}
	for _, w := range named {
		tried[w.key] = true
		tests = append(tests, without(Trial{Kind: Without, Sources: w.tokens, Text: w.text}))
		all := Trial{Kind: Everywhere, Text: w.text}
		for _, place := range words {
			if place.key == w.key && place.removable {
				all.Sources, all.Places = slices.Concat(all.Sources, place.tokens), all.Places+1
			}
		}
		if all.Places > 1 {
			tests = append(tests, without(all))
		}
	}
	add := func(kind Kind, w *word) {
		if w != nil && !tried[w.key] {
			tried[w.key] = true
			tests = append(tests, without(Trial{Kind: kind, Sources: w.tokens, Text: w.text}))
		}
	}
	add(Rival, r.rival(v, words, answer))
	if r.e.Methods[v.Method].Scorer {
		add(Against, words.against(strongest))
	}
	words = slices.DeleteFunc(slices.Clone(words), func(w word) bool {
		return !w.removable || !w.plain || tried[w.key]
	})
	rng := rand.New(rand.NewPCG(r.Options.Scoring.Seed, uint64(v.Rows[0])))
	rng.Shuffle(len(words), func(a, b int) { words[a], words[b] = words[b], words[a] })
	unlike := func(w word) int {
		return max(len(w.tokens)-len(strongest.tokens), len(strongest.tokens)-len(w.tokens))
	}
	slices.SortStableFunc(words, func(a, b word) int { return cmp.Compare(unlike(a), unlike(b)) })
	for _, w := range words[:min(mostOthers, len(words))] {
		others = append(others, without(Trial{Sources: w.tokens}))
	}
	return tests, others
}
