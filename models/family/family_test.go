package family

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/headwater-ml/headwater/models/spec"
)

// goldensDir has a folder for each recorded checkpoint.
const goldensDir = "../testdata/goldens"

// decode reads a JSON object as a checkpoint's reader does.
func decode(data []byte) (map[string]any, error) {
	values := map[string]any{}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	err := d.Decode(&values)
	return values, err
}

func read(t *testing.T, text string) (*Family, *spec.Spec, error) {
	t.Helper()
	values, err := decode([]byte(text))
	must(t, err)
	return Read(NewConfig("config.json", values))
}

// goldenConfigs returns the file with that name of all golden folders, by folder.
func goldenConfigs(t testing.TB, file string) map[string]string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(goldensDir, "*", file))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no %s in %s: %v", file, goldensDir, err)
	}
	texts := map[string]string{}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		must(t, err)
		texts[filepath.Base(filepath.Dir(path))] = string(data)
	}
	return texts
}

// TestBothStyles: config.json in the style of transformers 5 and in the style of transformers 4
// give the same spec.
func TestBothStyles(t *testing.T) {
	old := goldenConfigs(t, "config.v4.json")
	for name, text := range goldenConfigs(t, "config.json") {
		t.Run(name, func(t *testing.T) {
			_, want, err := read(t, text)
			must(t, err)
			if old[name] == "" {
				t.Fatal("there is no config.v4.json")
			}
			_, got, err := read(t, old[name])
			must(t, err)
			got.Remarks = want.Remarks // old files may have keys without effect
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("spec of config.v4.json (-config.json +config.v4.json):\n%s", d)
			}
		})
	}
}

// TestEveryParameterHasASource: each family names a tensor for every parameter of each of its
// goldens.
func TestEveryParameterHasASource(t *testing.T) {
	covered := map[string]bool{}
	for name, text := range goldenConfigs(t, "config.json") {
		f, spec, err := read(t, text)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		covered[f.Name] = true
		for _, p := range spec.Params() {
			ws, err := f.sources(spec, p.Name)
			if err != nil {
				t.Errorf("%s: parameter %s: %v", name, p.Name, err)
			}
			for _, w := range ws {
				if strings.Contains(w.Tensor, "%") {
					t.Errorf("%s: parameter %s comes from %q, whose layer is not filled in", name,
						p.Name, w.Tensor)
				}
			}
		}
	}
	for _, name := range Names() {
		if !covered[name] {
			t.Errorf("family %s has no golden", name)
		}
	}
}

// TestEveryWeightIsAParameter: no family names a tensor for a parameter that no graph has.
func TestEveryWeightIsAParameter(t *testing.T) {
	params := map[string]bool{}
	for name, text := range goldenConfigs(t, "config.json") {
		_, spec, err := read(t, text)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, p := range spec.Params() {
			generic, _ := genericParam(InStack(spec, p.Name))
			params[generic] = true
		}
	}
	for _, name := range Names() {
		for _, w := range mustFamily(name).Weights {
			if !params[w.Param] {
				t.Errorf("%s: %q comes from %s, and no golden has such a parameter", name, w.Param,
					w.Tensor)
			}
		}
	}
}

func TestRegisterPanics(t *testing.T) {
	read := func(*Config) (*spec.Spec, error) { return &spec.Spec{Family: "new"}, nil }
	for want, f := range map[string]*Family{
		"nil family":        nil,
		"without a Spec":    {Name: "new"},
		"is not lower-case": {Name: "New", Spec: read},
		"gpt2":              {Name: "gpt2", Spec: read},
		"new: llama has the architecture LlamaForCausalLM": {Name: "new", Spec: read, Architectures: []string{"New", "LlamaForCausalLM"}},
	} {
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); !strings.Contains(got, want) {
					t.Errorf("Register panics with %q, want %q", got, want)
				}
			}()
			Register(f)
		}()
	}
}

// TestSharedModelType: a family may have the model type of another one.
func TestSharedModelType(t *testing.T) {
	Register(&Family{
		Name: "llama_classifier", Architectures: []string{"LlamaForRanking"},
		ModelTypes: []string{"llama"},
		Spec:       func(*Config) (*spec.Spec, error) { return &spec.Spec{Family: "new"}, nil },
	})
	defer families.Remove("llama_classifier")
	f, err := Lookup(NewConfig("config.json", map[string]any{
		"model_type": "llama", "architectures": []any{"LlamaForRanking"},
	}))
	if err != nil || f.Name != "llama_classifier" {
		t.Errorf("family %v, error %v", f, err)
	}
}

// TestEmptySpec: a family whose spec lacks everything is told of its first size.
func TestEmptySpec(t *testing.T) {
	Register(&Family{
		Name: "empty",
		Spec: func(*Config) (*spec.Spec, error) { return &spec.Spec{Family: "empty"}, nil },
	})
	defer families.Remove("empty")
	_, _, err := Read(NewConfig("config.json", map[string]any{"model_type": "empty"}))
	if err == nil || err.Error() != "family: config.json: layers 0 is not in 1..1024" {
		t.Errorf("error %v", err)
	}
}

// TestNoPrefixes: the tensors of a family without prefixes have their own names.
func TestNoPrefixes(t *testing.T) {
	f := &Family{Weights: []Weight{{"embedding", "wte", AsIs}}}
	c := &contents{family: f, file: "model.safetensors"}
	c.setTensors(header{"wte": {1}})
	if err := c.findPrefix(); err != nil || c.prefix != "" {
		t.Errorf("prefix %q, error %v", c.prefix, err)
	}
	c.setTensors(header{})
	want := "family: model.safetensors: tensor wte is missing"
	if err := c.findPrefix(); err == nil || err.Error() != want {
		t.Errorf("error %v, want %q", err, want)
	}
}

// mustFamily returns a registered family.
func mustFamily(name string) *Family {
	f, err := families.Lookup(name)
	if err != nil {
		panic(err)
	}
	return f
}

// TestTiedByEither: LLaVA-OneVision has a tied head if its language model says so, whatever the
// whole says; in the other models that read images the whole counts.
func TestTiedByEither(t *testing.T) {
	for name, want := range map[string]bool{"llava_onevision": true, "llava_next": false} {
		text := goldenConfigs(t, "config.json")[name]
		config, err := decode([]byte(text))
		must(t, err)
		config["tie_word_embeddings"] = false
		config["text_config"].(map[string]any)["tie_word_embeddings"] = true
		_, s, err := Read(NewConfig("config.json", config))
		must(t, err)
		if s.TiedHead != want {
			t.Errorf("%s: the head is tied: %v, want %v", name, s.TiedHead, want)
		}
	}
}

// TestLatentRefusals: what queries, keys and values from latents, and experts in groups, cannot be.
func TestLatentRefusals(t *testing.T) {
	for _, c := range []struct {
		golden, key string
		value       any
		want        string
	}{
		{"deepseek_v2", "topk_method", "noaux_tc", "topk_method"},
		{"deepseek_v2", "topk_group", 1e9, "topk_group"},
		{"deepseek_v2", "n_group", json.Number("4"), "6 experts"},
		{"deepseek_v3", "num_key_value_heads", json.Number("1"), "each head has its own keys"},
		{"deepseek_v3", "kv_lora_rank", json.Number("0"), "kv_lora_rank is 0"},
		{"deepseek_v3", "qk_rope_head_dim", json.Number("5"), "must be even"},
		{"deepseek_v3", "attention_bias", true, "attention_bias is true"},
		{"deepseek_v3", "num_experts_per_tok", json.Number("4"), "4 of 6 experts from 1 of 2"},
		{"glm4_moe", "n_shared_experts", json.Number("0"), "n_shared_experts is 0"},
	} {
		config, err := decode([]byte(goldenConfigs(t, "config.json")[c.golden]))
		must(t, err)
		config[c.key] = c.value
		_, _, err = Read(NewConfig("config.json", config))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s with %s %v: error %v, want one with %q", c.golden, c.key, c.value, err,
				c.want)
		}
	}
}

// TestBeyondLayers: what was trained to predict the token after the next is above the last layer.
func TestBeyondLayers(t *testing.T) {
	s := &spec.Spec{Layers: 61}
	for tensor, want := range map[string]bool{
		"layers.61.eh_proj.weight": true, "model.layers.61.mlp.gate.weight": true,
		"layers.60.mlp.gate.weight": false, "norm.weight": false, "layers.x": false,
	} {
		if got := beyondLayers(s, tensor); got != want {
			t.Errorf("%s is beyond layer 60: %v, want %v", tensor, got, want)
		}
	}
}
