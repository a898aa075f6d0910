package family

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/headwater-ml/headwater/models/transformer"
)

// decode reads a JSON object as a checkpoint's reader does.
func decode(data []byte) (map[string]any, error) {
	values := map[string]any{}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	err := d.Decode(&values)
	return values, err
}

func read(t *testing.T, text string) (*Family, *transformer.Spec, error) {
	t.Helper()
	values, err := decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return Read(NewConfig("config.json", values))
}

// TestPublishedConfigs reads the arithmetic of configurations as they are published: old names and new ones, defaults left out.
func TestPublishedConfigs(t *testing.T) {
	for _, c := range []struct {
		name, config, family string
		want                 transformer.Spec
	}{
		{
			name: "gpt2", family: "gpt2",
			config: `{"activation_function":"gelu_new","architectures":["GPT2LMHeadModel"],"attn_pdrop":0.1,"bos_token_id":50256,
				"embd_pdrop":0.1,"eos_token_id":50256,"initializer_range":0.02,"layer_norm_epsilon":1e-05,"model_type":"gpt2","n_ctx":1024,
				"n_embd":768,"n_head":12,"n_layer":12,"n_positions":1024,"resid_pdrop":0.1,"summary_activation":null,
				"summary_first_dropout":0.1,"summary_proj_to_labels":true,"summary_type":"cls_index","summary_use_proj":true,
				"task_specific_params":{"text-generation":{"do_sample":true,"max_length":50}},"vocab_size":50257}`,
			want: transformer.Spec{
				Family: "gpt2", Layers: 12, Heads: 12, Width: 768, HeadWidth: 64, FeedForward: 3072, Vocab: 50257, Context: 1024,
				Positions: transformer.LearnedPositions, NormEpsilon: 1e-5, Activation: transformer.GELUTanh, Biases: true, TiedHead: true,
				BOS: 50256, EOS: []int{50256},
			},
		},
		{
			name: "bloom-560m", family: "bloom",
			config: `{"apply_residual_connection_post_layernorm":false,"attention_dropout":0.0,"attention_softmax_in_fp32":true,
				"architectures":["BloomForCausalLM"],"bias_dropout_fusion":true,"bos_token_id":1,"eos_token_id":2,"pad_token_id":3,
				"unk_token_id":0,"hidden_dropout":0.0,"initializer_range":0.02,"layer_norm_epsilon":1e-05,"masked_softmax_fusion":true,
				"model_type":"bloom","n_embed":1024,"n_inner":null,"n_layer":24,"num_attention_heads":16,"offset_alibi":100,
				"pretraining_tp":1,"skip_bias_add":true,"skip_bias_add_qkv":false,"transformers_version":"4.20.0","use_cache":true,
				"vocab_size":250880}`,
			want: transformer.Spec{
				Family: "bloom", Layers: 24, Heads: 16, Width: 1024, HeadWidth: 64, FeedForward: 4096, Vocab: 250880,
				Positions: transformer.ALiBi, AlibiSlopes: transformer.AlibiSlopes(16), EmbeddingNorm: true, NormEpsilon: 1e-5,
				Activation: transformer.GELUTanh, Biases: true, TiedHead: true, BOS: 1, EOS: []int{2},
			},
		},
		{
			name: "falcon-rw-1b", family: "falcon",
			config: `{"alibi":true,"apply_residual_connection_post_layernorm":false,"architectures":["FalconForCausalLM"],
				"attention_dropout":0.0,"bias":true,"bos_token_id":1,"eos_token_id":2,"hidden_dropout":0.0,"hidden_size":2048,
				"initializer_range":0.02,"layer_norm_epsilon":1e-05,"model_type":"falcon","multi_query":false,
				"new_decoder_architecture":false,"num_attention_heads":32,"num_hidden_layers":24,"parallel_attn":false,
				"torch_dtype":"bfloat16","transformers_version":"4.27.4","use_cache":true,"vocab_size":50304}`,
			want: transformer.Spec{
				Family: "falcon", Layers: 24, Heads: 32, Width: 2048, HeadWidth: 64, FeedForward: 8192, Vocab: 50304,
				Positions: transformer.ALiBi, AlibiSlopes: transformer.AlibiSlopes(32), AlibiRounded: true, AlibiScaled: true,
				NormEpsilon: 1e-5, Activation: transformer.GELU, Biases: true, TiedHead: true, BOS: 1, EOS: []int{2},
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, spec, err := read(t, c.config)
			if err != nil {
				t.Fatal(err)
			}
			if f.Name != c.family {
				t.Errorf("family %s, want %s", f.Name, c.family)
			}
			if d := cmp.Diff(c.want, *spec); d != "" {
				t.Errorf("spec (-want +got):\n%s", d)
			}
		})
	}
}

// TestLayouts takes query, key and value out of fused arrays that say where each number belongs: head, part, width and input as
// digits.
func TestLayouts(t *testing.T) {
	spec := &transformer.Spec{Heads: 2, HeadWidth: 3, Width: 6}
	const in = 2
	number := func(h, part, e, i int) float32 { return float32(1000*h + 100*part + 10*e + i) }
	var perHead, side []float32
	for h := range spec.Heads { // [H,3,E,in]
		for part := range 3 {
			for e := range spec.HeadWidth {
				for i := range in {
					perHead = append(perHead, number(h, part, e, i))
				}
			}
		}
	}
	for i := range in { // [in,3,H,E]
		for part := range 3 {
			for h := range spec.Heads {
				for e := range spec.HeadWidth {
					side = append(side, number(h, part, e, i))
				}
			}
		}
	}
	for part := range 3 {
		var want []float32 // [in,HE]
		for i := range in {
			for h := range spec.Heads {
				for e := range spec.HeadWidth {
					want = append(want, number(h, part, e, i))
				}
			}
		}
		shape := []int{in, 6}
		if got := (QueryOfHead + Layout(part)).take(perHead, shape, spec); !cmp.Equal(got, want) {
			t.Errorf("%v = %v, want %v", QueryOfHead+Layout(part), got, want)
		}
		if got := (QuerySide + Layout(part)).take(side, shape, spec); !cmp.Equal(got, want) {
			t.Errorf("%v = %v, want %v", QuerySide+Layout(part), got, want)
		}
	}
	if got := Transposed.take([]float32{1, 2, 3, 4, 5, 6}, []int{2, 3}, spec); !cmp.Equal(got, []float32{1, 3, 5, 2, 4, 6}) {
		t.Errorf("transposed = %v", got)
	}
}

// TestEveryParameterHasASource: a family that the graph can run names a tensor for every parameter.
func TestEveryParameterHasASource(t *testing.T) {
	for name, f := range families {
		for _, tied := range []bool{true, false} {
			spec := &transformer.Spec{
				Layers: 2, Heads: 2, Width: 4, HeadWidth: 2, FeedForward: 8, Vocab: 5, Context: 6, Biases: true, TiedHead: tied,
				EmbeddingNorm: name == "bloom", Positions: transformer.ALiBi,
			}
			if name == "gpt2" {
				spec.Positions = transformer.LearnedPositions
			}
			for _, p := range spec.Params() {
				if w, err := f.source(p.Name); err != nil || strings.Contains(w.Tensor, "%") {
					t.Errorf("%s: parameter %s comes from %q: %v", name, p.Name, w.Tensor, err)
				}
			}
		}
	}
}

func TestRegisterTaken(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("Register of a taken name does not panic")
		}
	}()
	Register(&Family{Name: "gpt2"})
}

// FuzzRead: whatever the configuration says, reading it ends with an error or with a spec that holds together; no number in it
// makes memory grow.
func FuzzRead(f *testing.F) {
	for _, name := range []string{"gpt2", "bloom", "falcon_rw"} {
		data, err := os.ReadFile("../testdata/goldens/" + name + "/config.json")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte(`{"architectures":["BloomForCausalLM"],"n_head":2147483647,"hidden_size":2147483647,"n_layer":1,"vocab_size":1}`))
	f.Add([]byte(`{"architectures":[3],"eos_token_id":[[]],"model_type":{}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<16 {
			return
		}
		values, err := decode(data)
		if err != nil {
			return
		}
		_, spec, err := Read(NewConfig("config.json", values))
		if err != nil {
			return
		}
		if err := spec.Check(); err != nil {
			t.Errorf("Read returns a spec that does not hold together: %v", err)
		}
	})
}
