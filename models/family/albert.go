package family

import (
	"github.com/headwater-ml/headwater/models/spec"
)

func init() { Register(albert) }

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
	Weights: append(renamed(bertWeights,
		"encoder.layer.%d.", "encoder.albert_layer_groups.0.albert_layers.0.",
		"attention.self.", "attention.", "attention.output.", "attention.",
		"intermediate.dense", "ffn", "output.dense", "ffn_output",
		"output.LayerNorm", "full_layer_layer_norm", "pooler.dense", "pooler",
		"cls.predictions.transform.", "predictions.", "cls.predictions.", "predictions.",
	),
		Weight{
			"embedding-projection.weight", "encoder.embedding_hidden_mapping_in.weight",
			Transposed,
		},
		Weight{"embedding-projection.bias", "encoder.embedding_hidden_mapping_in.bias", AsIs},
	),
}
