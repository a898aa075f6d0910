package family

import (
	"cmp"
	"math"
	"slices"

	"github.com/headwater-ml/headwater/models/spec"
)

func init() {
	Register(bart)
	Register(mbart)
	Register(marian)
	Register(pegasus)
	Register(m2m100)
	Register(blenderbot)
	Register(plbart)
	Register(mvp)
}

// bartLike is what differs between BART and the models with its names.
type bartLike struct {
	name string
	// start is the default of decoder_start_token_id.
	start int
	// before is whether norms come before both parts, with one more after each stack.
	before bool
	// normed is whether a norm follows the embedding.
	normed bool
	// offset is where the table of positions begins.
	offset int
	// scaled is the default of scale_embedding.
	scaled bool
	// context reads how many tokens a text may have, if that is not max_position_embeddings.
	context func(c *Config, s *spec.Spec)
}

// bartSpec reads the configuration of BART and the models with its names.
func bartSpec(c *Config, b bartLike) (*spec.Spec, error) {
	s := &spec.Spec{
		Family:         b.name,
		Heads:          sameInStacks(c, "Heads", "attention_heads"),
		FeedForward:    c.Size("FeedForward", "decoder_ffn_dim"),
		Width:          c.Size("Width", "d_model"),
		Vocab:          c.Size("Vocab", "vocab_size"),
		Positions:      spec.LearnedPositions,
		PositionOffset: b.offset,
		EmbeddingNorm:  b.normed,
		NormEpsilon:    1e-5, // the reference has no key for it
		Activation:     OneOf(c, "activation_function", "gelu", activations),
		ProjectionBias: true, OutputBias: true, MLPBias: true,
		HeadBias: b.name != "m2m_100",
	}
	if b.context != nil {
		b.context(c, s)
	} else {
		s.Context = c.Size("Context", "max_position_embeddings")
	}
	stacks(s, c.Size("Layers", "encoder_layers"), c.Size("Layers", "decoder_layers"))
	if n := c.Size("EncoderFeedForward", "encoder_ffn_dim"); n != s.FeedForward {
		s.EncoderFeedForward = n
	}
	if s.MemoryNorm = b.before; !b.before {
		s.Order, s.NoFinalNorm = spec.PostNorm, true
	}
	if c.Bool("scale_embedding", b.scaled) {
		s.EmbeddingScale = math.Sqrt(float64(s.Width))
	}
	s.TiedHead = c.Bool("tie_word_embeddings", true)
	targetEnds(c, s, b.start)
	return s, headWidth(c, s)
}

// bartFamily is a family with BART's names.
func bartFamily(class string, b bartLike, positions ...Weight) *Family {
	return &Family{
		Name:          b.name,
		Architectures: []string{class + "ForConditionalGeneration", class + "Model"},
		Prefixes:      []string{"model.", ""},
		Buffers:       []string{"embed_positions.weights"},
		OwnSource:     true,
		Unused: func(s *spec.Spec, tensor string) bool {
			return s.SourceVocab > 0 && tensor == "shared.weight"
		},
		Spec:    func(c *Config) (*spec.Spec, error) { return bartSpec(c, b) },
		Weights: slices.Concat(bartWeights, positions),
	}
}

// tables are the tables of positions that a checkpoint has.
var tables = []Weight{
	{"positions", "encoder.embed_positions.weight", AsIs},
	{"target-positions", "decoder.embed_positions.weight", AsIs},
}

// bart is BART: two stacks with norms after the residual and tables of positions.
var bart = bartFamily("Bart", bartLike{name: "bart", start: 2, normed: true, offset: 2}, tables...)

// mbart is mBART: BART with norms before both parts and one after each stack.
var mbart = bartFamily("MBart",
	bartLike{name: "mbart", start: 2, before: true, normed: true, offset: 2}, tables...)

// pegasus is Pegasus: mBART with positions that are computed and no norm after the embedding.
var pegasus = bartFamily("Pegasus", bartLike{name: "pegasus", before: true}, waves...)

// m2m100 is M2M100 and NLLB: Pegasus with other sines and cosines. Positions count from the one
// after pad_token_id, and padding in the source has none.
var m2m100 = func() *Family {
	f := bartFamily("M2M100", bartLike{name: "m2m_100", start: 2, before: true, scaled: true},
		Weight{"positions", "encoder.embed_positions.weights", Sinusoids},
		Weight{"target-positions", "decoder.embed_positions.weights", Sinusoids})
	read := f.Spec
	f.Spec = func(c *Config) (*spec.Spec, error) {
		s, err := read(c)
		pad := c.AtLeast(0, 1, "pad_token_id")
		c.setOrigin("PositionOffset", "pad_token_id")
		s.SkipPosition, s.SkipID = true, pad
		if s.PositionOffset = pad + 1; s.TargetStart == pad {
			c.fail("decoder_start_token_id and pad_token_id are both %d; positions leave out "+
				"padding, so that a target must begin with another token", pad)
		}
		return s, cmp.Or(err, c.firstErr())
	}
	return f
}()

// blenderbot is Blenderbot: mBART without a norm after the embedding.
var blenderbot = bartFamily("Blenderbot", bartLike{name: "blenderbot", start: 1, before: true},
	tables...)

// plbart is PLBart: BART for code.
var plbart = bartFamily("PLBart",
	bartLike{name: "plbart", start: 2, normed: true, offset: 2, scaled: true}, tables...)

// mvp is MVP: BART, but for prompts that take the place of fine-tuning.
var mvp = func() *Family {
	f := bartFamily("Mvp", bartLike{name: "mvp", start: 2, normed: true, offset: 2}, tables...)
	read := f.Spec
	f.Spec = func(c *Config) (*spec.Spec, error) {
		c.Only("use_prompt", false)
		return read(c)
	}
	return f
}()

// marian is Marian (OPUS-MT): BART with positions that are computed and no norm after the
// embedding.
var marian = func() *Family {
	f := bartFamily("Marian", bartLike{name: "marian", start: 58100}, waves...)
	f.Architectures[0] = "MarianMTModel"
	read := f.Spec
	f.Spec = func(c *Config) (*spec.Spec, error) {
		s, err := read(c)
		c.AllowNull("decoder_vocab_size")
		if c.Bool("share_encoder_decoder_embeddings", true) {
			if n := c.Int(s.Vocab, "decoder_vocab_size"); n != s.Vocab {
				c.remark("decoder_vocab_size is %d and was ignored: source and target share one "+
					"vocabulary of vocab_size %d", n, s.Vocab)
			}
		} else {
			c.setOrigin("SourceVocab", "vocab_size")
			s.Vocab, s.SourceVocab = c.SizeOr(s.Vocab, "Vocab", "decoder_vocab_size"), s.Vocab
		}
		return s, cmp.Or(err, c.firstErr())
	}
	return f
}()

// waves are tables of positions that are computed where a checkpoint has none.
var waves = slices.Concat(tables, []Weight{
	{"positions", "", Waves},
	{"target-positions", "", Waves},
})

// bartWeights are the tensors of BART and the models with its names, without positions.
var bartWeights = slices.Concat(
	[]Weight{
		{"embedding", "shared.weight", AsIs},
		{"embedding", "encoder.embed_tokens.weight", AsIs},
		{"embedding", "decoder.embed_tokens.weight", AsIs},
		{"source-embedding", "encoder.embed_tokens.weight", AsIs},
		{"target-embedding", "decoder.embed_tokens.weight", AsIs},
		{"embedding-norm.gain", "encoder.layernorm_embedding.weight", AsIs},
		{"embedding-norm.bias", "encoder.layernorm_embedding.bias", AsIs},
		{"target-embedding-norm.gain", "decoder.layernorm_embedding.weight", AsIs},
		{"target-embedding-norm.bias", "decoder.layernorm_embedding.bias", AsIs},
		{"crossing.%d.memory-norm.gain", "encoder.layer_norm.weight", AsIs},
		{"crossing.%d.memory-norm.bias", "encoder.layer_norm.bias", AsIs},
		{"final-norm.gain", "decoder.layer_norm.weight", AsIs},
		{"final-norm.bias", "decoder.layer_norm.bias", AsIs},
		{"head", "lm_head.weight", AsIs},
		{"head-bias", "final_logits_bias", RowOrZeros},
	},
	bartAttention("encoding", "encoder.layers.%d.", "self_attn"),
	bartFeedForward("encoding", "encoder.layers.%d."),
	bartAttention("decoding", "decoder.layers.%d.", "self_attn"),
	bartAttention("crossing", "decoder.layers.%d.", "encoder_attn"),
	bartFeedForward("crossing", "decoder.layers.%d."),
)

// bartAttention are the tensors of an attention in a stack.
func bartAttention(stack, layer, attention string) []Weight {
	return bartParts(stack, layer, "attention-norm", attention+"_layer_norm", [][2]string{
		{"query", attention + ".q_proj"}, {"key", attention + ".k_proj"},
		{"value", attention + ".v_proj"}, {"output", attention + ".out_proj"},
	})
}

// bartFeedForward are the tensors of a feed-forward part in a stack.
func bartFeedForward(stack, layer string) []Weight {
	return bartParts(stack, layer, "mlp-norm", "final_layer_norm",
		[][2]string{{"up", "fc1"}, {"down", "fc2"}})
}

// bartParts are the tensors of a norm and of projections, a parameter and its name each.
func bartParts(stack, layer, norm, normName string, dense [][2]string) []Weight {
	all := []Weight{
		{stack + ".%d." + norm + ".gain", layer + normName + ".weight", AsIs},
		{stack + ".%d." + norm + ".bias", layer + normName + ".bias", AsIs},
	}
	for _, d := range dense {
		param, name := stack+".%d."+d[0], layer+d[1]
		all = append(all, Weight{param + ".weight", name + ".weight", Transposed},
			Weight{param + ".bias", name + ".bias", AsIs})
	}
	return all
}
