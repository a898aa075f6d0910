package models_test

import (
	"context"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/checkpoint"
	"github.com/headwater-ml/headwater/models"
)

func open(t testing.TB, ref string) *models.Model {
	t.Helper()
	m, err := models.Open(ref, models.Options{Backend: "go"})
	must(t, err)
	return m
}

// generate collects the steps of a run.
func generate(t testing.TB, m *models.Model, ids []int, ask trace.Ask) []trace.Step {
	t.Helper()
	var steps []trace.Step
	for s, err := range m.Steps(context.Background(), ids, ask) {
		must(t, err)
		steps = append(steps, s)
	}
	return steps
}

func idsOf(steps []trace.Step) []int {
	var ids []int
	for _, s := range steps {
		if s.Next != nil {
			ids = append(ids, s.Next.Token.ID)
		}
	}
	return ids
}

var prompt = []int{5, 17, 33, 8, 90}

// TestForcedContinuation gives the model the tokens that greedy decoding chose, and then others.
// Both times the tokens, probabilities and rows must be those of the same text.
func TestForcedContinuation(t *testing.T) {
	m := open(t, "testdata/goldens/bloom")
	mixings := []trace.MixingAsk{{Name: "attention", AllRows: true}, {Name: "value-zeroing"}}
	ask := trace.Ask{MaxTokens: 6, Alternatives: 96, Mixings: mixings}
	free := generate(t, m, prompt, ask)
	forced := ask
	forced.Continuation = idsOf(free)
	got := generate(t, m, prompt, forced)
	for i := range got {
		if !got[i].Next.Forced {
			t.Errorf("token %d is not marked as forced", i)
		}
		got[i].Next.Forced, got[i].Next.Stop = false, free[i].Next.Stop
	}
	if d := cmp.Diff(free, got); d != "" {
		t.Errorf("forcing the greedy tokens changes the run (-free +forced):\n%s", d)
	}
	// Another first token: its probability is the one that the free run lists among the
	// alternatives.
	other := free[0].Next.Alternatives[40]
	forced.Continuation = []int{other.Token.ID, 3}
	got = generate(t, m, prompt, forced)
	if len(got) != 2 || got[0].Next.Probability != other.Probability || got[1].Next.Token.ID != 3 {
		t.Errorf("forced %d = %+v, want probability %v and then token 3",
			other.Token.ID, got[0].Next, other.Probability)
	}
}

func TestProbabilities(t *testing.T) {
	m := open(t, "testdata/goldens/gpt2")
	for _, s := range generate(t, m, prompt, trace.Ask{MaxTokens: 3, Alternatives: 200}) {
		sum, last := 0.0, 1.0
		for _, a := range s.Next.Alternatives {
			sum += a.Probability
			if a.Probability > last {
				t.Errorf("alternatives are not in falling order: %v after %v", a.Probability, last)
			}
			last = a.Probability
		}
		if len(s.Next.Alternatives) != 96 || math.Abs(sum-1) > 1e-12 {
			t.Errorf("%d alternatives with a sum of %v, want all 96 and 1",
				len(s.Next.Alternatives), sum)
		}
		if s.Next.Token.ID != s.Next.Alternatives[0].Token.ID ||
			s.Next.Probability != s.Next.Alternatives[0].Probability {
			t.Errorf("greedy took %v, the most probable is %v",
				s.Next.Token, s.Next.Alternatives[0])
		}
	}
}

func TestSampling(t *testing.T) {
	m := open(t, "testdata/goldens/gpt2")
	ask := trace.Ask{MaxTokens: 12, Sampling: trace.Sampling{Temperature: 1, Seed: 3}}
	first := idsOf(generate(t, m, prompt, ask))
	if second := idsOf(generate(t, m, prompt, ask)); !cmp.Equal(first, second) {
		t.Errorf("equal seeds give %v and %v", first, second)
	}
	ask.Sampling.Seed = 4
	if other := idsOf(generate(t, m, prompt, ask)); cmp.Equal(first, other) {
		t.Errorf("seeds 3 and 4 both give %v", first)
	}
	greedy := idsOf(generate(t, m, prompt, trace.Ask{MaxTokens: 12}))
	for name, s := range map[string]trace.Sampling{
		"top-k 1": {Temperature: 5, TopK: 1}, "tiny top-p": {Temperature: 5, TopP: 1e-9}, "cold": {Temperature: 1e-4},
	} {
		got := idsOf(generate(t, m, prompt, trace.Ask{MaxTokens: 12, Sampling: s}))
		if !cmp.Equal(got, greedy) {
			t.Errorf("%s = %v, want the greedy %v", name, got, greedy)
		}
	}
	// In many draws at temperature 1, the share of each token is close to its probability.
	counts := map[int]float64{}
	var p []trace.Alternative
	const draws = 400
	for seed := range uint64(draws) {
		steps := generate(t, m, prompt, trace.Ask{
			MaxTokens: 1, Alternatives: 5, Sampling: trace.Sampling{Temperature: 1, Seed: seed},
		})
		counts[steps[0].Next.Token.ID]++
		p = steps[0].Next.Alternatives
	}
	for _, a := range p {
		deviation := math.Sqrt(a.Probability * (1 - a.Probability) / draws)
		if got := counts[a.Token.ID] / draws; math.Abs(got-a.Probability) > 4*deviation {
			t.Errorf("token %d came in a share of %v draws, its probability is %v",
				a.Token.ID, got, a.Probability)
		}
	}
}

// TestStopsEarly leaves one iteration after a step and cancels another. Earlier steps are valid,
// and no goroutine remains.
func TestStopsEarly(t *testing.T) {
	m := open(t, "testdata/goldens/bloom")
	for range m.Steps(context.Background(), prompt, trace.Ask{MaxTokens: 5}) {
		break
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var tokens int
	var last error
	for s, err := range m.Steps(ctx, prompt, trace.Ask{MaxTokens: 5}) {
		if last = err; err == nil && s.Next != nil {
			tokens++
		}
		if tokens == 2 {
			cancel()
		}
	}
	if tokens != 2 || !errors.Is(last, context.Canceled) {
		t.Errorf("%d tokens and error %v after a cancel at 2, want 2 and %v",
			tokens, last, context.Canceled)
	}
}

func TestRefusals(t *testing.T) {
	m := open(t, "testdata/goldens/gpt2") // context 64
	run := func(ids []int, ask trace.Ask) error {
		var last error
		for _, err := range m.Steps(context.Background(), ids, ask) {
			last = err
		}
		return last
	}
	_, encode := m.Encode("text", trace.SpecialsAuto)
	_, missing := models.Open("no/such/place", models.Options{})
	_, circuit := models.Open("planted-sun", models.Options{})
	_, near := models.Open("./tinny", models.Options{})
	_, backend := models.Open("testdata/goldens/gpt2", models.Options{Backend: "tpu"})
	_, noXLA := models.Open("testdata/goldens/gpt2", models.Options{Backend: "xla"})
	for _, c := range []struct {
		name string
		err  error
		want string
	}{
		{"too long", run(prompt, trace.Ask{MaxTokens: 60}), "5 prompt tokens and 60 to generate are more than the context of 64"},
		{"no tokens asked", run(prompt, trace.Ask{}), "0 tokens are to be generated"},
		{"far too long", run(prompt, trace.Ask{MaxTokens: math.MaxInt}), "5 prompt tokens and 9223372036854775807 to generate are more"},
		{"temperature", run(prompt, trace.Ask{MaxTokens: 1, Sampling: trace.Sampling{Temperature: math.NaN()}}), "temperature NaN"},
		{"top-p", run(prompt, trace.Ask{MaxTokens: 1, Sampling: trace.Sampling{TopP: 1.5}}), "top-p 1.5 is not in [0,1]"},
		{"top-k", run(prompt, trace.Ask{MaxTokens: 1, Sampling: trace.Sampling{TopK: -1}}), "top-k -1"},
		{"id", run([]int{1000}, trace.Ask{MaxTokens: 1}), "id 1000 of token 0 is outside the vocabulary of 96"},
		{"continuation", run(prompt, trace.Ask{Continuation: []int{1, 96, 3}}), "continuation: transformer: id 96 of token 1 is outside"},
		{"text without tokenizer", encode, "has no tokenizer.json"},
		{"no directory", missing, "no/such/place is neither a directory nor a GGUF file, nor an embedded model (tiny, tiny-verb, tiny-mlm, tiny-sentiment, tiny-alibi, tiny-translation), nor a known one (smollm2), nor a name of the Hub"},
		{"misspelt circuit", circuit, "planted-sun: did you mean planted-sum? planted: " +
			`there is no circuit "planted-sun"; there are ` +
			`planted-offset, planted-relay, planted-induction, ` +
			"planted-distractor, planted-sum, planted-and, planted-redundant, planted-soft, " +
			"planted-sink, planted-carry"},
		{"no embedded model", near, "nor a name of the Hub such as openai-community/gpt2"},
		{"backend", backend, `backend "tpu" is unknown; known are go, xla`},
		{"xla not linked", noXLA, "backend xla is not part of this program"},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", c.name, c.err, c.want)
		}
	}
	if !errors.Is(missing, fs.ErrNotExist) {
		t.Errorf("%v does not wrap fs.ErrNotExist", missing)
	}
}

// TestOtherPrograms: a checkpoint as other programs leave it has the same numbers, and remarks: a
// prefix before all names, a shared tensor that only the metadata name, a key twice and one that
// nobody reads.
func TestOtherPrograms(t *testing.T) {
	const golden = "testdata/goldens/gpt2"
	dir := t.TempDir()
	must(t, os.CopyFS(dir, os.DirFS(golden)))
	config, err := os.ReadFile(golden + "/config.json")
	must(t, err)
	config = append([]byte(`{"n_special": 0, "n_layer": 99, `), config[1:]...)
	must(t, os.WriteFile(dir+"/config.json", config, 0o600))
	weights, err := checkpoint.Open(golden + "/model.safetensors")
	must(t, err)
	defer weights.Close()
	const prefix, embedding = "_orig_mod.module.", "transformer.wte.weight"
	var tensors []checkpoint.Tensor
	for _, name := range weights.Names() {
		shape, err := weights.Shape(name)
		must(t, err)
		n := 1
		for _, d := range shape {
			n *= d
		}
		values := make([]float32, n)
		must(t, weights.Float32At(values, name, 0))
		if name == embedding {
			name = "lm_head.weight"
		}
		tensors = append(tensors,
			checkpoint.Tensor{Name: prefix + name, Shape: shape, Data: values})
	}
	must(t, checkpoint.WriteFile(dir+"/model.safetensors", tensors, map[string]string{
		"format": "pt", prefix + embedding: prefix + "lm_head.weight",
	}))
	query := []trace.Query{{
		IDs: []int{3, 4, 5}, Objective: trace.Objective{Quantity: trace.Logit, Position: 2, Token: 7},
	}}
	var logits [2][]float64
	for i, path := range []string{golden, dir} {
		m, err := models.Open(path, models.Options{Backend: "go"})
		must(t, err)
		if logits[i], err = m.Predict(t.Context(), query); err != nil {
			t.Fatal(err)
		}
		remarks := strings.Join(m.Info().Remarks, "\n")
		for _, want := range []string{
			"config.json: keys that transformers does not read were ignored: n_special",
			`config.json: key "n_layer" comes twice; the last value counts`,
			"model.safetensors: all names of tensors begin with _orig_mod.module., which was cut off",
		} {
			if strings.Contains(remarks, want) != (path == dir) {
				t.Errorf("%s: remarks %q, %q among them: want %v", path, remarks, want, path == dir)
			}
		}
	}
	if !slices.Equal(logits[0], logits[1]) {
		t.Errorf("logits %v, want %v", logits[1], logits[0])
	}
}

// TestChangedCheckpoint opens checkpoints that each have one error.
func TestChangedCheckpoint(t *testing.T) {
	config := func(old, new string) func(dir string) {
		return func(dir string) {
			path := filepath.Join(dir, "config.json")
			data, err := os.ReadFile(path)
			if err != nil || !strings.Contains(string(data), old) {
				t.Fatalf("%s lacks %q: %v", path, old, err)
			}
			changed := strings.Replace(string(data), old, new, 1)
			must(t, os.WriteFile(path, []byte(changed), 0o600))
		}
	}
	for _, c := range []struct {
		name, from string
		change     func(dir string)
		want       string
	}{
		{"another architecture", "gpt2", config("GPT2LMHeadModel", "MambaForCausalLM"), "the head of architectures [\"MambaForCausalLM\"] is not supported for model_type \"gpt2\"; supported are GPT2LMHeadModel, "},
		{"a key that changes arithmetic", "gpt2", config(`"add_cross_attention": false`, `"add_cross_attention": true`), "add_cross_attention is true, which changes the arithmetic"},
		{"a key that the reference reads", "bloom", config(`"use_cache": true`, `"is_causal": false`), "key is_causal is not supported"},
		{"an activation", "gpt2", config(`"gelu_new"`, `"sigmoid"`), `activation_function "sigmoid" is not supported; supported are gelu, gelu_10, gelu_accurate, `},
		{"multi-query", "falcon_rw", config(`"multi_query": false`, `"multi_query": true`), "query_key_value.weight has shape [96 32]; config.json makes it [48 32]"},
		{"heads", "bloom", config(`"n_head": 4`, `"n_head": 5`), "hidden_size (32) must be a multiple of the number of heads, n_head (5)"},
		{"no heads", "bloom", config(`"n_head": 4`, `"n_head": 0`), "n_head is 0; it must be a whole number from 1 to 4096"},
		{"a width of text", "bloom", config(`"hidden_size": 32`, `"hidden_size": "32"`), `hidden_size is "32"; it must be a whole number from 1 to 131072`},
		{"a huge layer count", "bloom", config(`"n_layer": 3`, `"n_layer": 100000`), "n_layer is 100000; it must be a whole number from 1 to 1024"},
		{"a layer too many", "bloom", config(`"n_layer": 3`, `"n_layer": 4`), "tensor transformer.h.3.input_layernorm.weight is missing"},
		{"a layer too few", "bloom", config(`"n_layer": 3`, `"n_layer": 2`), "tensor transformer.h.2."},
		{"another width", "gpt2", config(`"n_positions": 64`, `"n_positions": 32`), "tensor transformer.wpe.weight has shape [64 32]; config.json makes it [32 32]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			must(t, os.CopyFS(dir, os.DirFS("testdata/goldens/"+c.from)))
			c.change(dir)
			if _, err := models.Open(dir, models.Options{Backend: "go"}); err == nil ||
				!strings.Contains(err.Error(), c.want) {
				t.Errorf("Open = %v, want an error with %q", err, c.want)
			}
		})
	}
}
