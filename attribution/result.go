package attribution

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/headwater-ml/headwater/attribution/aggregation"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/message"
)

// M returns the result of a method, M[n,m,l]. The error, a [trace.UsageError], lists the methods of
// the explanation.
func (e *Explanation) M(method string) (*Result, error) {
	r, ok := e.Methods[method]
	switch {
	case r != nil:
		return r, nil
	case ok:
		return nil, damaged("there is nothing of method %s", message.Quote(method))
	case len(e.Order) == 0:
		return nil, trace.Usagef("the explanation has no methods, and so not %s",
			message.Quote(method))
	}
	return nil, trace.Usagef("the explanation has no method %s; %sit has %s",
		message.Quote(method), message.DidYouMean(method, e.Order), message.List(e.Order))
}

// At returns M[t,j,k]: generated token t, source j, layer Layers[k]. It panics if an index is out
// of range.
func (r *Result) At(t, j, k int) float64 { return r.Row(t, k)[j] }

// Top returns the index k of the last level, the one after the top layer.
func (r *Result) Top() int { return r.Shape[2] - 1 }

// LayerByToken is the only entry of [Result.Layers] where each token has one layer of its own.
const LayerByToken = -1

// Level returns the index k of the level that a picture of token t shows: that of layer Shown[t],
// or the last one if there is no such level, as in an explanation that was made without Shown.
func (r *Result) Level(t int) int {
	if t >= 0 && t < len(r.Shown) {
		if k := slices.Index(r.Layers, r.Shown[t]); k >= 0 && k < r.Shape[2] {
			return k
		}
	}
	return r.Top()
}

// Layer returns the layer of level k for token t, 0-based; [LayerByToken] if that is not known.
func (r *Result) Layer(t, k int) int {
	if k < 0 || k >= len(r.Layers) {
		return LayerByToken
	}
	if r.Layers[k] == LayerByToken && t >= 0 && t < len(r.Shown) {
		return r.Shown[t]
	}
	return r.Layers[k]
}

// Early reports whether a model of so many layers has some after the layer of level k, for token t.
func (r *Result) Early(t, k, layers int) bool {
	layer := r.Layer(t, k)
	return layer >= 0 && layer < layers-1
}

// LayerName returns the layers of a model that the values of level k are about, for token t: "layer
// 3", or "up to layer 3" if they are combined; "the layer of each token" if the tokens of a target
// have several. See [trace.Info.LayerName].
func (r *Result) LayerName(of trace.Info, t, k int) string {
	name := of.LayerName(r.Layer(t, k))
	switch {
	case r.Layer(t, k) == LayerByToken:
		return "the layer of each token"
	case r.Combined:
		return "up to " + name
	}
	return name
}

// Row returns M[t,:,k], [m+q]: what token t has of each source at level k; see [Result.Rows]. It
// aliases the result and panics if an index is out of range.
func (r *Result) Row(t, k int) []float64 {
	r.check("token", t, 0)
	r.check("level", k, 2)
	return r.Rows[t*r.Shape[2]+k]
}

// OwnSources returns how many generated tokens are sources of row 0: 1 with a target, else 0. Each
// later row has one more. It is -1 if the rows do not have them.
func (r *Result) OwnSources() int {
	if len(r.Rows) == 0 {
		return 0
	}
	own := len(r.Rows[0]) - r.Shape[1]
	for i, row := range r.Rows {
		if len(row) != r.Shape[1]+i/r.Shape[2]+own {
			return -1
		}
	}
	return own
}

// Check returns an error unless there is a row for each token and level, over m prompt tokens and
// no generated token that comes after its own. An explanation may come from a file that somebody
// has edited; the other methods of a result rely on its shape.
func (r *Result) Check(m int) error {
	levels := len(r.Layers)
	// Divided, because a product of wrong numbers may overflow.
	fits := levels > 0 && r.Shape == [3]int{len(r.Rows) / levels, m, levels} &&
		len(r.Rows)%levels == 0
	for i := 0; fits && i < len(r.Rows); i++ {
		fits = len(r.Rows[i]) >= m && len(r.Rows[i]) <= m+i/levels+1
	}
	if !fits {
		return fmt.Errorf("shape %v with %d rows does not fit %d prompt tokens and %d layers",
			r.Shape, len(r.Rows), m, levels)
	}
	return nil
}

// Matrix returns M[:,:m,k], [n,m]: a row for each generated token, over the prompt. It is a copy,
// empty if n is 0. It panics if k is out of range.
func (r *Result) Matrix(k int) *mat.Dense {
	r.check("level", k, 2)
	return r.dense(r.Shape[0], func(t int) []float64 { return r.Row(t, k) })
}

// LayerMap returns M[t,:m,:] with a row for each level and a column for each prompt token, [l,m]:
// the map of one generated token through the layers. It is a copy. It panics if t is out of range.
func (r *Result) LayerMap(t int) *mat.Dense {
	r.check("token", t, 0)
	return r.dense(r.Shape[2], func(k int) []float64 { return r.Row(t, k) })
}

// dense returns a matrix of n rows over the prompt, the empty one if it has no entries, which gonum
// does not allow otherwise.
func (r *Result) dense(n int, row func(i int) []float64) *mat.Dense {
	var data []float64
	for i := range n {
		data = append(data, row(i)[:r.Shape[1]]...)
	}
	if len(data) == 0 {
		return &mat.Dense{}
	}
	return mat.NewDense(n, r.Shape[1], data)
}

// check panics if i is out of range for that axis.
func (r *Result) check(what string, i, axis int) {
	if i < 0 || i >= r.Shape[axis] {
		panic(fmt.Sprintf("attribution: %s %d of %d", what, i, r.Shape[axis]))
	}
}

// Ranked is a prompt token and its value.
type Ranked struct {
	// Position is its column j, 0-based.
	Position int
	Text     string
	// Value is in the unit of the result.
	Value float64
}

// TopK returns the k prompt tokens with the highest values for generated token t at the level shown
// of a method; see [Result.Level]. The highest comes first; among equal values, the earlier token.
// In a signed row these are the tokens that speak most for the prediction. The filter hides tokens
// from the ranking and changes no value, so there may be fewer than k; nil hides none. TopK returns
// a [trace.UsageError] if the explanation does not have the method, or if t or k is out of range,
// and another error if the explanation is damaged.
func (e *Explanation) TopK(t int, method string, k int, filter Filter) ([]Ranked, error) {
	r, err := e.result(method)
	if err != nil {
		return nil, err
	}
	if t < 0 || t >= r.Shape[0] || k < 0 {
		return nil, trace.Usagef("top %d of generated token %d; there are %d tokens, from 0", k, t,
			r.Shape[0])
	}
	var all []Ranked
	for j, v := range r.Row(t, r.Level(t))[:r.Shape[1]] {
		if text := e.Prompt.Texts[j]; !filter.Hides(text) {
			all = append(all, Ranked{j, text, v})
		}
	}
	slices.SortStableFunc(all, func(a, b Ranked) int {
		switch {
		case a.Value > b.Value:
			return -1
		case a.Value < b.Value:
			return 1
		}
		return 0
	})
	return all[:min(k, len(all))], nil
}

// Covered returns the part of a row that the tokens of [Explanation.TopK] have for the same
// arguments, in [0,1]:
//
//	c = Σ_{j in top} |M[t,j]| / (Σ_j |M[t,j]| + |o|)
//
// where o is the sum over generated tokens, [Result.OtherMass]. A row of zeros gives 0.
// Covered returns a [trace.UsageError] as TopK does, and if the values are no parts of a whole,
// such as flow and lift.
func (e *Explanation) Covered(t int, method string, k int, filter Filter) (float64, error) {
	top, err := e.TopK(t, method, k, filter)
	if err != nil {
		return 0, err
	}
	r := e.Methods[method]
	i := t*r.Shape[2] + r.Level(t)
	switch {
	case !r.AddsUp:
		return 0, trace.Usagef("the values of %s, %s, are no parts of a whole, so none cover it",
			message.Quote(method), r.Unit)
	case i >= len(r.OtherMass):
		return 0, trace.Usagef("the explanation does not say what of %s rests on generated tokens",
			message.Quote(method))
	}
	all, covered := math.Abs(r.OtherMass[i]), 0.0
	for _, x := range r.Row(t, r.Level(t))[:r.Shape[1]] {
		all += math.Abs(x)
	}
	for _, x := range top {
		covered += math.Abs(x.Value)
	}
	if all == 0 {
		return 0, nil
	}
	return min(covered/all, 1), nil // sums in another order may round up
}

// Visibility returns, for level l, the mean of each column over the targets that see its source,
// [T]. The first tokens, as many as prefix, are seen by all, and a later source j by T-j targets:
//
//	v_j = Σ_{t≥j} M[t,j] / (T-j)
//
// prefix is that of the text, see [trace.Info.Prefix]. A plain sum over a column favours early
// tokens, because more targets see them. Visibility panics if l is out of range.
func (m *Map) Visibility(l, prefix int) []float64 {
	T := m.Shape[1]
	v := make([]float64, m.Shape[2])
	cfg := aggregation.Config{Prefix: prefix}
	for t := range T {
		for j, x := range m.Row(l, t)[:cfg.Width(t, T)] {
			v[j] += x
		}
	}
	for j := range v {
		seen := T
		if j >= prefix {
			seen -= j
		}
		v[j] /= float64(seen)
	}
	return v
}
