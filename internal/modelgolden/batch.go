package modelgolden

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/headwater-ml/headwater/attribution/trace"
)

// batchTol bounds how far a number of a batch may be from that of the text alone, relative to the
// larger of it and the mean.
const batchTol = 1e-5

// batchAsk asks for rows of two mixings and for terms.
func batchAsk(tokens int) trace.Ask {
	return trace.Ask{
		MaxTokens: tokens, Alternatives: 3,
		Mixings: []trace.MixingAsk{
			{Name: "attention", AllRows: true},
			{Name: "attention", Heads: trace.Heads{Fusion: trace.EachHead}},
		},
		Terms: &trace.TermsAsk{Foils: 2, Alone: true},
	}
}

// BatchTexts are texts of different lengths: greedy and sampled, with a continuation, and one that
// the model refuses.
func BatchTexts() []trace.BatchText {
	var all []trace.BatchText
	for i := range 7 {
		ids := make([]int, 1+(3*i)%5)
		for t := range ids {
			ids[t] = 3 + (7*i+5*t)%36
		}
		all = append(all, trace.BatchText{IDs: ids, Ask: batchAsk(2 + i%4)})
	}
	all[2].Ask.Continuation = []int{9, 4, 30}
	all[3].Ask.Sampling = trace.Sampling{Temperature: 1, Seed: 3}
	contrast := 11
	all[5].Ask.Terms = &trace.TermsAsk{Contrast: &contrast}
	all[6].IDs = []int{5, -1}
	return all
}

// runBatch returns the steps of each text of a batch, and the errors of those that are refused.
func runBatch(t *testing.T, m trace.Batcher, texts []trace.BatchText, most int) (
	steps [][]trace.Step, refused []error,
) {
	t.Helper()
	steps, refused = make([][]trace.Step, len(texts)), make([]error, len(texts))
	ended := make([]bool, len(texts))
	for pass, err := range m.Batch(context.Background(), texts, most) {
		if err != nil {
			t.Fatal(err)
		}
		if len(pass) > most {
			t.Errorf("%d texts in a pass, want at most %d", len(pass), most)
		}
		for _, s := range pass {
			if ended[s.Text] {
				t.Errorf("text %d has a step after its last", s.Text)
			}
			ended[s.Text], refused[s.Text] = s.Last, s.Err
			if s.Err == nil {
				steps[s.Text] = append(steps[s.Text], s.Step)
			}
		}
	}
	for i, end := range ended {
		if !end {
			t.Errorf("text %d has no last step", i)
		}
	}
	return steps, refused
}

// Batch fails unless each text of a batch, so many at a time, gets the tokens that the model gives
// it alone, and the same numbers but for rounding. Texts that cannot run together are left out.
func Batch(t *testing.T, m trace.Batcher, most int) {
	t.Helper()
	texts := BatchTexts()
	for i, text := range texts { // of two stacks the texts are targets, behind sources
		if boundary := m.Info().Boundary(); boundary >= 0 {
			source := []int{5, 9, 20, 30}[:1+i%4]
			if m.Info().SourceVocab > 0 {
				for k := range source {
					source[k] += m.Info().Vocab
				}
			}
			texts[i].IDs = slices.Concat(source, []int{boundary}, text.IDs)
		}
	}
	texts = slices.DeleteFunc(texts, func(text trace.BatchText) bool {
		return m.CheckBatch(text.Ask, len(text.IDs)+text.Ask.MaxTokens) != nil
	})
	if len(texts) < 4 {
		t.Fatalf("%d texts can run together, want at least 4", len(texts))
	}
	steps, refused := runBatch(t, m, texts, most)
	for i, text := range texts {
		var alone []trace.Step
		var err error
		for step, e := range m.Steps(context.Background(), text.IDs, text.Ask) {
			if err = e; err == nil {
				alone = append(alone, step)
			}
		}
		where := fmt.Sprintf("%d at a time, text %d", most, i)
		if err != nil || refused[i] != nil {
			if err == nil || refused[i] == nil || err.Error() != refused[i].Error() {
				t.Errorf("%s: refused with %v, alone with %v", where, refused[i], err)
			}
			continue
		}
		if len(steps[i]) != len(alone) {
			t.Fatalf("%s: %d steps, alone %d", where, len(steps[i]), len(alone))
		}
		for k, want := range alone {
			sameStep(t, fmt.Sprintf("%s, step %d", where, k), steps[i][k], want)
		}
	}
}

func sameStep(t *testing.T, where string, got, want trace.Step) {
	t.Helper()
	if got.First != want.First || got.Count != want.Count ||
		(got.Next == nil) != (want.Next == nil) || (got.Terms == nil) != (want.Terms == nil) {
		t.Fatalf("%s: %d+%d, next %v, terms %v, alone %d+%d, next %v, terms %v", where, got.First,
			got.Count, got.Next, got.Terms, want.First, want.Count, want.Next, want.Terms)
	}
	for k, rows := range want.Rows {
		near(t, fmt.Sprintf("%s: rows %d", where, k), wide(got.Rows[k].Data), wide(rows.Data))
	}
	for g, w := got.Terms, want.Terms; w != nil; g, w = g.Alone, w.Alone {
		if (g.Alone == nil) != (w.Alone == nil) {
			t.Fatalf("%s: terms alone %v, want %v", where, g.Alone, w.Alone)
		}
		near(t, where+": terms", g.Attention, w.Attention)
		// A logit is a sum that may nearly cancel, so its error is compared with 1.
		if !(math.Abs(g.Value-w.Value) <= batchTol*max(1, math.Abs(w.Value))) {
			t.Fatalf("%s: the logit is %v, alone %v", where, g.Value, w.Value)
		}
	}
	if want.Next == nil {
		return
	}
	a, b := *got.Next, *want.Next
	p, q := []float64{a.Probability}, []float64{b.Probability}
	for k := range b.Alternatives {
		p = append(p, a.Alternatives[k].Probability)
		q = append(q, b.Alternatives[k].Probability)
		if x, y := a.Alternatives[k].Token, b.Alternatives[k].Token; x != y {
			t.Errorf("%s: alternative %d is %+v, alone %+v", where, k, x, y)
		}
	}
	near(t, where+": probabilities", p, q)
	if a.Token != b.Token || a.Position != b.Position || a.Forced != b.Forced || a.Stop != b.Stop {
		t.Errorf("%s: next %+v, alone %+v", where, a, b)
	}
}

func wide(all []float32) []float64 {
	out := make([]float64, len(all))
	for i, x := range all {
		out[i] = float64(x)
	}
	return out
}

// near fails unless the numbers are as close as batchTol says.
func near(t *testing.T, where string, got, want []float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d numbers, alone %d", where, len(got), len(want))
	}
	mean := 0.0
	for _, x := range want {
		mean += math.Abs(x) / float64(len(want))
	}
	for i, x := range want {
		if off := math.Abs(got[i] - x); !(off <= batchTol*max(math.Abs(x), mean)) {
			t.Fatalf("%s: number %d is %v, alone %v", where, i, got[i], x)
		}
	}
}
