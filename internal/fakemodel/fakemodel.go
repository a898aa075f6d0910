// Package fakemodel has models with given answers and random rows for tests of package attribution
// and the packages below it: [Model] generates, [Encoder] reads, and [Scored] answers scorers.
package fakemodel

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/message"
)

// pkg is the name that the errors of this package begin with.
const pkg = message.Package("models")

// Tolerance is float32 rounding of the rows that a model yields, over a few layers.
const Tolerance = 1e-6

// Model is a decoder whose tokens are words and whose rows are given. Token ids are indices of
// words. It continues any text with the words in order of their ids. It is not safe for concurrent
// use.
type Model struct {
	About trace.Info
	Words []string
	// Row returns entry s of target t in layer l for one mixing.
	Row func(ask trace.MixingAsk, l, t, s int) float64
	// StopAt is the id that ends the text; 0 for none.
	StopAt int
	// FailAt is the position at which Steps fails; 0 for none. Edit may change a step.
	FailAt int
	Edit   func(*trace.Step)
	// Asked is the argument of the last call of Steps.
	Asked *trace.Ask
	// Unknown is what UnknownWords returns.
	Unknown []string
}

// New returns a model with L layers whose rows are attention(t,s), the same in each mixing and
// layer. Its words are <bos> and w0 to w29.
func New(layers int, attention func(t, s int) float64) *Model {
	words := []string{"<bos>"}
	for i := range 30 {
		words = append(words, fmt.Sprintf("w%d", i))
	}
	return &Model{
		About: trace.Info{
			Name: "fake", Family: "fake", Layers: layers, Heads: 2,
			Vocab: len(words),
		},
		Words: words, Asked: new(trace.Ask),
		Row: func(_ trace.MixingAsk, _, t, s int) float64 { return attention(t, s) },
	}
}

// Info returns About.
func (f *Model) Info() trace.Info { return f.About }

// UnknownWords returns Unknown.
func (f *Model) UnknownWords(string) []string { return f.Unknown }

// Examples returns four texts, one of them [LongExample].
func (f *Model) Examples() []string { return []string{"w1 w2", LongExample, "w4", "w5"} }

// LongExample is longer than the part of a user's text that messages quote.
var LongExample = strings.Repeat("w3 ", 30) + "w3"

// Encode returns the words of text, after <bos> if specials are on.
func (f *Model) Encode(text string, specials trace.Specials) ([]trace.Token, error) {
	var tokens []trace.Token
	if specials == trace.SpecialsOn {
		tokens = append(tokens, trace.Token{ID: 0, Text: "<bos>", Special: true})
	}
	at := 0
	for word := range strings.FieldsSeq(text) {
		id := -1
		for i, w := range f.Words {
			if w == word {
				id = i
			}
		}
		if id < 0 {
			return nil, fmt.Errorf("fake: no word %q", word)
		}
		begin := at + strings.Index(text[at:], word)
		at = begin + len(word)
		tokens = append(tokens, trace.Token{ID: id, Text: word, Begin: begin, End: at})
	}
	return tokens, nil
}

// Steps generates words and returns the rows asked for.
func (f *Model) Steps(ctx context.Context, ids []int, ask trace.Ask) iter.Seq2[trace.Step, error] {
	*f.Asked = ask
	return func(yield func(trace.Step, error) bool) {
		first, count := 0, len(ids)
		for made := range ask.MaxTokens {
			if err := ctx.Err(); err != nil {
				yield(trace.Step{}, err)
				return
			}
			if f.FailAt > 0 && first+count > f.FailAt {
				yield(trace.Step{}, errors.New("fake: out of order"))
				return
			}
			step := trace.Step{First: first, Count: count}
			for _, a := range ask.Mixings {
				step.Rows = append(step.Rows, f.rows(a, first, count))
			}
			if f.StopAt > 0 && made > 0 && ids[len(ids)-1] == f.StopAt {
				return
			}
			step.Next = f.next(ids, ask, made)
			ids = append(ids[:len(ids):len(ids)], step.Next.Token.ID)
			if f.Edit != nil {
				f.Edit(&step)
			}
			if !yield(step, nil) {
				return
			}
			first, count = first+count, 1
		}
	}
}

// next returns the prediction after ids.
func (f *Model) next(ids []int, ask trace.Ask, made int) *trace.Prediction {
	id := (ids[len(ids)-1] + 1) % len(f.Words)
	if len(ask.Continuation) > 0 {
		id = ask.Continuation[made]
	}
	token := trace.Token{ID: id, Text: f.Words[id]}
	return &trace.Prediction{
		Token: token, Probability: 0.75, Forced: len(ask.Continuation) > 0, Stop: f.StopAt > 0 &&
			id == f.StopAt,
		Alternatives: []trace.Alternative{{Token: token, Probability: 0.75}},
	}
}

// rows returns the rows of count targets from first on, in a cache with three free places.
func (f *Model) rows(ask trace.MixingAsk, first, count int) trace.Rows {
	end := first + count
	if !ask.AllRows {
		first = end - 1
	}
	r := trace.Rows{First: first, L: f.About.Layers, H: 1, N: end - first, S: end + 3}
	for l := range r.L {
		for t := first; t < end; t++ {
			for s := range r.S {
				x := 0.0
				if s <= t {
					x = f.Row(ask, l, t, s)
				}
				r.Data = append(r.Data, float32(x))
			}
		}
	}
	return r
}

// Tensor returns the rows for one pass over T tokens, [L,T,T].
func (f *Model) Tensor(name string, heads trace.Heads, T int) trace.Tensor {
	rows := f.rows(trace.MixingAsk{Name: name, Heads: heads, AllRows: true}, 0, T)
	out := trace.Tensor{Name: name, Shape: []int{rows.L, T, T}}
	for l := range rows.L {
		for t := range T {
			out.Data = append(out.Data, rows.Row(l, 0, t)[:T]...)
		}
	}
	return out
}
