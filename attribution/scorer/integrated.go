package scorer

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/message"
	"github.com/headwater-ml/headwater/internal/rowmath"
)

func init() { register("integrated-gradients", integratedGradientsInfo, integratedGradients) }

// integratedGradients is the gradient averaged on the straight path from a baseline e', which
// stands for a text without information, to the text e:
//
//	s_j = Σ_D (e_j - e'_j) ∫_0^1 ∂f/∂e_j (e' + α(e - e')) dα
//
// (Sundararajan et al. 2017, §3). All tokens move together. The baseline e' is the embedding of one
// token at every place. By default that is the first of the model's mask, unknown, end-of-text and
// padding tokens whose embedding is not nearly zero. [Options.Replacement] chooses another one. The
// token with which the target of two stacks begins stays as it is, because every text has it.
//
// The paper suggests zeros for text. Zeros are a poor baseline if the first operation of the model
// is a norm (Llama, BLOOM): for all but the smallest α, αe and e have the same output there. So
// nearly the whole change of f happens in a tiny part of the path next to the baseline, where
// gradients can grow to infinity. Zeros are used only if they are asked for, or if the model has
// none of these tokens, and never if the norm is RMSNorm: at zeros it divides by √ε, as do the
// norms of all layers that no bias keeps from zero, so that sums of 10^7 were seen for a logit of
// 4.
//
// The integral is the trapezoidal sum over both ends and [Options.Steps] points between them. The
// paper uses equal steps; here the points are placed where they are needed. The probability of a
// certain prediction often rises within a hundredth of the path, which equal steps (or those of
// Gauss and Legendre) miss or count twice. f is known at each point, so the error of the sum in
// each interval is known exactly, and the intervals with the largest error are divided. f is the
// probability.
//
// Values are [T] and should add up to f(e) - f(e'). The residue is the completeness error, which
// shows whether there were enough steps. It costs Steps + 2 passes forward and back, in batches.
func integratedGradients(ctx context.Context, x *question) (*Scores, error) {
	e, err := x.inputs(ctx)
	if err != nil {
		return nil, err
	}
	base, err := x.baseline(ctx, len(e)/len(x.q.IDs))
	if err != nil {
		return nil, err
	}
	return x.integrate(ctx, e, base)
}

var integratedGradientsInfo = Info{
	Summary:    "what each token adds from a text of one meaningless token to this one",
	Formula:    "s_j = Σ_D (e_j - e'_j) ∫₀¹ ∂f/∂e_j(e' + α(e - e')) dα",
	Paper:      "Sundararajan et al. 2017, §3",
	Cost:       "steps + 2 passes forward and back a token, 34 by default",
	Needs:      "gradients",
	Signed:     true,
	Evidence:   trace.Traced,
	Quantities: []trace.Quantity{trace.Probability, trace.LogProbability, trace.Logit},
	Replaces:   true,
	Integrates: true,
	Complete:   true,
	Edits:      true,
}

// baseline is the start of the path of integrated gradients.
type baseline struct {
	kind string           // its name in [Options.Replacement]
	rows sides[[]float32] // the embedding at every place, [D]
}

// shortest is the smallest length of the embedding of a default baseline, relative to the longest
// candidate. A shorter one has the problem of zeros: the direction of e' + α(e - e') changes from
// that of e' to that of e in the first hundredth of the path. Tokens that were never trained (<unk>
// in Llama, padding in OPT) may be that short.
const shortest = 0.01

// baseline returns the baseline that the options name, or the model's default. width is D.
func (x *question) baseline(ctx context.Context, width int) (baseline, error) {
	if x.opts.Replacement == "" {
		return x.defaultBaseline(ctx, width)
	}
	b := baseline{kind: x.opts.Replacement}
	switch {
	case b.kind == zeroKind && x.info.NoGradientAtZero:
		return b, x.noZeros()
	case b.kind == deleteKind:
		return b, trace.Usagef(
			"%s goes from a text of as many tokens, so none can be deleted; take %s, "+
				"or any token of %s",
			x.scorer, message.List(x.baselines()), message.Quote(x.info.Name),
		)
	}
	r, err := x.replacement(b.kind)
	if err != nil {
		return b, err
	}
	b.rows, err = r.embeddings(ctx, x, width)
	return b, err
}

// defaultBaseline returns the first of baselineKinds that the model has and whose embedding is not
// nearly zero; the first that it has if all are nearly zero; and zeros if it has none.
func (x *question) defaultBaseline(ctx context.Context, width int) (baseline, error) {
	var kinds []string
	var ids []sides[int]
	for _, kind := range baselineKinds {
		if id, ok := x.specialToken(kind); ok {
			kinds, ids = append(kinds, kind), append(ids, id)
		}
	}
	switch {
	case len(ids) == 0 && x.info.NoGradientAtZero:
		return baseline{}, x.noZeros()
	case len(ids) == 0:
		zeros := make([]float32, width)
		return baseline{zeroKind, sides[[]float32]{zeros, zeros}}, nil
	}
	rows, err := x.rowsOf(ctx, width, ids...)
	if err != nil {
		return baseline{}, err
	}
	lengths, longest := make([]float64, len(ids)), 0.0 // the shorter of both sides
	for i, r := range rows {
		source, other := squared(r.source), squared(r.other)
		lengths[i], longest = min(source, other), max(longest, source, other)
	}
	// Lengths are squares, so the limit is squared too.
	i := slices.IndexFunc(lengths, func(l float64) bool { return l >= shortest*shortest*longest })
	i = max(i, 0)
	return baseline{kinds[i], rows[i]}, nil
}

// squared returns the square of the length of a row.
func squared(row []float32) (sum float64) {
	for _, x := range row {
		sum += float64(x) * float64(x)
	}
	return sum
}

// baselineKinds are tokens without a meaning, in the order in which a baseline is chosen: the one
// that masked models were trained with, the one that other tools use, and those that decoders have.
var baselineKinds = []string{"mask", "unknown", "end", "pad"}

// baselines lists the kinds of baseline that the model has.
func (x *question) baselines() []string {
	return slices.DeleteFunc(x.availableKinds(), func(kind string) bool {
		return kind == deleteKind || kind == zeroKind && x.info.NoGradientAtZero
	})
}

// noZeros is the error for a baseline of zeros that the model has no gradient at.
func (x *question) noZeros() error {
	return trace.Usagef("%s cannot begin at zeros: %s divides each embedding by its root mean "+
		"square, so it has no gradient there; take another replacement: %s", x.scorer,
		message.Quote(x.info.Name), message.List(append(x.baselines(), "any token of the model")))
}

// rounds is how many times intervals are divided, each time with a quarter of the steps. More
// rounds place points better, because each knows the values of the last one; fewer rounds make
// larger batches.
const rounds = 3

// integrate returns the integrals of all tokens on the path from base to e, [T,D].
func (x *question) integrate(ctx context.Context, e []float32, base baseline) (*Scores, error) {
	each := x.opts.Steps / (rounds + 1)
	first := x.opts.Steps + 2 - rounds*each // with both ends
	at := make([]float64, first)
	for i := range at {
		at[i] = float64(i) / float64(first-1)
	}
	path, err := x.evaluate(ctx, e, base, at)
	for round := 0; err == nil && each > 0 && round < rounds; round++ {
		var more []pathPoint
		more, err = x.evaluate(ctx, e, base, refine(path, each))
		path = append(path, more...)
		slices.SortFunc(path, func(a, b pathPoint) int { return cmp.Compare(a.at, b.at) })
	}
	if err != nil {
		return nil, err
	}
	values := make([]float64, len(x.q.IDs))
	for k := range path[1:] {
		path[k].trapezoid(path[k+1], values)
	}
	last := path[len(path)-1].value
	s := parts(last-path[0].value, values)
	s.Value, s.Replacement = last, base.kind
	return s, nil
}

// pathPoint is a point of the path from a baseline to the text.
type pathPoint struct {
	at    float64 // α, 0 at the baseline and 1 at the text
	value float64 // f
	// slopes are the tokens' parts of df/dα, [T]; nil if f has no derivative there, which may
	// happen at the baseline.
	slopes []float64
}

// trapezoid adds the integral of the slopes from p to the next point to dst, [T]. If p has no
// slopes, those of the next point are used for both ends.
func (p pathPoint) trapezoid(after pathPoint, dst []float64) {
	h := after.at - p.at
	for j, slope := range after.slopes {
		if p.slopes != nil {
			slope = (p.slopes[j] + slope) / 2
		}
		dst[j] += h * slope
	}
}

// refine returns the positions of n more points for a path. One after the other goes to the
// interval with the largest expected error; among equal errors, to the widest. The error of
// trapezoids falls with the square of the number of pieces.
func refine(path []pathPoint, n int) []float64 {
	type interval struct {
		off, width float64
		pieces     int
	}
	intervals := make([]interval, len(path)-1)
	for k, p := range path[1:] {
		values := make([]float64, len(p.slopes))
		path[k].trapezoid(p, values)
		off := math.Abs(p.value - path[k].value - rowmath.Total(values))
		intervals[k] = interval{off, p.at - path[k].at, 1}
	}
	for range n {
		worst := slices.MaxFunc(intervals, func(a, b interval) int {
			p, q := float64(a.pieces), float64(b.pieces)
			return cmp.Or(cmp.Compare(a.off/p/p, b.off/q/q), cmp.Compare(a.width/p, b.width/q))
		})
		intervals[slices.Index(intervals, worst)].pieces++
	}
	var at []float64
	for k, i := range intervals {
		for piece := 1; piece < i.pieces; piece++ {
			at = append(at, path[k].at+i.width*float64(piece)/float64(i.pieces))
		}
	}
	return at
}

// evaluate returns the points at positions at of the path from base to e, [T,D]. It returns an
// error if the value at a point is not finite, or the gradient at a point other than the baseline.
func (x *question) evaluate(
	ctx context.Context, e []float32, base baseline, at []float64,
) ([]pathPoint, error) {
	from, boundary := make([]float32, 0, len(e)), x.info.TargetBegin(x.q.IDs)
	for j := range x.q.IDs {
		from = append(from, base.rows.at(j, boundary)...)
	}
	if D := len(base.rows.other); boundary >= 0 {
		copy(from[boundary*D:(boundary+1)*D], e[boundary*D:])
	}
	direction := make([]float32, len(e))
	for i := range e {
		direction[i] = e[i] - from[i]
	}
	query := func(k int) trace.Query {
		q := x.q
		q.Embeddings = make([]float32, len(e))
		for i := range e {
			q.Embeddings[i] = float32(float64(from[i]) + at[k]*(float64(e[i])-float64(from[i])))
		}
		return q
	}
	var points []pathPoint
	each := func(k int, g trace.Gradient) error {
		if err := x.checkFinite("value", g.Value); err != nil {
			return x.onPath(err, base, at[k])
		}
		p := pathPoint{at: at[k], value: g.Value}
		_, err := x.width(g.Data)
		switch {
		case err == nil:
			p.slopes, err = x.dotProducts(direction, g.Data)
		case at[k] == 0 && len(g.Data) == len(e):
			err = nil // the gradient may be infinite at the baseline alone
		default:
			err = x.onPath(x.modelError("a gradient of %v", err), base, at[k])
		}
		points = append(points, p)
		return err
	}
	err := x.gradients(ctx, len(at), query, trace.TrueGradient, each)
	return points, err
}

// onPath adds to an error of the model at which point of the path it failed, and which other
// baselines there are.
func (x *question) onPath(err error, base baseline, at float64) error {
	if at == 1 {
		return err // the text itself, which is the same for every baseline
	}
	others := slices.DeleteFunc(x.baselines(), func(kind string) bool { return kind == base.kind })
	return fmt.Errorf(
		"%w, %.2g of the way from the baseline %s to the text, where the model may "+
			"be undefined; take another baseline: %s, or any token of %s",
		err, at, message.Quote(base.kind), message.List(others), message.Quote(x.info.Name),
	)
}
