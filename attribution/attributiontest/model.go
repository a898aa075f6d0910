package attributiontest

import (
	"context"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/headwater-ml/headwater/attribution/trace"
)

// The sizes of a [Model].
const (
	words  = 12 // V
	width  = 4  // D
	heads  = 2  // H
	narrow = 2  // E
)

// Model is a decoder of one layer without norms and feed-forward layers, computed in float64. It
// implements everything that a scorer may need, and is simple enough that a test can know the
// answer:
//
//	x_s = e_s + p_s,  A_ts = softmax_s(x_t W_Q · x_s W_K / √E),
//	y_t = x_t + Σ_h Σ_s A_ts x_s W_V W_O,  logits = y_t U
//
// Its tokens are the words w0 to w11, and a text may have 64 tokens. It is safe for concurrent use.
type Model struct {
	embedding, position [][]float64 // [V,D], [64,D]
	query, key, value   [][]float64 // [H,D·E] each
	output              [][]float64 // [H,E·D]
	head                []float64   // [D·V]
}

// NewModel returns a model with random weights, the same for the same seed. Weights are rounded to
// float32, the type in which [Model.Embed] returns them.
func NewModel(seed uint64) *Model {
	rng := rand.New(rand.NewPCG(seed, 3))
	random := func(rows, columns int) [][]float64 {
		all := make([][]float64, rows)
		for i := range all {
			all[i] = make([]float64, columns)
			for j := range all[i] {
				all[i][j] = float64(float32(rng.NormFloat64()))
			}
		}
		return all
	}
	return &Model{
		embedding: random(words, width), position: random(64, width),
		query: random(heads, width*narrow), key: random(heads, width*narrow),
		value:  random(heads, width*narrow),
		output: random(heads, narrow*width), head: random(1, width*words)[0],
	}
}

// Info describes the model.
func (m *Model) Info() trace.Info {
	return trace.Info{
		Name: "exact", Family: "test", Head: trace.NextToken, Layers: 1, Heads: heads, Width: width,
		Vocab: words, Context: len(m.position),
	}
}

// Encode returns the tokens of words w0 to w11 that are separated by spaces. It returns an error
// for other words.
func (m *Model) Encode(text string, _ trace.Specials) ([]trace.Token, error) {
	var tokens []trace.Token
	for word := range strings.FieldsSeq(text) {
		id, err := strconv.Atoi(strings.TrimPrefix(word, "w"))
		if err != nil || id < 0 || id >= words || !strings.HasPrefix(word, "w") {
			return nil, pkg.Errorf("no word %q", word)
		}
		tokens = append(tokens, token(id))
	}
	if tokens == nil {
		return nil, pkg.Errorf("a text without words")
	}
	return tokens, nil
}

// token returns word id, without a place in a text.
func token(id int) trace.Token { return trace.Token{ID: id, Text: fmt.Sprintf("w%d", id)} }

// Replacement returns w0 for mask and w1 for unknown.
func (m *Model) Replacement(kind string) (id int, ok bool) {
	id = slices.Index([]string{"mask", "unknown"}, kind)
	return max(id, 0), id >= 0
}

// Steps predicts the most probable tokens. It has the rows of attention, averaged over heads, and
// of alti. It computes the whole text again for each token. The targets of the first step are the
// whole prompt, that of each later one is the token made before.
func (m *Model) Steps(ctx context.Context, ids []int, ask trace.Ask) iter.Seq2[trace.Step, error] {
	return func(yield func(trace.Step, error) bool) {
		ids, processed := slices.Clone(ids), 0
		for made := range max(ask.MaxTokens, len(ask.Continuation)) {
			if err := ctx.Err(); err != nil {
				yield(trace.Step{}, err)
				return
			}
			p := m.run(trace.Query{IDs: ids}, len(ids)-1)
			step := trace.Step{
				First: processed, Count: len(ids) - processed,
				Next: p.prediction(ask.Alternatives),
			}
			if len(ask.Continuation) > 0 {
				step.Next.Token = token(ask.Continuation[made])
			}
			if ask.Terms != nil {
				step.Terms = m.terms(ids, p, step.Next.Token.ID, *ask.Terms)
			}
			for _, a := range ask.Mixings {
				rows, err := m.rows(ids, processed, a)
				if err != nil {
					yield(trace.Step{}, err)
					return
				}
				step.Rows = append(step.Rows, rows)
			}
			processed, ids = len(ids), append(ids, step.Next.Token.ID)
			if !yield(step, nil) {
				return
			}
		}
	}
}

// terms returns the attention part of the logit of a token after ids, against a contrast or foils.
func (m *Model) terms(ids []int, p *pass, id int, ask trace.TermsAsk) *trace.AttentionTerms {
	o := trace.Objective{
		Quantity: trace.Logit, Position: len(ids) - 1, Token: id, Contrast: ask.Contrast,
	}
	var likely []int
	for _, a := range p.prediction(ask.Foils + 1).Alternatives {
		likely = append(likely, a.Token.ID)
	}
	o.Foils = trace.Foils(id, ask.Foils, likely)
	terms, _ := m.LogitTerms(context.Background(), trace.Query{IDs: ids, Objective: o})
	made := &trace.AttentionTerms{
		Value: terms.Value, Attention: terms.Attention, L: terms.L, S: terms.S,
	}
	if ask.Alone {
		made.Alone = m.terms(ids, p, id, trace.TermsAsk{})
	}
	return made
}

// prediction returns the most probable token and its alternatives.
func (p *pass) prediction(alternatives int) *trace.Prediction {
	probability := p.softmax()
	order := make([]int, words)
	for id := range order {
		order[id] = id
	}
	slices.SortStableFunc(order, func(a, b int) int {
		if probability[a] > probability[b] {
			return -1
		}
		return 1
	})
	next := &trace.Prediction{
		Token: token(order[0]), Position: p.t,
		Probability: probability[order[0]],
	}
	for _, id := range order[:min(alternatives, words)] {
		next.Alternatives = append(next.Alternatives, trace.Alternative{
			Token:       token(id),
			Probability: probability[id],
		})
	}
	return next
}

// rows returns the rows of a mixing from target first on, or only the last one. They are [1,1,N,S]:
// attention is the mean over the heads, alti is of all heads together.
func (m *Model) rows(ids []int, first int, ask trace.MixingAsk) (trace.Rows, error) {
	if !ask.AllRows {
		first = len(ids) - 1
	}
	r := trace.Rows{First: first, L: 1, H: 1, N: len(ids) - first, S: len(ids)}
	for t := first; t < len(ids); t++ {
		p := m.run(trace.Query{IDs: ids}, t)
		for s := range ids {
			c := 0.0
			switch ask.Name {
			case "attention":
				for h := range heads {
					c += p.attention[h][s] / heads
				}
			case "alti":
				c = p.alti(s)
			default:
				return r, pkg.Errorf("no mixing %q; there are alti and attention", ask.Name)
			}
			r.Data = append(r.Data, float32(c))
		}
	}
	return r, nil
}

// alti is how much nearer to y the part of a source brings it: max(0, ‖y‖₁ - ‖y - part‖₁). y is the
// sum of all parts, because the model has no biases.
func (p *pass) alti(s int) float64 {
	whole, rest := 0.0, 0.0
	for d, part := range p.part(s) {
		whole += math.Abs(p.y[d])
		rest += math.Abs(p.y[d] - part)
	}
	return max(0, whole-rest)
}

// Predict returns the number that each query asks for. It computes one target per query, in
// float64.
func (m *Model) Predict(ctx context.Context, queries []trace.Query) ([]float64, error) {
	var all []float64
	for _, q := range queries {
		all = append(all, m.run(q, q.Position).value(q.Objective))
	}
	return all, ctx.Err()
}

// Embed returns the embeddings of ids, [T,D].
func (m *Model) Embed(ctx context.Context, ids []int) ([]float32, error) {
	var all []float32
	for _, id := range ids {
		for _, x := range m.embedding[id] {
			all = append(all, float32(x))
		}
	}
	return all, ctx.Err()
}

// Gradients returns the gradients of queries by any of the rules.
func (m *Model) Gradients(
	ctx context.Context, queries []trace.Query, rule trace.Backward,
) ([]trace.Gradient, error) {
	var all []trace.Gradient
	for _, q := range queries {
		all = append(all, m.run(q, q.Position).backward(q, rule))
	}
	return all, ctx.Err()
}

// LogitTerms returns the parts of a logit. They are exact, because the model has no norm. With u
// the column of U:
//
//	logit = x_t·u + Σ_s (Σ_h A_ts x_s W_V W_O)·u
//
// The first term is Embedding, the others are Attention, [1,S]. There is no feed-forward part and
// no bias.
func (m *Model) LogitTerms(ctx context.Context, q trace.Query) (*trace.LogitTerms, error) {
	p := m.run(q, q.Position)
	terms := &trace.LogitTerms{
		Value: p.value(q.Objective), L: 1, S: len(q.IDs), MLP: []float64{0},
		AttentionBias: []float64{0},
		Embedding:     dot(p.x[p.t], p.unembedding(q.Objective)),
	}
	for s := range q.IDs {
		terms.Attention = append(terms.Attention, dot(p.read(s), p.unembedding(q.Objective)))
	}
	return terms, ctx.Err()
}

// Decompose returns the part of a logit of each token, with that of its position. The rest is 0.
// With one layer, attention as it is and no norm, the part of token s is its residual, if it is the
// target, plus what the target reads from it.
func (m *Model) Decompose(
	ctx context.Context, q trace.Query,
) (parts []float64, rest float64, err error) {
	p := m.run(q, q.Position)
	for s := range q.IDs {
		parts = append(parts, dot(p.part(s), p.unembedding(q.Objective)))
	}
	return parts, 0, ctx.Err()
}
