package modeltest_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/models/checkpoint"
	"github.com/headwater-ml/headwater/models/family"
)

// renamed is tensors of a checkpoint under further or other names.
type renamed struct {
	family.Tensors
	// names says for each name whose values it has; changed adds 1 to the last value of a name.
	names   map[string]string
	changed string
}

func (r renamed) Names() []string {
	var names []string
	for name := range r.names {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func (r renamed) Shape(name string) ([]int, error) { return r.Tensors.Shape(r.names[name]) }

func (r renamed) Float32At(dst []float32, name string, first int) error {
	err := r.Tensors.Float32At(dst, r.names[name], first)
	shape, _ := r.Shape(name)
	size := 1
	for _, n := range shape {
		size *= n
	}
	if name == r.changed && first+len(dst) == size {
		dst[len(dst)-1]++
	}
	return err
}

// TestDoubles: two tensors of a file that are for one parameter are an error unless they are equal, and
// a tensor that looks like a weight of the model is not ignored.
func TestDoubles(t *testing.T) {
	for _, c := range []struct {
		name, golden string
		add          map[string]string // a further name, and whose values it has
		remove       string
		changed      string
		want         string // in the error; empty is none
	}{
		{name: "tied head, equal", golden: "gpt2", add: map[string]string{"lm_head.weight": "transformer.wte.weight"}},
		{
			name: "tied head, differs", golden: "gpt2", add: map[string]string{"lm_head.weight": "transformer.wte.weight"},
			changed: "lm_head.weight",
			want:    "tensor lm_head.weight differs from the embedding transformer.wte.weight, but tie_word_embeddings",
		},
		{
			name: "tied head of another shape", golden: "opt", add: map[string]string{"lm_head.weight": "model.decoder.embed_positions.weight"},
			want: "tensor lm_head.weight has shape [66 32]; config.json makes it [96 32]",
		},
		{
			name: "tied projector of DistilBERT", golden: "distilbert", changed: "vocab_projector.weight",
			add:  map[string]string{"vocab_projector.weight": "distilbert.embeddings.word_embeddings.weight"},
			want: "tensor vocab_projector.weight differs from the embedding",
		},
		{
			name: "tied generator of ELECTRA", golden: "electra", changed: "generator_lm_head.weight",
			add:  map[string]string{"generator_lm_head.weight": "electra.embeddings.word_embeddings.weight"},
			want: "tensor generator_lm_head.weight differs from the embedding",
		},
		{name: "both biases of a tied head, equal", golden: "bert", add: map[string]string{"cls.predictions.decoder.bias": "cls.predictions.bias"}},
		{
			name: "both biases of a tied head, differ", golden: "bert", changed: "cls.predictions.decoder.bias",
			add:  map[string]string{"cls.predictions.decoder.bias": "cls.predictions.bias"},
			want: "tensors cls.predictions.bias and cls.predictions.decoder.bias differ and are for the same parameter",
		},
		{
			name: "both biases of a tied RoBERTa, differ", golden: "roberta", changed: "lm_head.bias",
			add:  map[string]string{"lm_head.decoder.bias": "lm_head.bias"},
			want: "tensors lm_head.bias and lm_head.decoder.bias differ",
		},
		{
			name: "only decoder.bias", golden: "bert", remove: "cls.predictions.bias",
			add: map[string]string{"cls.predictions.decoder.bias": "cls.predictions.bias"},
		},
		{name: "untied without the unused bias", golden: "bert_untied", remove: "cls.predictions.bias"},
		{
			name: "untied without its bias", golden: "bert_untied", remove: "cls.predictions.decoder.bias",
			want: "tensor cls.predictions.decoder.bias is missing; the file has cls.predictions.bias, which this model does not read",
		},
		{
			name: "untied RoBERTa without its bias", golden: "roberta_untied", remove: "lm_head.decoder.bias",
			want: "tensor lm_head.decoder.bias is missing; the file has lm_head.bias",
		},
		{
			name: "old and new name of a gain", golden: "bert", changed: "bert.embeddings.LayerNorm.gamma",
			add:  map[string]string{"bert.embeddings.LayerNorm.gamma": "bert.embeddings.LayerNorm.weight"},
			want: "tensors bert.embeddings.LayerNorm.weight and bert.embeddings.LayerNorm.gamma differ",
		},
		{name: "old and new name, equal", golden: "bert", add: map[string]string{"bert.embeddings.LayerNorm.gamma": "bert.embeddings.LayerNorm.weight"}},
		{
			name: "with and without the prefix", golden: "llama", changed: "norm.weight", add: map[string]string{"norm.weight": "model.norm.weight"},
			want: "tensors model.norm.weight and norm.weight differ",
		},
		{
			name: "another prefix", golden: "opt", changed: "decoder.layers.1.fc1.bias",
			add:  map[string]string{"decoder.layers.1.fc1.bias": "model.decoder.layers.1.fc1.bias"},
			want: "tensors model.decoder.layers.1.fc1.bias and decoder.layers.1.fc1.bias differ",
		},
		{
			name: "two names of a head", golden: "gpt_neox", changed: "lm_head.weight",
			add:  map[string]string{"lm_head.weight": "embed_out.weight"},
			want: "tensors embed_out.weight and lm_head.weight differ",
		},
		{
			name: "head of another task", golden: "electra_disc", changed: "classifier.dense.weight",
			add: map[string]string{
				"classifier.dense.weight":    "discriminator_predictions.dense.weight",
				"classifier.out_proj.weight": "discriminator_predictions.dense.weight",
			},
		},
		{
			name: "head of another task beside the classifier", golden: "electra_cls",
			add: map[string]string{"discriminator_predictions.dense.weight": "classifier.out_proj.weight"},
		},
		{
			name: "bias of a norm", golden: "llama", add: map[string]string{"model.norm.bias": "model.norm.weight"},
			want: "tensor model.norm.bias has no place in the llama",
		},
		{
			name: "bias of a head", golden: "llama", add: map[string]string{"lm_head.bias": "model.norm.weight"},
			want: "tensor lm_head.bias has no place in the llama",
		},
		{
			name: "bias of a tied head", golden: "gpt2", add: map[string]string{"lm_head.bias": "transformer.ln_f.bias"},
			want: "tensor lm_head.bias has no place in the gpt2",
		},
		{
			name: "projection that is not read", golden: "opt", add: map[string]string{"model.decoder.project_in.weight": "model.decoder.final_layer_norm.bias"},
			want: "tensor model.decoder.project_in.weight has no place in the opt",
		},
		{
			name: "long name", golden: "opt", add: map[string]string{"model.decoder." + strings.Repeat("x", 1<<20): "model.decoder.final_layer_norm.bias"},
			want: "xxx… has no place in the opt",
		},
		{
			name: "buffers and poolers", golden: "bert", add: map[string]string{
				"bert.embeddings.position_ids": "cls.predictions.bias", "bert.pooler.dense.weight": "cls.predictions.bias",
				"cls.seq_relationship.weight": "cls.predictions.bias",
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, err := checkpoint.OpenDir("../testdata/goldens/" + c.golden)
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			f, spec, err := family.Read(family.NewConfig("config.json", d.Config))
			if err != nil {
				t.Fatal(err)
			}
			tensors := renamed{Tensors: d.Weights, names: map[string]string{}, changed: c.changed}
			for _, name := range d.Weights.Names() {
				if name != c.remove {
					tensors.names[name] = name
				}
			}
			for name, of := range c.add {
				tensors.names[name] = of
			}
			_, err = f.Loader("model.safetensors", tensors, spec)
			switch {
			case c.want == "" && err != nil:
				t.Errorf("error %v, want none", err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "model.safetensors")):
				t.Errorf("error %v, want one with %q and the file", err, c.want)
			case err != nil && len(err.Error()) > 1200:
				t.Errorf("error of %d bytes", len(err.Error()))
			}
		})
	}
}
