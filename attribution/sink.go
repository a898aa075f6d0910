package attribution

import (
	"slices"
	"strings"
	"unicode"
)

// A sink is a prompt token that holds a large share of nearly every row whatever the row is about,
// mostly the first one.
const (
	// sinkShare is the share of a row that makes it count, sinkRows the part of the rows that must.
	sinkShare = 0.3
	sinkRows  = 0.75
	// sinkLeast is how many generated tokens it takes to call an ordinary token a sink; the first
	// token and control tokens need only one, because a large share on them is never evidence.
	sinkLeast = 4
)

// Sink is a prompt token that draws a large share of nearly every row, as begin-of-text and first
// tokens do in decoders. A picture shows it apart ("<bos> 61 %") and scales the rest on its own.
type Sink struct {
	// Position is its column j, 0-based.
	Position int
	Text     string
	// Shares are [n]: its part of each row, generated columns included, in [0,1].
	Shares []float64
}

// Sinks returns the sinks of a method at level k, in order of position: prompt tokens that hold
// more than 30 % of at least three quarters of the rows. An ordinary token, neither first nor
// special, must do so over four rows or more, for otherwise it may be evidence. There are none in
// lifted results and those of scorers, whose values are no shares. It returns a [UsageError] for a
// method or level that the explanation does not have.
//
// Of an encoder only special tokens are sinks, by the rows of its map, every target's, or by those
// of its predictions; by the latter not if it is itself explained, for what a token keeps of itself
// says nothing of other rows. A word that every position reads is what the text is about, as far as
// one can tell. Nor is a span of several words a sink, see [Explanation.GroupSpans].
func (e *Explanation) Sinks(method string, k int) ([]Sink, error) {
	r, err := e.M(method)
	if err != nil {
		return nil, err
	}
	n, m, levels := r.Shape[0], r.Shape[1], r.Shape[2]
	if k < 0 || k >= levels {
		return nil, usagef("level %d of %s; there are %d, from 0", k, quote(method), levels)
	}
	if r.Options["lift"] != "" || r.Options["scorer"] != "" || n == 0 {
		return nil, nil
	}
	shares := make([]float64, m*n) // [m,n]
	for t := range n {
		addShares(shares, n, t, r.Row(t, k), e.OtherMass[method][t*levels+k])
	}
	all := e.mapShares(method, r.Layers[k], m)
	var sinks []Sink
	for j := range m {
		s := shares[j*n : (j+1)*n]
		is := (j == 0 || e.Prompt.Special[j] || n >= sinkLeast) && isSink(s) &&
			!(r.Options["spans"] != "" && severalWords(e.Prompt.Texts[j]))
		if e.Model.Bidirectional {
			is = e.Prompt.Special[j] && (!e.explains(j) && isSink(s) || all != nil &&
				isSink(all[j*m:(j+1)*m]))
		}
		if is {
			sinks = append(sinks, Sink{j, e.Prompt.Texts[j], s})
		}
	}
	return sinks, nil
}

// addShares fills column t of shares, [m,n], with the parts that sources have of a row, of which
// other rests elsewhere.
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

// mapShares returns the shares of each source in the rows of all targets after a layer, [T,T],
// source first; nil if there is no such map of T tokens.
func (e *Explanation) mapShares(method string, layer, T int) []float64 {
	m := e.Maps[method]
	if m == nil || m.Shape != [3]int{len(m.Layers), T, T} || len(m.Data) != len(m.Layers)*T*T {
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

// severalWords is whether there is white space inside a text.
func severalWords(text string) bool {
	return strings.ContainsFunc(strings.TrimSpace(text), unicode.IsSpace)
}

// explains is whether one of the predictions is made at position j.
func (e *Explanation) explains(j int) bool {
	return slices.ContainsFunc(e.Steps, func(g GeneratedToken) bool {
		return g.Position != nil && *g.Position == j
	})
}

// isSink is whether enough rows have a large share.
func isSink(shares []float64) bool {
	large := 0
	for _, x := range shares {
		if x > sinkShare {
			large++
		}
	}
	return float64(large) >= sinkRows*float64(len(shares))
}

// WithoutSinks returns a copy of a row in which the sinks are 0, for a scale of the rest on its
// own. The rest is not changed, so its sum still says how little it is.
func WithoutSinks(row []float64, sinks []Sink) []float64 {
	rest := append([]float64(nil), row...)
	for _, s := range sinks {
		rest[s.Position] = 0
	}
	return rest
}
