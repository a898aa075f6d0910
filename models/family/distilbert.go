package family

import (
	"github.com/headwater-ml/headwater/models/spec"
)

func init() { Register(distilBERT) }

// distilBERT is DistilBERT: BERT without token types, and with its own names.
var distilBERT = &Family{
	Name:          "distilbert",
	Architectures: []string{"DistilBertForMaskedLM", "DistilBertModel"},
	Prefixes:      []string{"distilbert.", ""},
	Padding:       []int{0},
	Spec: func(c *Config) (*spec.Spec, error) {
		s := encoderSpec(c, "distilbert",
			keys{"n_layers", "n_heads", "dim", "hidden_dim", "activation"})
		encoderHead(c, s, s.Activation, spec.ReLU)
		return s, headWidth(c, s)
	},
	Weights: []Weight{
		{"embedding", "embeddings.word_embeddings.weight", AsIs},
		{"positions", "embeddings.position_embeddings.weight", AsIs},
		{"embedding-norm.gain", "embeddings.LayerNorm.weight", AsIs},
		{"embedding-norm.bias", "embeddings.LayerNorm.bias", AsIs},
		{"blocks.%d.query.weight", "transformer.layer.%d.attention.q_lin.weight", Transposed},
		{"blocks.%d.query.bias", "transformer.layer.%d.attention.q_lin.bias", AsIs},
		{"blocks.%d.key.weight", "transformer.layer.%d.attention.k_lin.weight", Transposed},
		{"blocks.%d.key.bias", "transformer.layer.%d.attention.k_lin.bias", AsIs},
		{"blocks.%d.value.weight", "transformer.layer.%d.attention.v_lin.weight", Transposed},
		{"blocks.%d.value.bias", "transformer.layer.%d.attention.v_lin.bias", AsIs},
		{"blocks.%d.output.weight", "transformer.layer.%d.attention.out_lin.weight", Transposed},
		{"blocks.%d.output.bias", "transformer.layer.%d.attention.out_lin.bias", AsIs},
		{"blocks.%d.attention-norm.gain", "transformer.layer.%d.sa_layer_norm.weight", AsIs},
		{"blocks.%d.attention-norm.bias", "transformer.layer.%d.sa_layer_norm.bias", AsIs},
		{"blocks.%d.up.weight", "transformer.layer.%d.ffn.lin1.weight", Transposed},
		{"blocks.%d.up.bias", "transformer.layer.%d.ffn.lin1.bias", AsIs},
		{"blocks.%d.down.weight", "transformer.layer.%d.ffn.lin2.weight", Transposed},
		{"blocks.%d.down.bias", "transformer.layer.%d.ffn.lin2.bias", AsIs},
		{"blocks.%d.mlp-norm.gain", "transformer.layer.%d.output_layer_norm.weight", AsIs},
		{"blocks.%d.mlp-norm.bias", "transformer.layer.%d.output_layer_norm.bias", AsIs},
		{"head-transform.weight", "vocab_transform.weight", Transposed},
		{"head-transform.bias", "vocab_transform.bias", AsIs},
		{"head-norm.gain", "vocab_layer_norm.weight", AsIs},
		{"head-norm.bias", "vocab_layer_norm.bias", AsIs},
		{"head", "vocab_projector.weight", AsIs},
		{"head-bias", "vocab_projector.bias", AsIs},
		{"classifier-dense.weight", "pre_classifier.weight", Transposed},
		{"classifier-dense.bias", "pre_classifier.bias", AsIs},
		{"classifier.weight", "classifier.weight", Transposed},
		{"classifier.bias", "classifier.bias", AsIs},
	},
}
