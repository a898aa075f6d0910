package family

import (
	"slices"

	"github.com/headwater-ml/headwater/models/spec"
)

func init() { Register(mpnet) }

// mpnet is MPNet: RoBERTa whose scores also have a bias that depends on the distance.
var mpnet = &Family{
	Name:          "mpnet",
	Architectures: []string{"MPNetForMaskedLM", "MPNetModel"},
	Prefixes:      []string{"mpnet.", ""},
	Padding:       []int{1},
	Spec: func(c *Config) (*spec.Spec, error) {
		s := encoderSpec(c, "mpnet", encoderKeys)
		s.NormEpsilon = c.Epsilon("layer_norm_eps", encoderEpsilon)
		if n := c.Int(32, "relative_attention_num_buckets"); n != 32 {
			c.fail("relative_attention_num_buckets is %d; it must be 32", n)
		}
		s.RelativeBuckets, s.RelativeDistance = 32, 128 // the reference has no key for the second
		if err := positionsAfter(c, s, 1); err != nil { // whatever pad_token_id says
			return s, err
		}
		encoderHead(c, s, spec.GELU, spec.HyperbolicTangent)
		return s, headWidth(c, s)
	},
	Unused: unusedBias("lm_head.bias"),
	Weights: slices.Concat(renamed(encoderWeights,
		"attention.self.query", "attention.attn.q", "attention.self.key", "attention.attn.k",
		"attention.self.value", "attention.attn.v", "attention.output.dense", "attention.attn.o",
		"attention.output.LayerNorm", "attention.LayerNorm",
	), robertaHead, []Weight{
		{"blocks.%d.relative-bias", "encoder.relative_attention_bias.weight", AsIs},
	}),
}
