package family

import (
	"github.com/headwater-ml/headwater/models/spec"
)

func init() { Register(albert) }

// albertLayer is the prefix of the tensors of all layers.
const albertLayer = "encoder.albert_layer_groups.0.albert_layers.0."

// albert is ALBERT: BERT with embeddings of another width and the same weights in every layer.
var albert = &Family{
	Name:          "albert",
	Architectures: []string{"AlbertForMaskedLM", "AlbertForPreTraining", "AlbertModel"},
	Prefixes:      []string{"albert.", ""},
	Padding:       []int{0},
	Spec: func(c *Config) (*spec.Spec, error) {
		s := bertSpec(c, "albert")
		s.EmbeddingWidth = c.SizeOr(128, "EmbeddingWidth", "embedding_size")
		if s.EmbeddingWidth == s.Width {
			c.fail("%s is hidden_size too; a projection of that shape is not supported",
				c.keyOf("EmbeddingWidth"))
		}
		for _, key := range []string{"num_hidden_groups", "inner_group_num"} {
			if n := c.AtLeast(1, 1, key); n != 1 {
				c.fail("%s is %d; it must be 1, so that all layers have the same weights", key, n)
			}
		}
		encoderHead(c, s, s.Activation, spec.HyperbolicTangent)
		return s, headWidth(c, s)
	},
	Unused: unusedBias("predictions.bias"),
	Weights: replaced(encoderWeights,
		Weight{
			"embedding-projection.weight", "encoder.embedding_hidden_mapping_in.weight",
			Transposed,
		},
		Weight{"embedding-projection.bias", "encoder.embedding_hidden_mapping_in.bias", AsIs},
		Weight{"blocks.%d.query.weight", albertLayer + "attention.query.weight", Transposed},
		Weight{"blocks.%d.query.bias", albertLayer + "attention.query.bias", AsIs},
		Weight{"blocks.%d.key.weight", albertLayer + "attention.key.weight", Transposed},
		Weight{"blocks.%d.key.bias", albertLayer + "attention.key.bias", AsIs},
		Weight{"blocks.%d.value.weight", albertLayer + "attention.value.weight", Transposed},
		Weight{"blocks.%d.value.bias", albertLayer + "attention.value.bias", AsIs},
		Weight{"blocks.%d.output.weight", albertLayer + "attention.dense.weight", Transposed},
		Weight{"blocks.%d.output.bias", albertLayer + "attention.dense.bias", AsIs},
		Weight{
			"blocks.%d.attention-norm.gain", albertLayer + "attention.LayerNorm.weight",
			AsIs,
		},
		Weight{
			"blocks.%d.attention-norm.bias", albertLayer + "attention.LayerNorm.bias",
			AsIs,
		},
		Weight{"blocks.%d.up.weight", albertLayer + "ffn.weight", Transposed},
		Weight{"blocks.%d.up.bias", albertLayer + "ffn.bias", AsIs},
		Weight{"blocks.%d.down.weight", albertLayer + "ffn_output.weight", Transposed},
		Weight{"blocks.%d.down.bias", albertLayer + "ffn_output.bias", AsIs},
		Weight{"blocks.%d.mlp-norm.gain", albertLayer + "full_layer_layer_norm.weight", AsIs},
		Weight{"blocks.%d.mlp-norm.bias", albertLayer + "full_layer_layer_norm.bias", AsIs},
		Weight{"head-transform.weight", "predictions.dense.weight", Transposed},
		Weight{"head-transform.bias", "predictions.dense.bias", AsIs},
		Weight{"head-norm.gain", "predictions.LayerNorm.weight", AsIs},
		Weight{"head-norm.bias", "predictions.LayerNorm.bias", AsIs},
		Weight{"head", "predictions.decoder.weight", AsIs},
		Weight{"head-bias", "predictions.bias", AsIs},
		Weight{"head-bias", "predictions.decoder.bias", AsIs},
		Weight{"classifier-dense.weight", "pooler.weight", Transposed},
		Weight{"classifier-dense.bias", "pooler.bias", AsIs},
		Weight{"classifier.weight", "classifier.weight", Transposed},
		Weight{"classifier.bias", "classifier.bias", AsIs},
	),
}
