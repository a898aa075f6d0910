package family

import (
	"strings"

	"github.com/headwater-ml/headwater/models/spec"
)

func init() { Register(electra) }

// electra is ELECTRA: the body of BERT with embeddings of another width. Its generator is a masked
// language model; its discriminator scores each token as replaced or not.
var electra = &Family{
	Name:          "electra",
	Architectures: []string{"ElectraForMaskedLM", "ElectraForPreTraining", "ElectraModel"},
	Prefixes:      []string{"electra.", ""},
	Padding:       []int{0},
	Spec: func(c *Config) (*spec.Spec, error) {
		s := bertSpec(c, "electra")
		s.EmbeddingWidth = c.SizeOr(128, "EmbeddingWidth", "embedding_size")
		encoderHead(c, s, spec.GELU, spec.GELU)
		for _, a := range c.Strings("architectures") {
			if a == "ElectraForPreTraining" {
				s.Head = spec.TokenHead
				s.HeadTransform, s.TiedHead, s.HeadBias = false, false, true
				s.Classes, s.ClassifierDense, s.HeadActivation = 1, true, s.Activation
				s.Scoring = spec.AnyOf
			}
		}
		return s, headWidth(c, s)
	},
	Unused: func(s *spec.Spec, tensor string) bool {
		// A checkpoint may have the head of another task beside its own.
		if s.Discriminates() {
			return strings.HasPrefix(tensor, "classifier.")
		}
		return strings.HasPrefix(tensor, "discriminator_predictions.")
	},
	Weights: append([]Weight{
		{"embedding-projection.weight", "embeddings_project.weight", Transposed},
		{"embedding-projection.bias", "embeddings_project.bias", AsIs},
		{"head-transform.weight", "generator_predictions.dense.weight", Transposed},
		{"head-transform.bias", "generator_predictions.dense.bias", AsIs},
		{"head-norm.gain", "generator_predictions.LayerNorm.weight", AsIs},
		{"head-norm.bias", "generator_predictions.LayerNorm.bias", AsIs},
		{"head", "generator_lm_head.weight", AsIs},
		{"head-bias", "generator_lm_head.bias", AsIs},
		{"classifier-dense.weight", "classifier.dense.weight", Transposed},
		{"classifier-dense.bias", "classifier.dense.bias", AsIs},
		{"classifier-dense.weight", "discriminator_predictions.dense.weight", Transposed},
		{"classifier-dense.bias", "discriminator_predictions.dense.bias", AsIs},
		{"classifier.weight", "classifier.out_proj.weight", Transposed},
		{"classifier.bias", "classifier.out_proj.bias", AsIs},
		{"classifier.weight", "discriminator_predictions.dense_prediction.weight", Transposed},
		{"classifier.bias", "discriminator_predictions.dense_prediction.bias", AsIs},
	}, encoderWeights...),
}
