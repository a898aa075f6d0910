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
	Weights: slices.Concat(replaced(encoderWeights,
		Weight{"blocks.%d.query.weight", "encoder.layer.%d.attention.attn.q.weight", Transposed},
		Weight{"blocks.%d.query.bias", "encoder.layer.%d.attention.attn.q.bias", AsIs},
		Weight{"blocks.%d.key.weight", "encoder.layer.%d.attention.attn.k.weight", Transposed},
		Weight{"blocks.%d.key.bias", "encoder.layer.%d.attention.attn.k.bias", AsIs},
		Weight{"blocks.%d.value.weight", "encoder.layer.%d.attention.attn.v.weight", Transposed},
		Weight{"blocks.%d.value.bias", "encoder.layer.%d.attention.attn.v.bias", AsIs},
		Weight{"blocks.%d.output.weight", "encoder.layer.%d.attention.attn.o.weight", Transposed},
		Weight{"blocks.%d.output.bias", "encoder.layer.%d.attention.attn.o.bias", AsIs},
		Weight{
			"blocks.%d.attention-norm.gain", "encoder.layer.%d.attention.LayerNorm.weight",
			AsIs,
		},
		Weight{
			"blocks.%d.attention-norm.bias", "encoder.layer.%d.attention.LayerNorm.bias",
			AsIs,
		},
		Weight{"blocks.%d.relative-bias", "encoder.relative_attention_bias.weight", AsIs},
	), robertaHead),
}
