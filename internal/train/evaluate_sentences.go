package train

import (
	"context"
	"math"
	"slices"

	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/headwater-ml/headwater/internal/tiny"
	"github.com/headwater-ml/headwater/models/transformer"
)

// sentences measures n test sentences of a kind of one split.
func (e *evaluator) sentences(ctx context.Context, split tiny.Split, kind string, n int,
	seed uint64,
) (*KindScore, error) {
	all := e.recipe.model.Sentences(split, kind, n, seed)
	result := &KindScore{Kind: kind, Documents: len(all)}
	first := 0
	for chunk := range slices.Chunk(all, e.cfg.Batch) {
		if err := ctx.Err(); err != nil {
			return nil, pkg.Errorf("evaluation stopped: %w", err)
		}
		scores, size, err := e.scores(chunk)
		if err != nil {
			return nil, err
		}
		for r, s := range chunk {
			row, pair := scores[r*size:(r+1)*size], [2]int{}
			vocabulary := e.spec.Vocab
			switch e.recipe.model.Task {
			case tiny.WholeText:
				for i, label := range []string{s.Right, s.Wrong} {
					pair[i] = slices.Index(e.recipe.model.Labels, label)
				}
			case tiny.Translation:
				source, target := encodeTranslation(e.tok, s)
				pair = [2]int{target[0], wordID(e.tok, s.Wrong)}
				row = row[len(source)*vocabulary:]
				if writes(row, vocabulary, target) {
					first++
				}
				row = row[:vocabulary]
			default:
				row = row[(s.Answer+1)*vocabulary:][:vocabulary]
				pair = [2]int{mustID(e.tok, s.Right), mustID(e.tok, s.Wrong)}
				if row[pair[0]] == slices.Max(row) {
					first++
				}
			}
			result.count(tiny.Answer{
				Form: s.Form, Attractors: s.Attractors, Alternatives: []string{s.Wrong},
			}, row[pair[0]] > row[pair[1]], s.Nearest == s.Right)
		}
	}
	result.First = float64(first) / float64(max(1, len(all)))
	result.finishAll()
	return result, nil
}

// scores runs up to a batch of sentences. It returns what the head scores and how many scores each
// sentence has.
func (e *evaluator) scores(sentences []tiny.Sentence) (flat []float32, size int, err error) {
	b := &batch{rows: e.cfg.Batch, length: e.cfg.Length}
	b.ids, b.real = make([]int32, b.rows*b.length), make([]float32, b.rows*b.length)
	for r := range b.rows {
		s := sentences[min(r, len(sentences)-1)]
		if e.recipe.model.Task == tiny.Translation {
			b.putTranslation(r, e.spec.Boundary(), e.tok, s)
			continue
		}
		b.put(r, encodeSentence(e.tok, s))
	}
	out, err := e.exec.Call(append([]any{
		b.tensor(b.ids), tensors.FromFlatDataAndDimensions(b.real, b.rows, b.length),
	}, e.args...)...)
	if err != nil {
		return nil, 0, pkg.Errorf("evaluation: %w", err)
	}
	err = out[0].ConstFlatData(func(data any) { flat = append(flat, data.([]float32)...) })
	return flat, len(flat) / b.rows, err
}

// FirstToken is how much a decoder's heads look at the first token of a text.
type FirstToken struct {
	// Texts is how many texts were measured, of all kinds equally many.
	Texts int `json:"texts"`
	// Share is [L][H]: the mean over texts of the share of their rows whose largest attention is on
	// token 0. Row 0 counts; it sees nothing else.
	Share [][]float64 `json:"share"`
	// Least is what Share is for a head that never does so: the mean of 1/T over the texts.
	Least float64 `json:"least"`
	// MeanAttention is [L][H]: the mean attention that rows other than row 0 pay to token 0.
	MeanAttention [][]float64 `json:"mean_attention"`
	// Heads is how many heads have a share of at least a half.
	Heads int `json:"heads_above_half"`
}

// firstTokens measures how much attention a decoder pays to the first token, on n test documents of
// each kind.
func (e *evaluator) firstTokens(ctx context.Context, n int) (*FirstToken, error) {
	layers, heads, length := e.spec.Layers, e.spec.Heads, e.cfg.Length
	exec, err := NewExec(e.backend, func(in []*Node) *Node {
		_, attention := transformer.Scores(e.spec, e.weights(in[1:]), in[0], nil)
		for l, a := range attention {
			attention[l] = InsertAxes(a, 0)
		}
		return Concatenate(attention, 0) // [L,1,H,T,T]
	})
	if err != nil {
		return nil, pkg.Errorf("%w", err)
	}
	f := &FirstToken{Share: matrix(layers, heads), MeanAttention: matrix(layers, heads)}
	for _, kind := range tiny.Kinds() {
		for _, d := range tiny.New(tiny.HeldOut).Test(kind, n, testSeed) {
			if err := ctx.Err(); err != nil {
				return nil, pkg.Errorf("evaluation stopped: %w", err)
			}
			p := encode(e.tok, d)
			p.ids = p.ids[:len(p.ids)-1] // without <eos>
			if len(p.ids) > length {
				return nil, pkg.Errorf("test document %q has %d tokens, more than %d",
					d.Text(), len(p.ids), length)
			}
			ids := make([]int32, length)
			for i, id := range p.ids {
				ids[i] = int32(id)
			}
			out, err := exec.Call(append([]any{
				tensors.FromFlatDataAndDimensions(ids, 1, length),
			}, e.args...)...)
			if err != nil {
				return nil, pkg.Errorf("evaluation: %w", err)
			}
			if err := out[0].ConstFlatData(func(flat any) {
				f.add(flat.([]float32), length, len(p.ids))
			}); err != nil {
				return nil, err
			}
		}
	}
	f.finish()
	return f, nil
}

// add counts one text of some tokens, whose attention is [L,H,T,T] with T at least as large.
func (f *FirstToken) add(attention []float32, size, tokens int) {
	f.Texts++
	f.Least += 1 / float64(tokens)
	for l, shares := range f.Share {
		for h := range shares {
			head := attention[(l*len(shares)+h)*size*size:]
			first, mass := 0, 0.0
			for t := range tokens {
				row := head[t*size : t*size+t+1]
				if slices.Max(row) == row[0] {
					first++
				}
				if t > 0 {
					mass += float64(row[0])
				}
			}
			shares[h] += float64(first) / float64(tokens)
			f.MeanAttention[l][h] += mass / float64(max(1, tokens-1))
		}
	}
}

// finish turns sums into means, with four digits.
func (f *FirstToken) finish() {
	mean := func(x float64) float64 { return math.Round(x/float64(max(1, f.Texts))*1e4) / 1e4 }
	f.Least = mean(f.Least)
	for l := range f.Share {
		for h := range f.Share[l] {
			f.Share[l][h] = mean(f.Share[l][h])
			f.MeanAttention[l][h] = mean(f.MeanAttention[l][h])
			if f.Share[l][h] >= 0.5 {
				f.Heads++
			}
		}
	}
}

// matrix returns rows of zeros.
func matrix(rows, columns int) [][]float64 {
	m := make([][]float64, rows)
	for i := range m {
		m[i] = make([]float64, columns)
	}
	return m
}
