package family

import (
	"math"
	"slices"
	"strings"

	"github.com/headwater-ml/headwater/models/spec"
)

func init() {
	Register(t5)
	Register(umt5)
	Register(encoderOf(t5, "T5EncoderModel", "MT5EncoderModel"))
	Register(encoderOf(umt5, "UMT5EncoderModel"))
}

// t5 is T5, with its versions 1.1 and Flan, and mT5: two stacks with biases for distances and norms
// by the root mean square. Scores of attention are not divided by √E.
var t5 = &Family{
	Name:       "t5",
	ModelTypes: []string{"mt5"},
	Architectures: []string{
		"T5ForConditionalGeneration", "T5Model", "MT5ForConditionalGeneration", "MT5Model",
	},
	OwnHead: true,
	// Checkpoints of the first T5 have biases that the attention to the source does not add.
	Buffers: []string{"layer.1.EncDecAttention.relative_attention_bias.weight"},
	Spec:    func(c *Config) (*spec.Spec, error) { return t5Spec(c, "feed_forward_proj") },
	Weights: slices.Concat([]Weight{
		{"embedding", "shared.weight", AsIs},
		{"embedding", "encoder.embed_tokens.weight", AsIs},
		{"embedding", "decoder.embed_tokens.weight", AsIs},
		{"head", "lm_head.weight", AsIs},
		{"final-norm.gain", "decoder.final_layer_norm.weight", AsIs},
		{"crossing.%d.memory-norm.gain", "encoder.final_layer_norm.weight", AsIs},
		{
			"encoding.%d.relative-bias",
			"encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight", AsIs,
		},
		{
			"decoding.%d.relative-bias",
			"decoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight", AsIs,
		},
	},
		t5Attention("encoding", "encoder.block.%d.layer.0.", "SelfAttention"),
		t5FeedForward("encoding", "encoder.block.%d.layer.1."),
		t5Attention("decoding", "decoder.block.%d.layer.0.", "SelfAttention"),
		t5Attention("crossing", "decoder.block.%d.layer.1.", "EncDecAttention"),
		t5FeedForward("crossing", "decoder.block.%d.layer.2."),
	),
}

// t5Spec reads the configuration of T5 and the models with its names. activation is the key of the
// feed-forward part's.
func t5Spec(c *Config, activation string) (*spec.Spec, error) {
	s := &spec.Spec{
		Family:           "t5",
		Heads:            c.Size("Heads", "num_heads"),
		Width:            c.Size("Width", "d_model"),
		HeadWidth:        c.Size("HeadWidth", "d_kv"),
		FeedForward:      c.Size("FeedForward", "d_ff"),
		Vocab:            c.Size("Vocab", "vocab_size"),
		Positions:        spec.NoPositions,
		RelativeBuckets:  c.AtLeast(4, 32, "relative_attention_num_buckets"),
		RelativeDistance: c.AtLeast(1, 128, "relative_attention_max_distance"),
		RMS:              true,
		NormEpsilon:      c.Epsilon("layer_norm_epsilon", 1e-6),
		ScoreScale:       1,
		MemoryNorm:       true,
	}
	c.setOrigin("RelativeBuckets", "relative_attention_num_buckets")
	c.setOrigin("RelativeDistance", "relative_attention_max_distance")
	blocks := c.Size("Layers", "num_layers")
	c.AllowNull("num_decoder_layers")
	stacks(s, blocks, c.SizeOr(blocks, "Layers", "num_decoder_layers"))
	usual, _ := c.fallback(activation) // mT5 has another one than T5
	usualText, _ := usual.(string)
	name, gated := strings.CutPrefix(c.String(activation, usualText), "gated-")
	if s.Gated = gated; gated && name == "gelu" {
		name = "gelu_new"
	}
	var ok bool
	if s.Activation, ok = activations[name]; !ok {
		c.fail("%s is %s; what follows gated- must be one of %s", activation,
			shown(c.values[activation]), strings.Join(sortedKeys(activations), ", "))
	}
	s.TiedHead = c.Bool("tie_word_embeddings", true)
	// A head of its own is not scaled, nor is that of mT5. Version 5 of the reference writes it
	// down.
	if c.Bool("scale_decoder_outputs", s.TiedHead && c.values["model_type"] != "mt5") {
		s.LogitScale = 1 / math.Sqrt(float64(max(s.Width, 1)))
	}
	c.ignore("is_decoder") // each stack says it itself
	targetEnds(c, s, 0)
	return s, c.firstErr()
}

// umt5 is UMT5: T5 with biases for distances in every block.
var umt5 = func() *Family {
	f := *t5
	f.Name, f.ModelTypes, f.Weights = "umt5", nil, slices.Clone(t5.Weights)
	f.Architectures = []string{"UMT5ForConditionalGeneration", "UMT5Model"}
	for i, w := range f.Weights {
		if strings.HasSuffix(w.Param, "relative-bias") {
			f.Weights[i].Tensor = strings.Replace(w.Tensor, "block.0.", "block.%d.", 1)
		}
	}
	read := t5.Spec
	f.Spec = func(c *Config) (*spec.Spec, error) {
		s, err := read(c)
		s.Family = "umt5"
		s.LogitScale = 1 / math.Sqrt(float64(max(s.Width, 1))) // version 5 always scales
		return s, err
	}
	return &f
}()

// encoderOf is the encoder of a family alone, without a head.
func encoderOf(whole *Family, architectures ...string) *Family {
	f := &Family{
		Name: whole.Name + "_encoder", ModelTypes: whole.modelTypes(), Architectures: architectures,
		Spec: func(c *Config) (*spec.Spec, error) {
			s, err := whole.Spec(c)
			if err != nil {
				return s, err
			}
			s.Family = whole.Name + "_encoder"
			s.Layers, s.Encoder, s.Bidirectional, s.MemoryNorm = s.Encoder, 0, true, false
			s.TargetStart, s.TargetFirst, s.Head, s.LogitScale = 0, nil, spec.NoHead, 0
			return s, nil
		},
	}
	for _, w := range whole.Weights {
		rest, inStack := strings.CutPrefix(w.Param, "encoding.")
		switch {
		case inStack:
			w.Param = "blocks." + rest
		case strings.HasPrefix(w.Param, "crossing.%d.memory-norm"):
			w.Param = strings.Replace(w.Param, "crossing.%d.memory", "final", 1)
		case w.Param != "embedding" || strings.HasPrefix(w.Tensor, "decoder."):
			continue
		}
		f.Weights = append(f.Weights, w)
	}
	return f
}

// t5Attention are the tensors of an attention in a stack.
func t5Attention(stack, layer, attention string) []Weight {
	part := layer + attention
	return []Weight{
		{stack + ".%d.attention-norm.gain", layer + "layer_norm.weight", AsIs},
		{stack + ".%d.query.weight", part + ".q.weight", Transposed},
		{stack + ".%d.key.weight", part + ".k.weight", Transposed},
		{stack + ".%d.value.weight", part + ".v.weight", Transposed},
		{stack + ".%d.output.weight", part + ".o.weight", Transposed},
	}
}

// t5FeedForward are the tensors of a feed-forward part in a stack, gated or not.
func t5FeedForward(stack, layer string) []Weight {
	part := layer + "DenseReluDense."
	return []Weight{
		{stack + ".%d.mlp-norm.gain", layer + "layer_norm.weight", AsIs},
		{stack + ".%d.gate.weight", part + "wi_0.weight", Transposed},
		{stack + ".%d.up.weight", part + "wi_1.weight", Transposed},
		{stack + ".%d.up.weight", part + "wi.weight", Transposed},
		{stack + ".%d.down.weight", part + "wo.weight", Transposed},
	}
}
