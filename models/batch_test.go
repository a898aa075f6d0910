package models_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models"
	"github.com/headwater-ml/headwater/models/transformer"
)

// batchTol bounds how far a number of a batch may be from that of the text alone, relative to the
// larger of it and the mean. Worst seen 3e-6.
const batchTol = 1e-5

// batchAsk asks for rows of two mixings and for terms.
func batchAsk(tokens int) trace.Ask {
	return trace.Ask{
		MaxTokens: tokens, Alternatives: 3,
		Mixings: []trace.MixingAsk{
			{Name: "attention", AllRows: true},
			{Name: "attention", Heads: trace.Heads{Fusion: trace.EachHead}},
		},
		Terms: &trace.TermsAsk{Foils: 2},
	}
}

// batchTexts are texts of different lengths: greedy and sampled, with a continuation, with the row
// of the last token, and one that the model refuses.
func batchTexts() []trace.BatchText {
	var all []trace.BatchText
	for i := range 7 {
		ids := make([]int, 1+(3*i)%5)
		for t := range ids {
			ids[t] = 3 + (7*i+5*t)%60
		}
		all = append(all, trace.BatchText{IDs: ids, Ask: batchAsk(2 + i%4)})
	}
	all[2].Ask.Continuation = []int{9, 4, 30}
	all[3].Ask.Sampling = trace.Sampling{Temperature: 1, Seed: 3}
	all[4].Ask.OwnRow = true
	contrast := 11
	all[5].Ask.Terms = &trace.TermsAsk{Contrast: &contrast}
	all[6].IDs = []int{5, -1}
	return all
}

// runBatch returns the steps of each text of a batch, and the errors of those that are refused.
func runBatch(t *testing.T, m *models.Model, texts []trace.BatchText, most int) (
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

// TestBatch: on every family that generates, each text of a batch gets the tokens and the numbers
// that it gets alone.
func TestBatch(t *testing.T) {
	dirs, err := filepath.Glob("testdata/goldens/*/config.json")
	if err != nil || len(dirs) < 30 {
		t.Fatalf("%d checkpoints, error %v", len(dirs), err)
	}
	for _, config := range dirs {
		dir := filepath.Dir(config)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			m := open(t, dir)
			if info := m.Info(); info.Bidirectional || info.Head != trace.NextToken {
				t.Skip("it does not generate")
			}
			texts := slices.DeleteFunc(batchTexts(), func(text trace.BatchText) bool {
				return m.CheckBatch(text.Ask, len(text.IDs)+text.Ask.MaxTokens) != nil
			})
			if len(texts) < 4 {
				t.Fatalf("%d texts can run together", len(texts))
			}
			for _, most := range []int{1, 3, 16} {
				compareBatch(t, m, texts, most)
			}
		})
	}
}

func compareBatch(t *testing.T, m *models.Model, texts []trace.BatchText, most int) {
	t.Helper()
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
	if want.Terms != nil {
		near(t, where+": terms", append(got.Terms.Attention, got.Terms.Value),
			append(want.Terms.Attention, want.Terms.Value))
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

// TestBatchRefusals: what a batch cannot do is said before anything runs.
func TestBatchRefusals(t *testing.T) {
	ctx := context.Background()
	gpt2 := open(t, "testdata/goldens/gpt2")
	for _, c := range []struct {
		name   string
		model  *models.Model
		change func(*trace.Ask)
		want   string
	}{
		{"an encoder", open(t, "testdata/goldens/bert"), func(*trace.Ask) {}, "is an encoder"},
		{"a pass for each pair", gpt2, func(a *trace.Ask) {
			a.Mixings = []trace.MixingAsk{{Name: "value-zeroing"}}
		}, "value-zeroing costs a pass for each pair"},
		{"rows of single layers", gpt2, func(a *trace.Ask) {
			a.Terms.Rows = []trace.MixingAsk{{Name: "value-zeroing"}}
		}, "rows of single layers"},
	} {
		ask := batchAsk(4)
		c.change(&ask)
		if err := c.model.CheckBatch(ask, 20); err == nil || !strings.Contains(err.Error(),
			c.want) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
	}
	if err := gpt2.CheckBatch(batchAsk(4), 20); err != nil {
		t.Errorf("attention and terms: %v", err)
	}
	texts := batchTexts()[:2]
	first := func(texts []trace.BatchText, most int) error {
		for _, err := range gpt2.Batch(ctx, texts, most) {
			return err
		}
		return nil
	}
	if err := first(texts, 0); err == nil || !strings.Contains(err.Error(), "a batch of 0 texts") {
		t.Errorf("0 texts at a time: error %v", err)
	}
	texts[1].Ask.Mixings = nil
	if err := first(texts, 2); err == nil || !strings.Contains(err.Error(),
		"text 1 of the batch asks for other rows") {
		t.Errorf("different rows: error %v", err)
	}
	stopped, stop := context.WithCancel(ctx)
	stop()
	for _, err := range gpt2.Batch(stopped, batchTexts()[:1], 2) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("a stopped batch: error %v", err)
		}
	}
}

// TestBatchMemory: a batch that does not fit is refused with the number of its texts.
func TestBatchMemory(t *testing.T) {
	m, err := open(t, "testdata/goldens/gpt2").WithMaxMemory(80 << 20)
	if err != nil {
		t.Fatal(err)
	}
	texts := make([]trace.BatchText, 4096)
	for i := range texts {
		texts[i] = trace.BatchText{IDs: []int{5, 6, 7}, Ask: batchAsk(4)}
	}
	if need := m.BatchBytes(batchAsk(4), len(texts), 6); need <= m.Budget() {
		t.Fatalf("%d texts need %d bytes and %d are left, so the test proves nothing", len(texts),
			need, m.Budget())
	}
	for _, err := range m.Batch(context.Background(), texts, len(texts)) {
		var refused *transformer.MemoryError
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), "4096 texts of 6 tokens") {
			t.Errorf("error %v, want a MemoryError with the number of texts", err)
		}
	}
}
