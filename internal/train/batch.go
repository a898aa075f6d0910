package train

import (
	"math/rand/v2"

	"github.com/gomlx/gomlx/core/tensors"

	"github.com/headwater-ml/headwater/internal/tiny"
	"github.com/headwater-ml/headwater/internal/tokenizer"
)

// The control tokens of the embedded model.
const (
	bosToken = "<bos>"
	eosToken = "<eos>"
)

// batch is B rows of T tokens: the input, the tokens to predict, and the weight of each. For a
// classifier, each row has one class to predict.
type batch struct {
	rows, length int
	ids, targets []int32
	weights      []float32
	// evidence is [B,T,T]: 1 where the target of a position depends on a source. Only a guided
	// recipe has it.
	evidence []float32
	// real is [B,T]: 1 for tokens and 0 for padding. Only an unguided recipe has it.
	real []float32
}

// kindShare is how often a kind of document is drawn.
type kindShare struct {
	kind  tiny.Kind
	share float64
}

// shares are how often each kind begins a row of the first model. Recall begins most often, because
// it takes longest to learn.
var shares = []kindShare{
	{tiny.Recall, 0.7}, {tiny.Pronoun, 0.07}, {tiny.Agreement, 0.08}, {tiny.Copying, 0.15},
}

// newBatch draws the batch of a step. Rows are filled with complete documents.
func newBatch(cfg Config, tok *tokenizer.Tokenizer, step int) *batch {
	rng := rand.New(rand.NewPCG(cfg.Seed, uint64(step)+1))
	b := &batch{rows: cfg.Batch, length: cfg.Length}
	size := b.rows * b.length
	b.ids, b.targets, b.weights = make([]int32, size), make([]int32, size), make([]float32, size)
	b.evidence = make([]float32, size*b.length)
	for r := range b.rows {
		b.fill(r, cfg, tok, rng)
	}
	return b
}

// fill adds documents to row r until two in a row did not fit. Of the kinds that ask about
// something said before, a row has at most one document, so that its question has one answer.
func (b *batch) fill(r int, cfg Config, tok *tokenizer.Tokenizer, rng *rand.Rand) {
	g := tiny.New(tiny.Train)
	used := map[tiny.Kind]bool{}
	at, misses := 0, 0
	for misses < 2 {
		kind := draw(shares, rng)
		if used[kind] && (kind == tiny.Recall || kind == tiny.Copying) {
			kind = tiny.Pronoun
		}
		p := encode(tok, g.Document(rng, kind))
		if at+len(p.ids)-1 > b.length {
			misses++
			continue
		}
		used[kind] = true
		for i := range p.ids[:len(p.ids)-1] {
			k := r*b.length + at + i
			b.ids[k], b.targets[k] = int32(p.ids[i]), int32(p.ids[i+1])
			b.weights[k] = float32(cfg.Context)
			if p.answer[i+1] >= 0 {
				b.weights[k] = 1
				if s := p.evidence[p.answer[i+1]]; s >= 0 && p.answer[i] != p.answer[i+1] {
					b.evidence[k*b.length+at+s] = 1
				}
			}
		}
		at += len(p.ids) - 1
	}
	for ; at < b.length; at++ { // padding has weight 0
		b.ids[r*b.length+at] = int32(mustID(tok, eosToken))
	}
}

// draw returns a random kind.
func draw(shares []kindShare, rng *rand.Rand) tiny.Kind {
	x := rng.Float64()
	for _, s := range shares {
		if x -= s.share; x < 0 {
			return s.kind
		}
	}
	return tiny.Recall
}

func (b *batch) tensor(data []int32) *tensors.Tensor {
	return tensors.FromFlatDataAndDimensions(data, b.rows, b.length)
}

// passage is a document in tokens.
type passage struct {
	ids []int
	// answer is, for each token, the index of the answer that it belongs to, or -1.
	answer []int
	// evidence is, for each answer, the last token of the last word that it depends on: only at
	// that token is the whole word known.
	evidence []int
}

// encode returns <bos> document <eos>.
func encode(tok *tokenizer.Tokenizer, d tiny.Document) passage {
	p := passage{ids: []int{mustID(tok, bosToken)}, answer: []int{-1}}
	lastToken := map[int]int{} // of a word
	word := 0
	encoded, err := tok.Encode(d.Text(), false)
	if err != nil {
		panic(err) // cannot happen: the vocabulary has all bytes
	}
	for _, e := range encoded {
		for _, end := d.Span(word); e.Begin >= end; _, end = d.Span(word) {
			word++
		}
		lastToken[word] = len(p.ids)
		p.ids = append(p.ids, e.ID)
		p.answer = append(p.answer, -1)
		for k, a := range d.Answers {
			if begin, end := d.Span(a.Word); e.Begin >= begin && e.End <= end {
				p.answer[len(p.answer)-1] = k
			}
		}
	}
	p.ids, p.answer = append(p.ids, mustID(tok, eosToken)), append(p.answer, -1)
	for _, a := range d.Answers {
		last := -1
		for _, e := range a.Evidence {
			if e.Role != tiny.Query { // a query is the question; the answer is elsewhere
				last = max(last, e.Word)
			}
		}
		p.evidence = append(p.evidence, lastToken[last])
	}
	return p
}

// mustID returns the id of a token that the trained tokenizer always has.
func mustID(tok *tokenizer.Tokenizer, content string) int {
	id, ok := tok.ID(content)
	if !ok {
		panic("train: the tokenizer has no " + content)
	}
	return id
}
