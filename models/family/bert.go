package family

import (
	"github.com/headwater-ml/headwater/models/spec"
)

func init() { Register(bert) }

// bert is BERT: an encoder with norms after the residual.
var bert = &Family{
	Name:          "bert",
	Architectures: []string{"BertForMaskedLM", "BertForPreTraining", "BertModel"},
	Prefixes:      []string{"bert.", ""},
	Padding:       []int{0},
	Spec: func(c *Config) (*spec.Spec, error) {
		s := bertSpec(c, "bert")
		encoderHead(c, s, s.Activation, spec.HyperbolicTangent)
		return s, headWidth(c, s)
	},
	Unused:  unusedBias("cls.predictions.bias"),
	Weights: bertWeights,
}

// bertWeights are the tensors of the body and the heads of BERT.
var bertWeights = append([]Weight{
	{"head-transform.weight", "cls.predictions.transform.dense.weight", Transposed},
	{"head-transform.bias", "cls.predictions.transform.dense.bias", AsIs},
	{"head-norm.gain", "cls.predictions.transform.LayerNorm.weight", AsIs},
	{"head-norm.bias", "cls.predictions.transform.LayerNorm.bias", AsIs},
	{"head", "cls.predictions.decoder.weight", AsIs},
	{"head-bias", "cls.predictions.bias", AsIs},
	{"head-bias", "cls.predictions.decoder.bias", AsIs},
	{"classifier-dense.weight", "pooler.dense.weight", Transposed},
	{"classifier-dense.bias", "pooler.dense.bias", AsIs},
	{"classifier.weight", "classifier.weight", Transposed},
	{"classifier.bias", "classifier.bias", AsIs},
}, encoderWeights...)
