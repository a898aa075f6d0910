package attribution_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/attributiontest"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/study/verdict"
)

// batched is a [trace.Batcher] that runs every text of a batch in steps of its own, one step of
// each at a time.
type batched struct {
	*attributiontest.Model
	// most is the largest number of texts that a call of Batch may have at a time.
	most int
	// budget is how many bytes there are; a text takes 1000.
	budget int64
	// fail ends a batch after so many passes; 0 never.
	fail int
}

func (b *batched) CheckBatch(ask trace.Ask, _ int) error {
	for _, mixing := range ask.Mixings {
		if mixing.Name != "attention" {
			return fmt.Errorf("%s runs alone", mixing.Name)
		}
	}
	return nil
}

func (b *batched) BatchBytes(_ trace.Ask, texts, _ int) int64 { return int64(1000 * texts) }

func (b *batched) Memory() trace.Memory { return trace.Memory{Left: b.budget} }

func (b *batched) Batch(
	ctx context.Context, texts []trace.BatchText, most int,
) iter.Seq2[[]trace.BatchStep, error] {
	return func(yield func([]trace.BatchStep, error) bool) {
		b.most = max(b.most, most)
		var pull []func() (trace.Step, error, bool)
		for _, text := range texts {
			next, stop := iter.Pull2(b.Steps(ctx, text.IDs, text.Ask))
			defer stop()
			pull = append(pull, next)
		}
		taken := make([]int, len(texts))
		for pass := 1; ; pass++ {
			if pass == b.fail {
				yield(nil, errors.New("the backend is gone"))
				return
			}
			var steps []trace.BatchStep
			for i, next := range pull {
				if next == nil {
					continue
				}
				step, err, ok := next()
				if !ok {
					continue
				}
				taken[i]++
				last := step.Next == nil || step.Next.Stop ||
					taken[i] == texts[i].Ask.MaxTokens
				if last || err != nil {
					pull[i] = nil
				}
				steps = append(steps, trace.BatchStep{Text: i, Step: step, Err: err, Last: last})
			}
			if len(steps) == 0 || !yield(steps, nil) {
				return
			}
		}
	}
}

var manyTexts = []attribution.Text{
	{Prompt: "w1 w2 w3 w2"},
	{Prompt: "w2"},
	{Prompt: "w3 w1", Continuation: "w2 w1 w1"},
	{Prompt: "w1 w1 w2 w3 w3 w2"},
	{Prompt: "w2 w3 w1"},
}

// all collects what ExplainAll yields, by index.
func all(
	t *testing.T, m trace.Model, texts []attribution.Text, opts attribution.Options,
	how attribution.Batching,
) []attribution.Explained {
	t.Helper()
	out := make([]attribution.Explained, len(texts))
	for i := range out {
		out[i].Index = -1
	}
	for e := range attribution.ExplainAll(context.Background(), m, slices.Values(texts), opts,
		how) {
		if out[e.Index].Index >= 0 {
			t.Errorf("text %d comes twice", e.Index)
		}
		out[e.Index] = e
	}
	for i, e := range out {
		if e.Index != i {
			t.Errorf("text %d does not come", i)
		}
	}
	return out
}

// TestExplainAll: every text gets the explanation that it gets alone, with methods that run in
// batches, with one that does not, and with scorers that ask the model again; from a model that
// batches, and from one that does not.
func TestExplainAll(t *testing.T) {
	model := attributiontest.NewModel(5)
	for _, methods := range [][]string{
		{"rollout"}, {"rollout", "direct", "alti-logit"}, {"alti"}, {"rollout", "occlusion"},
	} {
		for _, how := range []attribution.Batching{{}, {Texts: 2, Window: 3}} {
			for _, m := range []trace.Model{model, &batched{Model: model}} {
				t.Run(fmt.Sprintf("%v %+v %T", methods, how, m), func(t *testing.T) {
					opts := attribution.Options{Methods: methods, MaxTokens: 4}
					for i, got := range all(t, m, manyTexts, opts, how) {
						if got.Err != nil {
							t.Fatalf("text %d: %v", i, got.Err)
						}
						alone := opts
						if c := manyTexts[i].Continuation; c != "" {
							alone.Continuation, alone.MaxTokens = c, 0
						}
						want, err := attribution.Explain(context.Background(), model,
							manyTexts[i].Prompt, alone)
						must(t, err)
						if d := cmp.Diff(want, got.Explanation,
							cmpopts.EquateNaNs()); d != "" {
							t.Errorf("text %d (-alone +batch):\n%s", i, d)
						}
					}
				})
			}
		}
	}
}

// TestExplainAllProves: texts that would run together are tested, too.
func TestExplainAllProves(t *testing.T) {
	m := &batched{Model: attributiontest.NewModel(5)}
	opts := attribution.Options{
		Methods: []string{"rollout"}, MaxTokens: 2, Studies: attribution.Studies{"prove": verdict.All},
	}
	for i, got := range all(t, m, manyTexts, opts, attribution.Batching{}) {
		must(t, got.Err)
		steps := got.Explanation.Steps
		for at := 0; at < len(steps); {
			v := verdict.Of(steps[at])
			if v == nil || v.Rows[0] != at {
				t.Fatalf("text %d: the word of token %d has no verdict: %+v", i, at, v)
			}
			at = v.Rows[1]
		}
	}
}

// keeping is a [trace.TextKeeper] that counts its texts.
type keeping struct {
	*batched
	texts, freed int
}

func (k *keeping) ForText() (trace.Model, func()) {
	k.texts++
	return k.batched, func() { k.freed++ }
}

// TestExplainAllGoesOn: where the model keeps what a further token needs, it does so for one text
// after another, as for one alone; texts of one token run together.
func TestExplainAllGoesOn(t *testing.T) {
	for tokens, want := range map[int]int{1: 0, 3: len(manyTexts)} {
		m := &keeping{batched: &batched{Model: attributiontest.NewModel(5)}}
		opts := attribution.Options{Methods: []string{"decompx"}, MaxTokens: tokens}
		texts := slices.Clone(manyTexts)
		for i := range texts {
			texts[i].Continuation = ""
		}
		for _, got := range all(t, m, texts, opts, attribution.Batching{}) {
			must(t, got.Err)
		}
		if m.texts != want || m.freed != want || (m.most > 0) == (tokens > 1) {
			t.Errorf("%d tokens: %d texts are kept and %d freed, and %d run together", tokens,
				m.texts, m.freed, m.most)
		}
	}
}

// TestExplainAllWindows: texts are yielded before all of them are read, and no more than a window
// is read ahead; a consumer can stop.
func TestExplainAllWindows(t *testing.T) {
	m := &batched{Model: attributiontest.NewModel(5)}
	read := 0
	texts := func(yield func(attribution.Text) bool) {
		for {
			read++
			if !yield(manyTexts[read%len(manyTexts)]) {
				return
			}
		}
	}
	opts := attribution.Options{Methods: []string{"rollout"}, MaxTokens: 3}
	got := 0
	for range attribution.ExplainAll(context.Background(), m, texts, opts,
		attribution.Batching{Texts: 2, Window: 4}) {
		if got++; read > (got+3)/4*4 {
			t.Fatalf("%d texts are read where the %d. is yielded", read, got)
		}
		if got == 10 {
			break
		}
	}
	if m.most != 2 {
		t.Errorf("at most %d texts at a time, want 2", m.most)
	}
}

// TestExplainAllErrors: an error belongs to its text, a failed pass to the texts that have not
// ended, and a context that is done to those that were read.
func TestExplainAllErrors(t *testing.T) {
	m := &batched{Model: attributiontest.NewModel(5)}
	opts := attribution.Options{Methods: []string{"rollout"}, MaxTokens: 4}
	texts := slices.Concat(manyTexts, []attribution.Text{{Prompt: ""}})
	for i, e := range all(t, m, texts, opts, attribution.Batching{}) {
		usage := (*trace.UsageError)(nil)
		if empty := i == len(manyTexts); empty != errors.As(e.Err, &usage) || !empty &&
			e.Err != nil {
			t.Errorf("text %d: error %v", i, e.Err)
		}
	}

	m.fail = 4 // the continuation of three tokens has ended
	for i, e := range all(t, m, manyTexts, opts, attribution.Batching{}) {
		if manyTexts[i].Continuation != "" {
			if e.Err != nil {
				t.Errorf("text %d: error %v", i, e.Err)
			}
			continue
		}
		if e.Err == nil || !strings.Contains(e.Err.Error(), "after 3 of 4 tokens: the backend") {
			t.Errorf("text %d: error %v", i, e.Err)
		}
		if len(e.Explanation.Steps) != 3 {
			t.Errorf("text %d: %d tokens, want those before the error", i,
				len(e.Explanation.Steps))
		}
	}

	m.fail = 0
	ctx, stop := context.WithCancel(context.Background())
	watched := opts
	watched.OnStep = func(*attribution.Explanation) { stop() }
	read, stopped := 0, 0
	for e := range attribution.ExplainAll(ctx, m, func(yield func(attribution.Text) bool) {
		for _, text := range manyTexts {
			read++
			if !yield(text) {
				return
			}
		}
	}, watched, attribution.Batching{Texts: 2, Window: 2}) {
		if !errors.Is(e.Err, context.Canceled) {
			t.Errorf("text %d: error %v, want that of the context", e.Index, e.Err)
		}
		stopped++
	}
	if read != 2 || stopped != 2 {
		t.Errorf("%d texts are read and %d yielded after the context is done, want 2 and 2",
			read, stopped)
	}
}

// TestExplainAllMemory: by default as many texts run together as fit; a chosen number that does
// not fit is refused with what would.
func TestExplainAllMemory(t *testing.T) {
	m := &batched{Model: attributiontest.NewModel(5), budget: 30_000}
	texts := slices.Repeat([]attribution.Text{{Prompt: "w1 w2"}}, 40)
	opts := attribution.Options{Methods: []string{"rollout"}, MaxTokens: 2}
	for i, e := range all(t, m, texts, opts, attribution.Batching{}) {
		if e.Err != nil {
			t.Fatalf("text %d: %v", i, e.Err)
		}
	}
	if m.most < 4 || m.most > 16 {
		t.Errorf("%d texts at a time of 1000 bytes and their rows in 30000 bytes", m.most)
	}
	for i, e := range all(t, m, texts, opts, attribution.Batching{Texts: 40}) {
		var refused *trace.MemoryError
		if !errors.As(e.Err, &refused) {
			t.Fatalf("text %d: error %v, want a MemoryError", i, e.Err)
		}
		for _, want := range []string{"a batch of 40 texts of up to 4 tokens", "fewer texts"} {
			if !strings.Contains(e.Err.Error(), want) {
				t.Errorf("error %q does not say %q", e.Err, want)
			}
		}
	}
}
