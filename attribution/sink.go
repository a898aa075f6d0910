package attribution

import (
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/message"
)

// A sink is a prompt token that has a large share of nearly every row, whatever the row is about.
// Usually it is the first token.
const (
	// A sink has more than sinkShare of at least the part sinkRows of the rows.
	sinkShare = 0.3
	sinkRows  = 0.75
	// sinkLeast is how many rows are needed before an ordinary token can be a sink. The first token
	// and control tokens need only one row, because a large share on them is never evidence.
	sinkLeast = 8
	// The first token or a control token with more than rowSinkShare of one row is a sink of it.
	rowSinkShare = 0.5
)

// Sink is a prompt token that has a large share of nearly every row, as begin-of-text and first
// tokens do in decoders. A picture names it separately ("<bos> 61 %") and scales its colours by the
// other tokens.
type Sink struct {
	// Position is its column j, 0-based.
	Position int
	// Text is the token's text.
	Text string
	// Shares has its share of each row, generated columns included, [n], in [0,1]; of values with
	// signs that of their sizes.
	Shares []float64
}

// ShownLevel stands for the level that a picture of each token shows, [Result.Level].
const ShownLevel = -1

// Sinks returns the sinks of a method at level k, or [ShownLevel], in order of position: the prompt
// tokens that have more than 30 % of at least three quarters of the rows. For an ordinary token,
// neither first nor special, there must be eight rows or more, because four tokens may well all
// come from one name. Lifted results and those of most scorers have no sinks, because their values
// are no shares.
//
// Of values that attention wrote straight into the prediction ([trace.Written]), a decoder's first
// token is a sink whatever its part: what is read there does not tell which word stands there
// (docs/decisions.md). Sinks returns a [trace.UsageError] if the explanation does not have the
// method or the level, and another error if it is damaged.
//
// In an encoder only special tokens are sinks: a word that every position reads may be what the
// text is about. The rows are those of the map, or those of the predictions. The latter do not
// count for a token that is itself explained, because its share of its own row says nothing about
// other rows. A span of several words is no sink; see [Explanation.GroupSpans].
func (e *Explanation) Sinks(method string, k int) ([]Sink, error) {
	_, _, sinks, err := e.findSinks(method, k)
	return sinks, err
}

// findSinks returns what Sinks does, with the result and the shares that it is judged by; see
// sourceShares.
func (e *Explanation) findSinks(method string, k int) (
	r *Result, shares []float64, sinks []Sink, err error,
) {
	r, err = e.result(method)
	if err != nil {
		return nil, nil, nil, err
	}
	shares, err = e.sourceShares(r, method, k)
	if err != nil || shares == nil {
		return r, nil, e.firstWritten(r, k), err
	}
	n, m := r.Shape[0], r.Shape[1]
	var all []float64
	if e.Model.Bidirectional {
		layer := r.Layers[r.Top()]
		if k >= 0 {
			layer = r.Layers[k]
		}
		all = e.mapShares(method, layer, m)
	}
	for j := range m {
		s := shares[j*n : (j+1)*n]
		is := (e.restsAlone(j) || n >= sinkLeast) && isSink(s) && !r.severalWords(e, j)
		if e.Model.Bidirectional {
			is = e.restsAlone(j) && (!e.explains(j) && isSink(s) || all != nil &&
				isSink(all[j*m:(j+1)*m]))
		}
		if is {
			sinks = append(sinks, Sink{j, e.Prompt.Texts[j], s})
		}
	}
	return r, shares, sinks, nil
}

// firstWritten returns the first token as a sink of values that attention wrote, if r has them.
func (e *Explanation) firstWritten(r *Result, k int) []Sink {
	n, m, at := r.Shape[0], r.Shape[1], e.FirstRead()
	if r.Evidence != trace.Written || at < 0 || n*m == 0 || !e.RestsOn(r, at) {
		return nil
	}
	first := Sink{at, e.Prompt.Texts[at], make([]float64, n)}
	for t := range first.Shares {
		row := r.Row(t, r.levelOf(t, k))
		if sum := floats.Norm(row, 1); sum > 0 {
			first.Shares[t] = math.Abs(row[at]) / sum
		}
	}
	return []Sink{first}
}

// RowSinks returns, for each row of a method at level k, or [ShownLevel], the token that is a sink
// of this row alone, if [Explanation.Sinks] does not return it; -1 if there is none. It is the
// first token or a control token with more than half of the row: attention rests there where a
// layer has nothing to say about a token, which may be so for one and not the next. Of a method
// whose last token asks for the prediction ([Facts.LastAsks]) it is that one, which may be a
// generated token, m + its number. Such a value is no evidence, so a picture treats it like that of
// a sink. An encoder has none, because its maps say what most targets look at. RowSinks returns an
// error as Sinks does.
func (e *Explanation) RowSinks(method string, k int) ([]int, error) {
	r, shares, sinks, err := e.findSinks(method, k)
	if err != nil {
		return nil, err
	}
	return e.rowSinks(r, shares, sinks), nil
}

// rowSinks returns what RowSinks does, from what findSinks returns.
func (e *Explanation) rowSinks(r *Result, shares []float64, sinks []Sink) []int {
	n, m := r.Shape[0], r.Shape[1]
	found := slices.Repeat([]int{-1}, n)
	for t := range found {
		j := m - 1 + t
		ofWord := t < len(e.Steps) && (e.Steps[t].IDs == nil || r.Target == "word")
		if r.LastAsks && !e.Model.Reads() && ofWord &&
			!(j < m && r.severalWords(e, j)) {
			found[t] = j
		}
	}
	if shares == nil || e.Model.Bidirectional {
		return found
	}
	for j := range m {
		if !e.restsAlone(j) || r.severalWords(e, j) ||
			slices.ContainsFunc(sinks, func(s Sink) bool { return s.Position == j }) {
			continue
		}
		for t := range n {
			if shares[j*n+t] > rowSinkShare {
				found[t] = j
			}
		}
	}
	return found
}

// TextSinks returns which of the first T tokens of the text are sinks of what its tokens give each
// other, [T]. The text is the prompt and, for a decoder, what was generated. given returns what
// token i gives token j, and what it gives in all. A sink is the first token or a control token of
// the prompt, in an encoder a control token, that has more than 30 % of what the other tokens give
// which see it:
//
//	Σ_i part(i,j) > 0.3 · Σ_i whole(i,j),  i ≠ j, in a decoder i > j
//
// Here the sum counts and not the number of rows, as in [Explanation.Sinks]: heads differ, and a
// token that half of them rest on in every row is no evidence where they do. TextSinks costs T
// calls for each of these few tokens.
func (e *Explanation) TextSinks(T int, given func(i, j int) (part, whole float64)) []bool {
	sinks := make([]bool, T)
	for j := range sinks {
		if !e.restsAlone(j) {
			continue
		}
		sum, all := 0.0, 0.0
		for i := range T {
			if i != j && j < e.Seen(i, T) {
				part, whole := given(i, j)
				sum, all = sum+part, all+whole
			}
		}
		sinks[j] = sum > sinkShare*all
	}
	return sinks
}

// Seen returns how many of T tokens of the text token i can look at, from the first one.
func (e *Explanation) Seen(i, T int) int {
	sight := trace.Sight{Prefix: e.TargetBegin()}
	if e.Model.Bidirectional {
		sight.Prefix = T
	}
	return sight.Width(i, T)
}

// RestsOn reports whether attention rests on prompt token j whatever a row of r is about, so that a
// large value there is no evidence: on the first token for decoders, and on control tokens that are
// not explained, where values follow attention ([trace.Traced], [trace.Read], [trace.Written]) and
// are not divided by what even attention gives. A span of several words is no such token.
func (e *Explanation) RestsOn(r *Result, j int) bool {
	switch r.Evidence {
	case trace.Traced, trace.Read, trace.Written:
		return r.Quantity != Lift && e.restsAlone(j) && !e.explains(j) && !r.severalWords(e, j)
	}
	return false
}

// restsAlone reports whether a large share on prompt token j alone is no evidence: on the first
// token for decoders, and on control tokens.
func (e *Explanation) restsAlone(j int) bool {
	return j == e.FirstRead() ||
		j < len(e.Prompt.Special) && e.Prompt.Special[j]
}

// sourceShares returns the share of each source in each row at level k, or [ShownLevel], [m,n]; nil
// if the values are no shares of a row.
func (e *Explanation) sourceShares(r *Result, method string, k int) ([]float64, error) {
	n, m, levels := r.Shape[0], r.Shape[1], r.Shape[2]
	if k < ShownLevel || k >= levels {
		return nil, trace.Usagef("level %d of %s; there are %d, from 0",
			k, message.Quote(method), levels)
	}
	if r.Quantity == Lift || r.Scorer || n == 0 {
		return nil, nil
	}
	if len(r.OtherMass) != n*levels {
		return nil, damaged("what of %s rests on generated tokens has %d values, not %d", method,
			len(r.OtherMass), n*levels)
	}
	shares := make([]float64, m*n)
	for t := range n {
		level := r.levelOf(t, k)
		addShares(shares, n, t, r.Row(t, level)[:m], r.OtherMass[t*levels+level])
	}
	return shares, nil
}

// levelOf returns level k of row t, the one shown for [ShownLevel].
func (r *Result) levelOf(t, k int) int {
	if k == ShownLevel {
		return r.Level(t)
	}
	return k
}

// addShares fills column t of shares, [m,n], with row divided by its sum. other is the part of the
// row on generated tokens, which counts in the sum.
func addShares(shares []float64, n, t int, row []float64, other float64) {
	sum := other
	for _, x := range row {
		sum += x
	}
	for j, x := range row {
		if sum > 0 {
			shares[j*n+t] = x / sum
		}
	}
}

// mapShares returns the share of each source in the row of each target after a layer, [T,T],
// sources first; nil if there is no such map of T tokens.
func (e *Explanation) mapShares(method string, layer, T int) []float64 {
	m := e.Maps[method]
	if !m.fits(T) {
		return nil
	}
	l := slices.Index(m.Layers, layer)
	if l < 0 {
		return nil
	}
	shares := make([]float64, T*T)
	for t := range T {
		addShares(shares, T, t, m.Row(l, t), 0)
	}
	return shares
}

// severalWords reports whether source j of r is a span with white space inside its text.
func (r *Result) severalWords(e *Explanation, j int) bool {
	return r.Spans && len(strings.Fields(e.Prompt.Texts[j])) > 1
}

// explains reports whether one of the predictions is made at position j.
func (e *Explanation) explains(j int) bool {
	return slices.ContainsFunc(e.Steps, func(g GeneratedToken) bool {
		return g.Position != nil && *g.Position == j
	})
}

// isSink reports whether enough of the shares, one for each row, are large.
func isSink(shares []float64) bool {
	large := 0
	for _, x := range shares {
		if x > sinkShare {
			large++
		}
	}
	return float64(large) >= sinkRows*float64(len(shares))
}
