package figures

import (
	"fmt"
	"math"

	"github.com/headwater-ml/headwater/attribution/evaluate"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/message"
	"github.com/headwater-ml/headwater/internal/rowmath"
	"github.com/headwater-ml/headwater/internal/tiny"
)

// sentences returns n held-out sentences of a kind that the figure's default model was made for.
// Every model is given these, which are plain English: sentences of another task would be compared
// with what the document states of this one.
func (r *run) sentences(model, kind string, n int) ([]tiny.Sentence, error) {
	m, ok := tiny.Lookup(model)
	if !ok {
		return nil, fmt.Errorf("there are no sentences of %q", model)
	}
	if kind == "" {
		kind = m.Kinds()[0]
	}
	return m.Sentences(tiny.HeldOut, kind, n, sentenceSeed), nil
}

// sentenceSeed draws the sentences; any number would do, and it is never changed for an outcome.
const sentenceSeed = 1

// reading is a text of a classifier with what is compared: rows of the class token and importances.
type reading struct {
	tokens []trace.Token
	// right and wrong are the classes; correct says that the model predicts the right one.
	right, wrong int
	correct      bool
	// sums are the sums of the components of each word's gradient, once gradients were computed.
	sums []float64
	// rows has, by method, the row of the class token after each layer, [L][T].
	rows map[string][][]float64
}

// read reads a sentence with a classifier.
func (r *run) read(s tiny.Sentence, methods ...string) (*reading, error) {
	classes, ok := r.m.(trace.Classifier)
	if !ok {
		return nil, lackf("it needs named classes, and %s has none", r.info.Name)
	}
	out := &reading{rows: map[string][][]float64{}}
	for _, x := range []struct {
		name  string
		class *int
	}{{s.Right, &out.right}, {s.Wrong, &out.wrong}} {
		id, err := classes.Class(x.name)
		if err != nil {
			return nil, lackf("its sentences are for a classifier of %s: %s", s.Kind,
				message.Words(err, nil))
		}
		*x.class = id
	}
	if len(methods) == 0 { // the tokens alone
		tokens, _, err := r.encode(s.Text())
		out.tokens = tokens
		return out, err
	}
	maps, tokens, err := r.maps(s.Text(), methods...)
	if err != nil {
		return nil, err
	}
	out.tokens = tokens
	for _, name := range methods {
		m := maps[name]
		for l := range m.Shape[0] {
			row := m.Row(l, 0)
			if name == "flow" {
				row = shares(row)
			}
			out.rows[name] = append(out.rows[name], row)
		}
	}
	return out, nil
}

// objective is the number that importances are about: how much more probable the right class is.
func (x *reading) objective() trace.Objective {
	return trace.Objective{Quantity: trace.Probability, Token: x.right, Contrast: &x.wrong}
}

// ids returns the tokens' numbers.
func (x *reading) ids() []int {
	return trace.IDs(x.tokens)
}

// words returns the positions that are not control tokens, which are left out of every ranking.
func (x *reading) words() []int {
	var at []int
	for i, t := range x.tokens {
		if !t.Special {
			at = append(at, i)
		}
	}
	return at
}

// blankOut returns how far the objective moves if each word is replaced by the mask token, or by
// the unknown token if there is no mask, and whether the right class is predicted.
func (r *run) blankOut(x *reading) ([]float64, error) {
	blank, ok := r.blank()
	if !ok {
		return nil, lackf("it needs a token that can replace a word, and %s has none",
			r.info.Name)
	}
	words := x.words()
	queries := []trace.Query{{IDs: x.ids(), Objective: x.objective()}}
	for _, w := range words {
		ids := x.ids()
		ids[w] = blank
		queries = append(queries, trace.Query{IDs: ids, Objective: x.objective()})
	}
	values, err := r.predict(queries...)
	if err != nil {
		return nil, err
	}
	x.correct = values[0] > 0
	out := make([]float64, len(words))
	for i := range words {
		out[i] = math.Abs(values[0] - values[i+1])
	}
	return out, nil
}

// blank returns the token that replaces a word.
func (r *run) blank() (int, bool) {
	replacer, ok := r.m.(trace.Replacer)
	if !ok {
		return 0, false
	}
	for _, kind := range []string{"mask", "unknown"} {
		if id, ok := replacer.Replacement(kind); ok {
			return id, true
		}
	}
	return 0, false
}

// gradients returns, for each word, the norm of the objective's gradient by its embedding:
// ‖∂(p_right - p_wrong)/∂e_j‖. It keeps the sum of the components, which the paper takes, as
// x.sums: |Σ_D ∂(p_right - p_wrong)/∂e_j|.
//
// In the models of this shape a norm that takes out the mean follows the embedding, so what all
// components of a vector share changes nothing: the derivatives by them add up to 0 for every word,
// whatever the model has learnt. What a program finds is then rounding, which ranks words otherwise
// on another processor; see [summed.rounding].
func (r *run) gradients(x *reading) ([]float64, error) {
	m, ok := r.m.(trace.Differentiable)
	if !ok {
		return nil, lackf("it needs gradients, and %s has none", r.info.Name)
	}
	got, err := m.Gradients(r.ctx, []trace.Query{{IDs: x.ids(), Objective: x.objective()}},
		trace.TrueGradient)
	if err != nil {
		return nil, err
	}
	data := got[0].Data
	d := len(data) / len(x.tokens)
	var norms []float64
	x.sums = nil
	for _, w := range x.words() {
		sum, squares := 0.0, 0.0
		for _, v := range data[w*d : (w+1)*d] {
			sum += float64(v)
			squares += float64(v) * float64(v)
		}
		norms, x.sums = append(norms, math.Sqrt(squares)), append(x.sums, math.Abs(sum))
	}
	return norms, nil
}

// summed has the rank correlations with |Σ_D ∂|, the sum of a gradient's components.
type summed struct {
	correlations
	// largest is the largest ratio of a sum and the norm of its gradient.
	largest float64
}

// add adds those of a sentence, if it has sums.
func (s *summed) add(x *reading, norms []float64) {
	if x.sums == nil {
		return
	}
	s.correlate(x, x.sums)
	for i, sum := range x.sums {
		if norms[i] > 0 {
			s.largest = max(s.largest, sum/norms[i])
		}
	}
}

// rounding reports whether the sums of all words are rounding.
func (s *summed) rounding() bool { return s.largest <= sumRounding }

// sumRounding is more than what rounding makes of a sum that is 0, as a share of the norm: 5e-7 is
// the worst seen, in 40 sentences.
const sumRounding = 1e-4

// correlations has, by method and layer, the rank correlations of many sentences.
type correlations map[string][][]float64

// correlate compares the rows of every method and layer with importances, one for each word.
func (c correlations) correlate(x *reading, importance []float64) {
	words := x.words()
	for name, rows := range x.rows {
		for len(c[name]) < len(rows) {
			c[name] = append(c[name], nil)
		}
		for l, row := range rows {
			if rho, ok := evaluate.Spearman(rowmath.Pick(row, words), importance); ok {
				c[name][l] = append(c[name][l], rho)
			}
		}
	}
}

// spread returns the mean and the standard deviation of a sample.
func spread(x []float64) (m, sd float64) {
	m = mean(x)
	for _, v := range x {
		sd += (v - m) * (v - m)
	}
	return m, math.Sqrt(sd / float64(len(x)))
}
