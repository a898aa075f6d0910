package scorer

import (
	"context"
	"fmt"
	"slices"

	"github.com/headwater-ml/headwater/attribution/aggregation"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/budget"
	"github.com/headwater-ml/headwater/internal/rowmath"
)

// Live is a scorer that needs no pass of its own while a decoder generates: it computes its values
// from what the model says with each prediction.
type Live interface {
	Scorer
	// Mixing names the mixing whose rows of all tokens it reads, "" for none.
	Mixing() string
	// ScoreTerms returns what Score returns for the prediction after terms.S tokens. rows are those
	// of Mixing, of these tokens and possibly later ones; nil without a mixing. It modifies
	// neither.
	ScoreTerms(terms *trace.AttentionTerms, rows *History) (*Scores, error)
}

// LiveByProducts is a live scorer that needs no rows, but only vectors times the rows of each
// layer.
type LiveByProducts interface {
	Live
	// ScoreProducts returns what ScoreTerms returns. The error is one of the products.
	ScoreProducts(terms *trace.AttentionTerms, multiply Products) (*Scores, error)
}

// Products returns left·C, [T], for a vector left [T] and the rows C of the scorer's mixing in a
// layer, each divided by its sum.
type Products func(layer int, left []float64) ([]float64, error)

// History has the rows of a mixing for every token so far, each divided by its sum. The zero value
// has none.
type History struct {
	rows [][][]float32 // [L][T], each as long as [aggregation.Config.Width] says
}

// Add appends the rows of the next tokens, of all layers and not normalised. Those of tokens that
// see each other must come in one call.
func (h *History) Add(rows aggregation.Rows, cfg aggregation.Config) {
	if h.rows == nil {
		h.rows = make([][][]float32, rows.L)
	}
	for l := range rows.L {
		for n := range rows.N {
			row := slices.Clone(rows.Row(l, n)[:cfg.Width(rows.First+n, rows.T())])
			rowmath.DivideBySum(row)
			narrow := make([]float32, len(row))
			for j, x := range row {
				narrow[j] = float32(x)
			}
			h.rows[l] = append(h.rows[l], narrow)
		}
	}
}

// Row returns the row of target t in layer l: of all tokens that it sees. It must not be changed.
func (h *History) Row(l, t int) []float32 { return h.rows[l][t] }

// scoreTerms is the Score of a live scorer: it asks the model for the parts of the logit and for
// the rows.
func scoreTerms(
	ctx context.Context, name string, s Live, m trace.Model, q trace.Query, opts Options,
) (*Scores, error) {
	x, err := newQuestion(ctx, name, s.Info(), m, q, opts)
	if err != nil {
		return nil, err
	}
	if x.q.Embeddings != nil && s.Mixing() != "" {
		return nil, trace.Usagef("%s asks for rows of the text's own embeddings; leave "+
			"the query's out", name)
	}
	d, err := requireModel[trace.LogitDecomposer](x, "takes a logit apart")
	if err != nil {
		return nil, err
	}
	var rows *History
	if s.Mixing() != "" {
		if rows, err = x.history(ctx, s.Mixing()); err != nil {
			return nil, err
		}
	}
	terms, err := d.LogitTerms(ctx, x.q)
	if err != nil {
		return nil, x.callError(ctx, err)
	}
	if err := x.checkTerms(terms); err != nil {
		return nil, err
	}
	return s.ScoreTerms(&trace.AttentionTerms{
		Value: terms.Value, Attention: terms.Attention, L: terms.L, S: terms.S,
	}, rows)
}

// checkTerms returns an error if the sizes of the parts do not fit the text, or one is NaN or
// infinite.
func (x *question) checkTerms(t *trace.LogitTerms) error {
	T, L := len(x.q.IDs), x.info.Layers
	if t == nil {
		return x.modelError("no parts")
	}
	if t.L != L || t.S != T || len(t.Attention) != L*T {
		return x.modelError("parts of %d layers and %d sources, %d in all; want %d layers and "+
			"%d sources", t.L, t.S, len(t.Attention), L, T)
	}
	for i, v := range t.Attention {
		if err := x.checkFinite(fmt.Sprintf("a part from token %d (id %d) in layer %d of", i%T,
			x.q.IDs[i%T], i/T), v); err != nil {
			return err
		}
	}
	return x.checkFinite("logit", t.Value)
}

// history returns the rows of a mixing for all T targets of the question.
func (x *question) history(ctx context.Context, mixing string) (*History, error) {
	T, L := len(x.q.IDs), x.info.Layers
	what := fmt.Sprintf("%s of %d tokens in %d layers", x.scorer, T, L)
	if err := budget.Check(x.m, 16*float64(L)*float64(T)*float64(T), what,
		"take a shorter text"); err != nil {
		return nil, err
	}
	ask := trace.Ask{
		Mixings: []trace.MixingAsk{{Name: mixing, AllRows: true}}, Types: x.q.Types,
	}
	if x.info.Reads() {
		ask.Positions = []int{x.q.Position}
	} else {
		ask.MaxTokens = 1
	}
	cfg := aggregation.Config{Prefix: x.info.Prefix(x.q.IDs)}
	reader := aggregation.Reader{Last: L - 1, Prefix: cfg.Prefix, Asks: ask.Mixings}
	for step, err := range x.m.Steps(ctx, x.q.IDs, ask) {
		if err != nil {
			return nil, x.callError(ctx, err)
		}
		rows, err := reader.Read(step, 0)
		if err != nil {
			return nil, x.callError(ctx, err)
		}
		if rows[0].N != T {
			return nil, x.modelError("the rows of %d tokens of %d", rows[0].N, T)
		}
		h := &History{}
		h.Add(rows[0], cfg)
		return h, nil
	}
	return nil, x.modelError("no rows of %s", mixing)
}
