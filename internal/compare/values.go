package compare

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/internal/message"
)

// Comparison is the values of two sides with the same rows and columns, and their difference. There
// are N rows, one for each generated token or prediction of both sides, over M prompt tokens.
type Comparison struct {
	// Sides have the aligned explanations and the names of their methods.
	Sides [2]Side
	// Aligned is what was done to give them the same rows and columns.
	Aligned Alignment
	// Results are the values of A and of B, [N,M,1], and A − B, [R,M,1]. The R rows of the
	// difference are those before the first token that is not the same on both sides, all if there
	// is none: what leads to different words has no difference. If both sides have generated tokens
	// as sources, so have all three.
	Results [3]*attribution.Result
	// Divided reports whether the rows of both sides were divided by the sum of their sizes.
	Divided bool
	// Sizes reports whether one side has signs and the other not, so that sizes are compared;
	// Signed is the index of the side that has them.
	Sizes  bool
	Signed int
}

// Difference is the index of A − B among the results of a [Comparison].
const Difference = 2

// New compares two sides, which may be two methods or two layers of one explanation, or two models
// or two prompts; see [Align]. With A and B the values at the level shown of each row t,
//
//	(A − B)[t,j] = A[t,j] − B[t,j],
//	               A[t,j] / B[t,j]      of lifts, which are ratios,
//	               |A[t,j]| − |B[t,j]|  where one side alone has signs.
//
// Values of different kinds, such as shares and parts of a logit, have no difference. Then each row
// is first divided by the sum of its sizes, sinks excluded:
//
//	A'[t,j] = A[t,j] / Σ_i |A[t,i]|, over the sources i of row t that are no sinks of it
//
// and a row of zeros stays. New returns a [trace.UsageError] if the sides cannot be compared.
func New(a, b Side) (*Comparison, error) {
	c := &Comparison{Sides: [2]Side{a, b}}
	for i := range c.Sides {
		if err := c.Sides[i].check("AB"[i : i+1]); err != nil {
			return nil, err
		}
	}
	var err error
	if c.Aligned, err = Align(c.Sides[0].Explanation, c.Sides[1].Explanation); err != nil {
		return nil, err
	}
	for i := range c.Sides {
		c.Sides[i].Explanation = c.Aligned.Sides[i]
	}
	if err := c.check(); err != nil {
		return nil, err
	}
	c.fill()
	return c, nil
}

// check returns an error for sides that cannot be compared.
func (c *Comparison) check() error {
	a, b := c.Sides[0].Explanation, c.Sides[1].Explanation
	lifted := func(side int) bool { return c.Sides[side].result().Quantity == attribution.Lift }
	switch m, n := len(a.Prompt.Texts), len(b.Prompt.Texts); {
	case a.Model.Reads() != b.Model.Reads():
		return usagef("a decoder and an encoder cannot be compared: one continues a text " +
			"and the other reads it")
	case m != n:
		return usagef("the prompts have %d and %d tokens, and none of them is in both, so "+
			"they cannot be aligned; take prompts with common words, or of the same number of "+
			"tokens; %s", m, n, firstDifference(a.Prompt.Texts, b.Prompt.Texts))
	case c.rows() == 0:
		return usagef("there is no generated token that both explanations have")
	case lifted(0) != lifted(1):
		return usagef("lifts are ratios and can only be compared with lifts; %s has %s "+
			"and %s has %s", message.Quote(c.Sides[0].Method), c.Sides[0].result().Unit,
			message.Quote(c.Sides[1].Method), c.Sides[1].result().Unit)
	}
	for t := range c.rows() {
		p, q := a.Steps[t].Position, b.Steps[t].Position
		if (p == nil) != (q == nil) || p != nil && *p != *q {
			return usagef("prediction %d is at another position in the other explanation; "+
				"explain the same positions", t+1)
		}
	}
	return nil
}

// rows returns N.
func (c *Comparison) rows() int {
	n := math.MaxInt
	for i := range c.Sides {
		n = min(n, len(c.Sides[i].Explanation.Steps), c.Sides[i].result().Shape[0])
	}
	return n
}

// Unlike returns the layers of both sides that are compared of token t, 0-based, and reports
// whether they are different layers of one method. Values that combine layers are of no layer.
func (c *Comparison) Unlike(t int) (layers [2]int, unlike bool) {
	for i := range c.Sides {
		r := c.Sides[i].result()
		if r.Combined {
			return layers, false
		}
		layers[i] = r.Layer(t, c.Sides[i].level(t))
	}
	return layers, layers[0] != layers[1] && c.Sides[0].Method == c.Sides[1].Method
}

// fill computes the results: the level shown of both sides, and their difference.
func (c *Comparison) fill() {
	a, b := c.Sides[0].result(), c.Sides[1].result()
	own := a.OwnSources()
	if b.OwnSources() != own {
		own = -1
	}
	c.Divided = a.Quantity != b.Quantity || a.Quantity != attribution.Share && a.Unit != b.Unit
	for i := range c.Sides {
		r, rest := c.level(i, own)
		if c.Divided {
			c.divide(i, r.Rows, own, rest)
			r.Unit, r.Quantity = "share of the sizes of a row", attribution.Share
			r.Options["divided"] = "each row by the sum of its sizes, sinks excluded"
		}
		if !slices.ContainsFunc(rest, math.IsNaN) {
			r.OtherMass = rest
		}
		c.Results[i] = r
	}
	signed := [2]bool{hasSigns(c.Results[0].Rows), hasSigns(c.Results[1].Rows)}
	c.Sizes = c.Divided && signed[0] != signed[1]
	if c.Sizes && signed[1] {
		c.Signed = 1
	}
	d, _ := c.level(0, own)
	d.Facts = attribution.Facts{Spans: d.Spans}
	maps.DeleteFunc(d.Options, func(name, _ string) bool { return name != "spans" })
	d.Unit, d.Quantity = c.difference()
	if first := c.Aligned.Difference; first != nil {
		d.Shape[0] = min(d.Shape[0], first.Row)
	}
	d.Rows, d.Shown = nil, d.Shown[:d.Shape[0]]
	for t := range d.Shape[0] {
		d.Rows = append(d.Rows, c.minus(c.Results[0].Rows[t], c.Results[1].Rows[t]))
	}
	c.Results[Difference] = d
}

// minus returns the difference of two rows of the same columns.
func (c *Comparison) minus(x, y []float64) []float64 {
	z := make([]float64, min(len(x), len(y)))
	for j := range z {
		switch {
		case c.Results[0].Quantity == attribution.Lift:
			z[j] = x[j] / y[j]
		default:
			z[j] = c.compared(x[j]) - c.compared(y[j])
		}
	}
	return z
}

// compared returns the part of a value that is compared: its size, if one side has no signs.
func (c *Comparison) compared(x float64) float64 {
	if c.Sizes {
		return math.Abs(x)
	}
	return x
}

// hasSigns reports whether values have both signs, or are negative.
func hasSigns(rows [][]float64) bool {
	return slices.ContainsFunc(slices.Concat(rows...), func(x float64) bool { return x < 0 })
}

// difference returns the unit and the quantity of the difference.
func (c *Comparison) difference() (string, attribution.Quantity) {
	switch a := c.Sides[0].result(); {
	case a.Quantity == attribution.Lift:
		return "lift of A divided by lift of B", attribution.Lift
	case c.Sizes:
		return "share of the sizes in A minus that in B", attribution.Share
	case c.Divided || a.Quantity == attribution.Share:
		return "share in A minus share in B", attribution.Share
	default:
		return a.Unit + " in A minus that in B", attribution.Amount
	}
}

// level returns copies of the rows of a side at the level shown, [N,M,1], with generated tokens as
// sources unless own is -1, and what all generated tokens have together, [N], NaN if that is not
// known.
func (c *Comparison) level(side, own int) (r *attribution.Result, rest []float64) {
	from, n := c.Sides[side].result(), c.rows()
	r = &attribution.Result{
		Unit: from.Unit, Options: map[string]string{}, Facts: from.Facts,
		Shape: [3]int{n, from.Shape[1], 1},
	}
	maps.Copy(r.Options, from.Options)
	for t := range n {
		level := c.Sides[side].level(t)
		row, part := from.Row(t, level), math.NaN()
		if own < 0 {
			row = row[:from.Shape[1]]
		}
		if i := t*from.Shape[2] + level; i < len(from.OtherMass) {
			part = from.OtherMass[i]
		}
		r.Shown = append(r.Shown, from.Layer(t, level))
		r.Rows, rest = append(r.Rows, slices.Clone(row)), append(rest, part)
	}
	r.Layers = []int{r.Shown[0]}
	if slices.Max(r.Shown) != slices.Min(r.Shown) {
		r.Layers[0] = attribution.LayerByToken
	}
	return r, rest
}

// divide divides each row of a side by the sum of its sizes, sinks excluded. Rows of zeros stay.
func (c *Comparison) divide(side int, rows [][]float64, own int, rest []float64) {
	s := &c.Sides[side]
	var sinks []attribution.Sink
	var rowSinks []int
	if len(s.Explanation.Prompt.Special) >= s.result().Shape[1] { // without it no sink is known
		sinks, _ = s.Explanation.Sinks(s.Method, s.Shown()) // none if its parts are not known
		rowSinks, _ = s.Explanation.RowSinks(s.Method, s.Shown())
	}
	for t, row := range rows {
		sum := 0.0
		for j, x := range row {
			is := func(s attribution.Sink) bool { return s.Position == j }
			if !slices.ContainsFunc(sinks, is) && (t >= len(rowSinks) || rowSinks[t] != j) {
				sum += math.Abs(x)
			}
		}
		if own < 0 && !math.IsNaN(rest[t]) {
			sum += math.Abs(rest[t])
		}
		if !(sum > 0) || math.IsInf(sum, 0) {
			continue
		}
		rest[t] /= sum
		for j := range row {
			row[j] /= sum
		}
	}
}

// firstDifference tells where two lists of tokens differ first, with the tokens around it.
func firstDifference(x, y []string) string {
	at := 0
	for at < min(len(x), len(y)) && sameToken(x[at], y[at]) {
		at++
	}
	around := func(all []string) string {
		const most = 8
		var names []string
		for j := max(0, at-2); j < min(len(all), at+most); j++ {
			names = append(names, fmt.Sprint(j, " ", message.Quote(strings.TrimSpace(all[j]))))
		}
		if len(all) > at+most {
			names = append(names, "…")
		}
		return message.List(names)
	}
	return fmt.Sprintf("they differ first at token %d: %s; and %s", at, around(x), around(y))
}
