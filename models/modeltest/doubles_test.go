package modeltest_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/internal/checkpoint"
	"github.com/headwater-ml/headwater/models/family"
)

// renamed has the tensors of a checkpoint under other names.
type renamed struct {
	family.Tensors
	// names says for each name whose values it has. The last value of the tensor changed is 1 more
	// than in the file.
	names   map[string]string
	changed string
}

func (r renamed) Names() []string { return slices.Sorted(maps.Keys(r.names)) }

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

// load opens a golden, applies edit to the names of its tensors and returns the error of the
// loader. names says for each name whose values it has; before edit that is the name itself.
// changed, if it is not empty, is a tensor whose last value differs from the file.
func load(t *testing.T, golden, changed string, edit func(names map[string]string)) error {
	t.Helper()
	d, err := checkpoint.OpenDir("../testdata/goldens/" + golden)
	must(t, err)
	defer d.Close()
	f, spec, err := family.Read(family.NewConfig("config.json", d.Config))
	must(t, err)
	tensors := renamed{Tensors: d.Weights, names: map[string]string{}, changed: changed}
	for _, name := range d.Weights.Names() {
		tensors.names[name] = name
	}
	edit(tensors.names)
	_, err = f.Loader("model.safetensors", tensors, spec)
	return err
}

// checkRefusal checks the error of a loader. An empty want means that there must be none.
func checkRefusal(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("error %v, want none", err)
	case want == "":
	case err == nil || !strings.Contains(err.Error(), want):
		t.Errorf("error %v, want one with %q", err, want)
	case !strings.Contains(err.Error(), "model.safetensors"):
		t.Errorf("error %v does not name the file", err)
	case len(err.Error()) > 1200:
		t.Errorf("error of %d bytes", len(err.Error()))
	}
}

// TestDoubles adds a second tensor for a parameter. It is accepted if it is equal to the first, and
// an error if one value differs, because one of the two would be ignored.
func TestDoubles(t *testing.T) {
	for _, c := range []struct{ name, golden, first, second, want string }{
		{
			"tied head", "gpt2", "transformer.wte.weight", "lm_head.weight",
			"tensor lm_head.weight differs from the embedding transformer.wte.weight, but " +
				"tie_word_embeddings",
		},
		{
			"tied projector of DistilBERT", "distilbert",
			"distilbert.embeddings.word_embeddings.weight", "vocab_projector.weight",
			"tensor vocab_projector.weight differs from the embedding",
		},
		{
			"tied generator of ELECTRA", "electra",
			"electra.embeddings.word_embeddings.weight", "generator_lm_head.weight",
			"tensor generator_lm_head.weight differs from the embedding",
		},
		{
			"biases of a tied head", "bert", "cls.predictions.bias", "cls.predictions.decoder.bias",
			"tensors cls.predictions.bias and cls.predictions.decoder.bias differ and are for " +
				"the same parameter",
		},
		{"biases of a tied RoBERTa", "roberta", "lm_head.bias", "lm_head.decoder.bias", "tensors lm_head.bias and lm_head.decoder.bias differ"},
		{
			"old and new name of a gain", "bert",
			"bert.embeddings.LayerNorm.weight", "bert.embeddings.LayerNorm.gamma",
			"tensors bert.embeddings.LayerNorm.weight and bert.embeddings.LayerNorm.gamma differ",
		},
		{
			"old and new name of a bias", "bert",
			"bert.embeddings.LayerNorm.bias", "bert.embeddings.LayerNorm.beta",
			"tensors bert.embeddings.LayerNorm.bias and bert.embeddings.LayerNorm.beta differ",
		},
		{"with and without the prefix", "llama", "model.norm.weight", "norm.weight", "tensors model.norm.weight and norm.weight differ"},
		{
			"another prefix", "opt",
			"model.decoder.layers.1.fc1.bias", "decoder.layers.1.fc1.bias",
			"tensors model.decoder.layers.1.fc1.bias and decoder.layers.1.fc1.bias differ",
		},
		{"two names of a head", "gpt_neox", "embed_out.weight", "lm_head.weight", "tensors embed_out.weight and lm_head.weight differ"},
	} {
		t.Run(c.name, func(t *testing.T) {
			add := func(names map[string]string) { names[c.second] = c.first }
			checkRefusal(t, load(t, c.golden, "", add), "")
			checkRefusal(t, load(t, c.golden, c.second, add), c.want)
			checkRefusal(t, load(t, c.golden, c.first, add), c.want)
		})
	}
}

// TestOwnHead: a head of T5 that differs from the embedding is read, although the configuration
// says that it is tied, and one that does not differ is the embedding.
func TestOwnHead(t *testing.T) {
	for changed, tied := range map[string]bool{"": true, "lm_head.weight": false} {
		d, err := checkpoint.OpenDir("../testdata/goldens/t5_v1_1")
		must(t, err)
		defer d.Close()
		f, s, err := family.Read(family.NewConfig("config.json", d.Config))
		must(t, err)
		names := map[string]string{"lm_head.weight": "shared.weight"}
		for _, name := range d.Weights.Names() {
			names[name] = name
		}
		load, err := f.Loader("model.safetensors", renamed{d.Weights, names, changed}, s)
		must(t, err)
		if s.TiedHead != tied || s.LogitScale != 0 {
			t.Errorf("changed %q: tied %v, logits × %v", changed, s.TiedHead, s.LogitScale)
		}
		last := map[string]float32{}
		for _, p := range s.Params() {
			must(t, load(p, func(_ int, values []float32) {
				last[p.Name] = values[len(values)-1]
			}))
		}
		if !tied && last["head"] != last["embedding"]+1 {
			t.Errorf("the head ends with %v, the embedding with %v", last["head"],
				last["embedding"])
		}
	}
}

// TestMissingAndUnknown removes tensors and adds others. A tensor that looks like a weight of the
// model is never ignored.
func TestMissingAndUnknown(t *testing.T) {
	for _, c := range []struct {
		name, golden string
		add          map[string]string // a new name, and the tensor whose values it has
		remove       string
		want         string // in the error; empty is none
	}{
		{
			name: "tied head of another shape", golden: "opt",
			add:  map[string]string{"lm_head.weight": "model.decoder.embed_positions.weight"},
			want: "tensor lm_head.weight has shape [66 32]; config.json makes it [96 32]",
		},
		{
			name: "only decoder.bias", golden: "bert", remove: "cls.predictions.bias",
			add: map[string]string{"cls.predictions.decoder.bias": "cls.predictions.bias"},
		},
		{name: "untied without the unused bias", golden: "bert_untied", remove: "cls.predictions.bias"},
		{
			name: "untied without its bias", golden: "bert_untied",
			remove: "cls.predictions.decoder.bias",
			want: "tensor cls.predictions.decoder.bias is missing; the file has " +
				"cls.predictions.bias, which this model does not read",
		},
		{
			name: "untied RoBERTa without its bias", golden: "roberta_untied",
			remove: "lm_head.decoder.bias",
			want:   "tensor lm_head.decoder.bias is missing; the file has lm_head.bias",
		},
		{
			name: "head of another task", golden: "electra_disc",
			add: map[string]string{
				"classifier.dense.weight":    "discriminator_predictions.dense.weight",
				"classifier.out_proj.weight": "discriminator_predictions.dense.weight",
			},
		},
		{
			name: "head of another task beside the classifier", golden: "electra_cls",
			add: map[string]string{
				"discriminator_predictions.dense.weight": "classifier.out_proj.weight",
			},
		},
		{
			name: "bias of a norm", golden: "llama",
			add:  map[string]string{"model.norm.bias": "model.norm.weight"},
			want: "tensor model.norm.bias has no place in the llama",
		},
		{
			name: "bias of a head", golden: "llama",
			add:  map[string]string{"lm_head.bias": "model.norm.weight"},
			want: "tensor lm_head.bias has no place in the llama",
		},
		{
			name: "bias of a tied head", golden: "gpt2",
			add:  map[string]string{"lm_head.bias": "transformer.ln_f.bias"},
			want: "tensor lm_head.bias has no place in the gpt2",
		},
		{
			name: "projection that is not read", golden: "opt",
			add: map[string]string{
				"model.decoder.project_in.weight": "model.decoder.final_layer_norm.bias",
			},
			want: "tensor model.decoder.project_in.weight has no place in the opt",
		},
		{
			name: "long name", golden: "opt",
			add: map[string]string{
				"model.decoder." +
					strings.Repeat("x", 1<<20): "model.decoder.final_layer_norm.bias",
			},
			want: "xxx… has no place in the opt",
		},
		{
			name: "buffers and poolers", golden: "bert", add: map[string]string{
				"bert.embeddings.position_ids": "cls.predictions.bias",
				"bert.pooler.dense.weight":     "cls.predictions.bias",
				"cls.seq_relationship.weight":  "cls.predictions.bias",
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := load(t, c.golden, "", func(names map[string]string) {
				delete(names, c.remove)
				maps.Copy(names, c.add)
			})
			checkRefusal(t, err, c.want)
		})
	}
}
