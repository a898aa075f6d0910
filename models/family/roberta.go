package family

import (
	"slices"

	"github.com/headwater-ml/headwater/models/spec"
)

func init() { Register(roberta) }

// roberta is RoBERTa, XLM-R and CamemBERT: the body of BERT with its own heads. Positions begin
// after the id of the padding token, and padding tokens do not count.
var roberta = &Family{
	Name: "roberta",
	Architectures: []string{
		"RobertaForMaskedLM", "RobertaModel", "XLMRobertaForMaskedLM", "XLMRobertaModel",
		"CamembertForMaskedLM", "CamembertModel",
	},
	ModelTypes: []string{"xlm-roberta", "camembert"},
	Prefixes:   []string{"roberta.", ""},
	Padding:    []int{1},
	Spec: func(c *Config) (*spec.Spec, error) {
		s := bertSpec(c, "roberta")
		if err := positionsAfter(c, s, c.Int(1, "pad_token_id")); err != nil {
			return s, err
		}
		encoderHead(c, s, spec.GELU, spec.HyperbolicTangent)
		return s, headWidth(c, s)
	},
	Unused:  unusedBias("lm_head.bias"),
	Weights: slices.Concat(robertaHead, encoderWeights),
}

// robertaHead are the weights of the heads of RoBERTa, which MPNet has too.
var robertaHead = []Weight{
	{"head-transform.weight", "lm_head.dense.weight", Transposed},
	{"head-transform.bias", "lm_head.dense.bias", AsIs},
	{"head-norm.gain", "lm_head.layer_norm.weight", AsIs},
	{"head-norm.bias", "lm_head.layer_norm.bias", AsIs},
	{"head", "lm_head.decoder.weight", AsIs},
	{"head-bias", "lm_head.bias", AsIs},
	{"head-bias", "lm_head.decoder.bias", AsIs},
	{"classifier-dense.weight", "classifier.dense.weight", Transposed},
	{"classifier-dense.bias", "classifier.dense.bias", AsIs},
	{"classifier.weight", "classifier.out_proj.weight", Transposed},
	{"classifier.bias", "classifier.out_proj.bias", AsIs},
}

// positionsAfter makes positions begin after the id of the padding token, which has none.
func positionsAfter(c *Config, s *spec.Spec, pad int) error {
	if pad < 0 || pad >= s.Context-1 {
		c.fail("pad_token_id is %d; it must be from 0 to %d, because positions begin after "+
			"it, and there are as many as %s", pad, s.Context-2,
			c.keyOf("Context"))
		return c.firstErr()
	}
	s.SkipPosition, s.SkipID, s.PositionOffset = true, pad, pad+1
	s.Context -= s.PositionOffset
	return nil
}

// unusedBias returns what [Family.Unused] is where the head adds decoder.bias, which is the same
// tensor as the bias of that name only if the head is tied.
func unusedBias(name string) func(*spec.Spec, string) bool {
	return func(s *spec.Spec, tensor string) bool { return !s.TiedHead && tensor == name }
}
