package train

import (
	"math/rand/v2"

	"github.com/headwater-ml/headwater/internal/tiny"
	"github.com/headwater-ml/headwater/internal/tokenizer"
	"github.com/headwater-ml/headwater/models/spec"
)

// stackLength is how many tokens the longest source has with <bos>, and the longest target with the
// token that begins it. The tables of positions have room for twice as many, so that other texts
// can be tried; positions beyond stackLength are not trained.
const stackLength = 14

// translationSpec returns the spec of a BART of two stacks of three blocks each.
func translationSpec(t *tokenizer.Tokenizer) *spec.Spec {
	const encoder, decoder, width, heads = 3, 3, 64, 4
	return &spec.Spec{
		Family: "bart", Encoder: encoder, Layers: encoder + 2*decoder, Heads: heads, Width: width,
		HeadWidth: width / heads, FeedForward: 4 * width, Vocab: t.VocabSize(),
		Context: 2 * stackLength, Positions: spec.LearnedPositions, PositionOffset: 2,
		EmbeddingNorm: true, Order: spec.PostNorm, NoFinalNorm: true, NormEpsilon: 1e-5,
		Activation: spec.GELU, ProjectionBias: true, OutputBias: true, MLPBias: true,
		TiedHead: true, HeadBias: true, BOS: -1,
		TargetStart: mustID(t, eosToken), EOS: []int{mustID(t, eosToken)},
	}
}

// translationConfig returns the config.json of the model of two stacks.
func translationConfig(s *spec.Spec) map[string]any {
	decoder := (s.Layers - s.Encoder) / 2
	return map[string]any{
		"architectures": []string{"BartForConditionalGeneration"}, "model_type": "bart",
		"dtype": "float16", "vocab_size": s.Vocab, "d_model": s.Width,
		"encoder_layers": s.Encoder, "decoder_layers": decoder,
		"encoder_attention_heads": s.Heads, "decoder_attention_heads": s.Heads,
		"encoder_ffn_dim": s.FeedForward, "decoder_ffn_dim": s.FeedForward,
		"max_position_embeddings": s.Context, "activation_function": "gelu",
		"scale_embedding": false, "tie_word_embeddings": true, "is_encoder_decoder": true,
		"decoder_start_token_id": s.TargetStart, "eos_token_id": s.EOS[0],
	}
}

// newTranslations draws the batch of a step for the model of two stacks: a source and its target in
// each row. All tokens of the target count alike.
func newTranslations(m tiny.Model, cfg Config, tok *tokenizer.Tokenizer, step int) *batch {
	rng := rand.New(rand.NewPCG(cfg.Seed, uint64(step)+1))
	b := &batch{rows: cfg.Batch, length: cfg.Length}
	size := b.rows * b.length
	b.ids, b.real = make([]int32, size), make([]float32, size)
	b.targets, b.weights = make([]int32, size), make([]float32, size)
	for r := range b.rows {
		source, target := b.putTranslation(r, tok.VocabSize(), tok, m.Training(rng))
		for i, id := range target {
			at := r*b.length + source + i
			b.targets[at], b.weights[at] = int32(id), 1
		}
	}
	return b
}

// putTranslation writes a row: the source, the boundary, and the target without its end. It returns
// where the boundary is and what is to be predicted from there on.
func (b *batch) putTranslation(r, boundary int, tok *tokenizer.Tokenizer, s tiny.Sentence) (
	at int, predicted []int,
) {
	source, target := encodeTranslation(tok, s)
	row := append(append(append([]int(nil), source...), boundary), target[:len(target)-1]...)
	b.put(r, row)
	return len(source), target
}

// encodeTranslation returns <bos> source, and target <eos>. Every word is one token.
func encodeTranslation(tok *tokenizer.Tokenizer, s tiny.Sentence) (source, target []int) {
	source = []int{mustID(tok, bosToken)}
	for _, w := range s.Words {
		source = append(source, wordID(tok, w))
	}
	for _, w := range s.Target {
		target = append(target, wordID(tok, w))
	}
	return source, append(target, mustID(tok, eosToken))
}

// wordID returns the id of a word, which is one token with the space before it.
func wordID(tok *tokenizer.Tokenizer, word string) int {
	encoded, err := tok.Encode(word, false)
	if err != nil || len(encoded) != 1 {
		panic("train: " + word + " is not one token") // the tokenizer was trained on it
	}
	return encoded[0].ID
}

// writes reports whether each token of a target is the most probable one, of scores [T,V].
func writes(scores []float32, vocabulary int, target []int) bool {
	for i, id := range target {
		for _, x := range scores[i*vocabulary:][:vocabulary] {
			if x > scores[i*vocabulary+id] {
				return false
			}
		}
	}
	return true
}
