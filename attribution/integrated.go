package attribution

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/headwater-ml/headwater/attribution/trace"
)

func init() { RegisterScorer("integrated-gradients", integratedGradients{}) }

// integratedGradients is the gradient averaged on the straight path from a baseline e', which
// stands for a text without information, to the text e:
//
//	s_j = Σ_D (e_j - e'_j) ∫_0^1 ∂f/∂e_j (e' + α(e - e')) dα
//
// (Sundararajan et al. 2017, §3). All tokens move together. e' is the embedding of one token at
// every place: by default the model's mask, unknown, end-of-text or padding token, the first that
// it has and whose embedding is not nearly zero. [Scoring.Replacement] chooses another one.
//
// The paper suggests zeros for text. Zeros are a poor baseline where the first operation is a norm
// (Llama, BLOOM): the norm of αe is that of e for all but the smallest α, so nearly the whole
// change of f lies in a sliver of the path next to the baseline, with gradients that grow with
// every layer up to infinity. Zeros are taken only if they are asked for, or if the model has none
// of these tokens.
//
// The integral is the trapezoidal sum over both ends and [Scoring.Steps] points between them, which
// stand where they are needed; the paper has equal steps. A certain prediction often comes about in
// a hundredth of the path, which equal steps (or those of Gauss and Legendre) miss or count twice.
// f is known at each point, so how far the sum is off in each interval is known exactly, and the
// intervals with the largest error are divided. f is the probability.
//
// Values are [T] and should add up to f(e) - f(e'). The residue is what is missing: the
// completeness error, which says whether the steps were enough. It costs Steps + 2 passes forward
// and back, a batch at a time.
type integratedGradients struct{}

// Info describes the scorer.
func (integratedGradients) Info() ScorerInfo {
	return ScorerInfo{
		Summary:    "what each token adds from a text of one meaningless token to this one",
		Formula:    "s_j = Σ_D (e_j - e'_j) ∫₀¹ ∂f/∂e_j(e' + α(e - e')) dα",
		Paper:      "Sundararajan et al. 2017, §3",
		Cost:       "steps + 2 passes forward and back a token, 34 by default",
		Needs:      "gradients",
		Signed:     true,
		Quantities: []trace.Quantity{trace.Probability, trace.LogProbability, trace.Logit},
		Replaces:   true,
		Integrates: true,
		Complete:   true,
	}
}

// Score returns the integrals; see [Scorer].
func (g integratedGradients) Score(
	ctx context.Context, m Model, q trace.Query, opts Scoring,
) (*Scores, error) {
	x, err := newQuestion(ctx, "integrated-gradients", g.Info(), m, q, opts)
	if err != nil {
		return nil, err
	}
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

// baseline is where the path of integrated gradients begins.
type baseline struct {
	kind string    // what it is made of, as [Scoring.Replacement] has it
	row  []float32 // the embedding that stands at every place, [D]
}

// shortest is the least length of the embedding of a baseline that nobody asked for, as a part of
// the longest that there is. A shorter one is zeros in disguise: the norm of e' + α(e - e') turns
// from that of e' to that of e in the first hundredth of the path. Tokens that were never trained
// (the <unk> of Llama, the padding of OPT) may be as short.
const shortest = 0.01

// baseline returns the baseline of the options, or the model's own. Rows are D wide.
func (x *question) baseline(ctx context.Context, width int) (baseline, error) {
	if x.opts.Replacement == "" {
		return x.defaultBaseline(ctx, width)
	}
	b := baseline{kind: x.opts.Replacement}
	if b.kind == deleteKind {
		return b, usagef("%s goes from a text of as many tokens, so none can be deleted; take %s, "+
			"or any token of %s", x.scorer, list(x.baselines()), quote(x.info.Name))
	}
	r, err := x.replacement(b.kind)
	if err != nil {
		return b, err
	}
	if r.zero {
		b.row = make([]float32, width)
		return b, nil
	}
	b.row, err = x.rowsOf(ctx, width, r.id)
	return b, err
}

// defaultBaseline returns the first of the model's stand-ins whose embedding is not nearly zero, or
// the first if all are, and zeros if it has none.
func (x *question) defaultBaseline(ctx context.Context, width int) (baseline, error) {
	var kinds []string
	var ids []int
	for _, kind := range baselineKinds {
		if id, ok := x.specialToken(kind); ok {
			kinds, ids = append(kinds, kind), append(ids, id)
		}
	}
	if len(ids) == 0 {
		return baseline{zeroKind, make([]float32, width)}, nil
	}
	rows, err := x.rowsOf(ctx, width, ids...)
	if err != nil {
		return baseline{}, err
	}
	lengths := make([]float64, len(ids))
	for i := range rows {
		lengths[i/width] += float64(rows[i]) * float64(rows[i])
	}
	longest := slices.Max(lengths) // squared
	i := slices.IndexFunc(lengths, func(l float64) bool { return l >= shortest*shortest*longest })
	return baseline{kinds[i], rows[i*width : (i+1)*width]}, nil
}

// baselineKinds are the tokens that say nothing, in the order in which a baseline is chosen: what
// masked models were trained with, what other tools take, and what every decoder knows.
var baselineKinds = []string{"mask", "unknown", "end", "pad"}

// baselines lists the kinds of baseline that the model has.
func (x *question) baselines() []string {
	return slices.DeleteFunc(x.availableKinds(), func(kind string) bool { return kind == deleteKind })
}

// rowsOf returns the embeddings of ids, which must be width wide.
func (x *question) rowsOf(ctx context.Context, width int, ids ...int) ([]float32, error) {
	rows, err := x.embed(ctx, ids)
	if err != nil {
		return nil, err
	}
	if len(rows) != width*len(ids) {
		return nil, x.modelError("an embedding of width %d, and of width %d for another token",
			len(rows)/len(ids), width)
	}
	return rows, nil
}

// rounds is how often intervals are divided, each time by a quarter of the steps: often enough that
// each division knows where the last one found the change, and seldom enough that points still come
// in batches.
const rounds = 3

// integrate returns the integrals from base to e, [T,D].
func (x *question) integrate(ctx context.Context, e []float32, base baseline) (*Scores, error) {
	each := x.opts.Steps / (rounds + 1)
	first := x.opts.Steps + 2 - rounds*each // both ends among them
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
	// slopes are what each token adds to df/dα, [T]; nil if f has no derivative there, as may be at
	// the baseline.
	slopes []float64
}

// trapezoid adds the integral of the slopes from p to the point after it to dst, [T]. Where p has
// none, those of the other end stand for them.
func (p pathPoint) trapezoid(after pathPoint, dst []float64) {
	h := after.at - p.at
	for j, slope := range after.slopes {
		if p.slopes != nil {
			slope = (p.slopes[j] + slope) / 2
		}
		dst[j] += h * slope
	}
}

// divided returns n more points for a path. Each in turn goes to the interval whose error would be
// the largest, of equal ones to the widest, if it falls with the square of the number of equal
// pieces, as that of trapezoids does.
func refine(path []pathPoint, n int) []float64 {
	type interval struct {
		off, width float64
		pieces     int
	}
	intervals := make([]interval, len(path)-1)
	for k, p := range path[1:] {
		values := make([]float64, len(p.slopes))
		path[k].trapezoid(p, values)
		off := math.Abs(p.value - path[k].value - total(values))
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

// evaluate returns the points at of the path from base to e, [T,D]. It returns an error if the
// model has no value at one, or no gradient at one other than the baseline.
func (x *question) evaluate(
	ctx context.Context, e []float32, base baseline, at []float64,
) ([]pathPoint, error) {
	D := len(base.row)
	direction := make([]float32, len(e))
	for i := range e {
		direction[i] = e[i] - base.row[i%D]
	}
	query := func(k int) trace.Query {
		q := x.q
		q.Embeddings = make([]float32, len(e))
		for i := range e {
			from := float64(base.row[i%D])
			q.Embeddings[i] = float32(from + at[k]*(float64(e[i])-from))
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

// onPath says where on the path from the baseline the model failed, and what else can be tried.
func (x *question) onPath(err error, base baseline, at float64) error {
	if at == 1 {
		return err // the text's own value
	}
	return fmt.Errorf("%w, %.2g of the way from the baseline %s to the text, where the model may "+
		"be undefined; take another baseline: %s, or any token of %s", err, at, quote(base.kind),
		list(slices.DeleteFunc(x.baselines(), func(kind string) bool { return kind == base.kind })),
		quote(x.info.Name))
}
