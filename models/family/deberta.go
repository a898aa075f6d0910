package family

import (
	"math"
	"slices"
	"strings"

	"github.com/headwater-ml/headwater/models/spec"
)

func init() { Register(debertaV2) }

// debertaV2 is DeBERTa v2 and v3: BERT whose scores also have products with embeddings of
// distances.
var debertaV2 = &Family{
	Name:          "deberta_v2",
	Architectures: []string{"DebertaV2ForMaskedLM", "DebertaV2Model"},
	ModelTypes:    []string{"deberta-v2"},
	Prefixes:      []string{"deberta.", ""},
	Padding:       []int{0},
	Spec: func(c *Config) (*spec.Spec, error) {
		s, terms, err := debertaSpec(c, "deberta_v2")
		if err != nil {
			return s, err
		}
		if n := c.Int(0, "conv_kernel_size"); n > 0 {
			c.fail("conv_kernel_size is %d: a convolution after the first layer is not supported",
				n)
		}
		// Which of two names the tensors of the head have; of the convolution.
		c.ignore("legacy", "conv_act", "conv_groups")
		if terms.Distance = terms.Span; s.Relative == nil {
			return s, c.firstErr()
		}
		terms.Span = c.Int(-1, "position_buckets")
		if terms.Span < 1 {
			terms.Span, terms.Distance = terms.Distance, 0
		}
		terms.Shared = c.Bool("share_att_key", false)
		norms := strings.Split(strings.ToLower(c.String("norm_rel_ebd", "none")), "|")
		terms.Norm = slices.ContainsFunc(norms, func(name string) bool {
			return strings.TrimSpace(name) == "layer_norm"
		})
		return s, c.firstErr()
	},
	Unused: unusedBias("cls.predictions.bias"),
	Weights: slices.Concat(renamed(bertWeights, "self.query", "self.query_proj", "self.key",
		"self.key_proj", "self.value", "self.value_proj"), []Weight{
		{"head-transform.weight", "lm_predictions.lm_head.dense.weight", Transposed},
		{"head-transform.bias", "lm_predictions.lm_head.dense.bias", AsIs},
		{"head-norm.gain", "lm_predictions.lm_head.LayerNorm.weight", AsIs},
		{"head-norm.bias", "lm_predictions.lm_head.LayerNorm.bias", AsIs},
		{"head-bias", "lm_predictions.lm_head.bias", AsIs},
		{"blocks.%d.relative-embeddings", "encoder.rel_embeddings.weight", AsIs},
		{"blocks.%d.relative-norm.gain", "encoder.LayerNorm.weight", AsIs},
		{"blocks.%d.relative-norm.bias", "encoder.LayerNorm.bias", AsIs},
		{
			"blocks.%d.position-key.weight",
			"encoder.layer.%d.attention.self.pos_key_proj.weight", Transposed,
		},
		{"blocks.%d.position-key.bias", "encoder.layer.%d.attention.self.pos_key_proj.bias", AsIs},
		{
			"blocks.%d.position-query.weight",
			"encoder.layer.%d.attention.self.pos_query_proj.weight", Transposed,
		},
		{
			"blocks.%d.position-query.bias",
			"encoder.layer.%d.attention.self.pos_query_proj.bias", AsIs,
		},
	}),
}

// debertaSpec reads what all versions have in common. The terms of the scores are those of the
// spec, or not used.
func debertaSpec(c *Config, name string) (*spec.Spec, *spec.Relative, error) {
	s := encoderSpec(c, name, encoderKeys)
	s.NormEpsilon = c.Epsilon("layer_norm_eps", 1e-7)
	c.setOrigin("TokenTypes", "type_vocab_size")
	s.TokenTypes = c.AtLeast(0, 0, "type_vocab_size")
	for _, key := range []string{"embedding_size", "pooler_hidden_size"} {
		if n := c.Int(s.Width, key); n != s.Width {
			c.fail("%s is %d; it must be hidden_size, %d", key, n, s.Width)
		}
	}
	encoderHead(c, s, s.Activation, OneOf(c, "pooler_hidden_act", "gelu", activations))
	if err := headWidth(c, s); err != nil {
		return s, nil, err
	}
	if n := c.Int(s.HeadWidth, "attention_head_size"); n != s.HeadWidth {
		c.fail("attention_head_size is %d; it must be %d, a part of hidden_size", n, s.HeadWidth)
	}
	kinds := positionTerms(c)
	terms := &spec.Relative{
		Span: c.Int(-1, "max_relative_positions"),
		Keys: slices.Contains(kinds, "c2p"), Queries: slices.Contains(kinds, "p2c"),
	}
	if terms.Span < 1 {
		terms.Span = s.Context
	}
	c.setOrigin("Relative", "max_relative_positions")
	s.ScoreScale = 1 / math.Sqrt(float64(s.HeadWidth*(1+len(kinds))))
	if c.Bool("relative_attention", false) {
		s.Relative = terms
	}
	if !c.Bool("position_biased_input", true) {
		s.Positions, s.Context = spec.NoPositions, 0
	}
	return s, terms, c.firstErr()
}

// positionTerms reads pos_att_type, a list or a text with |, without what is twice.
func positionTerms(c *Config) []string {
	kinds := []string{}
	if text, isText := c.values["pos_att_type"].(string); isText {
		c.value("pos_att_type")
		kinds = strings.Split(strings.ToLower(text), "|")
	} else {
		kinds = c.Strings("pos_att_type")
	}
	for i, kind := range kinds {
		kinds[i] = strings.TrimSpace(kind)
		if kinds[i] != "c2p" && kinds[i] != "p2c" {
			c.fail("pos_att_type has %s; supported are c2p, p2c", shown(kind))
		}
	}
	slices.Sort(kinds)
	return slices.Compact(kinds)
}
