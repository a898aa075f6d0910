// Package lens is the study of what a model would have said after each layer, the logit lens
// (nostalgebraist 2020): where it predicts each token, and for one token at every position of the
// text.
package lens

import (
	"context"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/message"
)

func init() {
	attribution.RegisterStudy(&attribution.Study{
		Name: Name,
		Options: []attribution.StudyOption{{
			Name: "lens", Key: "lens",
			Help: "also compute what the model would have said after each layer: " +
				"`answer|opening|N`, where it predicts each token, or for the token that the " +
				"picture opens at, or token N from 0, at every position of the text, too",
			Wrong: func(s string) string {
				return attribution.WrongToken(s, Answer, attribution.OpeningToken)
			},
			Ungrouped: "it has tokens as the model has them",
		}},
		Whole: func() any { return &Text{} },
		Token: func() any { return &Layers{} },
		Needs: func(attribution.Studies) attribution.StudyNeeds {
			return attribution.StudyNeeds{Lens: true}
		},
		Begin: begin,
	})
}

// pkg is the name that the errors of this package begin with.
const pkg = message.Package("attribution")

// Name is the name of the study and of its option, and Answer the value of the option for generated
// tokens alone.
const (
	Name   = "lens"
	Answer = "answer"
)

// Layers are what the model would have said of a generated token after the embedding and after each
// layer, [L+1]. The last one is the prediction itself.
type Layers []Layer

// Layer is what the model would have said after a layer; see [trace.Lens].
type Layer struct {
	// Likely are the most probable tokens there, the most probable first; as many as the
	// alternatives of a token.
	Likely []attribution.Alternative `json:"likely"`
	// Probability and Rank are those of the token explained, in [0,1] and from 1.
	Probability float64 `json:"probability"`
	Rank        int     `json:"rank"`
}

// Text is the lens at every position of the text for one generated token, or prediction, t.
type Text struct {
	Token int `json:"token"` // t, 0-based
	// Positions are, [P][L+1], the layers at each position: for a decoder from the first token to
	// the one after which t comes, for an encoder all. Probabilities and ranks are those of t.
	Positions []Layers `json:"positions"`
	// Attention and FeedForward are what each layer wrote of the logit of t where it is predicted,
	// against the foils or the contrast, [L]; nil for a model that cannot say. With the input and
	// the biases they add up to it.
	Attention   []float64 `json:"attention,omitempty"`
	FeedForward []float64 `json:"feed_forward,omitempty"`
}

// Of returns the lens at every position of the text, nil if the study was not asked for one.
func Of(e *attribution.Explanation) *Text { return attribution.Finding[Text](e.Studies, Name) }

// OfToken returns the lens of a generated token, nil if the study was not asked for.
func OfToken(g attribution.GeneratedToken) Layers {
	if found := attribution.Finding[Layers](g.Studies, Name); found != nil {
		return *found
	}
	return nil
}

// run is the study of one text.
type run struct {
	*attribution.StudyRun
	model trace.Lens
}

// begin returns a usage error if the model has no lens.
func begin(r *attribution.StudyRun) (attribution.StudySteps, error) {
	model, ok := r.Model.(trace.Lens)
	if !ok {
		return attribution.StudySteps{}, trace.Usagef("%s has no lens: what it computes in a "+
			"layer is not read by its head", r.Model.Info().Name)
	}
	l := run{r, model}
	return attribution.StudySteps{Step: l.step, End: l.end}, model.CheckLens()
}

// step adds the lens of a generated token.
func (r run) step(step trace.Step, g *attribution.GeneratedToken) error {
	layers, err := r.layers(step.Lens)
	if err == nil {
		g.Studies.Set(Name, &layers)
	}
	return err
}

// layers returns the lens in the form of an explanation. It returns an error if a probability is
// none, or the number of layers is wrong.
func (r run) layers(all []trace.LensLayer) (layers Layers, err error) {
	if want := r.Explanation.Model.Layers + 1; len(all) != want {
		return nil, pkg.Errorf("the model gives a lens of %d layers, want %d", len(all), want)
	}
	for _, l := range all {
		likely, err := attribution.AlternativesOf(trace.Prediction{
			Probability: l.Probability, Alternatives: l.Likely,
		})
		if err != nil {
			return nil, err
		}
		layers = append(layers, Layer{likely, l.Probability, l.Rank})
	}
	return layers, nil
}

// end asks for the lens that the steps did not bring: that of a model that reads, and that of one
// token at all positions.
func (r run) end(ctx context.Context) error {
	e := r.Explanation
	q := trace.LensQuery{
		IDs: e.TokenIDs(), Types: e.Prompt.Types, Likely: r.Alternatives, Edits: e.Edits,
	}
	if e.Model.Reads() {
		for _, g := range e.Steps {
			q.Positions, q.Tokens = append(q.Positions, *g.Position), append(q.Tokens, g.ID)
		}
		all, err := r.ask(ctx, q)
		if err != nil {
			return err
		}
		for t := range all {
			e.Steps[t].Studies.Set(Name, &all[t])
		}
	}
	t, err := r.Token(Name)
	if t < 0 || err != nil {
		return err
	}
	if !e.Model.Reads() {
		q.IDs = q.IDs[:len(e.Prompt.IDs)+t]
		q.Edits = trace.EditsWithin(q.Edits, len(q.IDs))
	}
	q.Positions, q.Tokens, q.Progress = nil, nil, r.Options.OnProgress
	for at := range q.IDs {
		q.Positions, q.Tokens = append(q.Positions, at), append(q.Tokens, e.Steps[t].ID)
	}
	all, err := r.ask(ctx, q)
	if err != nil {
		return err
	}
	text := &Text{Token: t, Positions: all}
	e.Studies.Set(Name, text)
	return r.readWritten(ctx, q, text)
}

// ask returns the lens of a query in the form of an explanation.
func (r run) ask(ctx context.Context, q trace.LensQuery) (all []Layers, err error) {
	positions, err := r.model.Lens(ctx, q)
	if err != nil {
		return nil, err
	}
	for _, layers := range positions {
		one, err := r.layers(layers)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

// readWritten asks what each layer wrote of the logit of the token, of a model that can say.
func (r run) readWritten(ctx context.Context, q trace.LensQuery, text *Text) error {
	parts, ok := r.Model.(trace.LogitDecomposer)
	if !ok || r.Explanation.Edits != nil { // under which parts of a whole text are not known
		return nil
	}
	g := r.Explanation.Steps[text.Token]
	o := trace.Objective{
		Quantity: trace.Logit, Position: len(q.IDs) - 1, Token: g.ID, Contrast: r.Contrast,
	}
	if g.Position != nil {
		o.Position = *g.Position
	}
	var likely []int
	for _, a := range g.Alternatives {
		likely = append(likely, a.ID)
	}
	o.Foils = trace.Foils(g.ID, r.Foils, likely)
	terms, err := parts.LogitTerms(ctx, trace.Query{IDs: q.IDs, Types: q.Types, Objective: o})
	if err != nil {
		return err
	}
	text.Attention, text.FeedForward = make([]float64, terms.L), terms.MLP
	for i, x := range terms.Attention {
		text.Attention[i/terms.S] += x
	}
	return nil
}
