package attribution_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/headwater-ml/headwater/attribution/trace"
)

// fakeTol is float32 rounding of the rows that a model yields, over a few layers.
const fakeTol = 1e-6

// fake is a model whose tokens are words and whose rows are given: token ids are indices of words,
// and it continues any text with the words in order of their ids.
type fake struct {
	info  trace.Info
	words []string
	// row fills entry s of target t in layer l for one mixing.
	row func(ask trace.MixingAsk, l, t, s int) float64
	// stopAt is the id that ends the text; 0 for none.
	stopAt int
	// failAt is the position at which Steps fails; 0 for none. edit may spoil a step.
	failAt int
	edit   func(*trace.Step)
	// asked is what Steps was last asked for.
	asked *trace.Ask
	// unknown is what UnknownWords returns.
	unknown []string
}

// newFake returns a fake with layers and rows like attention(t,s), the same for each mixing and
// layer.
func newFake(layers int, attention func(t, s int) float64) *fake {
	words := []string{"<bos>"}
	for i := range 30 {
		words = append(words, fmt.Sprintf("w%d", i))
	}
	return &fake{
		info: trace.Info{
			Name: "fake", Family: "fake", Layers: layers, Heads: 2,
			Vocab: len(words),
		},
		words: words, asked: new(trace.Ask),
		row: func(_ trace.MixingAsk, _, t, s int) float64 { return attention(t, s) },
	}
}

func (f *fake) Info() trace.Info { return f.info }

func (f *fake) UnknownWords(string) []string { return f.unknown }
func (f *fake) Examples() []string           { return []string{"w1 w2", longExample, "w4", "w5"} }

// longExample is longer than what is quoted of a user's text.
var longExample = strings.Repeat("w3 ", 30) + "w3"

func (f *fake) Encode(text string, specials trace.Specials) ([]trace.Token, error) {
	var tokens []trace.Token
	if specials == trace.SpecialsOn {
		tokens = append(tokens, trace.Token{ID: 0, Text: "<bos>", Special: true})
	}
	at := 0
	for word := range strings.FieldsSeq(text) {
		id := -1
		for i, w := range f.words {
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

func (f *fake) Steps(ctx context.Context, ids []int, ask trace.Ask) iter.Seq2[trace.Step, error] {
	*f.asked = ask
	return func(yield func(trace.Step, error) bool) {
		first, count := 0, len(ids)
		for made := 0; made <= ask.MaxTokens; made++ {
			if err := ctx.Err(); err != nil {
				yield(trace.Step{}, err)
				return
			}
			if f.failAt > 0 && first+count > f.failAt {
				yield(trace.Step{}, errors.New("fake: out of order"))
				return
			}
			step := trace.Step{First: first, Count: count}
			for _, a := range ask.Mixings {
				step.Rows = append(step.Rows, f.rows(a, first, count))
			}
			closing := made == ask.MaxTokens || f.stopAt > 0 && made > 0 &&
				ids[len(ids)-1] == f.stopAt
			if closing && !ask.OwnRow {
				return
			}
			if !closing {
				step.Next = f.next(ids, ask, made)
				ids = append(ids[:len(ids):len(ids)], step.Next.Token.ID)
			}
			if f.edit != nil {
				f.edit(&step)
			}
			if !yield(step, nil) || closing {
				return
			}
			first, count = first+count, 1
		}
	}
}

func (f *fake) next(ids []int, ask trace.Ask, made int) *trace.Prediction {
	id := (ids[len(ids)-1] + 1) % len(f.words)
	if len(ask.Continuation) > 0 {
		id = ask.Continuation[made]
	}
	token := trace.Token{ID: id, Text: f.words[id]}
	return &trace.Prediction{
		Token: token, Probability: 0.75, Forced: len(ask.Continuation) > 0, Stop: f.stopAt > 0 &&
			id == f.stopAt,
		Alternatives: []trace.Alternative{{Token: token, Probability: 0.75}},
	}
}

func (f *fake) rows(ask trace.MixingAsk, first, count int) trace.Rows {
	end := first + count
	if !ask.AllRows {
		first = end - 1
	}
	// slots of a cache that are free
	r := trace.Rows{First: first, L: f.info.Layers, H: 1, N: end - first, S: end + 3}
	for l := range r.L {
		for t := first; t < end; t++ {
			for s := range r.S {
				x := 0.0
				if s <= t {
					x = f.row(ask, l, t, s)
				}
				r.Data = append(r.Data, float32(x))
			}
		}
	}
	return r
}
