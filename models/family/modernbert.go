package family

import (
	"github.com/headwater-ml/headwater/models/spec"
)

func init() { Register(modernBERT) }

// modernBERT is ModernBERT: an encoder with norms before each part, rotary positions and gates. Two
// layers of three have a window, and a rotation of their own.
var modernBERT = &Family{
	Name:          "modernbert",
	Architectures: []string{"ModernBertForMaskedLM", "ModernBertModel"},
	Prefixes:      []string{"model.", ""},
	Padding:       []int{50283},
	Spec: func(c *Config) (*spec.Spec, error) {
		s := encoderSpec(c, "modernbert", keys{
			"num_hidden_layers", "num_attention_heads", "hidden_size", "intermediate_size",
			"hidden_activation",
		})
		s.Positions, s.Order, s.NoFinalNorm = spec.RotaryPositions, spec.PreNorm, false
		s.NoFirstNorm, s.Gated = true, true
		s.NormEpsilon = c.Epsilon("norm_eps", 1e-5)
		s.NoNormBias = !c.Bool("norm_bias", false)
		attentionBiases(c, s, false)
		s.MLPBias = c.Bool("mlp_bias", false)
		if err := headWidth(c, s); err != nil {
			return s, err
		}
		every := c.Every(3, "global_attn_every_n_layers", "layer_types")
		window := c.AtLeast(2, 128, "local_attention")/2 + 1
		s.Windows = windows(s.Layers, window, layerTypes(c, s.Layers, window,
			func(l int) bool { return l%every != 0 }, ""))
		s.Rotary, s.LocalRotary = layerRope(c, s, "global_rope_theta", 160000, "local_rope_theta")
		// For training, and how the same numbers are computed; the first is of version 4.
		c.ignore("repad_logits_with_grad", "deterministic_flash_attn", "sparse_prediction",
			"sparse_pred_ignore_index")
		modernHead(c, s)
		return s, c.firstErr()
	},
	Weights: replaced(renamed(llamaWeights,
		"embed_tokens", "embeddings.tok_embeddings", "input_layernorm", "attn_norm",
		"self_attn.o_proj", "attn.Wo", "post_attention_layernorm", "mlp_norm",
		"mlp.down_proj", "mlp.Wo",
	), []Weight{
		{"embedding-norm.gain", "embeddings.norm.weight", AsIs},
		{"embedding-norm.bias", "embeddings.norm.bias", AsIs},
		{"blocks.%d.query.weight", "layers.%d.attn.Wqkv.weight", QueryRows},
		{"blocks.%d.query.bias", "layers.%d.attn.Wqkv.bias", QueryRows},
		{"blocks.%d.key.weight", "layers.%d.attn.Wqkv.weight", KeyRows},
		{"blocks.%d.key.bias", "layers.%d.attn.Wqkv.bias", KeyRows},
		{"blocks.%d.value.weight", "layers.%d.attn.Wqkv.weight", ValueRows},
		{"blocks.%d.value.bias", "layers.%d.attn.Wqkv.bias", ValueRows},
		{"blocks.%d.gate.weight", "layers.%d.mlp.Wi.weight", GateRows},
		{"blocks.%d.gate.bias", "layers.%d.mlp.Wi.bias", GateRows},
		{"blocks.%d.up.weight", "layers.%d.mlp.Wi.weight", UpRows},
		{"blocks.%d.up.bias", "layers.%d.mlp.Wi.bias", UpRows},
		{"final-norm.gain", "final_norm.weight", AsIs},
		{"final-norm.bias", "final_norm.bias", AsIs},
		{"head-transform.weight", "head.dense.weight", Transposed},
		{"head-transform.bias", "head.dense.bias", AsIs},
		{"head-norm.gain", "head.norm.weight", AsIs},
		{"head-norm.bias", "head.norm.bias", AsIs},
		{"head", "decoder.weight", AsIs},
		{"head-bias", "decoder.bias", AsIs},
		{"classifier.weight", "classifier.weight", Transposed},
		{"classifier.bias", "classifier.bias", AsIs},
	}...),
}

// modernHead sets the head, which has a dense layer and a norm before classes, too.
func modernHead(c *Config, s *spec.Spec) {
	act := OneOf(c, "classifier_activation", "gelu", activations)
	encoderHead(c, s, act, act)
	bias, pooling := c.Bool("decoder_bias", true), c.String("classifier_pooling", "cls")
	s.HeadTransform, s.ClassifierDense = s.Head != spec.NoHead, false
	s.HeadDenseUnbiased = !c.Bool("classifier_bias", false)
	s.HeadBias = s.Head != spec.NoHead && (s.Head != spec.LanguageHead || bias)
	if pooling != "cls" && pooling != "mean" {
		c.failValue("classifier_pooling", pooling, `"cls" or "mean"`)
	}
	s.MeanPooled = s.Head == spec.ClassifierHead && pooling == "mean"
}
