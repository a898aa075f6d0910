package backends

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/checkpoint"
	"github.com/headwater-ml/headwater/internal/e2e/fixture"
	"github.com/headwater-ml/headwater/models"
)

// benchTokens is how many tokens are generated in each run; the first, which waits for the prompt,
// is measured apart.
const benchTokens = 9

// BenchmarkExplain is what a generated token costs with each method, as a multiple of plain
// generation: a graph without taps in the same program, on the same backend, with the same cache
// and slots. Both run in turn, and the medians are compared:
//
//	x-plain       time of an explained token / time of a plain token
//	plain-ms      a plain token
//	prompt-ms     from the prompt to the first explained token, with the rows of the prompt
//	plain-prompt-ms  the same without explaining
func BenchmarkExplain(b *testing.B) {
	for _, model := range []struct {
		name    string
		open    func(b *testing.B, backend string) *models.Model
		prompts []int
	}{
		{"tiny", func(b *testing.B, backend string) *models.Model {
			return fixture.Open(b, "", backend)
		}, []int{32, 128}},
		{"gpt2-small-shape", openSmall, []int{64, 128}},
		{"smollm2", openReal, []int{64}},
		{"tiny-translation", func(b *testing.B, backend string) *models.Model {
			return fixture.Open(b, "tiny-translation", backend)
		}, []int{16}},
		{"t5-small-shape", openT5, []int{64}},
	} {
		for _, backend := range []string{"xla", "go"} {
			b.Run(fmt.Sprintf("%s/%s", model.name, backend), func(b *testing.B) {
				m := model.open(b, backend)
				for i, n := range model.prompts {
					for _, method := range attribution.Methods() {
						// Scorers cost passes through the model, whatever the length.
						if method.Scorer != "" && i > 0 {
							continue
						}
						b.Run(fmt.Sprintf("prompt=%d/%s", n, method.Name), func(b *testing.B) {
							compareCost(b, m, n, method.Name)
						})
					}
				}
			})
		}
	}
}

// cost is what one run took: to its first token, and each further one.
type cost struct {
	prompt time.Duration
	tokens []time.Duration
}

func compareCost(b *testing.B, m *models.Model, n int, method string) {
	fixed := fixedModel{m, n}
	opts := attribution.Options{Methods: []string{method}, Continuation: continuation}
	explain := func() cost {
		var c cost
		last := time.Now()
		opts.OnStep = func(*attribution.Explanation) { c.add(&last) }
		_, err := attribution.Explain(context.Background(), fixed, "benchmark", opts)
		must(b, err)
		return c
	}
	plain := func() cost {
		var c cost
		last := time.Now()
		ask := trace.Ask{Continuation: randomIDs(m, benchTokens), Alternatives: 5}
		for _, err := range m.Steps(context.Background(), promptIDs(m, n), ask) {
			must(b, err)
			c.add(&last)
		}
		return c
	}
	plain() // compiles
	explain()
	var plains, explained []cost
	for b.Loop() {
		plains, explained = append(plains, plain()), append(explained, explain())
	}
	p, e := medians(plains), medians(explained)
	b.ReportMetric(e.token/p.token, "x-plain")
	b.ReportMetric(p.token, "plain-ms")
	b.ReportMetric(e.prompt, "prompt-ms")
	b.ReportMetric(p.prompt, "plain-prompt-ms")
	b.ReportMetric(0, "ns/op") // one round is both runs; the metrics say more
}

// add notes that a token is there.
func (c *cost) add(last *time.Time) {
	now := time.Now()
	if c.prompt == 0 {
		c.prompt = now.Sub(*last)
	} else {
		c.tokens = append(c.tokens, now.Sub(*last))
	}
	*last = now
}

// medians are in milliseconds.
func medians(costs []cost) (m struct{ prompt, token float64 }) {
	var prompts, tokens []time.Duration
	for _, c := range costs {
		prompts, tokens = append(prompts, c.prompt), append(tokens, c.tokens...)
	}
	median := func(d []time.Duration) float64 {
		slices.Sort(d)
		return float64(d[len(d)/2]) / float64(time.Millisecond)
	}
	m.prompt, m.token = median(prompts), median(tokens)
	return m
}

// continuation is the text that fixedModel encodes as benchTokens tokens. Any other is the prompt.
const continuation = "continuation"

// fixedModel encodes every prompt as n fixed tokens, so that lengths are what the benchmark says.
type fixedModel struct {
	*models.Model
	n int
}

func (f fixedModel) Encode(text string, _ trace.Specials) ([]trace.Token, error) {
	ids := promptIDs(f.Model, f.n)
	if text == continuation {
		ids = randomIDs(f.Model, benchTokens)
	}
	var tokens []trace.Token
	for _, id := range ids {
		tokens = append(tokens, trace.Token{ID: id, Text: "x"})
	}
	return tokens, nil
}

// promptIDs is a prompt of n tokens; of two stacks a source, after which the target begins.
func promptIDs(m *models.Model, n int) []int {
	ids := randomIDs(m, n)
	if boundary := m.Info().Boundary(); boundary >= 0 {
		ids = append(ids, boundary)
	}
	return ids
}

func randomIDs(m *models.Model, n int) []int {
	rng := rand.New(rand.NewPCG(5, uint64(n)))
	ids := make([]int, n)
	for i := range ids {
		ids[i] = rng.IntN(m.Info().Vocab)
	}
	return ids
}

// openReal opens SmolLM2, which has to be downloaded before.
func openReal(b *testing.B, backend string) *models.Model {
	if _, err := models.Open("smollm2", models.Options{Backend: backend}); err != nil {
		b.Skip(err)
	}
	return fixture.Open(b, "smollm2", backend)
}

// openSmall opens a GPT-2 of the small size, 12 layers × 12 heads × width 768, with random weights
// in half precision. It is written once, 250 MB below .cache.
func openSmall(b *testing.B, backend string) *models.Model {
	const config = `{"architectures":["GPT2LMHeadModel"],"model_type":"gpt2",` +
		`"n_layer":12,"n_head":12,"n_embd":768,"n_positions":1024,"vocab_size":50257}`
	return openShape(b, "gpt2-small-shape", config, smallTensors(), backend)
}

// openT5 opens a T5 of the small size, 6 blocks in each stack × 8 heads × width 512, with random
// weights in half precision, 120 MB.
func openT5(b *testing.B, backend string) *models.Model {
	const config = `{"architectures":["T5ForConditionalGeneration"],"model_type":"t5",` +
		`"num_layers":6,"num_heads":8,"d_model":512,"d_kv":64,"d_ff":2048,"vocab_size":32128,` +
		`"feed_forward_proj":"relu","decoder_start_token_id":0,"eos_token_id":1,"pad_token_id":0}`
	return openShape(b, "t5-small-shape", config, t5Tensors(), backend)
}

func openShape(
	b *testing.B, name, config string, all []smallTensor, backend string,
) *models.Model {
	dir := filepath.Join("..", "..", "..", ".cache", "bench", name)
	if _, err := os.Stat(filepath.Join(dir, "model.safetensors")); err != nil {
		writeShape(b, dir, config, all)
	}
	return fixture.Open(b, dir, backend)
}

func writeShape(b *testing.B, dir, config string, all []smallTensor) {
	must(b, os.MkdirAll(dir, 0o755))
	must(b, os.WriteFile(filepath.Join(dir, "config.json"), []byte(config), 0o644))
	rng := rand.New(rand.NewPCG(1, 2))
	var tensors []checkpoint.Tensor
	for _, w := range all {
		data := make([]checkpoint.Float16, size(w.shape))
		for i := range data {
			x := 0.02 * rng.NormFloat64()
			if w.gain {
				x = 1
			}
			data[i] = checkpoint.NewFloat16(float32(x))
		}
		tensors = append(tensors, checkpoint.Tensor{Name: w.name, Shape: w.shape, Data: data})
	}
	path := filepath.Join(dir, "model.safetensors")
	must(b, checkpoint.WriteFile(path, tensors, nil))
}

type smallTensor struct {
	name  string
	shape []int
	gain  bool
}

// smallTensors lists the tensors of GPT-2 small.
func smallTensors() []smallTensor {
	const d = 768
	ts := []smallTensor{{"wte.weight", []int{50257, d}, false}, {"wpe.weight", []int{1024, d}, false}}
	norm := func(name string) {
		ts = append(ts, smallTensor{name + ".weight", []int{d}, true}, smallTensor{name + ".bias", []int{d}, false})
	}
	dense := func(name string, in, out int) {
		ts = append(ts, smallTensor{name + ".weight", []int{in, out}, false}, smallTensor{name + ".bias", []int{out}, false})
	}
	for l := range 12 {
		h := fmt.Sprintf("h.%d.", l)
		norm(h + "ln_1")
		dense(h+"attn.c_attn", d, 3*d)
		dense(h+"attn.c_proj", d, d)
		norm(h + "ln_2")
		dense(h+"mlp.c_fc", d, 4*d)
		dense(h+"mlp.c_proj", 4*d, d)
	}
	norm("ln_f")
	return ts
}

// t5Tensors lists the tensors of T5 small.
func t5Tensors() []smallTensor {
	const d, inner = 512, 2048
	ts := []smallTensor{{"shared.weight", []int{32128, d}, false}}
	norm := func(name string) { ts = append(ts, smallTensor{name, []int{d}, true}) }
	dense := func(name string, out, in int) {
		ts = append(ts, smallTensor{name + ".weight", []int{out, in}, false})
	}
	for _, stack := range []string{"encoder.", "decoder."} {
		dense(stack+"block.0.layer.0.SelfAttention.relative_attention_bias", 32, 8)
		for l := range 6 {
			parts := []string{"SelfAttention", "EncDecAttention"}
			if stack == "encoder." {
				parts = parts[:1]
			}
			for i, part := range parts {
				layer := fmt.Sprintf("%sblock.%d.layer.%d.", stack, l, i)
				norm(layer + "layer_norm.weight")
				for _, name := range []string{".q", ".k", ".v", ".o"} {
					dense(layer+part+name, d, d)
				}
			}
			layer := fmt.Sprintf("%sblock.%d.layer.%d.", stack, l, len(parts))
			norm(layer + "layer_norm.weight")
			dense(layer+"DenseReluDense.wi", inner, d)
			dense(layer+"DenseReluDense.wo", d, inner)
		}
		norm(stack + "final_layer_norm.weight")
	}
	return ts
}

func size(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}
