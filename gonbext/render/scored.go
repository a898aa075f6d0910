package render

import (
	"fmt"
	"math"
	"strconv"

	"github.com/headwater-ml/headwater/attribution"
)

// scorer reports whether a method is a scorer. Its values belong to the whole model and to one
// prediction.
func (v *view) scorer() bool { return v.wrong == "" && v.result.Scorer }

// alike reports whether values say how alike two states are, and not what came from a source.
func (v *view) alike() bool { return v.wrong == "" && v.result.Quantity == attribution.Cosine }

// contrast returns the token or class that a prediction is compared with, or "" if there is none.
func (v *view) contrast() string {
	if v.wrong != "" || v.result.Contrast == "" {
		return ""
	}
	return tokenName(v.result.Contrast)
}

// reading returns how to read the values, for the legend: their layer, what their signs mean, and
// the unit of the numbers.
func (v *view) reading() string { return v.layers() + v.signsMean() }

// signsMean returns what the signs of values mean, and the unit of the numbers, after a comma.
func (v *view) signsMean() (s string) {
	against := v.contrast()
	switch {
	case v.difference && v.top.lift:
		s += ", blue for A and rust for B"
	case v.difference:
		s += ", + for A and − for B"
	case against != "" && v.top.signed:
		s += ", + for the prediction and − for " + against
	case against != "":
		s += ", why the prediction and not " + against
	case v.scorer() && v.top.signed:
		s += ", + for the prediction and − against it"
	}
	if times := v.top.times(); times != "" {
		s += ", numbers " + times
	}
	return s
}

// scored returns what the values of a scorer explain in row t and how much of it they add up to:
// "john rather than mary: logit difference 8.56, parts add up to 5.98". Against foils it says
// "logit 4.93 above the mean of the next 5". It is empty for other methods.
func (p *picture) scored(v *view, t int) string {
	if !v.scorer() || t >= len(p.e.Steps) {
		return ""
	}
	against, what := v.contrast(), Visible(string(v.result.Explains), 20)
	s := ""
	if against != "" {
		s = tokenName(p.e.Steps[t].Text) + " rather than " + against
		what += " difference"
	}
	if t >= len(v.result.Explained) || v.result.Explains == "" {
		return s
	}
	if s != "" {
		s += ": "
	}
	explained := v.result.Explained[t]
	s += what + " " + figure(explained)
	if n := v.result.Foils; n > 0 {
		s += fmt.Sprintf(" above the mean of the next %d", n)
	}
	// With the residue, the sum is what the values should add up to.
	sum := v.sum(t)
	if t >= len(v.result.Residue) || math.IsNaN(sum) {
		return s
	}
	s += ", parts add up to " + figure(sum)
	if whole := sum + v.result.Residue[t]; figure(whole) != figure(explained) {
		// a difference from another text, as in integrated gradients
		s += fmt.Sprintf(" of %s", figure(whole))
	}
	return s
}

// onFirst says how much of row t of a scorer in a decoder is on the first token, which attention
// often rests on whatever a text is about: "first token <bos> +2.34, 26.8 % of the sizes of the
// row". Values with signs have no shares, so their sizes are compared: |s_0| / Σ_j |s_j|, generated
// tokens included. It is empty for other methods, and where one of the sizes is not known.
func (p *picture) onFirst(v *view, t int) string {
	if !v.scorer() || v.difference || p.e.Model.Reads() || !v.has(t) || len(v.sinks) == 0 ||
		v.top.lift || t > 0 && !v.generated {
		return ""
	}
	sum := 0.0
	for j := range v.sources(t) {
		sum += math.Abs(v.at(t, j))
	}
	at := p.explanationOf(v).FirstRead()
	if at < 0 {
		return ""
	}
	first := v.at(t, at)
	if at == p.targetBegin && first == 0 { // files of other programs do not have it
		return ""
	}
	if !(sum > 0) || math.IsInf(sum, 0) {
		return ""
	}
	what := "first token " + p.short(at)
	switch {
	case at == p.targetBegin:
		what = startName
	case p.e.Spans():
		what = "first span " + p.short(at)
	}
	return fmt.Sprintf("%s %s, %s of the sizes of the row", what, v.rows[t].value(first),
		share(math.Abs(first)/sum))
}

// wholeName names what the values of a scorer explain: "logit above the mean of the next 5".
func (v *view) wholeName() string {
	name := Visible(string(v.result.Explains), 20)
	if n := v.result.Foils; n > 0 {
		name += fmt.Sprintf(" above the mean of the next %d", n)
	}
	if against := v.contrast(); against != "" {
		name += " above that of " + against
	}
	return name
}

// scoredLine returns what row t of a scorer explains and how much of it is on the first token.
func (p *picture) scoredLine(v *view, t int) string {
	scored, first := p.scored(v, t), p.onFirst(v, t)
	if scored != "" && first != "" {
		return scored + " · " + first
	}
	return scored + first
}

// signed writes a number of a model with its sign.
func signed(x float64) string {
	if x >= 0 {
		return "+" + figure(x)
	}
	return minus(figure(x))
}

// figure formats a number of a model with three digits or more. Very small and very large ones get
// an exponent.
func figure(x float64) string {
	if a := math.Abs(x); a >= 0.1 && a < 1e6 {
		digits := 2
		if a < 1 {
			digits = 3
		}
		return strconv.FormatFloat(x, 'f', digits, 64)
	}
	return strconv.FormatFloat(x, 'g', 3, 64)
}
