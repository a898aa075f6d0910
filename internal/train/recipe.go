package train

import (
	"fmt"
	"maps"

	"github.com/headwater-ml/headwater/internal/tiny"
	"github.com/headwater-ml/headwater/internal/tokenizer"
	"github.com/headwater-ml/headwater/models/spec"
)

// A recipe is what differs between the embedded models: the tokenizer, the architecture, the
// batches and the files. The loop over steps, the optimizer and the measurement are the same.
type recipe struct {
	model tiny.Model
	// guided is whether the batches have the tokens that an answer depends on.
	guided    bool
	tokenizer func() (*tokenizer.Tokenizer, error)
	spec      func(*tokenizer.Tokenizer) *spec.Spec
	batch     func(cfg Config, tok *tokenizer.Tokenizer, step int) *batch
	config    func(*spec.Spec) map[string]any
}

// recipeOf returns the recipe of a configuration.
func recipeOf(cfg Config) (recipe, error) {
	name := cfg.Model
	if name == "" {
		name = tiny.Name
	}
	m, ok := tiny.Lookup(name)
	if !ok {
		_, err := For(name)
		return recipe{}, err
	}
	r := recipe{model: m, config: config}
	switch name {
	case tiny.Name:
		r.guided, r.tokenizer, r.spec, r.batch = true, Tokenizer, newSpec, newBatch
	case tiny.AlibiName:
		r.tokenizer = func() (*tokenizer.Tokenizer, error) { return bytePairs(m.Words()) }
		r.spec, r.batch = alibiSpec, newStreams
	case tiny.TranslationName:
		r.tokenizer = func() (*tokenizer.Tokenizer, error) { return bytePairs(m.Words()) }
		r.spec, r.config = translationSpec, translationConfig
		r.batch = func(cfg Config, tok *tokenizer.Tokenizer, step int) *batch {
			return newTranslations(m, cfg, tok, step)
		}
	default:
		r.tokenizer = func() (*tokenizer.Tokenizer, error) { return wordPieces(m.Words()) }
		r.spec = func(tok *tokenizer.Tokenizer) *spec.Spec { return encoderSpec(m, tok) }
		r.batch = func(cfg Config, tok *tokenizer.Tokenizer, step int) *batch {
			return newSentences(m, cfg, tok, step)
		}
		r.config = func(s *spec.Spec) map[string]any { return encoderConfig(m, s) }
	}
	return r, nil
}

// newSpec returns the spec of the first embedded model for a vocabulary.
func newSpec(t *tokenizer.Tokenizer) *spec.Spec { return bloomSpec(t, 6, 128) }

// alibiSpec returns the spec of the decoder of twelve layers.
func alibiSpec(t *tokenizer.Tokenizer) *spec.Spec { return bloomSpec(t, 12, 64) }

// bloomSpec returns the spec of a BLOOM decoder with eight heads.
func bloomSpec(t *tokenizer.Tokenizer, layers, width int) *spec.Spec {
	const heads = 8
	bos, _ := t.ID(bosToken)
	eos, _ := t.ID(eosToken)
	return &spec.Spec{
		Family: "bloom", Layers: layers, Heads: heads, Width: width, HeadWidth: width / heads,
		FeedForward: 4 * width, Vocab: t.VocabSize(),
		Positions: spec.ALiBi, AlibiSlopes: spec.AlibiSlopes(heads), EmbeddingNorm: true,
		NormEpsilon: 1e-5,
		Activation:  spec.GELUTanh, ProjectionBias: true, OutputBias: true, MLPBias: true,
		TiedHead: true, BOS: bos, EOS: []int{eos},
	}
}

// sentenceLength is how many tokens the longest sentence has with [CLS] and [SEP]. Encoders have no
// position beyond it, because none was trained.
const sentenceLength = 18

// encoderSpec returns an encoder's spec: BERT with a head for classes or masked words, or
// DistilBERT with a head for classes.
func encoderSpec(m tiny.Model, t *tokenizer.Tokenizer) *spec.Spec {
	s := &spec.Spec{
		Family: "bert", Layers: 6, Heads: 8, Width: 128, Vocab: t.VocabSize(),
		Bidirectional: true, Context: sentenceLength, Positions: spec.LearnedPositions,
		TokenTypes: 2, EmbeddingNorm: true, Order: spec.PostNorm, NormEpsilon: 1e-12,
		NoFinalNorm: true, Activation: spec.GELU,
		ProjectionBias: true, OutputBias: true, MLPBias: true, BOS: -1,
	}
	switch m.Name {
	case tiny.MaskedName:
		s.HeadTransform, s.HeadActivation = true, spec.GELU
		s.TiedHead, s.HeadBias = true, true
	case tiny.SentimentName:
		s.Family, s.Heads, s.Width, s.TokenTypes = "distilbert", 12, 96, 0
		s.HeadActivation = spec.ReLU
	default:
		s.HeadActivation = spec.HyperbolicTangent
	}
	if m.Task == tiny.WholeText {
		s.Head, s.ClassifierDense, s.Classes, s.Labels = spec.ClassifierHead, true, 2, m.Labels
		s.HeadBias = true
	}
	s.HeadWidth, s.FeedForward = s.Width/s.Heads, 4*s.Width
	return s
}

// encoderConfig returns an encoder's config.json.
func encoderConfig(m tiny.Model, s *spec.Spec) map[string]any {
	c := map[string]any{
		"model_type": s.Family, "dtype": "float16", "vocab_size": s.Vocab,
		"max_position_embeddings": s.Context, "pad_token_id": 0, "tie_word_embeddings": true,
	}
	names := map[string]any{
		"num_hidden_layers": s.Layers, "num_attention_heads": s.Heads, "hidden_size": s.Width,
		"intermediate_size": s.FeedForward, "hidden_act": "gelu", "layer_norm_eps": s.NormEpsilon,
		"type_vocab_size": s.TokenTypes,
	}
	architecture := "BertForMaskedLM"
	switch m.Name {
	case tiny.VerbName:
		architecture = "BertForSequenceClassification"
	case tiny.SentimentName:
		architecture = "DistilBertForSequenceClassification"
		names = map[string]any{
			"n_layers": s.Layers, "n_heads": s.Heads, "dim": s.Width, "hidden_dim": s.FeedForward,
			"activation": "gelu", "sinusoidal_pos_embds": false,
		}
	}
	maps.Copy(c, names)
	c["architectures"] = []string{architecture}
	if len(m.Labels) > 0 {
		labels, ids := map[string]any{}, map[string]any{}
		for i, label := range m.Labels {
			labels[fmt.Sprint(i)], ids[label] = label, i
		}
		c["id2label"], c["label2id"] = labels, ids
	}
	return c
}
