package transformer_test

import (
	"context"
	"errors"
	"math"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/transformer"
)

// continuationTol bounds a log-probability on the cache against one of a whole pass, in nats.
const continuationTol = 1e-5 // worst seen 3e-6

// whole returns the log-probabilities of a continuation after a prompt by one pass over the whole
// text for each token, without a cache.
func whole(t *testing.T, m *transformer.Model, prompt, continuation []int) []float64 {
	t.Helper()
	ids := slices.Concat(prompt, continuation)
	var queries []trace.Query
	for i, id := range continuation {
		queries = append(queries, trace.Query{
			IDs: ids[:len(ids)-1], Objective: trace.Objective{
				Quantity: trace.LogProbability, Position: len(prompt) + i - 1, Token: id,
			},
		})
	}
	values, err := m.Predict(context.Background(), queries)
	must(t, err)
	return values
}

// near fails if two lists of log-probabilities differ.
func near(t *testing.T, what string, got, want []float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d log-probabilities, want %d", what, len(got), len(want))
	}
	for i := range want {
		if !(math.Abs(got[i]-want[i]) <= continuationTol) {
			t.Errorf("%s: log-probability of token %d is %v, want %v", what, i, got[i], want[i])
		}
	}
}

// TestPredictContinuation: after prompts that share beginnings, on the cache, a continuation has
// the log-probabilities that a pass over each whole text gives. Every token of the tree that the
// prompts form is read once.
func TestPredictContinuation(t *testing.T) {
	eachDecoder(t, func(t *testing.T, g *golden) {
		sampleWithShort(t)
		a, continuation := g.ids[:9], g.ids[9:12]
		prompts := [][]int{
			a,
			slices.Concat(a[:4], a[6:]), // without tokens 4 and 5
			slices.Concat(a[:4], a[7:]), // without tokens 4 to 6
			a[1:],
			a, // a second time
			a[:1],
		}
		var want [][]float64
		for _, ids := range prompts {
			want = append(want, whole(t, g.model, ids, continuation))
		}
		for _, rounded := range []bool{false, true} {
			m := g.model
			if rounded && !slices.Contains(sample, path.Base(t.Name())) {
				break // rounding is the same for all
			}
			if rounded {
				m = g.changed(t, func(string, []float32) {})
				m.RoundUp()
			}
			calls := 0
			got, err := m.PredictContinuation(context.Background(), prompts, continuation,
				func(n int) { calls = n })
			must(t, err)
			for i := range prompts {
				near(t, "continuation", got.LogProbabilities[i], want[i])
			}
			if calls != len(prompts) {
				t.Errorf("told of %d prompts, want %d", calls, len(prompts))
			}
			all := 0
			for _, ids := range prompts {
				all += len(ids) + len(continuation) - 1
			}
			if got.Whole != all || got.Read >= all {
				t.Errorf("%d of %d tokens read, want fewer than %d", got.Read, got.Whole, all)
			}
		}
	})
}

// TestReadOnce: of prompts that form a tree every token is read once, but the last one of a prompt,
// which predicts, and the continuation after each.
func TestReadOnce(t *testing.T) {
	g := openGolden(t, "bloom")
	prompts := [][]int{{1, 2, 3, 4, 5}, {1, 2, 3, 5}, {1, 2, 7, 8}, {1, 2, 3, 4, 5}}
	got, err := g.model.PredictContinuation(context.Background(), prompts, []int{9, 9}, nil)
	must(t, err)
	// The order is 12345, 1235, 1278: 5, 1 and 2 new tokens, and one of the continuation for each.
	if want := 5 + 1 + 2 + 3; got.Read != want {
		t.Errorf("%d tokens read, want %d", got.Read, want)
	}
	if want := 5 + 4 + 4 + 5 + 4; got.Whole != want {
		t.Errorf("%d tokens in all texts, want %d", got.Whole, want)
	}
}

// TestLongContinuation: a text of 700 tokens runs in three passes, over two sizes of cache, and its
// last tokens have the log-probabilities of a whole pass.
func TestLongContinuation(t *testing.T) {
	g := openGolden(t, "bloom")
	ids := make([]int, 700)
	for i := range ids {
		ids[i] = (7*i + i*i/5) % g.model.Spec.Vocab
	}
	// The continuation begins in the second pass and ends in the third.
	continuation := ids[500:]
	s, err := g.model.NewSession(nil, 0)
	must(t, err)
	defer s.Close()
	_, err = s.Extend(context.Background(), ids[:40], nil)
	must(t, err)
	small := transformer.Slots(s)
	got, err := s.Extend(context.Background(), ids[40:699], continuation)
	must(t, err)
	full, err := g.model.Trace(context.Background(), ids, []trace.Tap{trace.Logits})
	must(t, err)
	var want []float64
	for i, id := range continuation {
		want = append(want, g.asked(wide(at(full[0], 499+i)), trace.LogProbability, id))
	}
	near(t, "long", got, want)
	if transformer.Slots(s) == small {
		t.Errorf("the cache has %d slots for 40 and for 699 tokens", small)
	}
}

// TestCutAndStep: a session that was extended, cut back and extended otherwise goes on as one that
// never read what was cut.
func TestCutAndStep(t *testing.T) {
	eachDecoder(t, func(t *testing.T, g *golden) {
		sampleWithShort(t)
		if r := g.model.Spec.Rotary; r != nil && (r.LongFrequencies != nil || r.Stretch > 0) {
			t.Skip("cached keys stay as they were turned, as in the reference")
		}
		s, err := g.model.NewSession(nil, 0)
		must(t, err)
		defer s.Close()
		_, err = s.Prompt(context.Background(), g.ids[:10], nil)
		must(t, err)
		must(t, s.Cut(4))
		_, err = s.Extend(context.Background(), g.ids[6:9], nil)
		must(t, err)
		got, err := s.Step(context.Background(), g.ids[9])
		must(t, err)
		want := prompt(t, g.model, nil, slices.Concat(g.ids[:4], g.ids[6:10]))
		check(t, "logits", got.Logits, want.Logits, logitsTol)
	})
}

// TestContinuationRefusals: what cannot be continued is refused before anything is computed.
func TestContinuationRefusals(t *testing.T) {
	g := openGolden(t, "gpt2")
	long := make([]int, 64)
	for _, c := range []struct {
		name         string
		golden       string
		prompts      [][]int
		continuation []int
		want         string
	}{
		{"encoder", "bert", [][]int{{1}}, []int{2}, "does not continue a text"},
		{"no head", "bert_bare", [][]int{{1}}, []int{2}, "does not continue a text"},
		{"empty continuation", "gpt2", [][]int{{1}}, nil, "continuation: transformer: there"},
		{"empty prompt", "gpt2", [][]int{{1}, {}}, []int{2}, "prompt 1 of 2: transformer:"},
		{"id", "gpt2", [][]int{{1}}, []int{96}, "id 96 of token 0 is outside the vocabulary of 96"},
		{"too long", "gpt2", [][]int{long}, []int{2, 3}, "64 prompt tokens and 2 of the continuation are more than the context of 64"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := openGolden(t, c.golden).model
			_, err := m.PredictContinuation(context.Background(), c.prompts, c.continuation, nil)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q in it", err, c.want)
			}
		})
	}
	_, err := g.model.WithMaxBytes(1000).PredictContinuation(context.Background(),
		[][]int{g.ids}, g.ids[:2], nil)
	var memory *trace.MemoryError
	if !errors.As(err, &memory) || memory.Left != 1000 {
		t.Errorf("error %v, want a MemoryError with limit 1000", err)
	}
	ctx, stop := context.WithCancel(context.Background())
	stop()
	if _, err := g.model.PredictContinuation(ctx, [][]int{g.ids}, g.ids[:2], nil); !errors.Is(err,
		context.Canceled) {
		t.Errorf("error %v after the context was done", err)
	}
	s, err := g.model.NewSession(nil, 0)
	must(t, err)
	defer s.Close()
	err = s.Cut(1)
	if err == nil || !strings.Contains(err.Error(), "0 tokens cannot be cut to 1") {
		t.Errorf("cut beyond the text: error %v", err)
	}
	if _, err := s.Extend(context.Background(), []int{1}, []int{2, 3}); err == nil ||
		!strings.Contains(err.Error(), "2 next tokens for 1 tokens") {
		t.Errorf("more next tokens than tokens: error %v", err)
	}
}
