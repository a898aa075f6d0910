package train

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/headwater-ml/headwater/internal/tiny"
	"github.com/headwater-ml/headwater/internal/tokenizer"
	"github.com/headwater-ml/headwater/models/spec"
	"github.com/headwater-ml/headwater/models/transformer"
)

// Score is the share of answers of one kind that are right: by argmax of the model, by the baseline
// that looks at the last word only, and by chance.
type Score struct {
	Answers int     `json:"answers"`
	Right   float64 `json:"right"` // share, all tokens of the answer by argmax
	// share, baseline that answers with the last word of the right kind
	LastWord float64 `json:"last_word"`
	// mean probability of a random pick from the answer and its alternatives
	Chance float64 `json:"chance"`
}

// add counts one more answer. The shares are sums until finish is called.
func (s *Score) add(right, lastWord bool, chance float64) {
	s.Answers++
	if right {
		s.Right++
	}
	if lastWord {
		s.LastWord++
	}
	s.Chance += chance
}

func (s *Score) finish() {
	n := float64(max(1, s.Answers))
	s.Right, s.LastWord, s.Chance = s.Right/n, s.LastWord/n, s.Chance/n
}

// KindScore is the scores for one kind of document.
type KindScore struct {
	Kind      string `json:"kind"`
	Documents int    `json:"documents"`
	Score
	// ByForm is split by what is asked. ByAttractors is split by how many words could mislead.
	ByForm       []NamedScore `json:"by_form"`
	ByAttractors []NamedScore `json:"by_attractors"`
	// First is, for a masked model, the share of sentences in which the right word is the most
	// probable of all words. For a model that translates, it is the share of sentences of which
	// every word of the translation and its end is. Right is then the share in which the right word
	// is more probable than the wrong word of its minimal pair.
	First float64 `json:"first,omitempty"`
}

// NamedScore is one part of a KindScore.
type NamedScore struct {
	Name string `json:"name"`
	Score
}

// evaluator measures a model with given weights.
type evaluator struct {
	tok     *tokenizer.Tokenizer
	cfg     Config
	recipe  recipe
	backend compute.Backend
	spec    *spec.Spec
	exec    *Exec
	args    []any // weights, after the ids
	at      map[string]int
}

// newEvaluator puts the weights on a backend.
func newEvaluator(backend compute.Backend, cfg Config, tok *tokenizer.Tokenizer,
	weights func(spec.Param) ([]float32, error),
) (*evaluator, error) {
	r, err := recipeOf(cfg)
	if err != nil {
		return nil, err
	}
	e := &evaluator{
		tok: tok, cfg: cfg, recipe: r, backend: backend, spec: r.spec(tok), at: map[string]int{},
	}
	inputs := 1
	if e.encoder() {
		inputs = 2
	}
	for i, p := range e.spec.Params() {
		data, err := weights(p)
		if err != nil {
			return nil, err
		}
		e.at[p.Name] = i
		e.args = append(e.args, tensors.FromFlatDataAndDimensions(data, p.Shape...))
	}
	e.exec, err = NewExec(backend, func(in []*Node) *Node {
		if e.encoder() {
			scores, _ := transformer.Scores(e.spec, e.weights(in[inputs:]), in[0], in[1])
			return scores // [B,K] or [B,T,V]
		}
		logits, _ := transformer.Scores(e.spec, e.weights(in[inputs:]), in[0], nil)
		return ArgMax(logits, -1, dtypes.Int32) // [B,T]
	})
	if err != nil {
		return nil, pkg.Errorf("%w", err)
	}
	return e, nil
}

// encoder returns whether the model has an encoder.
func (e *evaluator) encoder() bool { return e.recipe.model.Task != tiny.NextWord }

// weights returns the node of a parameter by name.
func (e *evaluator) weights(in []*Node) func(name string) *Node {
	return func(name string) *Node { return in[e.at[name]] }
}

// measure measures n test texts of a kind of the model.
func (e *evaluator) measure(ctx context.Context, split tiny.Split, kind string, n int,
	seed uint64,
) (*KindScore, error) {
	if e.encoder() {
		return e.sentences(ctx, split, kind, n, seed)
	}
	return e.kind(ctx, split, tiny.Kind(slices.Index(e.recipe.model.Kinds(), kind)), n, seed)
}

// kind measures n test documents of a kind of one split.
func (e *evaluator) kind(ctx context.Context, split tiny.Split, kind tiny.Kind, n int,
	seed uint64,
) (*KindScore, error) {
	documents := tiny.New(split).Test(kind, n, seed)
	result := &KindScore{Kind: kind.String(), Documents: len(documents)}
	for chunk := range slices.Chunk(documents, e.cfg.Batch) {
		if err := ctx.Err(); err != nil {
			return nil, pkg.Errorf("evaluation stopped: %w", err)
		}
		if err := e.chunk(chunk, result); err != nil {
			return nil, err
		}
	}
	result.finishAll()
	return result, nil
}

// finishAll turns the sums of a kind and of its parts into shares.
func (s *KindScore) finishAll() {
	s.finish()
	for _, parts := range [][]NamedScore{s.ByForm, s.ByAttractors} {
		slices.SortFunc(parts, func(a, b NamedScore) int { return strings.Compare(a.Name, b.Name) })
		for i := range parts {
			parts[i].finish()
		}
	}
}

// chunk runs up to a batch of documents and counts their answers.
func (e *evaluator) chunk(documents []tiny.Document, result *KindScore) error {
	length := e.cfg.Length
	ids := make([]int32, e.cfg.Batch*length)
	passages := make([]passage, len(documents))
	for r, d := range documents {
		passages[r] = encode(e.tok, d)
		if len(passages[r].ids) > length {
			return pkg.Errorf("test document %q has %d tokens, more than %d", d.Text(),
				len(passages[r].ids), length)
		}
		for i, id := range passages[r].ids {
			ids[r*length+i] = int32(id)
		}
	}
	args := append([]any{tensors.FromFlatDataAndDimensions(ids, e.cfg.Batch, length)}, e.args...)
	out, err := e.exec.Call(args...)
	if err != nil {
		return pkg.Errorf("evaluation: %w", err)
	}
	var guess []int32
	if err := out[0].ConstFlatData(func(flat any) {
		guess = append(guess, flat.([]int32)...)
	}); err != nil {
		return err
	}
	for r, d := range documents {
		for k, a := range d.Answers {
			right := e.right(d, k, passages[r], guess[r*length:(r+1)*length])
			result.count(a, right, d.Accepts(a, d.LastWord(a)))
		}
	}
	return nil
}

// right returns whether the model would have written every token of answer k; guess[i] is its
// prediction after token i. For agreement any verb of the right number is right, and every verb is
// one token.
func (e *evaluator) right(d tiny.Document, k int, p passage, guess []int32) bool {
	for i, answer := range p.answer {
		if answer != k {
			continue
		}
		if d.Kind == tiny.Agreement {
			return d.Accepts(d.Answers[k],
				strings.TrimPrefix(e.tok.TokenText(int(guess[i-1])), " "))
		}
		if int(guess[i-1]) != p.ids[i] {
			return false
		}
	}
	return true
}

// count adds an answer to the kind and to its parts.
func (s *KindScore) count(a tiny.Answer, right, lastWord bool) {
	chance := tiny.Chance(a)
	s.add(right, lastWord, chance)
	part(&s.ByForm, a.Form).add(right, lastWord, chance)
	part(&s.ByAttractors, fmt.Sprint(a.Attractors)).add(right, lastWord, chance)
}

// part returns the score with that name and adds it if it is missing.
func part(parts *[]NamedScore, name string) *Score {
	i := slices.IndexFunc(*parts, func(p NamedScore) bool { return p.Name == name })
	if i < 0 {
		i = len(*parts)
		*parts = append(*parts, NamedScore{Name: name})
	}
	return &(*parts)[i].Score
}
