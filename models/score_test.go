package models_test

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/errorkind"
	"github.com/headwater-ml/headwater/models"
	"github.com/headwater-ml/headwater/models/transformer"
)

// TestPredictIsWhatIsGenerated checks that the probability that Predict returns for the next token
// is that of the step that generates the token.
func TestPredictIsWhatIsGenerated(t *testing.T) {
	m := open(t, models.Default)
	steps := generate(t, m, prompt, trace.Ask{MaxTokens: 3})
	ids, queries := append([]int(nil), prompt...), []trace.Query(nil)
	for _, s := range steps {
		o := trace.Objective{
			Quantity: trace.Probability, Position: len(ids) - 1, Token: s.Next.Token.ID,
		}
		queries = append(queries, trace.Query{IDs: append([]int(nil), ids...), Objective: o})
		ids = append(ids, s.Next.Token.ID)
	}
	for _, texts := range []int{0, 2} {
		got, err := m.PredictIn(context.Background(), queries, transformer.Batching{Texts: texts})
		must(t, err)
		for i, s := range steps {
			// A cache and a batch sum in different orders. The largest difference seen is 4e-7.
			if d := math.Abs(got[i] - s.Next.Probability); d > 1e-5 {
				t.Errorf("token %d: probability %v, the step has %v", i, got[i], s.Next.Probability)
			}
		}
	}
}

// TestPredictErrors checks that an error names the query and the token, and that an error about
// memory says that a higher limit helps.
func TestPredictErrors(t *testing.T) {
	m := open(t, "testdata/goldens/gpt2")
	ctx := context.Background()
	q := trace.Query{IDs: prompt, Objective: trace.Objective{Quantity: trace.Logit, Token: 96}}
	_, err := m.Predict(ctx, []trace.Query{q})
	want := "query 0: transformer: token 96 is not in 0..95, the vocabulary"
	if err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	_, err = m.Embed(ctx, []int{96})
	if err == nil || !strings.HasPrefix(err.Error(), "transformer: id 96") {
		t.Errorf("Embed of 96: error %v", err)
	}
	_, err = models.Open("testdata/goldens/gpt2", models.Options{Backend: "go", MaxMemory: 1})
	var weights *trace.MemoryError
	if !errors.As(err, &weights) {
		t.Fatalf("error %v, want a MemoryError", err)
	}
	tight := models.Options{Backend: "go", MaxMemory: weights.Need + 1000}
	small, err := models.Open("testdata/goldens/gpt2", tight)
	must(t, err)
	q.Token = 3
	_, err = small.Predict(ctx, []trace.Query{q})
	var refused *trace.MemoryError
	if !errors.As(err, &refused) || errorkind.Of(err) != errorkind.Memory ||
		!strings.HasSuffix(err.Error(), ", or allow more memory") {
		t.Errorf("error %v, want a MemoryError that says that a higher limit helps", err)
	}
}

// TestReplacement checks the tokens that replace others against the files of checkpoints.
func TestReplacement(t *testing.T) {
	for _, c := range []struct {
		name, ref, config string
		want              map[string]int
	}{
		{"embedded", models.Default, "", map[string]int{"end": 1}},
		{"without tokenizer", "testdata/goldens/bert", "", map[string]int{"pad": 0}},
		{
			"named in tokenizer_config.json", "",
			`{"unk_token":"!","pad_token":{"content":"<bos>"},` +
				`"mask_token":"#","eos_token":"<bos>"}`,
			map[string]int{"unknown": 2, "pad": 0, "mask": 4, "end": 1},
		}, // generation_config.json goes first
		{"not in the vocabulary", "", `{"unk_token":"<none>","pad_token":null}`, map[string]int{"end": 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.ref == "" {
				c.ref = copyTiny(t)
				write(t, filepath.Join(c.ref, "tokenizer_config.json"), []byte(c.config))
			}
			m := open(t, c.ref)
			for _, kind := range []string{"mask", "unknown", "pad", "end", "nothing"} {
				id, ok := m.Replacement(kind)
				if want, has := c.want[kind]; ok != has || id != want {
					t.Errorf("%s: %d, %v, want %d, %v", kind, id, ok, want, has)
				}
			}
		})
	}
}

// TestNoGradientAtZero checks which models divide an embedding of zeros by its root mean square
// before anything is added: those of Llama's kind, but none with layer norms or learned positions.
func TestNoGradientAtZero(t *testing.T) {
	for name, want := range map[string]bool{
		"llama": true, "qwen2": true, "gemma3": true, "gpt2": false, "gpt_neox": false,
		"bloom": false, "bert": false,
	} {
		if got := open(t, "testdata/goldens/"+name).Info().NoGradientAtZero; got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

// TestUnboundedGeneration: where a model has no longest text, more tokens than any memory holds are
// refused. Sizes overflowed: the call did not end.
func TestUnboundedGeneration(t *testing.T) {
	m, err := models.Open("tiny", models.Options{Backend: "go"})
	must(t, err)
	if m.Info().Context != 0 {
		t.Fatal("the model has a longest text")
	}
	ask := trace.Ask{MaxTokens: math.MaxInt, Mixings: []trace.MixingAsk{{Name: "value-zeroing"}}}
	for _, err := range m.Steps(t.Context(), []int{5, 6, 7}, ask) {
		var refused *trace.MemoryError
		if !errors.As(err, &refused) {
			t.Errorf("error %v, want a MemoryError", err)
		}
		break
	}
	if need, few := m.PromptBytes(3, ask), m.PromptBytes(3, trace.Ask{MaxTokens: 1}); need <= few {
		t.Errorf("all tokens need %d bytes, and one token %d", need, few)
	}
}
