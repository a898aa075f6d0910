package train

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/gomlx/compute"

	"github.com/headwater-ml/headwater/internal/checkpoint"
	"github.com/headwater-ml/headwater/internal/tiny"
	"github.com/headwater-ml/headwater/internal/tokenizer"
	"github.com/headwater-ml/headwater/models/spec"
)

// Run trains an embedded model. It writes config.json, tokenizer.json, model.safetensors and
// report.json to a directory, which it creates if necessary; for a decoder generation_config.json
// too, and for a model of two stacks tokenizer_config.json. It writes a line about its progress
// every 100 steps.
func Run(ctx context.Context, backend compute.Backend, cfg Config, dir string,
	progress io.Writer,
) error {
	recipe, err := recipeOf(cfg)
	if err != nil {
		return err
	}
	tok, err := recipe.tokenizer()
	if err != nil {
		return err
	}
	t, err := NewTrainer(backend, cfg, tok)
	if err != nil {
		return err
	}
	r := &Report{Backend: backend.Name(), Config: cfg, Vocabulary: tok.VocabSize()}
	if err := t.all(ctx, backend, r, progress); err != nil {
		return err
	}
	weights := map[string][]float32{}
	for _, p := range t.spec.Params() {
		data, err := t.Weights(p)
		if err != nil {
			return err
		}
		for i, x := range data { // measure the weights as they are shipped
			data[i] = checkpoint.NewFloat16(x).Float32()
		}
		weights[p.Name] = data
		r.Parameters += len(data)
	}
	lookup := func(p spec.Param) ([]float32, error) { return weights[p.Name], nil }
	if err := r.Measure(ctx, backend, tok, lookup); err != nil {
		return err
	}
	for _, s := range append(r.HeldOut, r.Seen...) {
		fmt.Fprintln(progress, s)
	}
	return write(dir, recipe, t.spec, tok, weights, r)
}

// all runs every step and records the losses.
func (t *Trainer) all(ctx context.Context, backend compute.Backend, r *Report,
	progress io.Writer,
) error {
	const every = 100
	sum := 0.0
	for step := range t.cfg.Steps {
		loss, err := t.Step(ctx)
		if err != nil {
			return err
		}
		if step < FirstLosses {
			r.FirstLosses = append(r.FirstLosses, loss)
		}
		if sum += loss; (step+1)%every == 0 {
			r.Losses = append(r.Losses, sum/every)
			fmt.Fprintf(progress, "step %d of %d: loss %.4f nats\n", step+1, t.cfg.Steps, sum/every)
			sum = 0
		}
		if (step+1)%500 == 0 {
			if err := t.glance(ctx, backend, progress); err != nil {
				return err
			}
		}
	}
	return nil
}

// glance prints the scores on a few held-out and seen documents, to show early what is not learnt.
func (t *Trainer) glance(ctx context.Context, backend compute.Backend, progress io.Writer) error {
	e, err := newEvaluator(backend, t.cfg, t.tok, t.Weights)
	if err != nil {
		return err
	}
	for _, split := range []tiny.Split{tiny.HeldOut, tiny.Train} {
		for _, kind := range t.recipe.model.Kinds() {
			s, err := e.measure(ctx, split, kind, 200, testSeed)
			if err != nil {
				return err
			}
			fmt.Fprintln(progress, s)
			for _, form := range s.ByForm {
				fmt.Fprintf(progress, "  %s %.3f", form.Name, form.Right)
			}
			fmt.Fprintln(progress)
		}
	}
	return nil
}

// write writes the directory. weights are by parameter.
func write(dir string, recipe recipe, spec *spec.Spec, tok *tokenizer.Tokenizer,
	weights map[string][]float32, r *Report,
) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return pkg.Errorf("%w", err)
	}
	tensors, err := tensorsOf(spec, weights)
	if err != nil {
		return err
	}
	var model, vocabulary bytes.Buffer
	if err := checkpoint.Write(&model, tensors, map[string]string{"format": "pt"}); err != nil {
		return err
	}
	if _, err := tok.WriteTo(&vocabulary); err != nil {
		return pkg.Errorf("%w", err)
	}
	sum := sha256.Sum256(model.Bytes())
	r.WeightHash = hex.EncodeToString(sum[:])
	type file struct {
		name string
		data []byte
	}
	files := []file{
		{"model.safetensors", model.Bytes()},
		{"tokenizer.json", vocabulary.Bytes()},
		{"config.json", encodeJSON(recipe.config(spec))},
		{"report.json", encodeJSON(r)},
	}
	if !spec.Bidirectional && spec.Encoder == 0 {
		ends := map[string]any{"bos_token_id": spec.BOS, "eos_token_id": spec.EOS[0]}
		files = append(files, file{"generation_config.json", encodeJSON(ends)})
	}
	if spec.Encoder > 0 {
		// The class that AutoTokenizer takes for BART puts no space before the first word.
		files = append(files, file{"tokenizer_config.json", encodeJSON(map[string]any{
			"tokenizer_class": "PreTrainedTokenizerFast",
		})})
	}
	for _, f := range files {
		if err := os.WriteFile(filepath.Join(dir, f.name), f.data, 0o644); err != nil {
			return pkg.Errorf("%w", err)
		}
	}
	return nil
}

// config returns a decoder's config.json.
func config(spec *spec.Spec) map[string]any {
	return map[string]any{
		"architectures": []string{"BloomForCausalLM"}, "model_type": "bloom", "dtype": "float16",
		"n_layer": spec.Layers, "n_head": spec.Heads, "hidden_size": spec.Width,
		"vocab_size":         spec.Vocab,
		"layer_norm_epsilon": spec.NormEpsilon, "apply_residual_connection_post_layernorm": false,
		"tie_word_embeddings": true,
		"bos_token_id":        spec.BOS, "eos_token_id": spec.EOS[0],
	}
}

func encodeJSON(v any) []byte {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		panic(err) // the values above always have a JSON form
	}
	return append(data, '\n')
}
