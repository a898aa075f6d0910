package family

import (
	"encoding/json"

	"github.com/headwater-ml/headwater/models/spec"
)

func init() { Register(apertus) }

// apertus is Apertus: Llama with norms of query and key in each head, without a gate, and with an
// activation that has weights. It is 0 at 0, as in the paper: transformers takes numbers from -1e-6
// to 0 for -1e-6, which changes logits by up to 7e-4 where an edit sets a whole stream to zero.
var apertus = &Family{
	Name:          "apertus",
	Architectures: []string{"ApertusForCausalLM", "ApertusModel"},
	Prefixes:      []string{"model.", ""},
	// Two numbers of the activation that are the same in all models.
	Buffers: []string{".rotary_emb.inv_freq", ".act_fn.beta", ".act_fn.eps"},
	Padding: []int{3},
	Spec: func(c *Config) (*spec.Spec, error) {
		s := llamaSpec(c, llamaLike{
			name: "apertus", epsilon: 1e-5, activation: "xielu", ungated: true,
		})
		s.QueryKeyNorm = true
		attentionBiases(c, s, false)
		if !c.Has("rope_parameters") && !c.Has("rope_scaling") {
			c.values["rope_scaling"] = map[string]any{
				"rope_type": "llama3", "factor": json.Number("8"),
				"original_max_position_embeddings": json.Number("8192"),
				"low_freq_factor":                  json.Number("1"),
				"high_freq_factor":                 json.Number("4"),
			}
		}
		rotate(c, s, 12000000, 0)
		return s, nil
	},
	Weights: renamed(llamaWeights,
		"input_layernorm", "attention_layernorm", "post_attention_layernorm",
		"feedforward_layernorm",
	),
}
