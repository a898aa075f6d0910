package family

import (
	"encoding/json"

	"github.com/headwater-ml/headwater/models/spec"
)

func init() { Register(gptNeo) }

// gptNeo is GPT-Neo: GPT-2 whose every other layer has a window, without scaled scores.
var gptNeo = &Family{
	Name:          "gpt_neo",
	Architectures: []string{"GPTNeoForCausalLM", "GPTNeoModel"},
	Prefixes:      []string{"transformer.", ""},
	Buffers:       []string{".attn.attention.bias", ".attn.attention.masked_bias"},
	Spec: func(c *Config) (*spec.Spec, error) {
		s := &spec.Spec{
			Family:      "gpt_neo",
			Layers:      c.Size("Layers", "num_layers", "num_hidden_layers"),
			Heads:       c.Size("Heads", "num_heads", "num_attention_heads"),
			Width:       c.Size("Width", "hidden_size"),
			Vocab:       c.Size("Vocab", "vocab_size"),
			Context:     c.Size("Context", "max_position_embeddings"),
			Positions:   spec.LearnedPositions,
			NormEpsilon: c.Epsilon("layer_norm_epsilon", 1e-5),
			Activation:  OneOf(c, "activation_function", "gelu_new", activations),
			ScoreScale:  1,
			OutputBias:  true, MLPBias: true,
		}
		decoderHead(c, s, true)
		c.AllowNull("intermediate_size")
		s.FeedForward = c.SizeOr(4*s.Width, "FeedForward", "intermediate_size")
		s.Windows = gptNeoWindows(c, s.Layers)
		return s, headWidth(c, s)
	},
	Weights: replaced(renamed(llamaWeights,
		"embed_tokens", "wte", "layers.%d.input_layernorm", "h.%d.ln_1",
		"layers.%d.self_attn.o_proj", "h.%d.attn.attention.out_proj",
		"layers.%d.self_attn.", "h.%d.attn.attention.",
		"layers.%d.post_attention_layernorm", "h.%d.ln_2",
		"layers.%d.mlp.up_proj", "h.%d.mlp.c_fc", "layers.%d.mlp.down_proj", "h.%d.mlp.c_proj",
	),
		Weight{"positions", "wpe.weight", AsIs},
		Weight{"final-norm.gain", "ln_f.weight", AsIs},
		Weight{"final-norm.bias", "ln_f.bias", AsIs},
	),
}

// gptNeoWindows reads attention_types, [[["global", "local"], 12]]: kinds of layers, and how often
// they come.
func gptNeoWindows(c *Config, layers int) []int {
	const must = `a list such as [[["global", "local"], 12]], of all layers`
	window := c.AtLeast(1, 256, "window_size")
	v, key := c.value("attention_types")
	local := []bool{}
	list, _ := v.([]any)
	for _, entry := range list {
		pair, _ := entry.([]any)
		if len(pair) != 2 {
			break
		}
		kinds, _ := pair[0].([]any)
		times, _ := pair[1].(json.Number)
		n, _ := times.Int64()
		for range min(max(n, 0), int64(layers)) {
			for _, kind := range kinds {
				if kind == "local" || kind == "global" {
					local = append(local, kind == "local")
				}
			}
			if len(local) > layers {
				break
			}
		}
	}
	if v == nil { // twelve times global and local
		for l := range 24 {
			local = append(local, l%2 == 1)
		}
	}
	switch {
	case len(local) == layers:
	case v == nil:
		c.failMissing(must, key)
		return nil
	default:
		c.failValue(key, v, must)
		return nil
	}
	return windows(layers, window, func(l int) bool { return local[l] })
}
