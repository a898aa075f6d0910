package family

import (
	"cmp"
	"slices"
	"strings"

	"github.com/headwater-ml/headwater/models/spec"
)

func init() { Register(llama) }

// llama is Llama 1 to 3 and the many models built in the same way.
var llama = &Family{
	Name:          "llama",
	Architectures: []string{"LlamaForCausalLM", "LLaMAForCausalLM", "LlamaModel"},
	Prefixes:      append([]string{"transformer."}, textPrefixes...),
	Buffers:       []string{".rotary_emb.inv_freq"},
	Spec: func(c *Config) (*spec.Spec, error) {
		s := llamaSpec(c, llamaLike{name: "llama"})
		attentionBiases(c, s, false)
		s.MLPBias = c.Bool("mlp_bias", false)
		rotate(c, s, 10000, 0)
		return s, nil
	},
	Weights: llamaWeights,
}

// namedAsLlama returns a family whose checkpoints have the names of Llama before and beside those
// of their weights.
func namedAsLlama(f Family) *Family {
	f.Prefixes, f.Buffers = []string{"model.", ""}, []string{".rotary_emb.inv_freq"}
	return &f
}

// llamaLike is an architecture built like Llama. It has the defaults for keys that config.json does
// not have.
type llamaLike struct {
	name          string
	groups        int     // num_key_value_heads; 0 is as many as there are heads
	headWidth     int     // head_dim; 0 is D/H
	widthKey      string  // which key has the feed-forward width; empty is intermediate_size
	epsilonKey    string  // which key has the epsilon of norms; empty is rms_norm_eps
	epsilon       float64 // 0 is 1e-6
	activationKey string  // which key has the activation; empty is hidden_act
	activation    string  // empty is silu
	tied          bool    // tie_word_embeddings
	means         bool    // norms subtract the mean
	ungated       bool    // the feed-forward part has no gate
}

// attentionBiases reads whether the projections of attention have biases, all four of them.
func attentionBiases(c *Config, s *spec.Spec, fallback bool) {
	s.ProjectionBias = c.Bool("attention_bias", fallback)
	s.OutputBias = s.ProjectionBias
}

// llamaSpec reads what Llama and similar architectures have in common: RMS norms, a gated
// feed-forward part, rotary positions and groups of heads. The rotation is read by [rotate]. An
// error stays in c.
func llamaSpec(c *Config, like llamaLike) *spec.Spec {
	s := &spec.Spec{
		Family:      like.name,
		Layers:      c.Size("Layers", "num_hidden_layers"),
		Heads:       c.Size("Heads", "num_attention_heads"),
		Width:       c.Size("Width", "hidden_size"),
		FeedForward: c.Size("FeedForward", cmp.Or(like.widthKey, "intermediate_size")),
		Vocab:       c.Size("Vocab", "vocab_size"),
		Context:     c.Size("Context", "max_position_embeddings"),
		Positions:   spec.RotaryPositions,
		RMS:         !like.means,
		NormEpsilon: c.Epsilon(cmp.Or(like.epsilonKey, "rms_norm_eps"),
			cmp.Or(like.epsilon, 1e-6)),
		Activation: OneOf(c, cmp.Or(like.activationKey, "hidden_act"),
			cmp.Or(like.activation, "silu"), activations),
		Gated: !like.ungated,
	}
	decoderHead(c, s, like.tied)
	groups := like.groups
	if groups == 0 || c.isNull("num_key_value_heads") {
		groups = s.Heads
	}
	headGroups(c, s, groups)
	if like.headWidth == 0 && !c.Has("head_dim") {
		_ = headWidth(c, s) // c keeps the error
	} else {
		s.HeadWidth = c.SizeOr(like.headWidth, "HeadWidth", "head_dim")
	}
	return s
}

// llamaWeights are the tensors of Llama and similar architectures.
var llamaWeights = []Weight{
	{"embedding", "embed_tokens.weight", AsIs},
	{"blocks.%d.attention-norm.gain", "layers.%d.input_layernorm.weight", AsIs},
	{"blocks.%d.attention-norm.bias", "layers.%d.input_layernorm.bias", AsIs},
	{"blocks.%d.query.weight", "layers.%d.self_attn.q_proj.weight", Transposed},
	{"blocks.%d.query.bias", "layers.%d.self_attn.q_proj.bias", AsIs},
	{"blocks.%d.key.weight", "layers.%d.self_attn.k_proj.weight", Transposed},
	{"blocks.%d.key.bias", "layers.%d.self_attn.k_proj.bias", AsIs},
	{"blocks.%d.value.weight", "layers.%d.self_attn.v_proj.weight", Transposed},
	{"blocks.%d.value.bias", "layers.%d.self_attn.v_proj.bias", AsIs},
	{"blocks.%d.query-norm.gain", "layers.%d.self_attn.q_norm.weight", AsIs},
	{"blocks.%d.key-norm.gain", "layers.%d.self_attn.k_norm.weight", AsIs},
	{"blocks.%d.output.weight", "layers.%d.self_attn.o_proj.weight", Transposed},
	{"blocks.%d.output.bias", "layers.%d.self_attn.o_proj.bias", AsIs},
	{"blocks.%d.mlp-norm.gain", "layers.%d.post_attention_layernorm.weight", AsIs},
	{"blocks.%d.mlp-norm.bias", "layers.%d.post_attention_layernorm.bias", AsIs},
	{"blocks.%d.gate.weight", "layers.%d.mlp.gate_proj.weight", Transposed},
	{"blocks.%d.gate.bias", "layers.%d.mlp.gate_proj.bias", AsIs},
	{"blocks.%d.up.weight", "layers.%d.mlp.up_proj.weight", Transposed},
	{"blocks.%d.up.bias", "layers.%d.mlp.up_proj.bias", AsIs},
	{"blocks.%d.down.weight", "layers.%d.mlp.down_proj.weight", Transposed},
	{"blocks.%d.down.bias", "layers.%d.mlp.down_proj.bias", AsIs},
	{"blocks.%d.activation.positive", "layers.%d.mlp.act_fn.alpha_p", AsIs},
	{"blocks.%d.activation.negative", "layers.%d.mlp.act_fn.alpha_n", AsIs},
	{"final-norm.gain", "norm.weight", AsIs},
	{"final-norm.bias", "norm.bias", AsIs},
	{"head", "lm_head.weight", AsIs},
}

// renamed returns a table whose tensors have other names: in each name, every old part becomes the
// new one that follows it. Where two old parts begin at the same place, the first counts.
func renamed(table []Weight, oldNew ...string) []Weight {
	table, r := slices.Clone(table), strings.NewReplacer(oldNew...)
	for i := range table {
		table[i].Tensor = r.Replace(table[i].Tensor)
	}
	return table
}

// replaced returns a table in which the parameters of rows come from those rows alone.
func replaced(table []Weight, rows ...Weight) []Weight {
	table = slices.DeleteFunc(slices.Clone(table), func(w Weight) bool {
		return slices.ContainsFunc(rows, func(r Weight) bool { return r.Param == w.Param })
	})
	return append(table, rows...)
}
