package attribution

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/headwater-ml/headwater/attribution/scorer"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/message"
	"github.com/headwater-ml/headwater/internal/rowmath"
)

// quantity returns the quantity that a scorer explains: the one in the options, the logit of a
// score that is a number, or its own default. For a target of several tokens that is the
// log-probability instead of the probability, if the scorer has it. With a contrast, a scorer that
// changes the text explains the difference of the logits: taking a word away may make both tokens
// improbable, and the difference of their probabilities small, whichever is preferred.
func (o Options) quantity(info scorer.Info, numbers bool) trace.Quantity {
	switch {
	case o.Scoring.Quantity != "" || len(info.Quantities) == 0:
		return o.Scoring.Quantity
	case (numbers || o.Contrast != "" && info.Evidence == trace.Tested) &&
		slices.Contains(info.Quantities, trace.Logit):
		return trace.Logit
	}
	if q := info.Quantities[0]; q != trace.Probability || o.Target == "" ||
		!slices.Contains(info.Quantities, trace.LogProbability) {
		return q
	}
	return trace.LogProbability
}

// prepareScoring checks that the model can be scored, and looks up the contrast. Without a scorer
// it does nothing but this.
func (r *run) prepareScoring(m trace.Model, prompt string) error {
	info := m.Info()
	if !slices.ContainsFunc(r.plan.methods, func(p planned) bool { return p.scorer != nil }) {
		// Else an option has asked for a patch or for parts by head.
		if r.opts.Contrast != "" && info.Reads() && !r.opts.studyNeeds().ContrastReads {
			return LookupOption("contrast").usagef("%s %s: what each head wrote is known where "+
				"the next token is predicted, and %s reads a text; leave it out, or name a "+
				"scorer, such as occlusion", trace.Called("contrast"),
				message.Quote(r.opts.Contrast), message.Quote(info.Name))
		}
		return r.findContrast(m, prompt)
	}
	if info.Head == trace.NoHead {
		return trace.Usagef(
			"%s has no head, so there is no prediction to score; methods that read "+
				"attention do without one: %s",
			message.Quote(info.Name), message.List(DefaultMethods(info)),
		)
	}
	r.model = m
	r.missing = make([]incomplete, len(r.plan.methods))
	r.flat = make([]flatRows, len(r.plan.methods))
	return r.findContrast(m, prompt)
}

// findContrast looks up the contrast, if there is one.
func (r *run) findContrast(m trace.Model, prompt string) error {
	if r.opts.Contrast == "" {
		return nil
	}
	id, err := contrast(m, prompt, r.opts.Contrast)
	r.contrast = &id
	return err
}

// contrast returns the id of the token or class that a user names. The token follows the prompt.
func contrast(m trace.Model, prompt, text string) (int, error) {
	info := m.Info()
	if info.Head.Classifies() {
		c, ok := m.(trace.Classifier)
		if !ok {
			return 0, trace.Usagef("contrast %s: the classes of %s have no names",
				message.Quote(text), message.Quote(info.Name))
		}
		id, err := c.Class(text)
		if err != nil {
			return 0, trace.Usagef("contrast: %v", err)
		}
		return id, nil
	}
	tokens, _, err := trace.EncodeAfter(m, prompt, text)
	if err != nil {
		return 0, pkg.Errorf("contrast: %w", err)
	}
	if len(tokens) != 1 {
		return 0, trace.Usagef(
			"contrast %s is %d tokens: %s; give one, and mind the space that most "+
				"vocabularies begin a word with",
			message.Quote(text), len(tokens), listTokens(tokens),
		)
	}
	return tokens[0].ID, nil
}

// score asks every scorer about the prediction of t at position at of the text ids. For a decoder
// that is the last position.
func (r *run) score(ctx context.Context, ids []int, at int, t prediction) error {
	if r.model == nil {
		return nil
	}
	r.scores = make([]*scorer.Scores, len(r.plan.methods))
	for i, m := range r.plan.methods {
		if m.scorer == nil {
			continue
		}
		s, err := r.scoreBy(ctx, m, ids, at, t)
		if usage := (*trace.UsageError)(nil); errors.As(err, &usage) {
			return usage // its text names the scorer already
		}
		if err != nil {
			return fmt.Errorf("%s: %w", m.Name, err)
		}
		if err := checkScores(s, len(ids), len(m.levels), m.scorer.Info()); err != nil {
			return fmt.Errorf("%s: %w", m.Name, err)
		}
		made := len(r.e.Steps)
		if had := len(r.e.Methods[m.Name].Residue) > 0; made > 0 && had != (s.Residue != nil) {
			return fmt.Errorf("%s: a residue for some predictions and not for others", m.Name)
		}
		r.scores[i] = s
	}
	if r.contrast != nil && *r.contrast == t.ID {
		r.warn(fmt.Sprintf("%s is the contrast itself where it is predicted: its scores there "+
			"say nothing.", message.Quote(t.Text)))
	}
	return nil
}

// scoreBy asks one scorer, or computes its values from the terms of the prediction if it is live
// and there are any.
func (r *run) scoreBy(
	ctx context.Context, m planned, ids []int, at int, t prediction,
) (*scorer.Scores, error) {
	terms := t.terms
	if terms != nil && r.ask.Terms.Alone {
		terms = terms.Alone
	}
	if m.vectors && terms != nil {
		if by, ok := m.live.(scorer.LiveByProducts); ok {
			return by.ScoreProducts(terms, m.products(ctx, r.step))
		}
	}
	if m.live != nil && terms != nil {
		return m.live.ScoreTerms(terms, r.plan.histories[m.ask])
	}
	o := trace.Objective{
		Quantity: m.quantity, Position: at, Token: t.ID,
	}
	if m.info().Foils && o.Quantity == trace.Logit {
		var likely []int
		for _, a := range t.Alternatives {
			likely = append(likely, a.ID)
		}
		o.Foils = trace.Foils(t.ID, m.facts.Foils, likely)
	}
	// Copies, because a scorer of another module may change what it is given.
	if r.contrast != nil {
		id := *r.contrast
		o.Contrast = &id
	}
	q := trace.Query{
		IDs: slices.Clone(ids), Types: r.types, Objective: o,
		Edits: trace.EditsWithin(r.ask.Edits, len(ids)),
	}
	scoring := r.opts.Scoring
	if r.opts.OnProgress != nil {
		scoring.Progress = func(at trace.Progress) {
			at.Stage = m.Name + ", " + r.e.Made() + " done"
			r.opts.OnProgress(at)
		}
	}
	if m.info().Together {
		scoring.Groups = r.groups(t.GeneratedToken)
	}
	return m.scorer.Score(ctx, r.model, q, scoring)
}

// groups returns the tokens that scorers take away as one for the prediction of t: the spans of the
// prompt, and the generated tokens before t that are explained together.
func (r *run) groups(t GeneratedToken) (groups [][]int) {
	for _, s := range r.spans {
		groups = append(groups, slices.Clone(s.Tokens))
	}
	if r.target.OfTokens() {
		return groups
	}
	n, m := len(r.e.Steps), len(r.ids)
	before, _ := r.target.Divide(r.e.generated(append(slices.Clone(r.e.Steps), t)))
	for _, s := range before {
		var group []int
		for i := s.Begin; i < min(s.End, n); i++ {
			group = append(group, m+i)
		}
		if group != nil {
			groups = append(groups, group)
		}
	}
	return groups
}

// alternatives returns how many alternatives the model is asked for: those that are shown, and as
// many as there may be foils.
func (r *run) alternatives() int {
	if r.plan.usesFoils() {
		return max(r.opts.alternatives(), r.opts.foils()+1)
	}
	return r.opts.alternatives()
}

// layerThatWrote returns the layer with the largest part of the logit that attention read from
// tokens other than the first and control tokens, the last layer without terms; see [Result.Shown].
// Only what speaks for the token counts: the sum of sizes was as good on Gemma 3 and worse on
// SmolLM2.
func (r *run) layerThatWrote(terms *trace.AttentionTerms) int {
	if terms == nil {
		return r.e.Model.Layers - 1
	}
	special := r.e.Prompt.Special
	layer, most := terms.L-1, 0.0
	for l := range terms.L {
		sum := 0.0
		for s, x := range rowmath.At(terms.Attention, l, terms.S) {
			if s > 0 && !(s < len(special) && special[s]) {
				sum += max(0, x)
			}
		}
		if sum > most {
			layer, most = l, sum
		}
	}
	return layer
}

// layersTol is how far the sum over layers may be from a value, as a part of the sizes of both. A
// scorer may compute either in float32.
const layersTol = 1e-4

// checkScores returns an error unless there are n scores, and as many for each of the levels if the
// scorer has them. All numbers must be finite, also when they are added up, and none of the scores
// below zero unless they are signed. Those of the levels must add up to the scores.
func checkScores(s *scorer.Scores, n, levels int, info scorer.Info) error {
	if s == nil {
		return fmt.Errorf("neither scores nor an error")
	}
	if len(s.Values) != n {
		return fmt.Errorf("%d values for %d tokens", len(s.Values), n)
	}
	if rowmath.NotFinite(s.Value) {
		return fmt.Errorf("the number explained is %v", s.Value)
	}
	if s.Residue != nil && rowmath.NotFinite(*s.Residue) {
		return fmt.Errorf("the residue is %v", *s.Residue)
	}
	if err := checkValues(s.Values, n, info.Signed); err != nil || !info.ByLayer {
		return err
	}
	if len(s.ByLayer) != levels*n {
		return fmt.Errorf("%d values by layer for %d layers of %d tokens", len(s.ByLayer), levels,
			n)
	}
	if err := checkValues(s.ByLayer, n, info.Signed); err != nil {
		return fmt.Errorf("by layer: %w", err)
	}
	for j, value := range s.Values {
		sum, size := 0.0, math.Abs(value)
		for l := range levels {
			x := s.ByLayer[l*n+j]
			sum, size = sum+x, size+math.Abs(x)
		}
		if math.Abs(sum-value) > layersTol*size {
			return fmt.Errorf("token %d has value %v, and the values of its layers add up to %v", j,
				value, sum)
		}
	}
	return nil
}

// checkValues returns an error for the first value, of rows of n tokens, that is not finite, or is
// negative and not signed, and for values whose sum overflows.
func checkValues(values []float64, n int, signed bool) error {
	size := 0.0
	of := func(i int) string {
		if len(values) > n {
			return fmt.Sprintf("layer %d token %d", i/n, i%n)
		}
		return fmt.Sprintf("token %d", i)
	}
	for i, x := range values {
		if rowmath.NotFinite(x) {
			return fmt.Errorf("%s has value %v", of(i), x)
		}
		if x < 0 && !signed {
			return fmt.Errorf("%s has value %v, and the scorer says that its values have no sign",
				of(i), x)
		}
		if size += math.Abs(x); rowmath.NotFinite(size) {
			return fmt.Errorf("the values up to %s, %v, are too large to be added up", of(i), x)
		}
	}
	return nil
}

// warn adds a remark unless it is there already.
func (r *run) warn(remark string) {
	if !slices.Contains(r.remarks, remark) {
		r.remarks = append(r.remarks, remark)
	}
}

// latest returns the row of method i for the latest prediction, [K,T]: shown as the method shows
// it, and mass before lift. For a scorer it adds the number explained and the residue to the
// result.
func (r *run) latest(i int, wanted func(*job) int) (shown, mass []float64) {
	p := r.plan.methods[i]
	if p.scorer == nil {
		return p.values(wanted(p.job))
	}
	res := r.e.Methods[p.Name]
	s := r.scores[i]
	if s.Replacement != "" {
		res.Options["replacement"] = s.Replacement
	}
	res.Explained = append(res.Explained, s.Value)
	if s.Residue != nil {
		res.Residue = append(res.Residue, *s.Residue)
		if p.scorer.Info().Complete {
			r.missing[i].add(len(r.e.Steps)-1,
				missing(rowmath.Total(s.Values), *s.Residue, s.Value))
		}
	}
	if r.removes(p) && isFlat(s.Values, s.Value) {
		r.flat[i].add(len(r.e.Steps) - 1)
	}
	if p.scorer.Info().ByLayer {
		sums := cumulative(s.ByLayer, len(s.Values))
		return sums, sums
	}
	return s.Values, s.Values
}

// cumulative returns the sums of rows of T numbers up to each row.
func cumulative(rows []float64, T int) []float64 {
	sums := slices.Clone(rows)
	for i := T; i < len(sums); i++ {
		sums[i] += sums[i-T]
	}
	return sums
}
