package scorer

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/message"
	"github.com/headwater-ml/headwater/internal/rowmath"
)

// Prepare checks a call of a scorer. It is the first step of Score in a scorer of your own. It
// returns copies of the query and the options, with every default filled in. The error, a
// [trace.UsageError], names what is wrong: a query without tokens, a position or token out of
// range, embeddings of a size that is not [T,D] or with NaN or infinity, a quantity that info does
// not have, or an option out of range.
func Prepare(
	scorer string, info Info, m trace.Model, q trace.Query, opts Options,
) (trace.Query, Options, error) {
	x, err := newQuestion(context.Background(), scorer, info, m, q, opts)
	if err != nil {
		return trace.Query{}, Options{}, err
	}
	return x.q, x.opts, nil
}

// builtIn is a scorer that answers a question after the checks of [newQuestion].
type builtIn struct {
	name  string
	info  Info
	score func(ctx context.Context, x *question) (*Scores, error)
}

// register registers a built-in scorer.
func register(name string, info Info, score func(context.Context, *question) (*Scores, error)) {
	Register(name, builtIn{name, info, score})
}

// Info describes the scorer.
func (b builtIn) Info() Info {
	info := b.info
	info.Quantities = slices.Clone(info.Quantities)
	return info
}

// Score answers the question; see [Scorer].
func (b builtIn) Score(
	ctx context.Context, m trace.Model, q trace.Query, opts Options,
) (*Scores, error) {
	x, err := newQuestion(ctx, b.name, b.info, m, q, opts)
	if err != nil {
		return nil, err
	}
	return b.score(ctx, x)
}

// question is one call of a scorer: the model, and the query and options after checks, with
// defaults filled in.
type question struct {
	scorer string
	m      trace.Model
	info   trace.Info
	q      trace.Query // a copy, so that a model cannot change the caller's
	opts   Options
}

// newQuestion checks a call of a scorer. It returns a usage error for a query without tokens or
// with an index out of range, for a quantity that the scorer does not explain, and for options out
// of range.
func newQuestion(
	ctx context.Context, scorer string, has Info, m trace.Model, q trace.Query, opts Options,
) (*question, error) {
	if err := ctx.Err(); err != nil {
		return nil, pkg.Errorf("%s: %w", scorer, err)
	}
	if err := opts.Check(); err != nil {
		return nil, err
	}
	// The options win over the query, and the query over the scorer's own default.
	opts.Quantity = cmp.Or(opts.Quantity, q.Quantity)
	if opts.Quantity == "" && len(has.Quantities) > 0 {
		opts.Quantity = has.Quantities[0]
	}
	if !slices.Contains(has.Quantities, opts.Quantity) {
		return nil, trace.Usagef("%s does not explain quantity %s; it explains %s", scorer,
			message.Quote(string(opts.Quantity)), quantities(has))
	}
	if len(q.Edits) > 0 && !has.Edits {
		return nil, trace.Usagef("%s is not computed in a model that is edited", scorer)
	}
	x := &question{scorer: scorer, m: m, info: m.Info(), q: q, opts: opts.WithDefaults()}
	x.q.Quantity = opts.Quantity
	// Copies, because a model of another module may keep or change what it is given.
	x.q.IDs, x.q.Embeddings = slices.Clone(q.IDs), slices.Clone(q.Embeddings)
	if q.Contrast != nil {
		contrast := *q.Contrast
		x.q.Contrast = &contrast
	}
	x.q.Foils, x.q.Types = slices.Clone(q.Foils), slices.Clone(q.Types)
	if err := x.check(); err != nil {
		return nil, err
	}
	return x, nil
}

// oneStack returns a usage error for a model of two stacks, which predicts no token of the source.
func (x *question) oneStack() error {
	if x.info.EncoderLayers == 0 {
		return nil
	}
	return trace.Usagef("%s puts in tokens that the model predicts, and %s predicts none of the "+
		"source; take occlusion", x.scorer, message.Quote(x.info.Name))
}

// sources returns what is taken away, one after the other: the groups of the options and every
// other token alone, in the order of their first tokens.
func (x *question) sources() [][]int {
	first := map[int][]int{} // from a token to the group that it begins
	grouped := make([]bool, len(x.q.IDs))
	for _, group := range x.opts.Groups {
		for i, j := range group {
			if grouped[j] = true; i == 0 {
				first[j] = group
			}
		}
	}
	var all [][]int
	for j := range x.q.IDs {
		if group := first[j]; group != nil {
			all = append(all, group)
		} else if !grouped[j] {
			all = append(all, []int{j})
		}
	}
	return all
}

// quantities lists the quantities that a scorer explains, for a message.
func quantities(has Info) string {
	return message.List(message.Names(has.Quantities))
}

// check returns a usage error for a query without tokens, for a position or token out of range, and
// for embeddings of a wrong size.
func (x *question) check() error {
	T := len(x.q.IDs)
	if T == 0 {
		return trace.Usagef("%s: a query without tokens", x.scorer)
	}
	if x.q.Position < 0 || x.q.Position >= T {
		return trace.Usagef("%s: position %d of %d tokens; it must be in [0,%d]", x.scorer,
			x.q.Position, T, T-1)
	}
	for j, id := range x.q.IDs {
		if id < 0 || x.info.Vocab > 0 && id >= x.info.IDs() && id != x.info.Boundary() {
			return trace.Usagef("%s: token %d has id %d; %s has %d tokens, from 0", x.scorer, j, id,
				message.Quote(x.info.Name), x.info.IDs())
		}
	}
	// The number of classes is not known here, so a class is only checked from below.
	if len(x.q.Foils) > 0 && (x.q.Contrast != nil || x.q.Quantity != trace.Logit) {
		return trace.Usagef("%s: %d foils; they need the quantity %s and no contrast", x.scorer,
			len(x.q.Foils), trace.Logit)
	}
	for _, w := range x.q.Sum() {
		if w.Token < 0 || x.tokens() && x.info.Vocab > 0 && w.Token >= x.info.Vocab {
			return trace.Usagef(
				"%s: token or class %d of %s, which counts from 0 and has %d tokens",
				x.scorer, w.Token, message.Quote(x.info.Name), x.info.Vocab,
			)
		}
	}
	seen := make([]bool, T)
	for _, group := range x.opts.Groups {
		for i, j := range group {
			if j < 0 || j >= T || seen[j] || i > 0 && j < group[i-1] {
				return trace.Usagef("%s: the group %v of %d tokens; a group has positions in "+
					"rising order, each in one group at most", x.scorer, group, T)
			}
			seen[j] = true
		}
	}
	if x.q.Embeddings == nil {
		return nil
	}
	if _, err := x.width(x.q.Embeddings); err != nil {
		return trace.Usagef("%s: the query's embeddings: %v", x.scorer, err)
	}
	return nil
}

// tokens reports whether the head predicts tokens, and not classes.
func (x *question) tokens() bool {
	return !x.info.Head.Classifies() && x.info.Head != trace.NoHead
}

// target returns the row that the head reads: the first one for an encoder that classifies texts.
func (x *question) target() int {
	if x.info.Head.WholeText() && x.info.Bidirectional {
		return 0
	}
	return x.q.Position
}

// width returns the width D of data, [T,D]. It returns an error if the size does not fit, or one
// that names the first token with a NaN or an infinity.
func (x *question) width(data []float32) (int, error) {
	T := len(x.q.IDs)
	if len(data) == 0 || len(data)%T != 0 {
		return 0, fmt.Errorf("%d numbers for %d tokens; want the same number for each",
			len(data), T)
	}
	// Number i belongs to token i/D.
	if i := slices.IndexFunc(data, rowmath.NotFinite); i >= 0 {
		j := i / (len(data) / T)
		return 0, fmt.Errorf("%v at token %d (id %d)", data[i], j, x.q.IDs[j])
	}
	return len(data) / T, nil
}

// requireModel returns the model as an I, the interface that a scorer needs, or a usage error if
// the model does not implement it. what says in words what I does. That is wrong usage and not a
// broken model: another scorer may do.
func requireModel[I any](x *question, what string) (I, error) {
	m, ok := x.m.(I)
	if !ok {
		// A nil pointer to an interface prints its name, such as *trace.Predictor.
		name := strings.TrimPrefix(fmt.Sprintf("%T", (*I)(nil)), "*")
		return m, trace.Usagef("%s needs a model that %s (%s), and %s does not",
			x.scorer, what, name, message.Quote(x.info.Name))
	}
	return m, nil
}

// callError adds the package and the scorer to an error of the model. If ctx is done, the error is
// ctx.Err().
func (x *question) callError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return pkg.Errorf("%s: %w", x.scorer, err)
}

// modelError returns the error of a result of the model.
func (x *question) modelError(format string, args ...any) error {
	return pkg.Errorf("%s: the model returned %s", x.scorer, fmt.Sprintf(format, args...))
}

// predict returns the number that each of n queries asks for, [n]. It sends them in batches and
// calls query(i) once for each i, in order. It looks at ctx before each batch.
func (x *question) predict(
	ctx context.Context, n int, query func(i int) trace.Query,
) ([]float64, error) {
	m, err := requireModel[trace.Predictor](x, "predicts other texts")
	if err != nil {
		return nil, err
	}
	all := make([]float64, 0, n)
	for len(all) < n {
		batch := x.batch(len(all), n, query)
		if ctx.Err() != nil {
			return nil, x.callError(ctx, nil)
		}
		values, err := m.Predict(ctx, batch)
		if err != nil {
			return nil, x.callError(ctx, err)
		}
		if len(values) != len(batch) {
			return nil, x.modelError("%d numbers for %d texts", len(values), len(batch))
		}
		all = append(all, values...)
	}
	return all, nil
}

// gradients calls each with the gradient of each of n queries, in order, and stops at its first
// error. It does not check the numbers that the model returns. A gradient is [T,D] numbers, so only
// those of one batch exist at a time.
func (x *question) gradients(
	ctx context.Context, n int, query func(i int) trace.Query, rule trace.Backward,
	each func(i int, g trace.Gradient) error,
) error {
	m, err := requireModel[trace.Differentiable](x, "can be differentiated")
	if err != nil {
		return err
	}
	for done := 0; done < n; {
		batch := x.batch(done, n, query)
		if ctx.Err() != nil {
			return x.callError(ctx, nil)
		}
		all, err := m.Gradients(ctx, batch, rule)
		if err != nil {
			return x.callError(ctx, err)
		}
		if len(all) != len(batch) {
			return x.modelError("%d gradients for %d texts", len(all), len(batch))
		}
		for _, g := range all {
			if err := each(done, g); err != nil {
				return err
			}
			done++
		}
	}
	return nil
}

// batch returns queries first..first+B-1 of n. They are made when they are needed, because a query
// may hold embeddings, [T,D]. Options.Progress learns of it.
func (x *question) batch(first, n int, query func(i int) trace.Query) []trace.Query {
	if x.opts.Progress != nil && n > x.opts.Batch {
		x.opts.Progress(trace.Progress{Stage: x.scorer, Unit: "pass", Done: first, Total: n})
	}
	var batch []trace.Query
	for i := first; i < min(first+x.opts.Batch, n); i++ {
		batch = append(batch, query(i))
	}
	return batch
}

// checkFinite returns an error if a number of the model is NaN or infinite. A NaN would pass
// through every sum and look like a missing value in a picture.
func (x *question) checkFinite(what string, v float64) error {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return x.modelError("%s %v", what, v)
	}
	return nil
}

// gradient returns the gradient of the question itself, [T,D]. Its numbers are finite.
func (x *question) gradient(
	ctx context.Context, rule trace.Backward,
) (g trace.Gradient, err error) {
	err = x.gradients(ctx, 1, func(int) trace.Query {
		return x.q
	}, rule, func(_ int, only trace.Gradient) error {
		g = only
		if _, err := x.width(g.Data); err != nil {
			return x.modelError("a gradient of %v", err)
		}
		return x.checkFinite("value", g.Value)
	})
	return g, err
}

// embed returns the embeddings of n ids, [n,D]. Their numbers are finite.
func (x *question) embed(ctx context.Context, ids []int) ([]float32, error) {
	m, err := requireModel[trace.Differentiable](x, "can be differentiated")
	if err != nil {
		return nil, err
	}
	e, err := m.Embed(ctx, ids)
	if err != nil {
		return nil, x.callError(ctx, err)
	}
	if len(e) == 0 || len(e)%len(ids) != 0 {
		return nil, x.modelError("embeddings of %d numbers for %d tokens", len(e), len(ids))
	}
	if i := slices.IndexFunc(e, rowmath.NotFinite); i >= 0 {
		return nil, x.modelError("an embedding of id %d with %v", ids[i/(len(e)/len(ids))], e[i])
	}
	return e, nil
}

// inputs returns the embeddings of the question, [T,D]. They must not be changed.
func (x *question) inputs(ctx context.Context) ([]float32, error) {
	if x.q.Embeddings != nil {
		return x.q.Embeddings, nil
	}
	return x.embed(ctx, x.q.IDs)
}

// dotProducts returns Σ_D a·b for each token, [T], of a and b, [T,D] each. The numbers of a model
// are float32, the sum is in float64 and in index order.
func (x *question) dotProducts(a, b []float32) ([]float64, error) {
	if len(a) != len(b) {
		return nil, x.modelError("embeddings of %d numbers and gradients of %d", len(a), len(b))
	}
	T := len(x.q.IDs)
	D := len(a) / T
	out := make([]float64, T)
	for i := range a {
		out[i/D] += float64(a[i]) * float64(b[i])
	}
	return out, nil
}

// random returns a random source that depends on the seed, the text and the position, and on
// nothing else. So a text has the same random scores alone and among others, and on every machine.
func (x *question) random() *rand.Rand {
	h := fnv.New64a()
	fmt.Fprint(h, x.q.IDs, x.q.Position)
	return rand.New(rand.NewPCG(x.opts.Seed, h.Sum64()))
}

// parts returns scores whose values should add up to value; the residue is what is missing. The
// values and the residue add up to value, up to rounding.
func parts(value float64, values []float64) *Scores {
	residue := value - rowmath.Total(values)
	return &Scores{Values: values, Value: value, Residue: &residue}
}
