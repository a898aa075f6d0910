package family

import (
	"slices"
	"strings"

	"github.com/headwater-ml/headwater/models/spec"
)

// keys are the keys of config.json for an encoder's sizes.
type keys struct{ layers, heads, width, feedForward, activation string }

// encoderKeys are the keys of BERT.
var encoderKeys = keys{
	"num_hidden_layers", "num_attention_heads", "hidden_size",
	"intermediate_size", "hidden_act",
}

// encoderEpsilon is what the norms of encoders add to the variance unless the file has another
// number. DistilBERT has no key for it.
const encoderEpsilon = 1e-12

// bertSpec is encoderSpec with the keys that BERT has and DistilBERT has not.
func bertSpec(c *Config, name string) *spec.Spec {
	s := encoderSpec(c, name, encoderKeys)
	s.NormEpsilon = c.Epsilon("layer_norm_eps", encoderEpsilon)
	s.TokenTypes = c.SizeOr(2, "TokenTypes", "type_vocab_size")
	c.Only("add_cross_attention", false)
	c.Only("is_decoder", false)
	if p := c.String("position_embedding_type", "absolute"); p != "absolute" {
		c.failValue("position_embedding_type", p,
			`"absolute": others change the arithmetic and are not supported`)
	}
	return s
}

// encoderSpec reads what all encoders have in common: every token sees every other, positions are
// learned, norms come after the residual and after the embedding, and there are biases everywhere.
func encoderSpec(c *Config, name string, k keys) *spec.Spec {
	s := &spec.Spec{
		Family:         name,
		Bidirectional:  true,
		Layers:         c.Size("Layers", k.layers),
		Heads:          c.Size("Heads", k.heads),
		Width:          c.Size("Width", k.width),
		FeedForward:    c.Size("FeedForward", k.feedForward),
		Vocab:          c.Size("Vocab", "vocab_size"),
		Context:        c.Size("Context", "max_position_embeddings"),
		Positions:      spec.LearnedPositions,
		EmbeddingNorm:  true,
		Order:          spec.PostNorm,
		NormEpsilon:    encoderEpsilon,
		NoFinalNorm:    true,
		Activation:     OneOf(c, k.activation, "gelu", activations),
		ProjectionBias: true, OutputBias: true, MLPBias: true,
		BOS: -1,
	}
	c.AllowNull("bos_token_id")
	c.Int(-1, "bos_token_id") // an encoder's tokenizer adds special tokens
	c.ints("eos_token_id")
	return s
}

// encoderHead sets the head by the architecture, and the activation between its two layers: masked
// for a masked language model, class for a classifier.
func encoderHead(c *Config, s *spec.Spec, masked, class spec.Activation) {
	s.HeadActivation = masked
	tied := c.Bool("tie_word_embeddings", true)
	names := c.Strings("architectures")
	is := func(suffix string) bool {
		return slices.ContainsFunc(names,
			func(a string) bool { return strings.HasSuffix(a, suffix) })
	}
	switch {
	case readClassHead(c, s):
		s.ClassifierDense, s.HeadActivation = s.Head == spec.ClassifierHead, class
	case is("ForMaskedLM"), is("ForPreTraining"):
		s.HeadTransform, s.TiedHead, s.HeadBias = true, tied, true
	default:
		s.Head = spec.NoHead
	}
}

// encoderWeights are the tensors of the body of BERT and of similar encoders.
var encoderWeights = []Weight{
	{"embedding", "embeddings.word_embeddings.weight", AsIs},
	{"positions", "embeddings.position_embeddings.weight", AsIs},
	{"token-types", "embeddings.token_type_embeddings.weight", AsIs},
	{"embedding-norm.gain", "embeddings.LayerNorm.weight", AsIs},
	{"embedding-norm.bias", "embeddings.LayerNorm.bias", AsIs},
	{"blocks.%d.query.weight", "encoder.layer.%d.attention.self.query.weight", Transposed},
	{"blocks.%d.query.bias", "encoder.layer.%d.attention.self.query.bias", AsIs},
	{"blocks.%d.key.weight", "encoder.layer.%d.attention.self.key.weight", Transposed},
	{"blocks.%d.key.bias", "encoder.layer.%d.attention.self.key.bias", AsIs},
	{"blocks.%d.value.weight", "encoder.layer.%d.attention.self.value.weight", Transposed},
	{"blocks.%d.value.bias", "encoder.layer.%d.attention.self.value.bias", AsIs},
	{"blocks.%d.output.weight", "encoder.layer.%d.attention.output.dense.weight", Transposed},
	{"blocks.%d.output.bias", "encoder.layer.%d.attention.output.dense.bias", AsIs},
	{"blocks.%d.attention-norm.gain", "encoder.layer.%d.attention.output.LayerNorm.weight", AsIs},
	{"blocks.%d.attention-norm.bias", "encoder.layer.%d.attention.output.LayerNorm.bias", AsIs},
	{"blocks.%d.up.weight", "encoder.layer.%d.intermediate.dense.weight", Transposed},
	{"blocks.%d.up.bias", "encoder.layer.%d.intermediate.dense.bias", AsIs},
	{"blocks.%d.down.weight", "encoder.layer.%d.output.dense.weight", Transposed},
	{"blocks.%d.down.bias", "encoder.layer.%d.output.dense.bias", AsIs},
	{"blocks.%d.mlp-norm.gain", "encoder.layer.%d.output.LayerNorm.weight", AsIs},
	{"blocks.%d.mlp-norm.bias", "encoder.layer.%d.output.LayerNorm.bias", AsIs},
}
