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
	Weights: renamed(bertWeights,
		"encoder.layer.%d.attention.self.query", "transformer.layer.%d.attention.q_lin",
		"encoder.layer.%d.attention.self.key", "transformer.layer.%d.attention.k_lin",
		"encoder.layer.%d.attention.self.value", "transformer.layer.%d.attention.v_lin",
		"encoder.layer.%d.attention.output.dense", "transformer.layer.%d.attention.out_lin",
		"encoder.layer.%d.attention.output.LayerNorm", "transformer.layer.%d.sa_layer_norm",
		"encoder.layer.%d.intermediate.dense", "transformer.layer.%d.ffn.lin1",
		"encoder.layer.%d.output.dense", "transformer.layer.%d.ffn.lin2",
		"encoder.layer.%d.output.LayerNorm", "transformer.layer.%d.output_layer_norm",
		"cls.predictions.transform.dense", "vocab_transform",
		"cls.predictions.transform.LayerNorm", "vocab_layer_norm",
		"cls.predictions.decoder", "vocab_projector", "cls.predictions.bias",
		"vocab_projector.bias", "pooler.dense", "pre_classifier",
	),
}
