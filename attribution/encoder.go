package attribution

import (
	"context"
	"fmt"
	"slices"

	"github.com/headwater-ml/headwater/attribution/aggregation"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/budget"
	"github.com/headwater-ml/headwater/internal/message"
	"github.com/headwater-ml/headwater/internal/rowmath"
)

const (
	// expensiveMap is the largest number of values in a map of an expensive aggregation. With flow
	// each value is a max-flow problem, and 64 targets over 64 sources take 0.1 to 0.6 s in 12
	// layers.
	expensiveMap = 64 * 64
	// largeMap is the largest number of values in any map; a larger one has only its top level.
	largeMap = 1 << 21
)

// purpose returns what a model does with a text, for messages.
func purpose(info trace.Info) string {
	if info.Reads() {
		return "read"
	}
	return "continue"
}

// prepareReading sets what an encoder is asked for. It returns an error if the tokens exceed the
// model's context or the maps its memory.
func (r *run) prepareReading(m trace.Model, info trace.Info, tokens []trace.Token) error {
	T := len(tokens)
	if info.Context > 0 && T > info.Context {
		return trace.Usagef("%d tokens, but the context of %s is %d tokens; shorten the text", T,
			message.Quote(info.Name), info.Context)
	}
	if err := checkPositions(info, r.opts.Positions, tokens); err != nil {
		return err
	}
	what := fmt.Sprintf("%d tokens: what the methods keep", T)
	const advice = "take a shorter text or fewer layers"
	if err := budget.Check(m, r.plan.mapBytes(T), what, advice); err != nil {
		return err
	}
	r.tokens = len(r.opts.Positions)
	r.ask = trace.Ask{
		Mixings: slices.Clone(r.plan.asks), Positions: r.opts.Positions,
		Alternatives: r.alternatives(),
		Progress:     r.opts.OnProgress,
	}
	// The maps need all rows, and only the model knows which positions it will explain.
	for i := range r.plan.asks {
		r.plan.asks[i].AllRows, r.ask.Mixings[i].AllRows = true, true
	}
	return nil
}

// checkPositions returns a usage error for a position outside the text, and for one that is given
// twice, unless it is the start and the end of an answer.
func checkPositions(info trace.Info, positions []int, tokens []trace.Token) error {
	seen := map[int]bool{}
	for _, at := range positions {
		if at < 0 || at >= len(tokens) {
			return trace.Usagef("position %d; the text has %d tokens, from 0 to %d: %s",
				at, len(tokens), len(tokens)-1, listTokens(tokens))
		}
		if seen[at] && info.Head != trace.Spans {
			return trace.Usagef("position %d is given twice; each is explained once", at)
		}
		seen[at] = true
	}
	return nil
}

// listTokens lists the first few tokens with their positions.
func listTokens(tokens []trace.Token) string {
	const most = 24
	var names []string
	for i, t := range tokens[:min(len(tokens), most)] {
		names = append(names, fmt.Sprintf("%d %s", i, message.Quote(t.Text)))
	}
	if len(tokens) > most {
		names = append(names, "…")
	}
	return message.List(names)
}

// mapBytes returns about how many bytes an encoder's rows, states and maps need for T tokens.
func (p *plan) mapBytes(T int) float64 {
	const perEntry = 8 * 4 // float64 of rows, normalised rows, a state and the result
	square := float64(T) * float64(T)
	sum := 0.0
	for _, j := range p.jobs {
		need := perEntry * float64(j.cfg.Layers) * square
		if j.uniform != nil {
			need *= 2
		}
		sum += need
	}
	for _, m := range p.methods {
		sum += 8 * float64(len(m.levels)) * square
	}
	return sum
}

// addPrediction adds one step for an encoder. The first step has all rows and the first prediction,
// and each later step has another prediction.
func (r *run) addPrediction(ctx context.Context, step trace.Step) error {
	if r.processed == 0 {
		if err := r.addRows(ctx, step); err != nil {
			return err
		}
	} else if step.Count != 0 {
		return fmt.Errorf("the model fed %d more tokens after the whole text", step.Count)
	}
	at, err := r.position(step.Next)
	if err != nil {
		return err
	}
	next, err := newToken(*step.Next)
	if err != nil {
		return err
	}
	row := at
	if next.Position = &at; r.e.Model.MeanPooled && r.tokens == 0 {
		next.Position, row = nil, allRows
	}
	if r.e.Model.Head == trace.Labels && !next.Unscored && next.Probability <= 0.5 {
		r.warn("No class has a probability above one half, so none applies; the most probable " +
			"one is explained.")
	}
	for _, j := range r.plan.jobs {
		if !r.tooExpensive(j) {
			continue
		}
		of := func() error { return j.only(ctx, r.encoderRows, at) }
		if row == allRows { // each of them counts
			of = func() error { return j.extend(ctx, r.encoderRows, 0) }
		}
		if err := of(); err != nil {
			return err
		}
	}
	p := prediction{GeneratedToken: *next}
	if err := r.score(ctx, slices.Clone(r.ids), at, p); err != nil {
		return err
	}
	r.append(p, func(j *job) int {
		if r.tooExpensive(j) && row != allRows {
			return 0
		}
		return row
	})
	return nil
}

// position returns the position of a prediction. It returns an error if that is not the position
// asked for.
func (r *run) position(next *trace.Prediction) (int, error) {
	if next == nil {
		return 0, fmt.Errorf("the model made a step without a prediction")
	}
	at, n := next.Position, len(r.e.Steps)
	if at < 0 || at >= len(r.ids) {
		return 0, fmt.Errorf("the model predicts at position %d of %d", at, len(r.ids))
	}
	if r.tokens > 0 && (n >= r.tokens || at != r.opts.Positions[n]) {
		return 0, fmt.Errorf("the model predicts at position %d, want %v", at, r.opts.Positions)
	}
	return at, nil
}

// addRows reads the rows of the whole text and adds the maps of all methods that are not too
// expensive.
func (r *run) addRows(ctx context.Context, step trace.Step) (err error) {
	if r.encoderRows, err = r.plan.reader().Read(step, 0); err != nil {
		return err
	}
	if r.processed = step.Count; r.processed != len(r.ids) {
		return fmt.Errorf("the model read %d of %d tokens", r.processed, len(r.ids))
	}
	for _, j := range r.plan.jobs {
		if !r.tooExpensive(j) {
			if err := j.extend(ctx, r.encoderRows, 0); err != nil {
				return err
			}
		}
	}
	for _, m := range r.plan.methods {
		if m.scorer == nil { // a scorer would have to ask the model for every row
			r.addMap(m)
		}
	}
	return nil
}

// tooExpensive reports whether a map of the job would take too long, so that only the rows of
// predictions are computed.
func (r *run) tooExpensive(j *job) bool {
	a, _ := aggregation.Lookup(j.aggregation)
	return a.Info().TopOnly && j.cfg.Levels()*len(r.ids)*len(r.ids) > expensiveMap
}

// addMap adds the map of a method, or a remark why it is missing or has only its top
// level.
func (r *run) addMap(p planned) {
	T, K := len(r.ids), len(p.levels)
	if r.tooExpensive(p.job) {
		r.remarks = append(r.remarks, fmt.Sprintf("%s: there is no map of all %d targets, whose "+
			"%d values would take too long; "+
			"the rows of the predictions are there.", p.Name, T, K*T*T))
		return
	}
	first := 0
	if K > 1 && K*T*T > largeMap {
		first = K - 1
		r.remarks = append(r.remarks, fmt.Sprintf("%s: the map of all %d targets has layer %d "+
			"alone; all %d would be %d numbers.",
			p.Name, T, p.levels[first], K, K*T*T))
	}
	m := &Map{
		Options: r.opts.settings(p), Facts: p.facts, Layers: p.levels[first:], Unit: p.unit,
		Shape: [3]int{K - first, T, T}, Data: make([]float64, (K-first)*T*T),
	}
	for t := range T {
		shown, _ := p.values(t)
		for l := range m.Shape[0] {
			copy(m.Row(l, t), rowmath.At(shown, first+l, T))
		}
	}
	if r.e.Maps == nil {
		r.e.Maps = map[string]*Map{}
	}
	r.e.Maps[p.Name] = m
}
