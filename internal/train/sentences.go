package train

import (
	"math/rand/v2"
	"slices"

	"github.com/headwater-ml/headwater/internal/tiny"
	"github.com/headwater-ml/headwater/internal/tokenizer"
)

// newSentences draws the batch of a step for an encoder: a sentence in each row. A classifier
// learns the class. A masked model learns the answer under the mask token, or, in a part of the
// rows, words that are masked at random as in BERT, with a smaller weight.
func newSentences(m tiny.Model, cfg Config, tok *tokenizer.Tokenizer, step int) *batch {
	rng := rand.New(rand.NewPCG(cfg.Seed, uint64(step)+1))
	b := &batch{rows: cfg.Batch, length: cfg.Length}
	size := b.rows * b.length
	b.ids, b.real = make([]int32, size), make([]float32, size)
	each := b.length
	if m.Task == tiny.WholeText {
		each = 1
	}
	b.targets, b.weights = make([]int32, b.rows*each), make([]float32, b.rows*each)
	for r := range b.rows {
		s := m.Training(rng)
		if m.Task == tiny.WholeText {
			b.put(r, encodeSentence(tok, s))
			b.targets[r], b.weights[r] = int32(slices.Index(m.Labels, s.Right)), 1
			continue
		}
		b.mask(r, cfg, tok, s, rng)
	}
	return b
}

// put writes the tokens of a row.
func (b *batch) put(r int, ids []int) {
	for i, id := range ids {
		b.ids[r*b.length+i], b.real[r*b.length+i] = int32(id), 1
	}
}

// The share of rows of a masked model in which words are masked at random instead of the answer,
// and the share of their words that are.
const (
	randomRows  = 0.25
	randomWords = 0.15
)

// mask writes a row of a masked model.
func (b *batch) mask(r int, cfg Config, tok *tokenizer.Tokenizer, s tiny.Sentence, rng *rand.Rand) {
	ids := encodeSentence(tok, s)
	at := r*b.length + s.Answer + 1 // after [CLS]
	if rng.Float64() >= randomRows {
		b.put(r, ids)
		b.targets[at], b.weights[at] = int32(mustID(tok, s.Right)), 1
		return
	}
	ids[s.Answer+1] = mustID(tok, s.Right)
	masked := rng.IntN(len(s.Words)) // at least one
	for i := range s.Words {
		if i == masked || rng.Float64() < randomWords {
			at := r*b.length + i + 1
			b.targets[at], b.weights[at] = int32(ids[i+1]), float32(cfg.Context)
			ids[i+1] = mustID(tok, tiny.Mask)
		}
	}
	b.put(r, ids)
}

// encodeSentence returns [CLS] sentence [SEP]. Every word is one token.
func encodeSentence(tok *tokenizer.Tokenizer, s tiny.Sentence) []int {
	ids := []int{mustID(tok, classToken)}
	for _, w := range s.Words {
		ids = append(ids, mustID(tok, w))
	}
	return append(ids, mustID(tok, endToken))
}

// streamShares are how often each kind of document comes in a row of the decoder of twelve layers.
// Recall and copying are rare, because this model is trained for few steps, and they take longest
// to learn.
var streamShares = []kindShare{
	{tiny.Agreement, 0.4}, {tiny.Pronoun, 0.3}, {tiny.Recall, 0.15}, {tiny.Copying, 0.15},
}

// sentenceShare is how often the decoder of twelve layers reads a sentence instead of a document.
const sentenceShare = 0.4

// newStreams draws the batch of a step for the decoder of twelve layers: <bos> and then documents
// and sentences, with <eos> after each, so that a row has one first token.
func newStreams(cfg Config, tok *tokenizer.Tokenizer, step int) *batch {
	rng := rand.New(rand.NewPCG(cfg.Seed, uint64(step)+1))
	b := &batch{rows: cfg.Batch, length: cfg.Length}
	size := b.rows * b.length
	b.ids, b.targets, b.weights = make([]int32, size), make([]int32, size), make([]float32, size)
	b.real = make([]float32, size)
	for i := range b.real {
		b.real[i] = 1 // nothing looks ahead, so padding at the end is not seen
	}
	for r := range b.rows {
		b.stream(r, cfg, tok, rng)
	}
	return b
}

// stream fills row r with complete texts until two in a row did not fit.
func (b *batch) stream(r int, cfg Config, tok *tokenizer.Tokenizer, rng *rand.Rand) {
	g := tiny.New(tiny.Train)
	row := func(i int) int { return r*b.length + i }
	used := map[tiny.Kind]bool{}
	b.ids[row(0)] = int32(mustID(tok, bosToken))
	at, misses := 0, 0 // the last token that was written
	for misses < 2 {
		d := tiny.Document{}
		if rng.Float64() < sentenceShare {
			words, answer := tiny.Text(rng)
			d.Words = words
			if answer >= 0 {
				d.Answers = []tiny.Answer{{Word: answer}}
			}
		} else {
			kind := draw(streamShares, rng)
			if used[kind] && (kind == tiny.Recall || kind == tiny.Copying) {
				kind = tiny.Pronoun
			}
			used[kind], d = true, g.Document(rng, kind)
		}
		p := encode(tok, d)
		if at+len(p.ids) > b.length {
			misses++
			continue
		}
		for i, id := range p.ids[1:] {
			b.targets[row(at)], b.weights[row(at)] = int32(id), float32(cfg.Context)
			if p.answer[i+1] >= 0 {
				b.weights[row(at)] = 1
			}
			at++
			if at < b.length {
				b.ids[row(at)] = int32(id)
			}
		}
	}
	for at++; at < b.length; at++ { // padding has weight 0
		b.ids[row(at)] = int32(mustID(tok, eosToken))
	}
}
