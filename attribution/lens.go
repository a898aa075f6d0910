package attribution

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/message"
)

// The values of [Options.Lens] beside the number of a token.
const (
	LensAnswer  = "answer"
	LensOpening = ProveOpening
)

// LensLayer is what the model would have said after a layer; see [trace.Lens].
type LensLayer struct {
	// Likely are the most probable tokens there, the most probable first; as many as the
	// alternatives of a token.
	Likely []Alternative `json:"likely"`
	// Probability and Rank are those of the token explained, in [0,1] and from 1.
	Probability float64 `json:"probability"`
	Rank        int     `json:"rank"`
}

// TextLens is the lens at every position of the text for one generated token, or prediction, t.
type TextLens struct {
	Token int `json:"token"` // t, 0-based
	// Positions are, [P][L+1], the layers at each position: for a decoder from the first token to
	// the one after which t comes, for an encoder all. Probabilities and ranks are those of t.
	Positions [][]LensLayer `json:"positions"`
	// Attention and FeedForward are what each layer wrote of the logit of t where it is predicted,
	// against the foils or the contrast, [L]; nil for a model that cannot say. With the input and
	// the biases they add up to it.
	Attention   []float64 `json:"attention,omitempty"`
	FeedForward []float64 `json:"feed_forward,omitempty"`
}

// tokenText is how the value of an option about generated tokens is read: the number of one, -1 for
// none or one of the words.
func tokenText(text string, words ...string) (token int, wrong string) {
	if text == "" || slices.Contains(words, text) {
		return -1, ""
	}
	token, err := strconv.Atoi(text)
	if err != nil || token < 0 || token >= maxTokens || strconv.Itoa(token) != text {
		return -1, fmt.Sprintf("want %s, or the number of a generated token from 0 to %d",
			strings.Join(words, ", "), maxTokens-1)
	}
	return token, ""
}

// tokenOf returns the generated token that a value of an option names, by its number or as the one
// that a picture opens at; -1 for none.
func (r *run) tokenOf(option, text string) (int, error) {
	t, _ := tokenText(text)
	switch {
	case t >= len(r.e.Steps):
		return -1, r.noToken(option, t, len(r.e.Steps))
	case text != ProveOpening && text != ProveAuto:
		return t, nil
	case r.opts.Opens == nil:
		t = 0
	default:
		t = r.opts.Opens(r.e)
	}
	return min(t, len(r.e.Steps)-1), nil
}

// noToken is the error of an option that names token t of n.
func (r *run) noToken(option string, t, n int) error {
	return LookupOption(option).usagef("%s %d; the explanation has %s, counted from 0",
		trace.Called(option), t, message.Count(n, r.e.shown()))
}

// prepareLens asks the model for the lens, if the options do. It returns a usage error if the model
// has none.
func (r *run) prepareLens(m trace.Model) error {
	if r.opts.Lens == "" {
		return nil
	}
	lens, ok := m.(trace.Lens)
	if !ok {
		return trace.Usagef("%s has no lens: what it computes in a layer is not read by its head",
			m.Info().Name)
	}
	r.ask.Lens = r.opts.alternatives()
	return lens.CheckLens()
}

// newLens returns the lens in the form of an explanation. It returns an error if a probability is
// none, or the number of layers is wrong.
func (r *run) newLens(all []trace.LensLayer) (layers []LensLayer, err error) {
	if want := r.e.Model.Layers + 1; len(all) != want {
		return nil, pkg.Errorf("the model gives a lens of %d layers, want %d", len(all), want)
	}
	for _, l := range all {
		t, err := newToken(trace.Prediction{Probability: l.Probability, Alternatives: l.Likely})
		if err != nil {
			return nil, err
		}
		layers = append(layers, LensLayer{t.Alternatives, l.Probability, l.Rank})
	}
	return layers, nil
}

// readLens asks for the lens that the steps did not bring: that of a model that reads, and that of
// one token at all positions.
func (r *run) readLens(ctx context.Context, m trace.Model) error {
	if r.opts.Lens == "" {
		return nil
	}
	q := trace.LensQuery{IDs: r.text, Types: r.types, Likely: r.ask.Lens, Edits: r.ask.Edits}
	if r.e.Model.Reads() {
		for _, g := range r.e.Steps {
			q.Positions, q.Tokens = append(q.Positions, *g.Position), append(q.Tokens, g.ID)
		}
		all, err := r.lensOf(ctx, m, q)
		if err != nil {
			return err
		}
		for t := range all {
			r.e.Steps[t].Lens = all[t]
		}
	}
	t, err := r.tokenOf("lens", r.opts.Lens)
	if t < 0 || err != nil {
		return err
	}
	if !r.e.Model.Reads() {
		q.IDs = q.IDs[:len(r.ids)+t]
		q.Edits = trace.EditsWithin(q.Edits, len(q.IDs))
	}
	q.Positions, q.Tokens, q.Progress = nil, nil, r.opts.OnProgress
	for at := range q.IDs {
		q.Positions, q.Tokens = append(q.Positions, at), append(q.Tokens, r.e.Steps[t].ID)
	}
	all, err := r.lensOf(ctx, m, q)
	if err != nil {
		return err
	}
	r.e.Lens = &TextLens{Token: t, Positions: all}
	return r.readWritten(ctx, m, q, t)
}

// lensOf returns the lens of a query in the form of an explanation.
func (r *run) lensOf(
	ctx context.Context, m trace.Model, q trace.LensQuery,
) (all [][]LensLayer, err error) {
	positions, err := m.(trace.Lens).Lens(ctx, q)
	if err != nil {
		return nil, err
	}
	for _, layers := range positions {
		one, err := r.newLens(layers)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

// readWritten asks what each layer wrote of the logit of token t, of a model that can say.
func (r *run) readWritten(ctx context.Context, m trace.Model, q trace.LensQuery, t int) error {
	parts, ok := m.(trace.LogitDecomposer)
	if !ok || r.ask.Edits != nil { // under which parts of a whole text are not known
		return nil
	}
	g := r.e.Steps[t]
	o := trace.Objective{
		Quantity: trace.Logit, Position: len(q.IDs) - 1, Token: g.ID, Contrast: r.contrast,
	}
	if g.Position != nil {
		o.Position = *g.Position
	}
	var likely []int
	for _, a := range g.Alternatives {
		likely = append(likely, a.ID)
	}
	o.Foils = trace.Foils(g.ID, r.opts.foils(), likely)
	terms, err := parts.LogitTerms(ctx, trace.Query{IDs: q.IDs, Types: q.Types, Objective: o})
	if err != nil {
		return err
	}
	lens := r.e.Lens
	lens.Attention, lens.FeedForward = make([]float64, terms.L), terms.MLP
	for i, x := range terms.Attention {
		lens.Attention[i/terms.S] += x
	}
	return nil
}
